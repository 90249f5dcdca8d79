// SPDX-License-Identifier: MIT

package redlock

// #include <redlock/redlock.h>
import "C"

import "time"

// Code is an error of the library. Errors of this package wrap one: errors.Is(err, redlock.Busy).
type Code int

// The codes, as redlock/results.h explains them.
const (
	Busy      Code = C.REDLOCK_E_BUSY      // somebody else holds the lock, or the votes were split
	NoQuorum  Code = C.REDLOCK_E_NOQUORUM  // too few nodes gave a definite answer
	Lost      Code = C.REDLOCK_E_LOST      // the validity has ended, or a quorum no longer has the lock
	Gone      Code = C.REDLOCK_E_GONE      // the lock had ended before it was released or asked for
	Cancelled Code = C.REDLOCK_E_CANCELLED // by Lock.Cancel
	Invalid   Code = C.REDLOCK_E_INVAL     // an option is out of its range
	BadURL    Code = C.REDLOCK_E_URL       // a URL of a node cannot be used
	Duplicate Code = C.REDLOCK_E_DUPLICATE // two of the nodes are one server
	State     Code = C.REDLOCK_E_STATE     // not held, held already, used by another goroutine, or closed
	Limit     Code = C.REDLOCK_E_LIMIT     // the cap on extending is reached
	NoMemory  Code = C.REDLOCK_E_NOMEM
	System    Code = C.REDLOCK_E_SYSTEM // a descriptor, a timer, a thread or random bytes
	Forked    Code = C.REDLOCK_E_FORKED // the client belongs to the parent process
	NoTLS     Code = C.REDLOCK_E_TLS
	BadConfig Code = C.REDLOCK_E_CONFIG // a file, a line of it, or a variable
	// These two end no call of this package: Go takes signals itself, and each client renews.
	Interrupted Code = C.REDLOCK_E_INTERRUPTED
	Unrenewed   Code = C.REDLOCK_E_UNRENEWED
)

// Name is the name of the code in redlock/results.h: "BUSY".
func (c Code) Name() string { return C.GoString(C.redlock_error_name(C.int(c))) }

// Error is the library's sentence for the code.
func (c Code) Error() string { return C.GoString(C.redlock_strerror(C.int(c))) }

// Error is a call that failed. Its text says why, node by node.
type Error struct {
	Code  Code
	Text  string
	Votes []Vote // the answer of each node, if the call asked any
	cause error  // that of the context that ended the call, or nil
}

func (e *Error) Error() string { return "redlock: " + e.Text }

// Is reports whether target is the code of the error.
func (e *Error) Is(target error) bool { return target == error(e.Code) }

// Unwrap returns the error of the context that ended the call, or nil.
func (e *Error) Unwrap() error { return e.cause }

// Vote is the answer of a node in the last operation of a lock.
type Vote struct {
	Node  int           // from 0, in the order of the URLs
	Name  string        // "YES", "NO", "TIMEOUT" ...
	Text  string        // "no answer in time"
	Fatal bool          // an operator is needed
	Trip  time.Duration // from the start of the operation to the answer; 0: none yet
}

func newError(code C.int, text string) *Error {
	if text == "" {
		text = Code(code).Error()
	}
	return &Error{Code: Code(code), Text: text}
}
