// SPDX-License-Identifier: MIT
// Options as JavaScript writes them ({ nodeTimeout: 200 }) in the words of redlock_config(3) ("node-timeout", "200ms").
'use strict';
const native = require('./load.js');
const { OptionError } = require('./errors.js');

/** A text for C, which ends at a NUL. */
function text(string) {
	if (string.includes('\0'))
		throw new OptionError(`${JSON.stringify(string)} contains a NUL`, 'INVAL');
	return Buffer.from(`${string}\0`);
}

/** A number of the library: 'E_BUSY'. */
const constant = (name) => native.constant(text(name));

/** A name, or a value of the caller's own: any bytes. */
const bytes = (name) => (typeof name === 'string' ? Buffer.from(name)
	: Buffer.from(name.buffer, name.byteOffset, name.byteLength));

/** The options but those in `without`, as native code takes them; a value of undefined is left out. */
function words(options, without) {
	const list = [];
	for (const [key, value] of Object.entries(options)) {
		if (value === undefined || without.has(key))
			continue;
		const name = key === 'shared' ? 'mode' : key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
		const word = key === 'shared' ? (value ? 'shared' : 'exclusive')
			: typeof value === 'number' && native.isDuration(text(name)) ? (value === Infinity ? 'forever' : `${Math.ceil(value)}ms`)
				: String(value);
		list.push(text(name), text(word));
	}
	return Buffer.concat([...list, Buffer.alloc(1)]);
}

module.exports = { bytes, constant, text, words };
