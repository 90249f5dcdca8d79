// SPDX-License-Identifier: MIT

// Package redlock locks names over independent Redis or Valkey servers. It is libredlock, the C library, with the
// idioms of Go; all that is decided about locks is decided there.
//
//	client, err := redlock.Open(redlock.Config{URLs: []string{"redis://10.0.0.1", "redis://10.0.0.2", "redis://10.0.0.3"}})
//	lock, err := client.NewLock(redlock.Options{TTL: 30 * time.Second, Renew: 10 * time.Second}, "nightly")
//	held, err := lock.Lock(ctx)   // held ends when the lock is lost
//	if err == nil {
//		defer lock.Unlock()
//		backup(held)
//	}
package redlock

/*
#cgo LDFLAGS: -lredlock
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <fcntl.h>
#include <redlock/loaded.h>

// An event, for Go's memory: without pointers.
struct rlgo_event {
	uintptr_t user;
	int kind, result;
};

// Sends and receives. 1: there was an event.
static int rlgo_turn(redlock_client *client, struct rlgo_event *event)
{
	struct redlock_event found = {.size = sizeof found};
	int count = redlock_turn(client, 1, &found);
	*event = (struct rlgo_event){(uintptr_t)found.user, found.kind, found.result};
	return count;
}

// A descriptor for Go's poller: readable once when the client's own is, and then again after rlgo_watch(). -1: none.
static int rlgo_watcher(redlock_client *client)
{
	struct epoll_event once = {.events = EPOLLIN | EPOLLONESHOT};
	int watcher = epoll_create1(EPOLL_CLOEXEC);
	if (watcher < 0 || epoll_ctl(watcher, EPOLL_CTL_ADD, redlock_fd(client), &once) < 0)
		return watcher < 0 ? -1 : (close(watcher), -1);
	fcntl(watcher, F_SETFL, O_NONBLOCK); // else Go would not poll it
	return watcher;
}

static void rlgo_watch(int watcher, int fd)
{
	struct epoll_event once = {.events = EPOLLIN | EPOLLONESHOT};
	epoll_ctl(watcher, EPOLL_CTL_MOD, fd, &once);
}

static void rlgo_see(int watcher)
{
	struct epoll_event seen;
	epoll_wait(watcher, &seen, 1, 0);
}

// Sends and receives until an event comes: 1. 0: nothing came for so long.
static int rlgo_receive(redlock_client *client, struct rlgo_event *event, int ms)
{
	struct pollfd p = {.fd = redlock_fd(client), .events = POLLIN};
	do {
		if (rlgo_turn(client, event) == 1)
			return 1;
	} while (poll(&p, 1, ms) > 0);
	return 0;
}
*/
import "C"

