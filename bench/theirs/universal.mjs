// SPDX-License-Identifier: MIT
// npm redlock-universal, its Redlock. Defaults: 200 ms between attempts, 5 s for a node that does not answer.
// retryAttempts is 3; to wait it is a million.
import Redis from 'ioredis';
import { createRedlock, IoredisAdapter } from 'redlock-universal';
import { clients, measure } from './measure.mjs';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

measure(({ nodes, ttlMs, wait }) => {
	const adapters = clients(Redis, nodes).map((redis) => new IoredisAdapter(redis));
	return (name) => {
		const lock = createRedlock({
			adapters, key: name, ttl: ttlMs, logger: silent, ...(wait ? { retryAttempts: 1e6 } : {}),
		});
		let handle;
		return {
			async acquire() {
				handle = await lock.acquire();
			},
			release: () => lock.release(handle),
		};
	};
});
