// SPDX-License-Identifier: MIT

package redlock

import (
	"context"
	"sync"
)

// loss is a context that ends with a cause, as context.WithCancelCause makes one from Go 1.20 on.
type loss struct {
	context.Context
	parent context.Context
	mu     sync.Mutex
	cause  error
}

type lossKey struct{}

func (c *loss) Value(key any) any {
	if key == (lossKey{}) {
		return c
	}
	return c.Context.Value(key)
}

func withLoss(parent context.Context) (context.Context, func(error)) {
	inner, cancel := context.WithCancel(parent)
	c := &loss{Context: inner, parent: parent}
	return c, func(cause error) {
		c.mu.Lock()
		if c.cause == nil && inner.Err() == nil {
			c.cause = cause
		}
		c.mu.Unlock()
		cancel()
	}
}

// Cause says why a context that Lock returned, or a child of it, has ended: Lost, context.Canceled after Unlock, or the
// error of the parent. nil: it has not ended.
func Cause(ctx context.Context) error {
	c, ok := ctx.Value(lossKey{}).(*loss)
	if !ok || ctx.Err() == nil {
		return ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return c.cause
	}
	if cause := Cause(c.parent); cause != nil {
		return cause
	}
	return ctx.Err()
}
