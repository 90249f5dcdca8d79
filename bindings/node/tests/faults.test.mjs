// SPDX-License-Identifier: MIT
// Servers that die, hang and forget.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { Cluster, PACKAGE, SOON, TTL, until } from './cluster.mjs';

const { Client, LockLost, NoQuorum } = await import(path.join(PACKAGE, 'index.mjs'));

function scene(name, options, routine) {
	test(name, async () => {
		const cluster = new Cluster();
		const client = new Client(cluster.urls, options);
		try {
			await routine(cluster, client);
		} finally {
			await client.close();
			cluster.close();
		}
	});
}

scene('a minority may die or hang', { nodeTimeout: 500 }, async (cluster, client) => {
	for (const [signal, node] of [['SIGSTOP', 0], ['SIGCONT', 0], ['SIGKILL', 1]]) {
		cluster.send(signal, node);
		await (await client.lock('minority', { ttl: TTL, wait: SOON })).release();
	}
});

scene('no quorum names the nodes', {}, async (cluster, client) => {
	cluster.send('SIGKILL', 1, 2);
	await assert.rejects(client.lock('none', { wait: 0 }), (error) => error instanceof NoQuorum &&
		/^no quorum: .* 2 are needed; node/.test(error.message) && error.votes[1].kind === 3 && error.votes[2].kind === 3);
});

scene('the signal is aborted when two of three servers are killed', { nodeTimeout: 300 }, async (cluster, client) => {
	const told = [];
	client.on('danger', (lock) => told.push('danger', lock.resources[0]));
	client.on('lost', (lock) => told.push('lost', lock.remaining));
	await assert.rejects(client.using(['lost'], 2000, { renew: 300, danger: 1000, wait: SOON }, async (signal) => {
		cluster.send('SIGKILL', 0, 1);
		await new Promise((resolve) => signal.addEventListener('abort', resolve));
		assert.ok(signal.reason instanceof LockLost);
	}), LockLost);
	assert.deepEqual(told, ['danger', 'lost', 'lost', 0]);
});

scene('the signal is aborted when the keys are deleted', { nodeTimeout: 5000 }, async (cluster, client) => {
	const lock = await client.lock('deleted', { ttl: TTL, renew: 100 });
	cluster.each('del', 'deleted');
	await until(() => lock.signal.aborted);
	await assert.rejects(lock.end(), LockLost);
	await (await lock.acquire()).release();
});

scene('fencing tokens rise', { nodeTimeout: 20_000 }, async (cluster, client) => {
	await client.close();
	cluster.command('init', '--fresh', '--max-ttl', '10m', ...cluster.urls.flatMap((url) => ['-r', url]));
	const guarded = new Client(cluster.urls, { nodeTimeout: 20_000 });
	const seen = [];
	for (let i = 0; i < 2; i++) {
		const lock = await guarded.lock('fenced', { ttl: TTL, fence: true });
		seen.push(lock.fence);
		await lock.release();
	}
	await guarded.close();
	assert.ok(0 < seen[0] && seen[0] < seen[1]);
});
