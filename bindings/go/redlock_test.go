// SPDX-License-Identifier: MIT

// Tests on real servers: a cluster of the redlock command (REDLOCK_BIN) in a directory of its own.
package redlock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const soon = 30 * time.Second // that a thing may take on a busy machine

var background = context.Background()

type cluster struct {
	t       *testing.T
	sockets []string
	pids    []int
}

func (c *cluster) command(words ...string) string {
	c.t.Helper()
	cmd := exec.Command(os.Getenv("REDLOCK_BIN"), words...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("redlock %v: %v: %s", words, err, out)
	}
	return string(out)
}

// start begins a cluster that ends with the test. REDLOCK_URLS of the command is the cluster's, too.
func start(t *testing.T, nodes int) *cluster {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "redlock-go.") // short: Unix sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", dir)
	c := &cluster{t: t}
	c.command("cluster", "start", "-q", "--nodes", strconv.Itoa(nodes))
	t.Cleanup(func() {
		for _, pid := range c.pids {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
		c.command("cluster", "stop", "-q")
		os.RemoveAll(dir)
	})
	for i := 1; i <= nodes; i++ {
		node := filepath.Join(dir, "redlock", "cluster", fmt.Sprintf("node-%d", i))
		text, err := os.ReadFile(filepath.Join(node, "redis.pid"))
		if err != nil {
			t.Fatal(err)
		}
		pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		c.sockets = append(c.sockets, filepath.Join(node, "redis.sock"))
		c.pids = append(c.pids, pid)
	}
	t.Setenv("REDLOCK_URLS", strings.Join(c.urls(), ","))
	return c
}

func (c *cluster) urls() (urls []string) {
	for _, path := range c.sockets {
		urls = append(urls, "unix://"+path)
	}
	return urls
}

func (c *cluster) signal(signal syscall.Signal, nodes ...int) {
	for _, node := range nodes {
		if err := syscall.Kill(c.pids[node], signal); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *cluster) redis(node int, words ...string) string {
	c.t.Helper()
	out, err := exec.Command("redis-cli", append([]string{"-s", c.sockets[node]}, words...)...).Output()
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func (c *cluster) anywhere(key string) bool {
	for node := range c.pids {
		if c.redis(node, "EXISTS", key) == "1" {
			return true
		}
	}
	return false
}

func (c *cluster) open() *Client {
	c.t.Helper()
	client, err := Open(Config{URLs: c.urls(), Options: map[string]string{"owner": "web-1", "node-timeout": "1s"}})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = client.Close() })
	return client
}

func (c *Client) lock(t *testing.T, options Options, names ...string) *Lock {
	t.Helper()
	if options.TTL == 0 {
		options.TTL = 10 * time.Second
	}
	lock, err := c.NewLock(options, names...)
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("the error is %v, not %v", err, want)
	}
}

func hold(t *testing.T, lock *Lock) context.Context {
	t.Helper()
	ctx, err := lock.TryLock(background)
	must(t, err)
	return ctx
}

func ends(t *testing.T, ctx context.Context, want error) {
	t.Helper()
	select {
	case <-ctx.Done():
	case <-time.After(soon):
		t.Fatal("the context does not end")
	}
	if cause := Cause(ctx); !errors.Is(cause, want) {
		t.Fatalf("the cause is %v, not %v", cause, want)
	}
}

func TestHoldAndRelease(t *testing.T) {
	c := start(t, 3)
	client := c.open()
	lock, rival := client.lock(t, Options{}, "job"), client.lock(t, Options{}, "job")
	ctx := hold(t, lock)
	if left := lock.Remaining(); left <= 0 || left > 10*time.Second {
		t.Fatalf("%v are left", left)
	}
	if got := c.redis(0, "GET", "job"); got != string(lock.Token()) || !strings.HasSuffix(got, "|web-1") {
		t.Fatalf("the key has %q, the lock %q", got, lock.Token())
	}
	_, err := rival.TryLock(background)
	expect(t, err, Busy)
	var failed *Error
	if !errors.As(err, &failed) || len(failed.Votes) != 3 || !strings.Contains(err.Error(), "held by web-1") {
		t.Fatalf("the error says %v, %v", err, failed.Votes)
	}
	owned, err := lock.Owned(background)
	if must(t, err); !owned {
		t.Fatal("the nodes do not have it")
	}
	must(t, lock.Extend(background, time.Minute))
	if left := lock.Remaining(); left < 30*time.Second {
		t.Fatalf("%v are left", left)
	}
	must(t, lock.Unlock())
	ends(t, ctx, context.Canceled)
	expect(t, lock.Unlock(), State)
	hold(t, rival)
}

