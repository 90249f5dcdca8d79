// SPDX-License-Identifier: MIT

package redlock

import (
	"context"
	"sync/atomic"
)

// loss is a context that ends with a cause, as context.WithCancelCause makes one from Go 1.20 on.
type loss struct {
	context.Context
	parent context.Context
	cause  atomic.Pointer[error] // nil: the parent has ended first, or nothing has
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
		if inner.Err() == nil {
			c.cause.CompareAndSwap(nil, &cause)
		}
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
	if cause := c.cause.Load(); cause != nil {
		return *cause
	}
	if cause := Cause(c.parent); cause != nil {
		return cause
	}
	return ctx.Err()
}
