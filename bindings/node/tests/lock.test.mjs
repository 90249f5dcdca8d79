// SPDX-License-Identifier: MIT
// libredlock on real servers that work: kinds, waits, errors, the event loop.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Cluster, PACKAGE, SOON, TTL, sleep, threads, until } from './cluster.mjs';

const { default: Client, LockBusy, LockCancelled, LockLost, LockStateError, OptionError } =
	await import(path.join(PACKAGE, 'index.mjs'));
let cluster, client;
before(() => {
	cluster = new Cluster();
	client = new Client(cluster.urls, { nodeTimeout: 20_000, ttl: TTL });
});
after(async () => {
	await client.close();
	cluster.close();
});

test('a lock excludes, and a waiter gets it after the release', async () => {
	const lock = await client.lock('plain');
	assert.ok(lock.remaining > TTL / 2 && lock.expiration > Date.now());
	assert.ok(await lock.owned());
	assert.ok(cluster.keys('plain') >= 2);
	assert.equal(cluster.each('get', 'plain')[lock.votes.find((vote) => vote.name === 'YES').node], lock.value);
	assert.equal(await client.tryLock('plain'), null);
	await assert.rejects(client.lock('plain', { wait: 1000 }), (error) => error instanceof LockBusy && error.code === 'BUSY' &&
		/^busy: held by/.test(error.message) && error.votes.length === 3);
	await assert.rejects(lock.acquire(), LockStateError);
	await lock.extend(2 * TTL);
	assert.ok(lock.remaining > TTL);
	const waiting = client.lock('plain');
	await sleep(50);
	await lock.release();
	assert.equal(lock.remaining, 0);
	assert.equal(lock.expiration, 0);
	assert.ok(!lock.signal.aborted);
	await (await waiting).release();
	await assert.rejects(lock.release(), LockStateError);
	await client.drain(SOON);
	assert.equal(cluster.keys('plain'), 0);
});

test('ESM and CommonJS have the same classes', () => {
	const common = createRequire(import.meta.url)(PACKAGE);
	assert.equal(common.Client, Client);
	assert.equal(common.default, Client);
	assert.match(common.version, /^\d+\.\d+\.\d+$/);
});

test('shared locks, slots, several names, own values', async () => {
	const shared = { shared: true };
	const one = await client.lock('shared', shared), two = await client.lock('shared', shared);
	assert.equal(await one.upgrade(), false);
	assert.equal(await client.tryLock('shared'), null);
	await two.release();
	await until(() => one.upgrade());
	await one.downgrade();
	await (await client.lock('shared', shared)).release();
	await one.release();
	const slots = [await client.lock('slots', { slots: 2 }), await client.lock('slots', { slots: 2 })];
	assert.deepEqual(slots.map((lock) => lock.slot).sort(), [0, 1]);
	assert.equal(await client.tryLock('slots', { slots: 2 }), null);
	await Promise.all(slots.map((lock) => lock.release()));
	assert.throws(() => slots[0].slot, LockStateError);
	const y = await client.lock(Buffer.from('y\0'), { reentrant: true });
	await y.acquire();
	const names = client.handle(['x', Buffer.from('y\0')], { wait: 0 });
	await assert.rejects(names.acquire(), LockBusy);
	assert.equal(names.obstacle, 1);
	await y.release();
	assert.ok(y.remaining > 0);
	await y.release();
	await names.acquire();
	assert.equal(await client.tryLock('x'), null);
	await names.release();
	const own = await client.lock('own', { token: 'a value' });
	assert.equal(own.value, 'a value');
	await own.release();
});

test('an AbortSignal ends a wait, and nothing is held, also at the moment of the grant', async () => {
	const holder = await client.lock('abort');
	const controller = new AbortController();
	const waiting = client.lock('abort', { signal: controller.signal });
	await sleep(50);
	controller.abort(new Error('enough'));
	await assert.rejects(waiting, /^Error: enough$/);
	await assert.rejects(client.lock('abort', { signal: controller.signal }), /^Error: enough$/);
	await holder.release();
	for (let delay = 0; delay < 30; delay++) {
		const soon = new AbortController();
		const attempt = client.lock('abort', { signal: soon.signal }).then((lock) => lock.release(), () => {});
		if (delay % 3)
			await sleep(delay % 3 - 1);
		soon.abort();
		await attempt;
	}
	assert.equal(await client.drain(SOON), 0);
	assert.equal(cluster.keys('abort'), 0);
	const cancelled = client.handle('abort'), other = await client.lock('abort');
	const end = cancelled.acquire();
	await sleep(20);
	cancelled.cancel();
	await assert.rejects(end, LockCancelled);
	await other.release();
});

