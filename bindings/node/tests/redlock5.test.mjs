// SPDX-License-Identifier: MIT
// The table of README.md: a program for npm redlock 5 runs the same with libredlock after another import and constructor.
// Both exclude each other on the same key, and so do ours and npm redis-semaphore. Needs the packages that run_tests installs.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Cluster, PACKAGE, TTL, sleep } from './cluster.mjs';

const ours = await import(path.join(PACKAGE, 'index.mjs'));
const packages = createRequire(path.join(process.env.REDLOCK_NPM ?? '/', 'x.js'));
let theirs, Redis;
try {
	theirs = packages('redlock');
	({ Redis } = packages('ioredis'));
} catch {
	// without them the tests are skipped
}
const skip = theirs === undefined && 'npm packages redlock and ioredis are missing: REDLOCK_NPM=1 lets run_tests install them';
let cluster;
before(() => {
	cluster = new Cluster();
});
after(() => cluster.close());

const libraries = {
	'npm redlock 5': () => {
		const clients = cluster.sockets.map((socket) => new Redis(socket));
		return [new theirs.default(clients), theirs.ExecutionError];
	},
	libredlock: () => [new ours.default(cluster.urls), ours.ExecutionError],
};

/** The program of a user. Returns what it saw. */
async function program([redlock, ExecutionError], log = []) {
	const failed = (call) => call.then(() => 'succeeded', (error) => (error instanceof ExecutionError ? 'ExecutionError' : error));
	redlock.on('error', () => {});
	let lock = await redlock.acquire(['a'], 20_000);
	log.push(lock.resources, typeof lock.value, lock.expiration > Date.now() && lock.expiration <= Date.now() + 20_000);
	log.push('busy', await failed(redlock.acquire(['a'], 1000, { retryCount: 0 })));
	log.push('one of two', await failed(redlock.acquire(['b', 'a'], 1000, { retryCount: 1, retryDelay: 50 })));
	lock = await lock.extend(40_000);
	log.push('longer', lock.expiration > Date.now() + 20_000);
	lock = await redlock.extend(lock, 60_000);
	log.push('longer', lock.expiration > Date.now() + 40_000);
	const next = redlock.acquire(['a', 'b'], 20_000, { retryCount: -1 });
	await redlock.release(lock);
	log.push('released', lock.expiration, await failed((await next).release()));
	log.push(await redlock.using(['a', 'b'], 1500, { automaticExtensionThreshold: 1000 }, async (signal) => {
		await sleep(3000);
		if (signal.aborted)
			throw signal.error;
		return 'extended';
	}));
	log.push('lost', await failed(redlock.using(['a'], 1500, async (signal) => {
		cluster.each('del', 'a');
		while (!signal.aborted)
			await sleep(10);
		log.push(signal.error instanceof ExecutionError);
	})));
	log.push(await failed(redlock.using(['a'], 1500, () => Promise.reject(new ExecutionError('of the routine', [])))));
	log.push(cluster.keys('a'), cluster.keys('b'));
	await redlock.quit();
	return log;
}

test('the program of README.md sees the same with both', { skip }, async () => {
	const seen = {};
	for (const [name, make] of Object.entries(libraries))
		seen[name] = await program(make());
	assert.deepEqual(seen.libredlock, seen['npm redlock 5']);
	assert.ok(seen.libredlock.includes('extended'));
});

test('each excludes the other on the same keys', { skip }, async () => {
	const [first, second] = Object.values(libraries).map((make) => make()[0]);
	for (const [one, other] of [[first, second], [second, first]]) {
		one.on('error', () => {});
		const lock = await one.acquire(['x', 'y'], TTL);
		for (const names of [['x'], ['y'], ['z', 'y']])
			await assert.rejects(other.acquire(names, TTL, { retryCount: 0 }));
		const waiting = other.acquire(['y'], TTL, { retryCount: -1, retryDelay: 20 });
		await lock.release();
		await (await waiting).release();
	}
	await first.quit();
	await second.quit();
});

test('npm redis-semaphore excludes, and is excluded, on its key', { skip }, async (t) => {
	const { RedlockMutex } = packages('redis-semaphore');
	const clients = cluster.sockets.map((socket) => new Redis(socket));
	const mutex = new RedlockMutex(clients, 'both', { lockTimeout: TTL, acquireTimeout: TTL });
	const hasty = new RedlockMutex(clients, 'both', { acquireTimeout: 50 });
	const client = new ours.Client(cluster.urls);
	t.after(() => [client, ...clients].forEach((one) => one.quit()));
	await mutex.acquire();
	assert.equal(await client.tryLock('mutex:both'), null);
	await mutex.release();
	const lock = await client.lock('mutex:both', { ttl: TTL });
	assert.equal(await hasty.tryAcquire(), false);
	const waiting = mutex.acquire();
	await lock.release();
	await waiting;
	assert.equal(await client.tryLock('mutex:both'), null);
	await mutex.release();
});

test('what tsc has compiled runs, with `await using`', {
	skip: !process.env.REDLOCK_TYPES && 'npm package typescript is missing: REDLOCK_NPM=1 lets run_tests install it',
}, () => {
	const output = execFileSync(process.execPath, [process.env.REDLOCK_TYPES, ...cluster.urls], { encoding: 'utf8' });
	assert.equal(output, '3 done STATE\n');
	assert.equal(cluster.keys('nightly'), 0);
});