func TestWaitsInTurn(t *testing.T) {
	client := start(t, 3).open()
	first, second := client.lock(t, Options{}, "job"), client.lock(t, Options{}, "job")
	hold(t, first)
	short, stop := context.WithTimeout(background, 50*time.Millisecond)
	defer stop()
	_, err := second.Lock(short)
	expect(t, err, context.DeadlineExceeded)
	expect(t, err, Cancelled)
	for _, wait := range []time.Duration{-time.Second, 50 * time.Millisecond} {
		_, err = second.TryLockFor(background, wait)
		expect(t, err, Busy)
	}
	granted := make(chan error)
	go func() {
		_, err := second.TryLockFor(background, soon)
		granted <- err
	}()
	time.Sleep(20 * time.Millisecond)
	must(t, first.Unlock())
	must(t, <-granted)
	must(t, second.Unlock())
}

func TestCancelAndClose(t *testing.T) {
	c := start(t, 3)
	client := c.open()
	hold(t, client.lock(t, Options{}, "job"))
	waits := func(lock *Lock, end func()) error {
		result := make(chan error)
		go func() {
			_, err := lock.Lock(background)
			result <- err
		}()
		for !c.anywhere("{job}:redlock:queue") {
			time.Sleep(time.Millisecond)
		}
		end()
		return <-result
	}
	waiter := client.lock(t, Options{}, "job")
	expect(t, waits(waiter, func() { must(t, waiter.Cancel()) }), Cancelled)
	err := waits(waiter, waiter.Close)
	expect(t, err, State)
	expect(t, err, Cancelled)
	_, err = waiter.Lock(background)
	expect(t, err, State)
	err = waits(client.lock(t, Options{}, "job"), func() { must(t, client.Close()) })
	expect(t, err, State)
	expect(t, err, Cancelled)
	expect(t, client.Close(), State)
	_, err = client.NewLock(Options{}, "job")
	expect(t, err, State)
	if c.anywhere("job") {
		t.Fatal("the lock was not released")
	}
}

// Calls run while their lock or their client is closed: each ends, by success or with State, and so does each context.
func TestCloseWhileCallsRun(t *testing.T) {
	c := start(t, 3)
	for round := 0; round < 10; round++ {
		client := c.open()
		locks := make([]*Lock, 8)
		for i := range locks {
			locks[i] = client.lock(t, Options{Shared: i < 4}, fmt.Sprint("job-", i/4))
		}
		var wait, started sync.WaitGroup
		for _, lock := range locks {
			wait.Add(1)
			started.Add(1)
			go func(lock *Lock) {
				defer wait.Done()
				for i, err := 0, error(nil); !errors.Is(err, State); i++ {
					var ctx context.Context
					if ctx, err = lock.Lock(background); err == nil {
						err = lock.Unlock()
						<-ctx.Done()
					}
					if i == 0 {
						started.Done()
					}
					if err != nil && !errors.Is(err, State) && !errors.Is(err, Cancelled) {
						t.Errorf("round %d: %v", i, err)
					}
				}
			}(lock)
			go func(lock *Lock) {
				for lock.Cancel() == nil {
					lock.Remaining()
					time.Sleep(time.Millisecond)
				}
			}(lock)
		}
		started.Wait()
		locks[0].Close()
		locks[4].Close()
		must(t, client.Close())
		wait.Wait()
		for _, lock := range locks {
			if lock.Remaining() != 0 || lock.Fence() != 0 || lock.Slot() != -1 || lock.Obstacle() != -1 || lock.Token() != nil ||
				lock.Votes() != nil {
				t.Fatal("a closed lock knows something")
			}
		}
	}
}

func TestLoss(t *testing.T) {
	c := start(t, 3)
	client := c.open()
	told := make(chan string, 2)
	lock := client.lock(t, Options{TTL: 2 * time.Second, Renew: 500 * time.Millisecond,
		OnLost: func() { told <- "lost" }, OnDanger: func() { told <- "danger" }}, "job")
	ctx := hold(t, lock)
	child, stop := context.WithCancel(ctx)
	defer stop()
	time.Sleep(3 * time.Second) // beyond the TTL
	must(t, Cause(ctx))
	c.signal(syscall.SIGSTOP, 0, 1)
	ends(t, child, Lost)
	if got := []string{<-told, <-told}; got[0] != "danger" || got[1] != "lost" {
		t.Fatalf("told: %v", got)
	}
	if lock.Remaining() != 0 {
		t.Fatal("it is valid")
	}
	expect(t, lock.Extend(background, 0), Lost)
	c.signal(syscall.SIGCONT, 0, 1)
	_ = lock.Unlock()
	for _, err := lock.Lock(background); err != nil; _, err = lock.Lock(background) {
		expect(t, err, NoQuorum) // until the nodes are connected again
	}
}

