// SPDX-License-Identifier: MIT
// index.js for `import`.
import libredlock from './index.js';

export const {
	Client, Redlock, Lock, RedlockError, LockBusy, NoQuorum, LockLost, LockCancelled, LockStateError, OptionError, ExecutionError,
	ResourceLockedError, version,
} = libredlock;
export default libredlock.Client;
