// SPDX-License-Identifier: MIT
// etcd's lock (its package concurrency, in the server) over the JSON gateway, as its documentation calls it. As a
// session of that package does, a lease is kept alive and signs the locks: one lease for the program, and with
// contention one for each claimant, because a lease that has the name is granted it again.
import http from 'node:http';
import { measure } from './measure.mjs';

const base64 = (text) => Buffer.from(text).toString('base64');

function caller(address) {
	const [host, port] = address.split(':');
	const agent = new http.Agent({ keepAlive: true });
	return (path, body) => new Promise((resolve, reject) => {
		const request = http.request({ agent, host, port, path, method: 'POST' }, async (response) => {
			let text = '';
			for await (const piece of response)
				text += piece;
			if (response.statusCode === 200)
				resolve(JSON.parse(text));
			else
				reject(new Error(text));
		});
		request.on('error', reject);
		request.end(JSON.stringify(body));
	});
}

async function session(call, ttlMs) {
	const { ID } = await call('/v3/lease/grant', { TTL: ttlMs / 1000 });
	setInterval(() => call('/v3/lease/keepalive', { ID }).catch(() => {}), ttlMs / 3).unref();
	return ID;
}

measure(async ({ nodes, ttlMs, wait }) => {
	const call = caller(nodes[0]);
	const shared = await session(call, ttlMs);
	return async (name) => {
		const lease = wait ? await session(call, ttlMs) : shared;
		let key;
		return {
			async acquire() {
				({ key } = await call('/v3/lock/lock', { name: base64(name), lease }));
			},
			release: () => call('/v3/lock/unlock', { key }),
		};
	};
});
