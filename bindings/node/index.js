// SPDX-License-Identifier: MIT
// libredlock for Node.js: clients. The C library decides everything about locks; it has one descriptor in the event loop.
'use strict';
const { EventEmitter } = require('node:events');
const native = require('./load.js');
const { CLASSES, errorOf, expect, ...errors } = require('./errors.js');
const { LockBusy, LockStateError, RedlockError } = errors;
const { Lock } = require('./lock.js');
const { constant, text, words } = require('./options.js');

const OURS = new Set(['urls', 'cluster', 'file']);
// Settings of npm redlock 5, and its defaults. redlock waits in a queue: only how long is taken from them.
const SETTINGS = { retryCount: 10, retryDelay: 200, retryJitter: undefined, driftFactor: undefined,
	automaticExtensionThreshold: undefined };
const DONE = constant('EVENT_DONE');
const EVENTS = 64, FIELDS = 4; // as native.c has them
const EXIT_MS = 1000; // how long the end of the process waits for releases
const open = new Set();

class Client extends EventEmitter {
	#link;
	#last = 0;
	#locks = new Map(); // those that are held, or wait for an event
	#events = new Float64Array(EVENTS * FIELDS);
	#planned = false;
	#running = 0; // operations without an event, and using(): only they keep the process alive
	#turned = [];
	#settings = { ...SETTINGS };

	constructor(urls, options = {}) {
		super();
		if (urls !== undefined && typeof urls !== 'string' && typeof urls[Symbol.iterator] !== 'function')
			[urls, options] = [urls.urls, urls];
		const ours = new Set(OURS);
		for (const name of Object.keys(SETTINGS)) {
			ours.add(name);
			this.#settings[name] = options[name] ?? SETTINGS[name];
		}
		const url = urls === undefined ? undefined : typeof urls === 'string' ? urls : Array.from(urls).join(',');
		const [cluster, file] = [options.cluster, options.file].map((name) => text(name ?? ''));
		this.#link = expect(() => native.open(words({ url, ...options }, ours), cluster, file, this.#events,
			(count) => this.#hear(count)));
		open.add(this);
	}

	handle(name, options = {}) {
		if (this.closed)
			throw new LockStateError('the client was closed');
		const id = ++this.#last;
		return new Lock(this, this.#link, id, name, options);
	}

	async lock(name, options = {}) {
		return this.handle(name, options).acquire();
	}

	async tryLock(name, options = {}) {
		try {
			return await this.lock(name, { ...options, wait: 0 });
		} catch (error) {
			if (error instanceof LockBusy)
				return null;
			throw error;
		}
	}

	// ---- As npm redlock 5 ----

	async acquire(resources, ttl, settings = {}) {
		const { retryCount, retryDelay, retryJitter, driftFactor, automaticExtensionThreshold, ...options } =
			{ ...this.#settings, ...settings };
		const wait = retryCount < 0 ? Infinity : retryCount * retryDelay;
		return this.lock(resources, { ttl, wait, ...options });
	}

	async using(resources, ttl, settings, routine = settings) {
		const { automaticExtensionThreshold: early, ...options } = { ...this.#settings, ...(routine === settings ? {} : settings) };
		const renew = early === undefined ? Math.floor(ttl / 3) : ttl - early;
		const lock = await this.acquire(resources, ttl, { renew, ...options });
		let result;
		this.#runs(1);
		try {
			result = await routine(lock.signal, lock);
		} catch (error) {
			await lock.release().catch(() => {}); // the error of the routine is not replaced
			throw error;
		} finally {
			this.#runs(-1);
		}
		await lock.end();
		return result;
	}

	release(lock) {
		return lock.release();
	}

	extend(lock, ttl) {
		return lock.extend(ttl);
	}

	quit() {
		return this.close();
	}

	// ---- The end ----

	get closed() {
		return !open.has(this);
	}

	async drain(timeout = 1000) {
		let late = false, wake;
		const timer = setTimeout(() => {
			late = true;
			wake();
		}, timeout);
		for (this.#turn(); native.owed(this.#link) > 0 && !late;)
			await new Promise((resolve) => this.#turned.push(wake = resolve));
		clearTimeout(timer);
		return native.owed(this.#link);
	}

	async close(timeout = 1000) {
		if (this.closed)
			return;
		for (const lock of this.#locks.values())
			lock.cancel();
		this.#turn();
		open.delete(this);
		for (const lock of this.#locks.values())
			lock._lose(new LockStateError('the client was closed'));
		native.releaseAll(this.#link);
		await this.drain(timeout);
		native.close(this.#link, 0);
	}

	/** At exit nothing can be waited for but by blocking. */
	_end() {
		native.close(this.#link, EXIT_MS);
	}

	// ---- Events ----

	/** The lock waits for an event of an operation that it has started. */
	_expect(id, lock) {
		this.#locks.set(id, lock);
		this.#runs(1);
		this._soon();
	}

	/** Sends what was started, at the end of the current step of the program. */
	_soon() {
		if (this.#planned)
			return;
		this.#planned = true;
		queueMicrotask(() => this.#turn());
	}

	#turn() {
		this.#planned = false;
		this.#hear(native.turn(this.#link));
	}

	/** Passes events on to their locks: those that native code has written to #events, and further ones. */
	#hear(count) {
		for (; count > 0; count = count === EVENTS ? native.turn(this.#link) : 0) {
			const events = this.#events.slice(0, count * FIELDS); // what a listener calls may take another turn
			for (let at = 0; at < events.length; at += FIELDS) {
				if (events[at + 1] === DONE)
					this.#runs(-1);
				if (!this.#locks.get(events[at])?._hear(events[at + 1], events[at + 2], events[at + 3]))
					this.#locks.delete(events[at]);
			}
		}
		if (count < 0)
			throw errorOf(count);
		for (const wake of this.#turned.splice(0))
			wake();
	}

	#runs(more) {
		this.#running += more;
		native.keep(this.#link, this.#running);
	}
}
if (Symbol.asyncDispose)
	Object.defineProperty(Client.prototype, Symbol.asyncDispose, { value() { return this.close(); } });

process.on('exit', () => open.forEach((client) => client._end()));

module.exports = {
	...errors, Client, Redlock: Client, default: Client, Lock, version: native.version,
	ExecutionError: RedlockError, ResourceLockedError: LockBusy, // names of npm redlock 5
};
