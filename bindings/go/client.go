// SPDX-License-Identifier: MIT

// Package redlock locks names over independent Redis or Valkey servers. It is libredlock, the C library, with the
// idioms of Go; all that is decided about locks is decided there.
//
//	client, err := redlock.Open(redlock.Config{URLs: []string{"redis://10.0.0.1", "redis://10.0.0.2", "redis://10.0.0.3"}})
//	lock, err := client.NewLock(redlock.Options{TTL: 30 * time.Second, Renew: 10 * time.Second}, "nightly")
//	ctx, err := lock.Lock(ctx)   // ctx ends when the lock is lost
//	if err == nil {
//		defer lock.Unlock()
//		backup(ctx)
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
#include <redlock/redlock.h>

static const char *rlgo_built(void) { return REDLOCK_VERSION; }

static int rlgo_fits(void)
{
	return redlock_constant("sizeof redlock_options") >= sizeof(struct redlock_options) &&
	       redlock_constant("sizeof redlock_lock_options") >= sizeof(struct redlock_lock_options) &&
	       redlock_constant("sizeof redlock_event") >= sizeof(struct redlock_event) &&
	       redlock_constant("sizeof redlock_vote") >= sizeof(struct redlock_vote);
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

static int rlgo_wait(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	return poll(&p, 1, ms) > 0;
}
*/
import "C"

import (
	"context"
	"fmt"
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
	patience = time.Millisecond // how long a call receives for itself
)

func checkLibrary() error {
	loaded, built := C.GoString(C.redlock_version()), C.GoString(C.rlgo_built())
	minor := func(version string) string { return version[:strings.LastIndex(version, ".")] }
	which := "libredlock"
	if C.rlgo_fits() == 0 {
		which = "an older build of libredlock"
	} else if minor(loaded) == minor(built) {
		return nil
	}
	return fmt.Errorf("redlock: the program was compiled for redlock %s, but %s %s is loaded: "+
		"install that version, or build the program again", built, which, loaded)
}

// Open opens a client, which connects in the background. A wrong option is named in the error.
func Open(config Config) (*Client, error) {
	if err := checkLibrary(); err != nil {
		return nil, err
	}
	options := (*C.struct_redlock_options)(C.calloc(1, C.sizeof_struct_redlock_options))
	why := (*C.char)(C.calloc(1, textSize))
	defer C.free(unsafe.Pointer(options))
	defer C.free(unsafe.Pointer(why))
	C.redlock_options_init_sized(options, C.sizeof_struct_redlock_options)
	C.redlock_options_set_error_text(options, why, textSize)
	defer C.redlock_options_clear(options)
	if code := configure(options, config); code < 0 {
		return nil, newError(code, C.GoString(why))
	}
	c := &Client{locks: map[uintptr]*Lock{}, done: make(chan struct{}), turn: make(chan struct{}, 1), wake: make(chan struct{}, 1)}
	if code := C.redlock_open(options, &c.native); code < 0 {
		return nil, newError(code, C.GoString(why))
	}
	c.event = (*C.struct_redlock_event)(C.calloc(1, C.sizeof_struct_redlock_event))
	c.event.size = C.sizeof_struct_redlock_event
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

func configure(options *C.struct_redlock_options, config Config) C.int {
	text := func(s string) *C.char {
		if s == "" {
			return nil
		}
		return C.CString(s)
	}
	if config.URLs == nil {
		cluster, file := text(config.Cluster), text(config.File)
		defer C.free(unsafe.Pointer(cluster))
		defer C.free(unsafe.Pointer(file))
		if code := C.redlock_options_load(options, cluster, file); code < 0 {
			return code
		}
	}
	settings := [][2]string{}
	if config.URLs != nil {
		settings = append(settings, [2]string{"url", strings.Join(config.URLs, ",")})
	}
	for name, value := range config.Options {
		settings = append(settings, [2]string{name, value})
	}
	for _, s := range settings {
		name, value := C.CString(s[0]), C.CString(s[1])
		code := C.redlock_options_set(options, name, value)
		C.free(unsafe.Pointer(name))
		C.free(unsafe.Pointer(value))
		if code < 0 {
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
			case <-time.After(patience):
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

// await waits for the result of an operation that has begun; false: ctx ended first. A call receives for itself a while,
// in C and one at a time: the nodes answer sooner than Go changes to another goroutine and back.
func (c *Client) await(ctx context.Context, result chan C.int) (code C.int, ended bool) {
	end := time.Now().Add(patience)
	select {
	case code = <-result:
		return code, true
	case <-ctx.Done():
		return 0, false
	case <-c.turn:
	}
	for len(result) == 0 && ctx.Err() == nil && time.Now().Before(end) {
		if C.rlgo_wait(C.redlock_fd(c.native), C.int(patience/time.Millisecond)) != 0 {
			c.drive()
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
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.native == nil {
		return
	}
	C.redlock_process(c.native)
	for C.redlock_next(c.native, c.event) == 1 {
		if lock := c.locks[uintptr(c.event.user)]; lock != nil {
			lock.hear(c.event)
		}
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
	c.mu.Lock()
	defer c.mu.Unlock()
	closed := newError(C.REDLOCK_E_STATE, "the client was closed")
	for _, lock := range c.locks {
		lock.drop(closed, closed)
	}
	C.redlock_drain(c.native, C.uint64_t(time.Second/time.Millisecond))
	C.redlock_close(c.native)
	C.free(unsafe.Pointer(c.event))
	c.native = nil
}
