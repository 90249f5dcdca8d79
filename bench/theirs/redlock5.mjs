// SPDX-License-Identifier: MIT
// npm redlock 5 (beta). Defaults: 200 ms + up to 100 ms between attempts. retryCount is 10; to wait it is -1.
import Redis from 'ioredis';
import Redlock from 'redlock5';
import { clients, measure } from './measure.mjs';

measure(({ nodes, ttlMs, wait }) => {
	const redlock = new Redlock(clients(Redis, nodes), wait ? { retryCount: -1 } : {});
	redlock.on('error', () => {});
	return (name) => {
		let lock;
		return {
			async acquire() {
				lock = await redlock.acquire([name], ttlMs);
			},
			release: () => lock.release(),
		};
	};
});
