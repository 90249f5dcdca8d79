/* SPDX-License-Identifier: MIT */
/*
 * The command line that all programs of bench/ share, so that a probe and a program of ours do the same work:
 *
 *     PROGRAM [OPTION...] NODE...     NODE: a port of 127.0.0.1, or the path of a Unix socket
 *
 *     -n PAIRS     how many acquire+release pairs at most
 *     -t SECONDS   for how long at most
 *     -c COUNT     locks in flight, or threads
 *     -k BYTES     the length of names
 *     -w           releases are sent and not waited for
 *     -g           after warming up, write "READY" to stderr and wait for a line on stdin
 *     -r MS        one name, many claimants: how long each rests between two turns
 *     -h US        the same: how long a turn is
 *     -l MS        the TTL
 *     -a           the same: count the attempts
 *     -u USER      of the servers, with the password "bench"
 *     -G           the servers are a guarded set (`redlock init`)
 *     -F           the same, and each lock gets a fencing number
 *     -S           the lock is shared
 *     -K SLOTS     it is one of so many slots
 *     -s MS        it is sticky: a released lock stays with the client for so long
 *     -M           it is of a second name too
 *     -T           a quorum of the nodes is asked, of each lock another one (raw)
 *     -q SETS      the nodes are so many node sets of equal size (ours)
 *     -o FILE      write the time of each pair, as 32-bit nanoseconds of this machine
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_NODES = 31, WARM_UP_PAIRS = 500, MIN_NAME = 16 };

struct options {
	uint64_t pairs; /* UINT64_MAX: no limit */
	double seconds; /* 0: no limit */
	unsigned count;
	size_t name_size;
	unsigned rest_ms;
	uint64_t hold_us;
	uint64_t ttl_ms;  /* 0: the default */
	const char *user; /* NULL: none */
	bool no_wait;
	bool counts;
	bool gate;
	bool guard, fence;
	bool shared, many;
	bool thrifty;
	unsigned slots; /* 0: it has none */
	uint64_t sticky_ms;
	unsigned sets; /* 0: one */
	const char *samples_path;
	char *const *nodes;
	unsigned node_count;
};

/* Exits with 64 when the arguments make no sense. */
struct options options_parse(int argc, char **argv);

/* As options_parse(), for a program whose operands are a command. */
struct options options_parse_command(int argc, char **argv);

/* The options of a warm-up: without a gate and without results, a few pairs for each lock. */
struct options options_warm_up(const struct options *options);

/* The share of one of `count` threads; the gate is for all. */
struct options options_per_thread(const struct options *options);

/* A name of `options.name_size` bytes that is this process's own, for lock number `number`. */
void options_name(const struct options *options, unsigned number, char *ret_name);

/* Prints what failed and exits with 1. */
__attribute__((noreturn)) void die(const char *what);

#endif
