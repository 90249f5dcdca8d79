// SPDX-License-Identifier: MIT
// A lock: one claimant of a name. Each method starts an operation of the library and waits for its event.
'use strict';
const native = require('./load.js');
const { LockStateError, errorOf, expect } = require('./errors.js');
const { bytes, constant, words } = require('./options.js');

const [DONE, DANGER, LOST] = ['EVENT_DONE', 'EVENT_DANGER', 'EVENT_LOST'].map(constant);
const [ACQUIRE, EXTEND, RELEASE, QUERY, UPGRADE, DOWNGRADE] =
	['OP_ACQUIRE', 'OP_EXTEND', 'OP_RELEASE', 'OP_QUERY', 'OP_UPGRADE', 'OP_DOWNGRADE'].map(constant);
const [E_LOST, E_BUSY, E_GONE] = ['E_LOST', 'E_BUSY', 'E_GONE'].map(constant);
const OURS = new Set(['wait', 'signal', 'token']);

class Lock {
	#client;
	#handle;
	#id;
	#wait;
	#cancel; // the AbortSignal that ends a wait
	#held = false;
	#done = null; // takes the result of the operation that runs
	#controller = null;
	#lost = null; // why the lock is lost

	/** client.lock() and client.handle() make locks. */
	constructor(client, link, id, resources, options) {
		this.#client = client;
		this.#id = id;
		this.resources = Array.isArray(resources) ? [...resources] : [resources];
		this.#wait = options.wait ?? Infinity;
		this.#cancel = options.signal;
		const names = this.resources.map(bytes);
		const token = options.token === undefined ? null : bytes(options.token);
		this.#handle = expect(() => native.lock(link, names, words(options, OURS), token, id));
	}

	async acquire({ wait = this.#wait, signal = this.#cancel } = {}) {
		signal?.throwIfAborted();
		const cancel = () => this.cancel();
		signal?.addEventListener('abort', cancel);
		try {
			const code = await this.#run(ACQUIRE, wait);
			if (code === 0 && signal?.aborted)
				await this.#run(RELEASE);
			signal?.throwIfAborted();
			this.#expect(code);
		} finally {
			signal?.removeEventListener('abort', cancel);
		}
		return this;
	}

	async release() {
		this.#expect(await this.#run(RELEASE));
	}

	async extend(ttl = 0) {
		this.#expect(await this.#run(EXTEND, ttl));
		return this;
	}

	async owned() {
		return this.#is(await this.#run(QUERY), E_GONE);
	}

	async upgrade() {
		return this.#is(await this.#run(UPGRADE), E_BUSY);
	}

	async downgrade() {
		this.#expect(await this.#run(DOWNGRADE));
	}

	cancel() {
		native.cancel(this.#handle);
		this.#client._soon();
	}

	/** Releases, and rejects with LockLost if the lock had ended before. */
	async end() {
		const lost = this.remaining === 0;
		const code = await this.#run(RELEASE);
		this.#expect(lost ? E_LOST : code);
	}

	check() {
		if (this.remaining === 0)
			throw this.#lost ?? errorOf(E_LOST);
	}

	get remaining() {
		return native.remaining(this.#handle);
	}
	get expiration() {
		return this.remaining && Date.now() + this.remaining;
	}
	get token() {
		return native.token(this.#handle);
	}
	get value() {
		return this.token.toString();
	}
	get fence() {
		return native.fence(this.#handle);
	}
	get slot() {
		return this.#number(native.slot(this.#handle));
	}
	get obstacle() {
		return this.#number(native.obstacle(this.#handle));
	}
	get votes() {
		const votes = [];
		for (let vote; (vote = native.vote(this.#handle, votes.length)) !== undefined;)
			votes.push(vote);
		return votes;
	}
	get signal() {
		if (this.#controller === null) {
			this.#controller = new AbortController();
			this.#abort();
		}
		return this.#controller.signal;
	}

	/** The client calls this with each event of the lock. Returns whether more of them are waited for. */
	_hear(kind, operation, result) {
		if (kind === DONE) {
			const done = this.#done;
			this.#done = null;
			if (operation === RELEASE && this.remaining === 0)
				this.#held = false;
			if (operation === ACQUIRE && result === 0 && !this.#held) {
				this.#held = true;
				this.#lost = this.#controller = null;
			}
			done(result);
			return this.#held;
		}
		if (kind === LOST)
			this._lose(errorOf(E_LOST));
		if (kind === LOST || kind === DANGER)
			process.nextTick(() => this.#client.emit(kind === LOST ? 'lost' : 'danger', this));
		return this.#held || this.#done !== null;
	}

	/** The lock is not held any more, for this reason. */
	_lose(error) {
		if (!this.#held)
			return;
		this.#held = false;
		this.#lost = error;
		this.#abort();
	}

	#abort() {
		if (this.#lost !== null && this.#controller !== null) {
			this.#controller.signal.error = this.#lost; // as redlock 5 has it
			this.#controller.abort(this.#lost);
		}
	}

	/** Not async: one promise for each operation is enough. */
	#run(operation, argument) {
		if (this.#client.closed)
			throw new LockStateError('the client was closed');
		const code = native.start(this.#handle, operation, argument);
		if (code < 0)
			return Promise.resolve(code);
		this.#client._expect(this.#id, this);
		return new Promise((done) => {
			this.#done = done;
		});
	}

	#expect(code) {
		if (code < 0) {
			const why = native.lastError(this.#handle);
			throw errorOf(code, why === 'success' || code === E_LOST ? '' : why, this.votes);
		}
	}

	#is(code, no) {
		if (code !== no)
			this.#expect(code);
		return code === 0;
	}

	#number(found) {
		if (this.#client.closed)
			throw new LockStateError('the client was closed');
		this.#expect(found);
		return found;
	}
}
if (Symbol.asyncDispose)
	Object.defineProperty(Lock.prototype, Symbol.asyncDispose, { value: Lock.prototype.end });

module.exports = { Lock };
