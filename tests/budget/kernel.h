/* SPDX-License-Identifier: MIT */
/*
 * A kernel with servers in memory: the system calls that the library makes, defined by this program instead
 * of the C library. It is below src/os, which tests/fake/os.h replaces: what src/os itself costs is counted
 * here. Every call is counted and none leaves the process, so that counts repeat exactly. Time
 * passes only while somebody waits: one round trip each time something is ready, or until the timer fires. A
 * call that is not here would go to the real kernel with a descriptor that it does not have: add it then.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Server number `i` is unix:///run/<i>. A silent one takes what it is sent and answers nothing. */
enum { KERNEL_SERVERS = 5 };
void kernel_silence(unsigned server, bool silent);

/* How often the kernel was called. clock_gettime(2) is not counted: it needs no kernel. */
uint64_t kernel_calls(void);

/* Begins and ends the counting of instructions by callgrind, which leaves out what happens in the kernel. */
void kernel_measure(bool on);
