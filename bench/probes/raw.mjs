// SPDX-License-Identifier: MIT
// The floor of Node.js: a pair of SET and compare-and-delete at all servers, each over as soon as a majority has answered, by
// its own sockets and no library. "Node.js-raw MEDIAN P99" in microseconds.
//     raw.mjs ROUNDS URL...
import { once } from 'node:events';
import net from 'node:net';

const [rounds, ...urls] = process.argv.slice(2);
const total = Math.floor(Number(rounds) * 1.1), quorum = (urls.length >> 1) + 1;
const TOKEN = '0123456789012345678901234567890123456789';
const DELETE = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0';
const command = (...words) => `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`;

const answers = urls.map(() => 0);
let sent = 0, done = null, script;
const sockets = await Promise.all(urls.map(async (url, i) => {
	const socket = net.connect(url.slice('unix://'.length));
	socket.setEncoding('latin1');
	socket.write(command('SCRIPT', 'LOAD', DELETE));
	[script] = await once(socket, 'data');
	socket.on('data', (text) => {
		answers[i] += text.split('\r\n').length - 1;
		if (done !== null && answers.filter((count) => count >= sent).length >= quorum) {
			done();
			done = null;
		}
	});
	return socket;
}));

function ask(request) {
	sent++;
	for (const socket of sockets)
		socket.write(request);
	return new Promise((resolve) => {
		done = resolve;
	});
}

const take = command('SET', 'raw', TOKEN, 'NX', 'PX', '30000');
const give = command('EVALSHA', script.split('\r\n')[1], '1', 'raw', TOKEN);
const times = [];
for (let i = 0; i < total; i++) {
	const start = process.hrtime.bigint();
	await ask(take);
	await ask(give);
	times.push(Number(process.hrtime.bigint() - start) / 1e3);
}
times.splice(0, total - Number(rounds));
times.sort((a, b) => a - b);
console.log('Node.js-raw', times[times.length >> 1].toFixed(1), times[Math.floor(times.length * 0.99)].toFixed(1));
sockets.forEach((socket) => socket.destroy());
