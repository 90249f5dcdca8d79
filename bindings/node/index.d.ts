// SPDX-License-Identifier: MIT
/// <reference types="node" />
// Locks over independent Redis or Valkey servers: libredlock for Node.js. All times are milliseconds.
import { EventEmitter } from 'node:events';

/** The version of the library that is loaded. */
export const version: string;

/** A name, or a value of the caller's own: text, or any bytes. */
export type Bytes = string | Uint8Array;

/** Options of a lock. Not set: those of the client, else of the configuration, else the defaults of the library. */
export interface LockOptions {
	/** How long a grant lasts. */
	ttl?: number;
	/** How long to wait while somebody else holds the lock, in a queue, in order of arrival; Infinity, the default: without a
	 * limit. */
	wait?: number;
	/** Ends a wait: the promise rejects with the reason of the signal, and nothing is held. */
	signal?: AbortSignal;
	/** Extends the lock in the background, so long after each grant; 0: never. */
	renew?: number;
	/** The client emits "danger" so long before the validity ends. */
	danger?: number;
	/** The longest time from the acquire to the end of the last extend. */
	maxHold?: number;
	maxExtends?: number;
	/** Accept a grant only if more than this is left. */
	minValidity?: number;
	/** So many holders at a time, each of which has a slot. */
	slots?: number;
	/** Any number of holders that share, or one that does not. */
	shared?: boolean;
	/** Lock.fence rises with each acquisition (guarded sets). */
	fence?: boolean;
	/** acquire() counts up and release() counts down. */
	reentrant?: boolean;
	/** A value of the caller's own instead of a random token. */
	token?: Bytes;
	compat?: 'off' | 'setnx' | 'setnx-safe';
	/** A lock that is released may stay with the client for so long after its grant. */
	sticky?: number;
	noquorumWait?: number;
	quarantineWait?: number;
}

/** Settings that npm redlock 5 has. How long acquire() waits is retryCount * retryDelay, -1: without a limit. retryJitter and
 * driftFactor are accepted and have no meaning. using() renews automaticExtensionThreshold ms before the end of the TTL. */
export interface Settings {
	retryCount?: number;
	retryDelay?: number;
	retryJitter?: number;
	driftFactor?: number;
	automaticExtensionThreshold?: number;
}

/** Options of a client, and defaults of its locks; further ones are those of redlock_config(3): `nodeTimeout` for node-timeout. */
export interface ClientOptions extends Omit<LockOptions, 'wait' | 'signal' | 'token'>, Settings {
	urls?: Iterable<string>;
	/** A section of the configuration of the redlock command; it is used if there are no URLs. */
	cluster?: string;
	/** The only configuration file to read. */
	file?: string;
	nodeTimeout?: number;
	prefix?: string;
	owner?: string;
	user?: string;
	password?: string;
	quorum?: number;
	guard?: 'off' | 'auto' | 'require';
	[option: string]: unknown;
}

/** The answer of one node in the last operation of a lock. */
export interface Vote {
	/** From 0, in the order of the URLs. */
	node: number;
	/** "YES", "NO", "TIMEOUT" ... */
	name: string;
	/** "no answer in time" */
	text: string;
	/** 0 pending, 1 yes, 2 no, 3 missing, 4 fatal: it needs an operator. */
	kind: 0 | 1 | 2 | 3 | 4;
	/** From the start of the operation to the answer; 0: none yet. */
	rtt: number;
}

/** A call failed. The message says why, node by node. */
export class RedlockError extends Error {
	constructor(message: string, code?: string, votes?: Vote[]);
	/** The name in redlock/results.h: "BUSY", "NOQUORUM", "LOST" ... */
	readonly code: string;
	readonly votes: Vote[];
}
/** Somebody else holds the lock. */
export class LockBusy extends RedlockError {}
/** Too few nodes answered to grant, extend or release the lock. */
export class NoQuorum extends RedlockError {}
/** The lock had ended before it was released: the work may not have been protected. */
export class LockLost extends RedlockError {}
/** cancel() or close() ended the call. */
export class LockCancelled extends RedlockError {}
/** The lock is not held, is held already, is used by another call, or its client was closed. */
export class LockStateError extends RedlockError {}
/** An option or a URL cannot be used; the message names it. */
export class OptionError extends RedlockError {}
/** The names that npm redlock 5 has. */
export { RedlockError as ExecutionError, LockBusy as ResourceLockedError };

/** As an AbortSignal of npm redlock 5: `error` is the reason. */
export type RedlockAbortSignal = AbortSignal & { error?: Error };

