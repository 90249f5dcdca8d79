// SPDX-License-Identifier: MIT

// The beginning and the table of README.md: a program for redsync sees the same with this package, by the words of the
// other column. ../readme compares our words with this file. redsync_test.go has the program for redsync.
package redlock

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

// wantSeen is what both programs see.
var wantSeen = []string{"held", "busy", "valid", "no time", "released", "in time", "ended", "renewed"}

func note(seen *[]string, is bool, word string) {
	if !is {
		word = "not " + word
	}
	*seen = append(*seen, word)
}

// renews waits until the key lasts longer than a moment before.
func (c *cluster) renews(key string) bool {
	last := 1 << 30
	for end := time.Now().Add(soon); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		left, err := strconv.Atoi(c.redis(0, "PTTL", key))
		if err != nil || left > last+100 {
			return err == nil
		}
		last = left
	}
	return false
}

func (c *cluster) forget(key string) {
	for node := range c.pids {
		c.redis(node, "DEL", key)
	}
}

// The right column.
func byRedlock(t *testing.T, c *cluster) (seen []string) {
	ctx, urls := context.Background(), c.urls()
	client, err := Open(Config{URLs: urls})
	must(t, err)
	defer client.Close()
	lock, err := client.NewLock(Options{TTL: 30 * time.Second}, "nightly")
	must(t, err)
	rival := client.lock(t, Options{}, "nightly")
	held, err := lock.Lock(ctx)
	note(&seen, err == nil && held.Err() == nil, "held")

	_, err = rival.TryLock(ctx)
	note(&seen, errors.Is(err, Busy), "busy")
	var failed *Error
	if !errors.As(err, &failed) || len(failed.Votes) != 3 || !strings.Contains(err.Error(), "held by") {
		t.Error(err)
	}
	note(&seen, lock.Remaining() > 20*time.Second, "valid")
	short, stop := context.WithTimeout(ctx, 300*time.Millisecond)
	defer stop()
	_, err = rival.Lock(short)
	note(&seen, err != nil, "no time")
	note(&seen, lock.Unlock() == nil, "released")

	held, err = lock.TryLockFor(ctx, 5*time.Second)
	note(&seen, err == nil && held.Err() == nil, "in time")
	c.forget("nightly")
	func() {
		err := lock.Unlock()
		note(&seen, errors.Is(err, Lost) || errors.Is(err, Gone), "ended")
	}()

	lock = client.lock(t, Options{TTL: 10 * time.Second, Renew: time.Second}, "nightly")
	func() {
		held, err := lock.TryLock(ctx)
		note(&seen, err == nil && c.renews("nightly") && held.Err() == nil, "renewed")
	}()
	must(t, lock.Unlock())
	return seen
}

// The first lines.
func beginning(ctx context.Context, urls []string, backup func(context.Context)) error {
	client, err := Open(Config{URLs: urls})
	lock, err := client.NewLock(Options{TTL: 30 * time.Second, Renew: 10 * time.Second}, "nightly")
	held, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	defer lock.Unlock()
	backup(held)
	return nil
}

func TestReadme(t *testing.T) {
	c := start(t, 3)
	held := false
	must(t, beginning(background, c.urls(), func(ctx context.Context) {
		held = ctx.Err() == nil && c.anywhere("nightly")
	}))
	if !held {
		t.Error("the lock was not held")
	}
	if seen := byRedlock(t, c); !reflect.DeepEqual(seen, wantSeen) {
		t.Errorf("seen: %v", seen)
	}
}
