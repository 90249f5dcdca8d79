// SPDX-License-Identifier: MIT
// What tsc must accept, and what it must not. run_tests compiles this file; its output also runs, for `await using`.
import Redlock, { Client, LockBusy, type Lock, type Vote } from 'libredlock';

const urls = process.argv.slice(2);

async function idiom(): Promise<number> {
	await using client = new Client(urls, { nodeTimeout: 5000, owner: 'types' });
	await using lock = await client.lock('nightly', { ttl: 30_000, renew: 10_000, signal: AbortSignal.timeout(60_000) });
	const rival: Lock | null = await client.tryLock('nightly');
	const votes: Vote[] = lock.votes;
	return rival === null ? votes.length : 0;
}

async function asBefore(): Promise<string> {
	const redlock = new Redlock(urls, { retryCount: 3, driftFactor: 0.01 });
	redlock.on('error', () => {});
	const lock: Lock = await (await redlock.acquire(['a', 'b'], 5000)).extend(6000);
	await lock.release();
	const result: string = await redlock.using(['a'], 5000, { retryCount: 5 }, async (signal) => {
		if (signal.aborted)
			throw signal.error;
		return 'done';
	});
	await redlock.quit();
	return result;
}

export function wrong(client: Client): void {
	// @ts-expect-error: the TTL is a number of milliseconds
	void client.lock('a', { ttl: '30s' });
	// @ts-expect-error: no such option
	void client.lock('a', { time: 30 });
	// @ts-expect-error: only a client makes locks
	void new (client.handle('a').constructor as typeof Lock)();
}

console.log(await idiom(), await asBefore(), new LockBusy('busy').code);
