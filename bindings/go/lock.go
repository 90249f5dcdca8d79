// SPDX-License-Identifier: MIT

package redlock

/*
#include <redlock/redlock.h>

// The names follow each other in bytes, and have these sizes.
static int rlgo_lock(redlock_client *client, const char *bytes, const size_t *sizes, size_t count, const char *words,
	const void *token, size_t token_size, uintptr_t user, redlock_lock **lock)
{
	struct redlock_name names[REDLOCK_MAX_NAMES + 1];
	for (size_t i = 0; i < count && i <= REDLOCK_MAX_NAMES; i++) {
		names[i] = (struct redlock_name){bytes, sizes[i]};
		bytes += sizes[i];
	}
	return redlock_lock_new_words(client, names, count, words, token_size > 0 ? token : NULL, token_size, (void *)user, lock);
}
*/
import "C"

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// Options of a lock. A field that is zero has the value of the client's configuration, or the library's default.
type Options struct {
	TTL       time.Duration // how long a lock lasts that is not extended
	Renew     time.Duration // extends it in the background, this long after each grant
	Danger    time.Duration // calls OnDanger this long before the validity ends
	MaxHold   time.Duration // no extension goes beyond this
	Shared    bool          // any number of shared holders, or one that is exclusive
	Slots     int           // so many holders, each with a number
	Fence     bool          // each holder has a higher number than those before: Lock.Fence (guarded sets)
	Reentrant bool          // Lock on a lock that is held counts up
	Token     []byte        // a value of the caller's own: tokens.h says what it must be
	OnLost    func()        // called in a goroutine of its own when the lock is lost
	OnDanger  func()
}

// Lock is one claimant of a name, or of several. One goroutine at a time uses it, but for Remaining and Cancel, which
// any goroutine may call. Goroutines that share a lock use Locker.
type Lock struct {
	client *Client
	native *C.redlock_lock
	number uintptr
	opts   Options
	result chan C.int    // of the operation that runs; nil: none does
	lose   []func(error) // end the contexts of the holder: one for each Lock of a re-entrant lock
	ended  *Error        // why the lock was closed; nil: it was not
}

func milliseconds(d time.Duration) C.uint64_t {
	if d < 0 || d == math.MaxInt64 {
		return C.uint64_t(C.REDLOCK_FOREVER)
	}
	return C.uint64_t((d + time.Millisecond - 1) / time.Millisecond)
}

// words are the options that are set, as redlock_config(3) has them.
func (o *Options) words() map[string]string {
	words := map[string]string{}
	add := func(isSet bool, name, value string) {
		if isSet {
			words[name] = value
		}
	}
	for name, d := range map[string]time.Duration{"ttl": o.TTL, "renew": o.Renew, "danger": o.Danger, "max-hold": o.MaxHold} {
		add(d != 0, name, fmt.Sprintf("%dms", milliseconds(d)))
	}
	add(o.Shared, "mode", "shared")
	add(o.Slots != 0, "slots", strconv.Itoa(o.Slots))
	add(o.Fence, "fence", "yes")
	add(o.Reentrant, "reentrant", "yes")
	return words
}

// NewLock makes a lock of a name, or of several names that are held all or none. Nothing is sent. Close it when it is
// no longer needed; the client's Close does so, too.
func (c *Client) NewLock(options Options, names ...string) (*Lock, error) {
	defer c.enter()()
	if c.native == nil || c.ready == nil {
		return nil, newError(C.REDLOCK_E_STATE, "the client was closed")
	}
	c.last++
	lock := &Lock{client: c, number: c.last, opts: options}
	if code := lock.make(names); code < 0 {
		var why sentence
		C.redlock_client_last_error(c.native, &why[0], textSize)
		return nil, newError(code, why.String())
	}
	c.locks[lock.number] = lock
	return lock, nil
}

func (l *Lock) make(names []string) C.int {
	list, _ := words(l.opts.words())
	sizes := make([]C.size_t, len(names)+1)
	for i, name := range names {
		sizes[i] = C.size_t(len(name))
	}
	return C.rlgo_lock(l.client.native, text(strings.Join(names, "")), &sizes[0], C.size_t(len(names)), list,
		unsafe.Pointer(text(string(l.opts.Token))), C.size_t(len(l.opts.Token)), C.uintptr_t(l.number), &l.native)
}

// ---- events ----

// hear takes an event of this lock; the client is locked.
func (l *Lock) hear(event *C.struct_rlgo_event) {
	switch event.kind {
	case C.REDLOCK_EVENT_DONE:
		l.finish(event.result)
	case C.REDLOCK_EVENT_LOST:
		l.let(0, Lost)
		if l.opts.OnLost != nil {
			go l.opts.OnLost()
		}
	case C.REDLOCK_EVENT_DANGER:
		if l.opts.OnDanger != nil {
			go l.opts.OnDanger()
		}
	}
}

