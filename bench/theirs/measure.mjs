// SPDX-License-Identifier: MIT
// Measures a rival in JavaScript: the command line of common/options.h (-n -t -c -g -o), the same loops, the same
// line of JSON. -x is contention: -c claimants of one name, as in common/turns.h, with -r.
//
// A rival is a function connect({ nodes, ttlMs, wait }) that returns a function from a name to one claimant of it:
// { acquire, release }, both asynchronous. `wait`: acquire waits for a busy lock without limit.
import { readFileSync, readSync, writeFileSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const TTL_MS = 30000;
const HOLD_MS = 1;
const GRACE_MS = 1000; // for what was begun in time; after that it counts as stuck
const WARM_UP_PAIRS = 500;

function commandLine() {
	const { values, positionals } = parseArgs({
		allowPositionals: true,
		options: {
			pairs: { type: 'string', short: 'n', default: 'Infinity' },
			seconds: { type: 'string', short: 't', default: 'Infinity' },
			count: { type: 'string', short: 'c', default: '1' },
			gate: { type: 'boolean', short: 'g', default: false },
			rest: { type: 'string', short: 'r', default: '0' },
			contend: { type: 'boolean', short: 'x', default: false },
			output: { type: 'string', short: 'o' },
		},
	});
	const numbers = ['pairs', 'seconds', 'count', 'rest'].map((name) => [name, Number(values[name])]);
	return { ...values, ...Object.fromEntries(numbers), nodes: positionals };
}

const nowUs = () => performance.now() * 1000;

function memoryKb(key) {
	return Number(readFileSync('/proc/self/status', 'utf8').match(new RegExp(`^${key}:\\s*(\\d+)`, 'm'))[1]);
}

class Result {
	constructor(pairs, seconds) {
		Object.assign(this, { acquire: [], pair: [], failed: 0, error: '', running: 0, pairs });
		this.beginKb = memoryKb('VmRSS');
		this.beginCpu = process.cpuUsage();
		this.beginUs = nowUs();
		this.endUs = this.beginUs + seconds * 1e6;
	}

	over() {
		return this.pair.length + this.failed + this.running >= this.pairs || nowUs() >= this.endUs;
	}

	fail(error) {
		this.failed++;
		this.error ||= String(error?.message ?? error);
	}

	facts() {
		const seconds = (nowUs() - this.beginUs) / 1e6;
		const { user, system } = process.cpuUsage(this.beginCpu);
		const peakKb = memoryKb('VmHWM');
		return {
			pairs: this.pair.length, failed: this.failed, seconds, pairs_per_s: this.pair.length / seconds,
			cpu_us_per_pair: (user + system) / Math.max(1, this.pair.length),
			peak_kb: peakKb, growth_kb: peakKb - this.beginKb,
			acquire_us: summary(this.acquire), pair_us: summary(this.pair), error: this.error,
		};
	}
}

function summary(samplesUs) {
	if (samplesUs.length === 0)
		return null;
	const sorted = Float64Array.from(samplesUs).sort();
	const at = (share) => sorted[Math.floor(sorted.length * share)];
	return { p50: at(0.5), p90: at(0.9), p99: at(0.99), p999: at(0.999), max: sorted.at(-1) };
}

function writeSamples(path, samplesUs) {
	const sorted = Float64Array.from(samplesUs).sort();
	writeFileSync(path, Uint32Array.from(sorted, (us) => Math.min(us * 1000, 0xffffffff)));
}

async function pairs(claimant, result) {
	while (!result.over()) {
		result.running++;
		const beginUs = nowUs();
		try {
			await claimant.acquire();
			const heldUs = nowUs();
			await claimant.release();
			result.acquire.push(heldUs - beginUs);
			result.pair.push(nowUs() - beginUs);
		} catch (error) {
			result.fail(error);
		}
		result.running--;
	}
}

async function apart(options, claimants) {
	const warmUp = new Result(Math.max(WARM_UP_PAIRS, 4 * options.count), Infinity);
	await Promise.all(claimants.map((claimant) => pairs(claimant, warmUp)));
	if (options.gate) {
		writeSync(2, 'READY\n');
		readSync(0, Buffer.alloc(16));
	}
	const result = new Result(options.pairs, options.seconds);
	const limit = Number.isFinite(options.seconds) ? [sleep(options.seconds * 1000 + GRACE_MS)] : [];
	await Promise.race([Promise.all(claimants.map((claimant) => pairs(claimant, result))), ...limit]);
	return [result, { stuck: result.running }];
}

// The resource that all claimants of one name share: who has it, and since when nobody has.
class Resource {
	constructor(count) {
		Object.assign(this, { askedUs: Array(count).fill(0), turns: Array(count).fill(0) });
		Object.assign(this, { last: -1, releasedUs: 0, holders: 0, overlaps: 0 });
	}

	async turn(claimant, i, result, restMs) {
		this.askedUs[i] = nowUs();
		await claimant.acquire();
		const grantedUs = nowUs();
		result.acquire.push(grantedUs - this.askedUs[i]);
		if (this.last >= 0 && this.last !== i && this.askedUs[i] <= this.releasedUs)
			result.pair.push(grantedUs - this.releasedUs);
		this.askedUs[i] = 0;
		this.overlaps += this.holders > 0 ? 1 : 0;
		this.holders++;
		this.last = i;
		this.turns[i]++;
		await sleep(HOLD_MS);
		this.holders--;
		this.releasedUs = nowUs();
		await claimant.release();
		if (restMs > 0)
			await sleep(restMs);
	}

	facts(seconds) {
		const turns = this.turns.reduce((sum, n) => sum + n);
		return { turns_per_s: turns / seconds, fewest: Math.min(...this.turns), most: Math.max(...this.turns),
			overlaps: this.overlaps };
	}
}

async function contend(options, claimants) {
	await claimants[0].acquire(); // connects
	await claimants[0].release();
	const resource = new Resource(options.count);
	const result = new Result(Infinity, options.seconds);
	const work = claimants.map(async (claimant, i) => {
		while (!result.over())
			await resource.turn(claimant, i, result, options.rest).catch((error) => result.fail(error));
	});
	await Promise.race([Promise.all(work), sleep(options.seconds * 1000)]);
	for (const askedUs of resource.askedUs.filter((us) => us > 0)) // waits that are not over
		result.acquire.push(nowUs() - askedUs);
	return [result, resource.facts((nowUs() - result.beginUs) / 1e6)];
}

export async function measure(connect) {
	const options = commandLine();
	const claim = await connect({ nodes: options.nodes, ttlMs: TTL_MS, wait: options.contend });
	const name = (i) => `bench-${process.pid}-${options.contend ? 0 : i}`;
	const claimants = await Promise.all(Array.from({ length: options.count }, (_, i) => claim(name(i))));
	const [result, more] = await (options.contend ? contend : apart)(options, claimants);
	const facts = { ...result.facts(), ...more };
	if (options.output)
		writeSamples(options.output, options.contend ? result.acquire : result.pair);
	writeSync(1, JSON.stringify(facts) + '\n');
	process.exit(0); // what is stuck would keep the process
}

// One ioredis client per node. Its errors are the library's to handle. IOREDIS: options other than the defaults.
export function clients(Redis, nodes) {
	const options = { host: '127.0.0.1', ...JSON.parse(process.env.IOREDIS ?? '{}') };
	return nodes.map((port) => new Redis({ ...options, port }).on('error', () => {}));
}
