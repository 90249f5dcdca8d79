// SPDX-License-Identifier: MIT
export * from './index.js';
export { Client as default } from './index.js';