/** One claimant of a name, or of several. One operation runs at a time. */
export class Lock {
	private constructor();
	readonly resources: Bytes[];
	/** Acquires the lock. Rejects with LockBusy, NoQuorum, LockCancelled, LockStateError, or the reason of the signal. */
	acquire(options?: { wait?: number; signal?: AbortSignal }): Promise<this>;
	/** Releases the lock; whatever happens, it is not held any more. Rejects with LockLost if the keys were gone, and NoQuorum if
	 * too few nodes answered to know that: its keys may stay until their TTL. */
	release(): Promise<void>;
	/** The end of `await using`: release(), and LockLost also if the validity had ended. */
	end(): Promise<void>;
	/** A new TTL from now on; 0: the one of the lock. Never shortens. Rejects with LockLost, NoQuorum. */
	extend(ttl?: number): Promise<this>;
	/** Asks the nodes whether a quorum of them has the key with this token. Rejects with NoQuorum. */
	owned(): Promise<boolean>;
	/** Makes a shared lock exclusive. False: there are other holders, and it is shared as before. */
	upgrade(): Promise<boolean>;
	/** Makes it shared again, without a moment in which it is not held. */
	downgrade(): Promise<void>;
	/** Ends an operation that waits, with LockCancelled. */
	cancel(): void;
	/** Throws LockLost if the lock is not valid any more: before a step that must not be late. */
	check(): void;
	/** How long the lock may be relied on, by the clock; 0: not held, or lost. */
	readonly remaining: number;
	/** The same as a point in time, as Date.now() has it; 0: not held, or lost. */
	readonly expiration: number;
	/** Aborted when the lock is lost, with LockLost as its reason. One signal for each acquisition. */
	readonly signal: RedlockAbortSignal;
	/** The value of the key, of the current or last acquisition; empty: none. */
	readonly token: Buffer;
	/** The same as text. */
	readonly value: string;
	/** The fencing token of the current or last acquisition; 0: none. */
	readonly fence: number;
	/** The slot that is held, from 0. Throws LockStateError if none is. */
	readonly slot: number;
	/** Of several names, the index of the one that was busy. Throws LockStateError if no node named one. */
	readonly obstacle: number;
	/** The answer of each node in the last operation. */
	readonly votes: Vote[];
	[Symbol.asyncDispose](): Promise<void>;
}

/** Connections to the nodes, in the event loop of this thread. Emits "lost" and "danger" with the lock. */
export class Client extends EventEmitter {
	/** Opens without waiting for connections. Without URLs the configuration of the redlock command names the nodes. Throws
	 * OptionError, which names the node, the option or the line. */
	constructor(urls?: string | Iterable<string>, options?: ClientOptions);
	constructor(options: ClientOptions);
	/** Acquires a lock. A list of names is one lock of all of them or none; of one name, the lock of that name. */
	lock(name: Bytes | Bytes[], options?: LockOptions): Promise<Lock>;
	/** The same without waiting; null: somebody else holds it. */
	tryLock(name: Bytes | Bytes[], options?: LockOptions): Promise<Lock | null>;
	/** A lock that is not acquired yet. Nothing is sent. */
	handle(name: Bytes | Bytes[], options?: LockOptions): Lock;
	/** As npm redlock 5: a lock of all these names. */
	acquire(resources: string[], ttl: number, settings?: Settings & LockOptions): Promise<Lock>;
	/** Runs the routine under a lock that is renewed, and releases it. The signal is aborted when the lock is lost; then the promise
	 * rejects with LockLost, unless the routine threw an error. */
	using<T>(resources: string[], ttl: number, routine: (signal: RedlockAbortSignal, lock: Lock) => Promise<T>): Promise<T>;
	using<T>(resources: string[], ttl: number, settings: Settings & LockOptions,
		routine: (signal: RedlockAbortSignal, lock: Lock) => Promise<T>): Promise<T>;
	release(lock: Lock): Promise<void>;
	extend(lock: Lock, ttl: number): Promise<Lock>;
	/** Waits until no release is owed to any node. Resolves to how many are: their keys may stay until their TTL. */
	drain(timeout?: number): Promise<number>;
	/** Ends all operations, releases the locks, waits for owed releases, and closes. */
	close(timeout?: number): Promise<void>;
	/** As npm redlock 5: close(). */
	quit(): Promise<void>;
	readonly closed: boolean;
	[Symbol.asyncDispose](): Promise<void>;
}
export { Client as Redlock };
export default Client;