// finish tells the call that runs its result; the client is locked.
func (l *Lock) finish(code C.int) {
	if l.result != nil {
		l.result <- code
		l.result = nil
	}
}

// let ends the contexts of the holder from number `first` on, inner ones first; the client is locked.
func (l *Lock) let(first int, cause error) {
	for i := len(l.lose) - 1; i >= first; i-- {
		l.lose[i](cause)
		l.lose = l.lose[:i]
	}
}

// drop ends the lock and cancels its operation; the client is locked.
func (l *Lock) drop(cause error, ended *Error) {
	l.ended = ended
	l.let(0, cause)
	l.finish(C.REDLOCK_E_CANCELLED)
	C.redlock_lock_free(l.native)
	l.native = nil
	delete(l.client.locks, l.number)
}

func (l *Lock) start(operation uint32, ms C.uint64_t) (chan C.int, C.int) {
	defer l.client.enter()()
	if l.native == nil || l.result != nil {
		return nil, C.REDLOCK_E_STATE
	}
	code := C.redlock_start(l.native, operation, ms)
	if code == 0 {
		l.result = make(chan C.int, 1)
	}
	return l.result, code
}

// run starts an operation and waits for its result. When ctx ends, the operation is cancelled; its result is awaited
// even so, as it may have succeeded meanwhile.
func (l *Lock) run(ctx context.Context, operation uint32, ms C.uint64_t) C.int {
	result, code := l.start(operation, ms)
	if code < 0 {
		return code
	}
	code, ended := l.client.await(ctx, result)
	if !ended {
		_ = l.Cancel()
		code, _ = l.client.await(context.Background(), result)
	}
	return code
}

// fail makes the error of a call that ended with this code.
func (l *Lock) fail(ctx context.Context, code C.int) error {
	if code >= 0 {
		return nil
	}
	defer l.client.enter()()
	if l.native == nil {
		return &Error{Code: Code(code), Text: l.ended.Text, cause: l.ended}
	}
	var why sentence
	C.redlock_last_error(l.native, &why[0], textSize)
	err := newError(code, why.String())
	if err.Text == "success" {
		err.Text = err.Code.Error()
	}
	err.Votes = l.votes()
	if ctx != nil && ctx.Err() != nil && code == C.REDLOCK_E_CANCELLED {
		err.cause = ctx.Err()
		err.Text = ctx.Err().Error() + ": " + err.Text
	}
	return err
}

// ---- operations ----

// Lock acquires the lock. It waits in order of arrival until ctx ends; the error then wraps ctx.Err(). The context that
// it returns is a child of ctx, and ends when the lock is lost or unlocked: Cause tells which. Whenever the error is
// nil, the lock must be unlocked, also if ctx has ended at the moment of the grant.
func (l *Lock) Lock(ctx context.Context) (context.Context, error) { return l.acquire(ctx, -1) }

// TryLock acquires the lock if it is free; else the error is Busy, and its text names the holder.
func (l *Lock) TryLock(ctx context.Context) (context.Context, error) { return l.acquire(ctx, 0) }

// TryLockFor waits in order of arrival, so long at most. The error is then Busy if the lock is held, and NoQuorum if that
// is not known. Only the wait has this limit: a deadline of ctx ends the work of the holder as well.
func (l *Lock) TryLockFor(ctx context.Context, wait time.Duration) (context.Context, error) {
	if wait < 0 {
		wait = 0
	}
	return l.acquire(ctx, wait)
}

func (l *Lock) acquire(ctx context.Context, wait time.Duration) (context.Context, error) {
	if ctx.Err() != nil {
		return nil, &Error{Code: Cancelled, Text: ctx.Err().Error(), cause: ctx.Err()}
	}
	code := l.run(ctx, C.REDLOCK_OP_ACQUIRE, milliseconds(wait))
	if code < 0 {
		return nil, l.fail(ctx, code)
	}
	held, lose := withLoss(ctx)
	defer l.client.enter()()
	switch {
	case l.native == nil: // closed meanwhile
		lose(l.ended)
	case C.redlock_remaining_ms(l.native) == 0: // its event may have come before the context was made
		lose(Lost)
	default:
		l.lose = append(l.lose, lose)
	}
	return held, nil
}

// Unlock releases the lock; whatever it returns, the lock is not held afterwards. Lost or Gone: it had ended before.
// It waits for a quorum of nodes, one node timeout at most.
func (l *Lock) Unlock() error {
	code := l.run(context.Background(), C.REDLOCK_OP_RELEASE, 0)
	l.client.mu.Lock()
	switch {
	case l.native == nil || C.redlock_remaining_ms(l.native) == 0:
		l.let(0, context.Canceled)
	case code == 0 && len(l.lose) > 0: // re-entrant: this was an inner one
		l.let(len(l.lose)-1, context.Canceled)
	}
	l.client.mu.Unlock()
	return l.fail(nil, code)
}