func TestNoQuorum(t *testing.T) {
	c := start(t, 3)
	client := c.open()
	c.signal(syscall.SIGSTOP, 1, 2)
	_, err := client.lock(t, Options{}, "job").TryLock(background)
	expect(t, err, NoQuorum)
	if !strings.Contains(err.Error(), "nodes 2, 3") {
		t.Fatal(err)
	}
}

func TestKinds(t *testing.T) {
	c := start(t, 3)
	client := c.open()
	both := client.lock(t, Options{}, "alice", "bob")
	hold(t, both)
	_, err := client.lock(t, Options{}, "bob").TryLock(background)
	expect(t, err, Busy)
	rival := client.lock(t, Options{}, "carol", "bob")
	_, err = rival.TryLock(background)
	if expect(t, err, Busy); rival.Obstacle() != 1 {
		t.Fatalf("name %d was busy", rival.Obstacle())
	}
	for slot := 0; slot < 2; slot++ {
		lock := client.lock(t, Options{Slots: 2}, "licences")
		if hold(t, lock); lock.Slot() != slot {
			t.Fatalf("slot %d", lock.Slot())
		}
	}
	_, err = client.lock(t, Options{Slots: 2}, "licences").TryLock(background)
	expect(t, err, Busy)
	one, two := client.lock(t, Options{Shared: true}, "table"), client.lock(t, Options{Shared: true}, "table")
	hold(t, one)
	hold(t, two)
	expect(t, one.Upgrade(background), Busy)
	must(t, two.Unlock())
	must(t, one.Upgrade(background))
	_, err = two.TryLock(background)
	expect(t, err, Busy)
	must(t, one.Downgrade(background))
	hold(t, two)
	again := client.lock(t, Options{Reentrant: true}, "nested")
	outer, inner := hold(t, again), hold(t, again)
	for i := 0; i < 100; i++ {
		must(t, again.Unlock())
		ends(t, inner, context.Canceled)
		must(t, Cause(outer))
		inner = hold(t, again)
	}
	if len(again.lose) != 2 {
		t.Fatalf("%d contexts", len(again.lose))
	}
	must(t, again.Unlock())
	must(t, Cause(outer))
	must(t, again.Unlock())
	ends(t, outer, context.Canceled)
	ends(t, inner, context.Canceled)
	own := client.lock(t, Options{Token: []byte("mine")}, "own")
	hold(t, own)
	have := 0 // a quorum at least: the third node may not have answered yet
	for node := 0; node < 3; node++ {
		if c.redis(node, "GET", "own") == "mine" {
			have++
		}
	}
	if have < 2 {
		t.Fatalf("%d nodes have the value", have)
	}
	must(t, own.Unlock())
}

func TestFence(t *testing.T) {
	c := start(t, 3)
	c.command("init", "--fresh", "--max-ttl", "30s")
	client := c.open()
	last := uint64(0)
	for i := 0; i < 3; i++ {
		lock := client.lock(t, Options{Fence: true}, "job")
		hold(t, lock)
		if lock.Fence() <= last {
			t.Fatalf("%d after %d", lock.Fence(), last)
		}
		last = lock.Fence()
		must(t, lock.Unlock())
	}
}

// A client in any language that uses SET NX PX, and a compare-and-delete.
func TestOthersOnTheSameKey(t *testing.T) {
	c := start(t, 1)
	client := c.open()
	lock := client.lock(t, Options{}, "job")
	if got := c.redis(0, "SET", "job", "theirs", "NX", "PX", "60000"); got != "OK" {
		t.Fatal(got)
	}
	_, err := lock.TryLock(background)
	expect(t, err, Busy)
	c.redis(0, "EVAL", `return redis.call("get", KEYS[1]) == ARGV[1] and redis.call("del", KEYS[1])`, "1", "job", "theirs")
	hold(t, lock)
	if got := c.redis(0, "SET", "job", "theirs", "NX", "PX", "60000"); got != "" {
		t.Fatal(got)
	}
}

