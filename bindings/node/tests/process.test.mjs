// SPDX-License-Identifier: MIT
// The ends of processes and worker threads, with everything open.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { Cluster, PACKAGE, TTL, run, until } from './cluster.mjs';

let cluster;
before(() => {
	cluster = new Cluster();
});
after(() => cluster.close());

for (const [what, program, code = 0] of [
	['a client that did nothing', ''],
	['a client that is not closed', 'await (await client.lock("exit")).release();'],
	['a lock that is held and renewed', `await client.lock("exit", { ttl: ${TTL}, renew: 60_000 });`],
	['a release without await', `(await client.lock("exit", { ttl: ${TTL} })).release();`],
	['process.exit() during a wait', `await client.lock("exit", { ttl: ${TTL} });
		client.lock("exit").catch(() => {}); setTimeout(() => process.exit(3), 50);`, 3],
	['an error that nobody catches', `await client.lock("exit", { ttl: ${TTL} }); throw new Error("of the program");`, 1],
	['a listener that throws', `client.on("lost", () => { throw new Error("of the listener"); });
		const lock = await client.lock("exit", { ttl: 500 }); setTimeout(() => {}, ${TTL});`, 1],
])
	test(`the process ends, and nothing is locked: ${what}`, async () => {
		const end = await run(cluster, program);
		assert.equal(end.code, code, end.output);
		assert.equal(cluster.keys('exit'), 0);
	});

/** A worker thread that holds "worker-N"; its messages and its end. */
function worker(number, after) {
	return new Worker(`const { parentPort } = require('node:worker_threads');
		const { Client } = require(${JSON.stringify(PACKAGE)});
		(async () => {
			const client = new Client(${JSON.stringify(cluster.urls)}, { ttl: ${TTL}, nodeTimeout: 20000 });
			for (let i = 0; i < 20; i++)
				await (await client.lock('workers')).release();
			const lock = await client.lock('worker-${number}');
			parentPort.postMessage(lock.remaining);
			${after}
		})();`, { eval: true });
}

test('worker threads have a client each, and end', async () => {
	const workers = Array.from({ length: 4 }, (_, i) => worker(i, 'await client.close();'));
	assert.deepEqual(await Promise.all(workers.map((one) => new Promise((resolve, reject) =>
		one.on('exit', resolve).on('error', reject)))), [0, 0, 0, 0]);
	for (const after of ['', 'process.exit(0);', 'while (true) await (await client.lock("workers")).release();']) {
		const one = worker(9, after), exit = new Promise((resolve) => one.on('exit', resolve));
		await new Promise((resolve) => one.on('message', resolve));
		if (after.startsWith('while'))
			await one.terminate();
		await exit;
		await until(() => cluster.keys('worker-9') === 0);
	}
});
