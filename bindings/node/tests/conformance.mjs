// SPDX-License-Identifier: MIT
// The driver of tests/conformance for libredlock: docs/bindings.md has the protocol.
import { createInterface } from 'node:readline';

const { Client, RedlockError } = await import(`${process.env.REDLOCK_NODE}/index.mjs`);
const { CLASSES } = (await import(`${process.env.REDLOCK_NODE}/errors.js`)).default;
const clients = {}, locks = {}, waits = {}, warned = new Set();
const decode = (word) => (word === '%' ? '' : decodeURIComponent(word));
const ms = (word) => (word === 'forever' ? Infinity : Number(word));
const yes = (value) => (value ? 'yes' : 'no');

function options(words) {
	return Object.fromEntries(words.map((word) => {
		const [name, value] = word.split('=');
		return [name.replace(/-[a-z]/g, (letters) => letters[1].toUpperCase()),
			value === 'yes' ? true : /^[0-9]+$/.test(value) ? Number(value) : decode(value)];
	}));
}

/** Waits so long for the loss of a lock. */
function lost({ signal }, wait) {
	return new Promise((resolve) => {
		if (signal.aborted)
			resolve('yes');
		setTimeout(() => resolve('no'), ms(wait));
		signal.addEventListener('abort', () => resolve('yes'));
	});
}

/** Waits so long for the notice that the validity ends soon. */
async function danger(lock, wait) {
	for (const end = Date.now() + ms(wait); !warned.has(lock) && Date.now() < end;)
		await new Promise((resolve) => setTimeout(resolve, 20));
	return yes(warned.has(lock));
}

const verbs = {
	client(label, ...words) {
		const urls = words.filter((word) => word.includes('://'));
		clients[label] = new Client(urls, options(words.slice(urls.length)));
		clients[label].on('danger', (lock) => warned.add(lock));
	},
	lock(client, label, names, ...words) {
		const list = names.split(',').filter(Boolean).map(decode);
		locks[label] = clients[client].handle(names.includes(',') ? list : list[0], options(words));
	},
	close: (label) => clients[label].close(),
	errors: () => Object.keys(CLASSES).join(' '),
};
const steps = {
	acquire: async (lock, wait) => {
		warned.delete(lock);
		await lock.acquire({ wait: ms(wait) });
	},
	start(lock, wait, label) {
		waits[label] = answer('acquire', [label, wait]);
	},
	finish: (lock, label) => waits[label],
	cancel: (lock) => lock.cancel(),
	release: (lock) => lock.release(),
	extend: async (lock, ttl) => void await lock.extend(ms(ttl)),
	upgrade: async (lock) => (await lock.upgrade() ? undefined : 'error BUSY'),
	downgrade: (lock) => lock.downgrade(),
	owned: async (lock) => yes(await lock.owned()),
	remaining: (lock) => lock.remaining,
	fence: (lock) => lock.fence,
	slot: (lock) => lock.slot,
	obstacle: (lock) => lock.obstacle,
	token: (lock) => encodeURIComponent(lock.value),
	votes: (lock) => lock.votes.map((vote) => vote.name).join(' '),
	lost,
	danger,
};
for (const [verb, step] of Object.entries(steps))
	verbs[verb] = (label, ...words) => step(locks[label], ...words, label);

async function answer(verb, words) {
	try {
		const value = await verbs[verb](...words);
		return value === undefined ? 'ok' : /^(ok$|error )/.test(value) ? value : `ok ${value}`;
	} catch (error) {
		if (!(error instanceof RedlockError))
			throw error;
		return `error ${error.code} ${error.message}`;
	}
}

for await (const line of createInterface({ input: process.stdin })) {
	const [verb, ...words] = line.split(' ');
	console.log(await answer(verb, words));
}
process.exit(0); // timers of `lost` may run
