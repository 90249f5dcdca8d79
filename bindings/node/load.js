// SPDX-License-Identifier: MIT
// The compiled module: the one that the package brought for this platform, else the one that build.js has made.
'use strict';
const fs = require('node:fs');
const path = require('node:path');

const files = [path.join(__dirname, 'prebuilds', `${process.platform}-${process.arch}`, 'libredlock.node'),
	path.join(__dirname, 'build', 'libredlock.node')];
const file = files.find((name) => fs.existsSync(name));
if (file === undefined)
	throw new Error(`libredlock has no compiled module for ${process.platform}-${process.arch}: run \`node ${path.join(__dirname, 'build.js')}\``);
try {
	module.exports = require(file);
} catch (error) {
	if (!/undefined symbol: redlock_/.test(error.message)) // where the loader looks for all functions before anything runs
		throw error;
	throw new Error('an older libredlock is loaded than the one that the module was compiled for: install that version, '
		+ `or build the module again (${error.message})`);
}
