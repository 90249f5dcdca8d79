/* SPDX-License-Identifier: MIT */
/* The commands of the probes: the same as the library's, with a token that is changed in place. */
#ifndef BENCH_WIRE_H
#define BENCH_WIRE_H

#include "options.h"

enum { TOKEN_SIZE = 40, PASS_SIZE = 57 };

/* SET and EVALSHA of one lock. */
struct wire {
	char *set;
	char *release;
	size_t set_size;
	size_t release_size;
	char *set_token; /* in `set` */
	char *set_pass;  /* the same: of a guarded set, each node has another; else NULL */
	char *release_token;
	uint64_t state;
};

/* Connects to a node; blocking. */
int wire_dial(const char *node);

/* Loads a script and writes its digest (41 bytes). */
void wire_load(int fd, const char *script, char *ret_sha);

struct shas {
	char release[41], claim[41];
};

/* Connects to a node and loads the release script, and the library's own for claims in a guarded set. */
int wire_connect(const char *node, struct shas *ret_shas);

/* Reads the pass that the node of a guarded set lets in. */
void wire_read_pass(int fd, char ret_pass[PASS_SIZE]);

void wire_make(struct wire *wire, const struct options *options, unsigned number, const struct shas *shas);

/* Puts a token that was not used before into both commands. */
void wire_sign(struct wire *wire);

void wire_free(struct wire *wire);

#endif