// No two of many goroutines, on two clients, are inside at once.
func TestLocker(t *testing.T) {
	c := start(t, 3)
	inside, total := 0, 0
	var wait sync.WaitGroup
	for k := 0; k < 2; k++ {
		locker := c.open().lock(t, Options{}, "counter").Locker()
		for g := 0; g < 10; g++ {
			wait.Add(1)
			go func() {
				defer wait.Done()
				for i := 0; i < 10; i++ {
					locker.Lock()
					inside++
					if inside != 1 {
						t.Errorf("%d are inside", inside)
					}
					total++
					inside--
					locker.Unlock()
				}
			}()
		}
	}
	wait.Wait()
	if total != 200 {
		t.Fatalf("%d rounds", total)
	}
}

func TestErrorsOfOptions(t *testing.T) {
	for config, want := range map[*Config]struct {
		code Code
		word string
	}{
		{URLs: []string{"redis://a b"}}:                                                   {BadURL, "node 1"},
		{URLs: []string{"redis://a"}, Options: map[string]string{"tll": "3s"}}:            {Invalid, "tll"},
		{URLs: []string{"redis://a", "redis://a"}}:                                        {Duplicate, "redis://a"},
		{File: "/nonexistent/redlock.conf"}:                                               {BadConfig, "/nonexistent"},
		{URLs: []string{"redis://a"}, Options: map[string]string{"node-timeout": "-200"}}: {Invalid, "node-timeout"},
		{URLs: []string{"redis://a"}, Options: map[string]string{"prefix": "a\x00b"}}:     {Invalid, "range"},
	} {
		_, err := Open(*config)
		var failed *Error
		if !errors.As(err, &failed) || failed.Code != want.code || !strings.Contains(err.Error(), want.word) {
			t.Errorf("%v: %v", config, err)
		}
	}
	client := start(t, 1).open()
	_, err := client.NewLock(Options{TTL: time.Second, Renew: time.Minute}, "job")
	expect(t, err, Invalid)
	_, err = client.NewLock(Options{}, "{job}:redlock:queue")
	expect(t, err, Invalid)
	_, err = client.NewLock(Options{})
	expect(t, err, Invalid)
	for _, options := range []Options{{Slots: -1}, {Slots: 1 << 32}, {Slots: 65}, {TTL: -1}, {Renew: -1}} {
		_, err = client.NewLock(options, "job")
		expect(t, err, Invalid)
	}
	_, err = client.NewLock(Options{}, make([]string, 65)...)
	expect(t, err, Invalid)
}

func residentKiB(t *testing.T) int {
	debug.FreeOSMemory()
	numbers, err := os.ReadFile("/proc/self/statm")
	must(t, err)
	pages, err := strconv.Atoi(strings.Fields(string(numbers))[1])
	must(t, err)
	return pages * os.Getpagesize() / 1024
}

// Nothing grows, and nothing is left: goroutines, descriptors, memory of locks. REDLOCK_SOAK rounds, else 500.
func TestSoak(t *testing.T) {
	rounds, _ := strconv.Atoi(os.Getenv("REDLOCK_SOAK"))
	if rounds == 0 {
		rounds = 500
	}
	c := start(t, 3)
	descriptors := func() int {
		names, _ := os.ReadDir("/proc/self/fd")
		return len(names)
	}
	client, err := Open(Config{}) // by REDLOCK_URLS
	must(t, err)
	must(t, client.Close())
	goroutines, open := runtime.NumGoroutine(), descriptors()
	client, err = Open(Config{URLs: c.urls(), Options: map[string]string{"node-timeout": "20s"}})
	must(t, err)
	const warm = 500
	before := 0
	for i := 0; i < warm+rounds; i++ {
		if i == warm {
			before = residentKiB(t)
		}
		lock := client.lock(t, Options{TTL: time.Minute}, fmt.Sprint("job-", i%10))
		hold(t, lock)
		must(t, lock.Unlock())
		lock.Close()
	}
	if len(client.locks) != 0 {
		t.Fatalf("%d locks are left", len(client.locks))
	}
	if growth := residentKiB(t) - before; growth > 16<<10 { // the collector's heap breathes
		t.Fatalf("%d locks left %d KiB", rounds, growth)
	}
	must(t, client.Close())
	for end := time.Now().Add(soon); runtime.NumGoroutine() > goroutines || descriptors() > open; {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d descriptors; before %d, %d", runtime.NumGoroutine(), descriptors(), goroutines, open)
		}
		time.Sleep(time.Millisecond)
	}
}