test('many at once, without a thread', async () => {
	const before = threads();
	await using(async (many) => {
		let done = 0;
		await Promise.all(Array.from({ length: 200 }, (_, i) => many.using([`many-${i % 10}`], TTL, { retryCount: -1 },
			async () => done++)));
		assert.equal(done, 200);
		assert.equal(threads(), before);
	});
});

/** A client of its own, which is closed at the end, as `await using` would. */
async function using(routine, options = {}) {
	const own = new Client(cluster.urls, { nodeTimeout: 20_000, ...options });
	try {
		return await routine(own);
	} finally {
		await (Symbol.asyncDispose ? own[Symbol.asyncDispose]() : own.close());
	}
}

test('locks do not pile up', async () => {
	const rounds = Number(process.env.REDLOCK_SOAK ?? 3000);
	const round = async () => (await client.lock('soak')).release();
	const memory = async () => {
		for (let i = 0; i < 3; i++) {
			globalThis.gc();
			await sleep(10);
		}
		return process.memoryUsage().rss;
	};
	for (let i = 0; i < 2000; i++)
		await round();
	const start = await memory();
	for (let i = 0; i < rounds; i++)
		await round();
	const growth = await memory() - start;
	assert.ok(growth < 16e6, `${rounds} locks left ${growth} bytes`);
});

test('errors name the option', async () => {
	for (const [text, make] of [
		[/node 1: the scheme/, () => new Client(['http://a'])],
		[/nonsense/, () => new Client(cluster.urls, { nonsense: 1 })],
		[/\/nonexistent/, () => new Client({ file: '/nonexistent' })],
		[/NUL/, () => new Client(cluster.urls, { prefix: 'a\0b' })],
	])
		assert.throws(make, (error) => error instanceof OptionError && text.test(error.message));
	for (const make of [() => client.handle(''), () => client.handle('a', { ttl: 1 }), () => client.handle(['a', 'a'])])
		assert.throws(make, OptionError);
	client.handle('a', { ttl: 30_000.5, sticky: 1000, maxExtends: 3 }); // the library says which are durations
	await using(async (own) => {
		const lock = await own.lock('labelled');
		assert.ok(cluster.keys('app:labelled') >= 2);
		assert.match(lock.value, /\|web-1$/);
		await lock.release();
	}, { prefix: 'app:', owner: 'web-1' });
});

test('a lock whose keys were taken is lost at the end', async () => {
	const lock = await client.lock('taken');
	cluster.each('set', 'taken', 'x');
	await assert.rejects(lock.release(), (error) => error instanceof LockLost && error.code === 'GONE');
	await using(async (short) => {
		await assert.rejects(short.using(['short'], 1000, { renew: 0 }, async (signal, held) => {
			await new Promise((resolve) => signal.addEventListener('abort', resolve));
			assert.ok(signal.reason instanceof LockLost && signal.error === signal.reason);
			assert.throws(() => held.check(), LockLost);
		}), LockLost);
		await assert.rejects(short.using(['short'], TTL, async () => {
			throw new RangeError('of the routine');
		}), RangeError);
		assert.equal(await short.using(['short'], TTL, async (signal) => !signal.aborted), true);
	}, { nodeTimeout: 300 });
});

test('close ends more waiters than one turn has events', async () => {
	const own = new Client(cluster.urls, { nodeTimeout: 20_000 });
	const held = await client.lock('crowd', { ttl: TTL });
	const waiters = Array.from({ length: 200 }, () => assert.rejects(own.lock('crowd', { ttl: TTL }), LockCancelled));
	await own.close();
	await Promise.all(waiters);
	await held.release();
});

test('a closed client says so, and what it held is released', async () => {
	const own = new Client(cluster.urls);
	const lock = await own.lock('closed', { ttl: TTL });
	const { signal } = lock;
	const waiting = assert.rejects(own.lock('closed'), LockCancelled);
	await sleep(50);
	await own.close();
	await own.close();
	await waiting;
	assert.ok(signal.aborted);
	assert.equal(cluster.keys('closed'), 0);
	assert.equal(lock.remaining, 0);
	for (const call of [() => lock.acquire(), () => lock.release(), () => own.lock('closed')])
		await assert.rejects(call(), LockStateError);
	assert.throws(() => lock.slot, LockStateError);
	lock.cancel();
});
