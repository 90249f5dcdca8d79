#!/usr/bin/env node
// SPDX-License-Identifier: MIT
// build.js: compiles build/libredlock.node against the installed libredlock, with the compiler of the system and no
// node-gyp. REDLOCK_BUILD=DIR: against a build directory of redlock's own tree. --prebuild: puts the library inside, as
// prebuilds/PLATFORM/libredlock.node, for the package. --unless-prebuilt: does nothing if the package has that file.
'use strict';
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const prebuild = process.argv.includes('--prebuild');
const prebuilt = path.join('prebuilds', `${process.platform}-${process.arch}`, 'libredlock.node');
process.chdir(__dirname);
if (process.argv.includes('--unless-prebuilt') && fs.existsSync(prebuilt))
	process.exit(0);

function stop(sentence) {
	console.error(`libredlock: ${sentence}`);
	process.exit(1);
}

/** The folder of node_api.h: of npm node-api-headers, of this node, or of the system. */
function headers() {
	let npm = [];
	try {
		npm = [require('node-api-headers').include_dir];
	} catch {
		// it is not needed where node brought its headers
	}
	const folders = [...npm, path.resolve(process.execPath, '../../include/node'), '/usr/include/node'];
	return folders.find((folder) => fs.existsSync(path.join(folder, 'node_api.h')))
		?? stop('node_api.h is missing: npm install node-api-headers, or apt-get install libnode-dev');
}

/** Flags for redlock.h and the library: of pkg-config, or of a build directory. */
function library() {
	const build = process.env.REDLOCK_BUILD;
	if (build === undefined) {
		try {
			const flags = ['--cflags', '--libs', ...(prebuild ? ['--static'] : []), 'redlock'];
			return execFileSync('pkg-config', flags, { encoding: 'utf8' }).trim().split(/\s+/);
		} catch {
			return stop('it is not installed (pkg-config finds no redlock): install it, or set REDLOCK_BUILD to a build directory');
		}
	}
	const [, tree] = /^CMAKE_HOME_DIRECTORY\S*=(.*)$/m.exec(fs.readFileSync(path.join(build, 'CMakeCache.txt'), 'utf8'));
	const folder = path.resolve(build, 'lib');
	const [, needed] = /^Libs\.private: (.*)$/m.exec(fs.readFileSync(path.join(build, 'redlock.pc'), 'utf8'));
	const linked = prebuild ? [path.resolve(build, 'src/libredlock.a'), ...needed.split(' '), '-ldl']
		: [`-L${folder}`, '-lredlock', `-Wl,-rpath,${folder}`];
	return [`-I${path.join(tree, 'include')}`, ...linked];
}

const out = prebuild ? prebuilt : path.join('build', 'libredlock.node');
fs.mkdirSync(path.dirname(out), { recursive: true });
const flags = ['-std=c11', '-O2', '-Wall', '-Wextra', '-fPIC', '-shared', '-fvisibility=hidden', '-Wl,--exclude-libs,ALL'];
try {
	execFileSync(process.env.CC ?? 'cc', [...flags, '-I', headers(), 'native.c', ...library(), '-o', out], { stdio: 'inherit' });
} catch (error) {
	stop(`the compiler failed: ${error.message}`);
}