import (
	"context"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// Config says which nodes a client has, and how it reaches them.
type Config struct {
	URLs          []string          // the nodes; nil: those of redlock.conf or REDLOCK_URLS, as the redlock command has them
	Cluster, File string            // without URLs: a section of the configuration, and the only file to read
	Options       map[string]string // further options, by their names in redlock_config(3): "node-timeout": "200ms"
}

// Client has connections to all nodes. Any number of goroutines may use it. One goroutine of its own receives, where no
// call does so for itself.
type Client struct {
	mu     sync.Mutex
	native *C.redlock_client
	locks  map[uintptr]*Lock
	last   uintptr
	ready  *os.File      // nil: closed
	done   chan struct{} // closed when the goroutine that receives has ended
	turn   chan struct{} // has an element while nobody receives
	wake   chan struct{} // the goroutine that receives stands by, and is needed now
	late   int32         // calls that wait for that goroutine
}

const (
	textSize = 1024
	patience = time.Millisecond     // how long a call receives for itself
	standby  = 5 * time.Millisecond // how long the goroutine leaves that to calls before it looks itself
)

// sentence is a text that C writes.
type sentence [textSize]C.char

func (s *sentence) String() string { return C.GoString(&s[0]) }

// words are options as C takes them, with texts that have no NUL.
func words(options map[string]string) (*C.char, bool) {
	list := ""
	for name, value := range options {
		if strings.Contains(name+value, "\x00") {
			return nil, false
		}
		list += name + "\x00" + value + "\x00"
	}
	return text(list), true
}

// text is a text for C, in Go's memory.
func text(s string) *C.char { return (*C.char)(unsafe.Pointer(&append([]byte(s), 0)[0])) }

// Open opens a client, which connects in the background. A wrong option is named in the error.
func Open(config Config) (*Client, error) {
	c := &Client{locks: map[uintptr]*Lock{}, done: make(chan struct{}), turn: make(chan struct{}, 1), wake: make(chan struct{}, 1)}
	settings := map[string]string{}
	for name, value := range config.Options {
		settings[name] = value
	}
	if config.URLs != nil {
		settings["url"] = strings.Join(config.URLs, ",")
	}
	list, ok := words(settings)
	if !ok {
		return nil, newError(C.REDLOCK_E_INVAL, "")
	}
	var why sentence
	code := C.redlock_check_loaded(&why[0], textSize)
	if code == 0 {
		code = C.redlock_open_words(list, text(config.Cluster), text(config.File), &why[0], textSize, &c.native)
	}
	if code < 0 {
		return nil, newError(code, why.String())
	}
	c.turn <- struct{}{}
	watcher := C.rlgo_watcher(c.native)
	if watcher < 0 {
		c.end()
		return nil, newError(C.REDLOCK_E_SYSTEM, "")
	}
	c.ready = os.NewFile(uintptr(watcher), "redlock")
	go c.receive(c.ready, watcher)
	return c, nil
}

// enter locks the client, and returns what unlocks it.
func (c *Client) enter() func() {
	c.mu.Lock()
	return c.mu.Unlock
}

// receive drives the client when its descriptor is readable, unless a call does. It then stands by, and the watcher stays
// silent: Go's poller would wake a thread for each answer.
func (c *Client) receive(ready *os.File, watcher C.int) {
	defer close(c.done)
	raw, err := ready.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Read(func(uintptr) bool {
		C.rlgo_see(watcher)
		for !c.takesTurn() {
			select {
			case <-c.wake:
			case <-time.After(standby):
			}
		}
		c.drive()
		C.rlgo_watch(watcher, C.redlock_fd(c.native))
		c.turn <- struct{}{}
		return false
	})
}

func (c *Client) takesTurn() bool {
	select {
	case <-c.turn:
		return true
	default:
		return false
	}
}

// await sends an operation that has begun, and waits for its result; false: ctx ended first. A call receives for itself a
// while, in C and one at a time: the nodes answer sooner than Go changes to another goroutine and back.
func (c *Client) await(ctx context.Context, result chan C.int) (code C.int, ended bool) {
	if !c.takesTurn() {
		c.drive()
		select {
		case code = <-result:
			return code, true
		case <-ctx.Done():
			return 0, false
		case <-c.turn:
		}
	}
	var event C.struct_rlgo_event
	end := time.Now().Add(patience)
	for len(result) == 0 && ctx.Err() == nil && time.Now().Before(end) {
		if C.rlgo_receive(c.native, &event, C.int(patience/time.Millisecond)) == 1 {
			c.mu.Lock()
			c.pass(&event)
			c.mu.Unlock()
		}
	}
	c.turn <- struct{}{}
	late := atomic.AddInt32(&c.late, 1)
	defer atomic.AddInt32(&c.late, -1)
	if late > 1 || len(result) == 0 {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
	select {
	case code = <-result:
		return code, true
	case <-ctx.Done():
		return 0, false
	}
}

// drive sends and receives what there is, and passes events on to their locks.
func (c *Client) drive() {
	defer c.enter()()
	if c.native == nil {
		return
	}
	for event := (C.struct_rlgo_event{}); C.rlgo_turn(c.native, &event) == 1; {
		c.pass(&event)
	}
}

// pass passes an event on to its lock; the client is locked.
func (c *Client) pass(event *C.struct_rlgo_event) {
	if lock := c.locks[uintptr(event.user)]; lock != nil {
		lock.hear(event)
	}
}

// Close releases the locks that are held, and waits for that up to a second. Calls that run end with Cancelled, which
// wraps State; later ones with State.
func (c *Client) Close() error {
	c.mu.Lock()
	ready := c.ready
	c.ready = nil
	c.mu.Unlock()
	if ready == nil {
		return newError(C.REDLOCK_E_STATE, "the client was closed")
	}
	_ = ready.Close()
	<-c.done
	c.end()
	return nil
}

func (c *Client) end() {
	<-c.turn // nobody receives from now on
	defer c.enter()()
	closed := newError(C.REDLOCK_E_STATE, "the client was closed")
	for _, lock := range c.locks {
		lock.drop(closed, closed)
	}
	C.redlock_drain(c.native, C.uint64_t(time.Second/time.Millisecond))
	C.redlock_close(c.native)
	c.native = nil
}
