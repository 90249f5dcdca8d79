/* SPDX-License-Identifier: MIT */
/* What the probes put on the wire: the same commands as the library, with a token that is changed in place.
 */
#ifndef BENCH_WIRE_H
#define BENCH_WIRE_H

#include "options.h"

enum { TOKEN_SIZE = 40 };

/* SET and EVALSHA of one lock. */
struct wire {
	char *set;
	char *release;
	size_t set_size;
	size_t release_size;
	char *set_token; /* in `set` */
	char *release_token;
	uint64_t state;
};

/* Connects to a node; blocking. */
int wire_dial(const char *node);

/* Loads a script and writes its digest (41 bytes). */
void wire_load(int fd, const char *script, char *ret_sha);

/* Connects to a node and loads the release script. */
int wire_connect(const char *node, char *ret_sha);

void wire_make(struct wire *wire, const struct options *options, unsigned number, const char *sha);

/* Puts a token that was not used before into both commands. */
void wire_sign(struct wire *wire);

void wire_free(struct wire *wire);

#endif