// Extend extends the lock; it never shortens it. 0: by its TTL.
func (l *Lock) Extend(ctx context.Context, ttl time.Duration) error {
	return l.fail(ctx, l.run(ctx, C.REDLOCK_OP_EXTEND, milliseconds(ttl)))
}

// Upgrade makes a shared lock exclusive. Busy: there are other holders, and it is shared as before.
func (l *Lock) Upgrade(ctx context.Context) error {
	return l.fail(ctx, l.run(ctx, C.REDLOCK_OP_UPGRADE, 0))
}

// Downgrade makes it shared again, without a moment in which it is not held.
func (l *Lock) Downgrade(ctx context.Context) error {
	return l.fail(ctx, l.run(ctx, C.REDLOCK_OP_DOWNGRADE, 0))
}

// Owned asks the nodes whether a quorum of them has the key with this lock's token.
func (l *Lock) Owned(ctx context.Context) (bool, error) {
	code := l.run(ctx, C.REDLOCK_OP_QUERY, 0)
	if code == C.REDLOCK_E_GONE {
		return false, nil
	}
	return code == 0, l.fail(ctx, code)
}

// Cancel ends a call of this lock that waits, with Cancelled. Any goroutine.
func (l *Lock) Cancel() error {
	l.client.mu.Lock()
	code := C.int(C.REDLOCK_E_STATE)
	if l.native != nil {
		code = C.redlock_cancel(l.native)
	}
	l.client.mu.Unlock()
	l.client.drive()
	return l.fail(nil, code)
}

// Close releases the lock without waiting, and frees it. A call that runs ends with Cancelled, which wraps State.
func (l *Lock) Close() {
	l.client.mu.Lock()
	if l.native != nil {
		l.drop(context.Canceled, newError(C.REDLOCK_E_STATE, "the lock was closed"))
	}
	l.client.mu.Unlock()
	l.client.drive()
}

// ---- what is known ----

// Remaining is how long the lock may be relied on, by the clock; 0: not held, or lost. Any goroutine.
func (l *Lock) Remaining() time.Duration {
	defer l.client.enter()()
	return time.Duration(C.redlock_remaining_ms(l.native)) * time.Millisecond
}

// Fence is the fencing token of the current or last acquisition; 0: none.
func (l *Lock) Fence() uint64 {
	defer l.client.enter()()
	return uint64(C.redlock_lock_fence(l.native))
}

// Slot is the number of the slot that is held, from 0; -1: none is.
func (l *Lock) Slot() int {
	return l.unsigned(func(to *C.uint) C.int { return C.redlock_lock_slot(l.native, to) })
}

// Obstacle is the index of the name that was busy, of several; -1: no node named one.
func (l *Lock) Obstacle() int {
	return l.unsigned(func(to *C.uint) C.int { return C.redlock_lock_obstacle(l.native, to) })
}

func (l *Lock) unsigned(get func(*C.uint) C.int) int {
	defer l.client.enter()()
	var number C.uint
	if get(&number) < 0 {
		return -1
	}
	return int(number)
}

// Token is the value of the key: of the current or last acquisition.
func (l *Lock) Token() []byte {
	defer l.client.enter()()
	var buffer [C.REDLOCK_MAX_TOKEN + 1]byte
	var size C.size_t
	if C.redlock_lock_token(l.native, unsafe.Pointer(&buffer[0]), C.size_t(len(buffer)), &size) < 0 {
		return nil
	}
	return append([]byte(nil), buffer[:size]...)
}

// Votes are the answers of the nodes in the last operation.
func (l *Lock) Votes() []Vote {
	defer l.client.enter()()
	return l.votes()
}

func (l *Lock) votes() (votes []Vote) {
	vote := C.struct_redlock_vote{size: C.sizeof_struct_redlock_vote}
	for i := C.uint(0); C.redlock_lock_vote(l.native, i, &vote) == 0; i++ {
		votes = append(votes, Vote{
			Node:  int(i),
			Name:  C.GoString(C.redlock_vote_name(vote.code)),
			Text:  C.GoString(C.redlock_vote_text(vote.code)),
			Fatal: C.redlock_vote_kind(vote.code) == C.REDLOCK_KIND_FATAL,
			Trip:  time.Duration(vote.rtt_ns),
		})
	}
	return votes
}

// ---- sync.Locker ----

type locker struct {
	mu   sync.Mutex
	lock *Lock
}

// Locker makes the lock a sync.Locker that goroutines may share. Its Lock waits without a limit. As that type has no
// errors, both panic where Lock and Unlock return one: a program that must go on uses those.
func (l *Lock) Locker() sync.Locker { return &locker{lock: l} }

func (k *locker) Lock() {
	k.mu.Lock()
	if _, err := k.lock.Lock(context.Background()); err != nil {
		k.mu.Unlock()
		panic(err)
	}
}

func (k *locker) Unlock() {
	defer k.mu.Unlock()
	if err := k.lock.Unlock(); err != nil {
		panic(err)
	}
}
