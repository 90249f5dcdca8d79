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
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <fcntl.h>
#include <redlock/loaded.h>

// These free the texts, which are copies; "" is none.
static int rlgo_load(struct redlock_options *options, char *cluster, char *file)
{
	int error = redlock_options_load(options, *cluster ? cluster : NULL, *file ? file : NULL);
	free(cluster), free(file);
	return error;
}

static int rlgo_set(struct redlock_options *options, char *name, char *value)
{
	int error = redlock_options_set(options, name, value);
	free(name), free(value);
	return error;
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
static int rlgo_receive(redlock_client *client, struct redlock_event *event, int ms)
{
	struct pollfd p = {.fd = redlock_fd(client), .events = POLLIN};
	do {
		if (redlock_turn(client, 1, event) == 1)
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
	event  *C.struct_redlock_event
	own    *C.struct_redlock_event // of the call that receives for itself
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

// sentence is the text that a function of C writes.
func sentence(write func(text *C.char)) string {
	text := (*C.char)(C.calloc(1, textSize))
	defer C.free(unsafe.Pointer(text))
	write(text)
	return C.GoString(text)
}

// Open opens a client, which connects in the background. A wrong option is named in the error.
func Open(config Config) (*Client, error) {
	c := &Client{locks: map[uintptr]*Lock{}, done: make(chan struct{}), turn: make(chan struct{}, 1), wake: make(chan struct{}, 1)}
	var code C.int
	why := sentence(func(text *C.char) {
		if code = C.redlock_check_loaded(text, textSize); code == 0 {
			code = c.open(config, text)
		}
	})
	if code < 0 {
		return nil, newError(code, why)
	}
	c.event, c.own = newEvent(), newEvent()
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

func newEvent() *C.struct_redlock_event {
	event := (*C.struct_redlock_event)(C.calloc(1, C.sizeof_struct_redlock_event))
	event.size = C.sizeof_struct_redlock_event
	return event
}

func (c *Client) open(config Config, why *C.char) C.int {
	options := (*C.struct_redlock_options)(C.calloc(1, C.sizeof_struct_redlock_options))
	defer C.free(unsafe.Pointer(options))
	C.redlock_options_init_sized(options, C.sizeof_struct_redlock_options)
	C.redlock_options_set_error_text(options, why, textSize)
	defer C.redlock_options_clear(options)
	if code := configure(options, config); code < 0 {
		return code
	}
	return C.redlock_open(options, &c.native)
}

func configure(options *C.struct_redlock_options, config Config) C.int {
	settings := map[string]string{}
	for name, value := range config.Options {
		settings[name] = value
	}
	if config.URLs != nil {
		settings["url"] = strings.Join(config.URLs, ",")
	} else if code := C.rlgo_load(options, C.CString(config.Cluster), C.CString(config.File)); code < 0 {
		return code
	}
	for name, value := range settings {
		if strings.Contains(name+value, "\x00") {
			return C.REDLOCK_E_INVAL
		}
		if code := C.rlgo_set(options, C.CString(name), C.CString(value)); code < 0 {
			return code
		}
	}
	return 0
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
	end := time.Now().Add(patience)
	for len(result) == 0 && ctx.Err() == nil && time.Now().Before(end) {
		if C.rlgo_receive(c.native, c.own, C.int(patience/time.Millisecond)) == 1 {
			c.mu.Lock()
			c.pass(c.own)
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
	for C.redlock_turn(c.native, 1, c.event) == 1 {
		c.pass(c.event)
	}
}

// pass passes an event on to its lock; the client is locked.
func (c *Client) pass(event *C.struct_redlock_event) {
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
	C.free(unsafe.Pointer(c.event))
	C.free(unsafe.Pointer(c.own))
	c.native = nil
}
