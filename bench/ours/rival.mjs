// SPDX-License-Identifier: MIT
// libredlock for Node.js, as install.py builds it from bindings/node. To wait there is no limit by default.
import { Client } from './libredlock/index.mjs';
import { measure } from './measure.mjs';

measure(({ nodes, ttlMs }) => {
	const client = new Client(nodes.map((port) => `redis://127.0.0.1:${port}`));
	return (name) => client.handle(name, { ttl: ttlMs });
});
