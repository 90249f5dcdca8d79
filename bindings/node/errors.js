// SPDX-License-Identifier: MIT
// Errors as JavaScript has them: a class for each thing that a program may do about one.
'use strict';
const native = require('./load.js');

/** A call failed. `message` says why, node by node. `code` is the name in redlock/results.h, `votes` has the answer of each node. */
class RedlockError extends Error {
	constructor(message, code = 'STATE', votes = []) {
		super(message);
		this.code = code;
		this.votes = votes;
	}
	get name() {
		return this.constructor.name;
	}
}

/** Somebody else holds the lock. */
class LockBusy extends RedlockError {}
/** Too few nodes answered to grant, extend or release the lock. */
class NoQuorum extends RedlockError {}
/** The lock had ended before it was released: the work may not have been protected. */
class LockLost extends RedlockError {}
/** cancel() or close() ended the call. */
class LockCancelled extends RedlockError {}
/** The lock is not held, is held already, is used by another call, or its client was closed. */
class LockStateError extends RedlockError {}
/** An option or a URL cannot be used; the message names it. */
class OptionError extends RedlockError {}

const CLASSES = {
	BUSY: LockBusy, NOQUORUM: NoQuorum, LOST: LockLost, GONE: LockLost, CANCELLED: LockCancelled,
	INVAL: OptionError, URL: OptionError, DUPLICATE: OptionError, STATE: LockStateError, LIMIT: LockStateError,
	NOMEM: RedlockError, SYSTEM: RedlockError, FORKED: LockStateError, TLS: OptionError, INTERRUPTED: RedlockError,
	CONFIG: OptionError, UNRENEWED: LockStateError,
};

/** The error for a number of redlock/results.h. */
function errorOf(code, message, votes) {
	const name = native.errorName(code);
	return new (CLASSES[name] ?? RedlockError)(message || native.errorText(code), name, votes);
}

/** Calls native code, which throws errors that have the name and the sentence. */
function expect(call) {
	try {
		return call();
	} catch (error) {
		throw error.code === undefined ? error : new (CLASSES[error.code] ?? RedlockError)(error.message, error.code);
	}
}

module.exports = { RedlockError, LockBusy, NoQuorum, LockLost, LockCancelled, LockStateError, OptionError, CLASSES, errorOf, expect };
