// SPDX-License-Identifier: MIT
// Real servers for the tests: a cluster of the redlock command in a directory of its own.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export { sleep };
export const SOON = 30_000; // ms that a thing may take on a busy machine
export const TTL = 300_000; // keys that must go by a release do not go by themselves
export const PACKAGE = process.env.REDLOCK_NODE; // the folder of the package that is tested

export class Cluster {
	constructor(nodes = 3) {
		this.path = fs.mkdtempSync('/tmp/redlock-node.'); // short: Unix sockets
		this.command('cluster', 'start', '-q', '--nodes', String(nodes));
		this.folders = Array.from({ length: nodes }, (_, i) => path.join(this.path, 'redlock', 'cluster', `node-${i + 1}`));
		this.sockets = this.folders.map((folder) => path.join(folder, 'redis.sock'));
		this.urls = this.sockets.map((socket) => `unix://${socket}`);
		this.pids = this.folders.map((folder) => Number(fs.readFileSync(path.join(folder, 'redis.pid'), 'utf8')));
	}

	command(...words) {
		execFileSync(process.env.REDLOCK_BIN, words, { env: { ...process.env, XDG_RUNTIME_DIR: this.path } });
	}

	/** A command of Redis on each node: the answers. */
	each(...words) {
		return this.sockets.map((socket) => execFileSync('redis-cli', ['-s', socket, ...words], { encoding: 'utf8' }).trim());
	}

	/** How many nodes have the key. */
	keys(name) {
		return this.each('exists', name).filter((answer) => answer === '1').length;
	}

	send(signal, ...nodes) {
		for (const node of nodes)
			process.kill(this.pids[node], signal);
	}

	close() {
		for (const pid of this.pids) {
			try {
				process.kill(pid, 'SIGCONT');
			} catch {
				// the test has killed it
			}
		}
		this.command('cluster', 'stop', '-q');
		fs.rmSync(this.path, { recursive: true });
	}
}

export async function until(condition) {
	for (const end = Date.now() + SOON; !await condition(); await sleep(5))
		if (Date.now() > end)
			throw new Error('did not happen in time');
}

/** All threads of the process, those of C among them. */
export const threads = () => fs.readdirSync('/proc/self/task').length;

/** Runs a program of its own: its exit code and output. `client` is a client there. */
export async function run(cluster, program, environment = {}) {
	const source = `const { Client } = require(${JSON.stringify(PACKAGE)});
		const client = new Client(${JSON.stringify(cluster.urls)});
		(async () => { ${program} })();`;
	const child = spawn(process.execPath, ['-e', source], { env: { ...process.env, ...environment }, timeout: SOON });
	let output = '';
	child.stdout.on('data', (data) => output += data);
	child.stderr.on('data', (data) => output += data);
	const code = await new Promise((resolve) => child.on('close', resolve));
	return { code, output };
}

export const here = path.dirname(fileURLToPath(import.meta.url));
