// SPDX-License-Identifier: MIT
// A pair of acquire and release by libredlock for Node.js, with one handle and with a new lock each time, and how many pairs
// a second with 256 in flight: "NAME MEDIAN P99" in microseconds, "NAME pairs/s".
//     pair.mjs PACKAGE ROUNDS URL...
const [folder, rounds, ...urls] = process.argv.slice(2);
const { Client } = await import(`${folder}/index.mjs`);
const total = Math.floor(Number(rounds) * 1.1);

async function pairs(name, pair) {
	const times = [];
	for (let i = 0; i < total; i++) {
		const start = process.hrtime.bigint();
		await pair();
		times.push(Number(process.hrtime.bigint() - start) / 1e3);
	}
	times.splice(0, total - Number(rounds)); // the first ones connect
	times.sort((a, b) => a - b);
	console.log(name, times[times.length >> 1].toFixed(1), times[Math.floor(times.length * 0.99)].toFixed(1));
}

const client = new Client(urls);
const handle = client.handle('pair');
await pairs('Node.js', async () => {
	await handle.acquire();
	await handle.release();
});
await pairs('Node.js-lock()', async () => {
	const lock = await client.lock('pair');
	await lock.release();
});

let left = total * 4;
const start = process.hrtime.bigint();
await Promise.all(Array.from({ length: 256 }, async (_, i) => {
	for (; left > 0; left--)
		await (await client.lock(`flight-${i}`)).release();
}));
console.log('Node.js-256', `${Math.round(total * 4 / (Number(process.hrtime.bigint() - start) / 1e9))} pairs/s`);
await client.close();
