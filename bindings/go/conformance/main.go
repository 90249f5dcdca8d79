// SPDX-License-Identifier: MIT

// The driver of tests/conformance for this module: docs/bindings.md has the protocol.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"redlock"
)

// claim is a lock of the scenario.
type claim struct {
	*redlock.Lock
	held     context.Context // of the last acquire that succeeded
	finished chan error      // of the acquire that `start` begins
	danger   chan struct{}   // has an element when the end of the validity was announced
}

var (
	background = context.Background()
	clients    = map[string]*redlock.Client{}
	claims     = map[string]*claim{}
)

// codes are all that the package has.
var codes = []redlock.Code{
	redlock.Busy, redlock.NoQuorum, redlock.Lost, redlock.Gone, redlock.Cancelled, redlock.Invalid, redlock.BadURL,
	redlock.Duplicate, redlock.State, redlock.Limit, redlock.NoMemory, redlock.System, redlock.Forked, redlock.NoTLS,
	redlock.Interrupted, redlock.BadConfig, redlock.Unrenewed,
}

func knownErrors() string {
	var names []string
	for _, code := range codes {
		names = append(names, code.Name())
	}
	return strings.Join(names, " ")
}

func decode(word string) string {
	if word == "%" {
		return ""
	}
	text, err := url.PathUnescape(word)
	if err != nil {
		panic(err)
	}
	return text
}

func encode(bytes []byte) string {
	return strings.NewReplacer("%", "%25", " ", "%20", "\x00", "%00").Replace(string(bytes))
}

// duration reads milliseconds.
func duration(word string) time.Duration {
	ms, err := strconv.Atoi(word)
	if err != nil {
		panic(err)
	}
	return time.Duration(ms) * time.Millisecond
}

func open(label string, words []string) error {
	config := redlock.Config{Options: map[string]string{}}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch {
		case strings.Contains(word, "://"):
			config.URLs = append(config.URLs, word)
		case name == "node-timeout":
			config.Options[name] = value + "ms"
		default:
			config.Options[name] = decode(value)
		}
	}
	client, err := redlock.Open(config)
	if err == nil {
		clients[label] = client
	}
	return err
}

func options(words []string) (o redlock.Options) {
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "ttl":
			o.TTL = duration(value)
		case "renew":
			o.Renew = duration(value)
		case "danger":
			o.Danger = duration(value)
		case "max-hold":
			o.MaxHold = duration(value)
		case "slots":
			o.Slots, _ = strconv.Atoi(value)
		case "token":
			o.Token = []byte(decode(value))
		case "shared":
			o.Shared = true
		case "fence":
			o.Fence = true
		case "reentrant":
			o.Reentrant = true
		default:
			panic("unknown option " + name)
		}
	}
	return o
}

func newLock(client, label, list string, words []string) error {
	names := strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
	for i, name := range names {
		names[i] = decode(name)
	}
	danger := make(chan struct{}, 1)
	opts := options(words)
	opts.OnDanger = func() { danger <- struct{}{} }
	lock, err := clients[client].NewLock(opts, names...)
	if err == nil {
		claims[label] = &claim{Lock: lock, held: background, finished: make(chan error, 1), danger: danger}
	}
	return err
}

// forget drops the notices of an earlier acquire.
func (c *claim) forget() {
	c.held = background
	select {
	case <-c.danger:
	default:
	}
}

// acquire waits so long, or without a limit.
func (c *claim) acquire(wait string) (err error) {
	var held context.Context
	c.forget()
	if wait == "forever" {
		held, err = c.Lock.Lock(background)
	} else {
		held, err = c.TryLockFor(background, duration(wait))
	}
	if err == nil {
		c.held = held
	}
	return err
}

// lost waits so long for the end of the holder's context.
func (c *claim) lost(wait time.Duration) bool {
	select {
	case <-c.held.Done():
	case <-time.After(wait):
	}
	return errors.Is(redlock.Cause(c.held), redlock.Lost)
}

// inDanger waits so long for the notice.
func (c *claim) inDanger(wait time.Duration) bool {
	select {
	case <-c.danger:
		return true
	case <-time.After(wait):
		return false
	}
}

func yes(is bool, err error) (string, error) {
	if is {
		return "yes", err
	}
	return "no", err
}

// number is -1 where no slot is held, and where no name was busy: the library says STATE.
func number(n int) (string, error) {
	if n < 0 {
		return "", &redlock.Error{Code: redlock.State, Text: redlock.State.Error()}
	}
	return strconv.Itoa(n), nil
}

func (c *claim) step(verb, argument string) (string, error) {
	switch verb {
	case "acquire":
		return "", c.acquire(argument)
	case "start":
		go func() { c.finished <- c.acquire(argument) }()
		return "", nil
	case "finish":
		return "", <-c.finished
	case "cancel":
		return "", c.Cancel()
	case "release":
		return "", c.Unlock()
	case "extend":
		return "", c.Extend(background, duration(argument))
	case "upgrade":
		return "", c.Upgrade(background)
	case "downgrade":
		return "", c.Downgrade(background)
	case "owned":
		return yes(c.Owned(background))
	case "lost":
		return yes(c.lost(duration(argument)), nil)
	case "danger":
		return yes(c.inDanger(duration(argument)), nil)
	case "remaining":
		return strconv.FormatInt(c.Remaining().Milliseconds(), 10), nil
	case "fence":
		return strconv.FormatUint(c.Fence(), 10), nil
	case "slot":
		return number(c.Slot())
	case "obstacle":
		return number(c.Obstacle())
	case "token":
		return encode(c.Token()), nil
	case "votes":
		var votes []string
		for _, vote := range c.Votes() {
			votes = append(votes, vote.Name)
		}
		return strings.Join(votes, " "), nil
	}
	panic("unknown step " + verb)
}

func run(words []string) (string, error) {
	switch words[0] {
	case "client":
		return "", open(words[1], words[2:])
	case "lock":
		return "", newLock(words[1], words[2], words[3], words[4:])
	case "close":
		return "", clients[words[1]].Close()
	case "errors":
		return knownErrors(), nil
	}
	return claims[words[1]].step(words[0], strings.Join(words[2:], " "))
}

func main() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		value, err := run(strings.Fields(lines.Text()))
		var failed *redlock.Error
		if errors.As(err, &failed) {
			fmt.Printf("error %s %s\n", failed.Code.Name(), failed.Text)
		} else {
			fmt.Println(strings.TrimSpace("ok " + value))
		}
	}
	for _, client := range clients {
		_ = client.Close() // State: closed by the scenario
	}
}
