// SPDX-License-Identifier: MIT
// npm redis-semaphore, its RedlockMutex. Defaults: 10 ms between attempts, renewal at 0.8 of the TTL. acquireTimeout
// is 10 s; to wait there is none.
import Redis from 'ioredis';
import semaphore from 'redis-semaphore';
import { clients, measure } from './measure.mjs';

measure(({ nodes, ttlMs, wait }) => {
	const redis = clients(Redis, nodes);
	const options = { lockTimeout: ttlMs, ...(wait ? { acquireTimeout: Infinity } : {}) };
	return (name) => new semaphore.RedlockMutex(redis, name, options);
});
