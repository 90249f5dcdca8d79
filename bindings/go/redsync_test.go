//go:build redsync

// SPDX-License-Identifier: MIT

// The left column of README.md's table. Debian has no package of redsync: a module file that has redsync v4.11 or newer
// and redigo runs it, by `go test -tags redsync -modfile FILE -run TestRedsync`.
package redlock

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	pools "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/redigo"
	"github.com/gomodule/redigo/redis"
)

func byRedsync(t *testing.T, c *cluster) (seen []string) {
	ctx := context.Background()
	var list []pools.Pool
	for _, path := range c.sockets {
		path := path
		list = append(list, redigo.NewPool(&redis.Pool{Dial: func() (redis.Conn, error) { return redis.Dial("unix", path) }}))
	}
	rs := redsync.New(list...)
	mutex, rival := rs.NewMutex("nightly", redsync.WithExpiry(30*time.Second)), rs.NewMutex("nightly")
	note(&seen, mutex.LockContext(ctx) == nil, "held")

	var taken *redsync.ErrTaken
	err := rival.TryLock()
	note(&seen, errors.As(err, &taken) || errors.Is(err, redsync.ErrFailed), "busy") // v4.11 does not say that it is taken
	note(&seen, time.Until(mutex.Until()) > 20*time.Second, "valid")
	short, stop := context.WithTimeout(ctx, 300*time.Millisecond)
	defer stop()
	note(&seen, rival.LockContext(short) != nil, "no time")
	ok, err := mutex.Unlock()
	note(&seen, ok && err == nil, "released")

	note(&seen, mutex.LockContext(ctx) == nil, "in time")
	c.forget("nightly")
	ok, _ = mutex.Unlock()
	note(&seen, !ok, "ended")

	mutex = rs.NewMutex("nightly", redsync.WithExpiry(10*time.Second))
	must(t, mutex.Lock())
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-time.After(time.Second):
				_, _ = mutex.Extend()
			case <-done:
				return
			}
		}
	}()
	note(&seen, c.renews("nightly"), "renewed")
	close(done)
	<-ended
	_, err = mutex.Unlock()
	must(t, err)
	return seen
}

func TestRedsync(t *testing.T) {
	if seen := byRedsync(t, start(t, 3)); !reflect.DeepEqual(seen, wantSeen) {
		t.Errorf("seen: %v", seen)
	}
}
