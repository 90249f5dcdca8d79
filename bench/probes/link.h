/* SPDX-License-Identifier: MIT */
/* Shared by the probes of contention: votes of all nodes, over blocking threads with private links. */
#ifndef BENCH_LINK_H
#define BENCH_LINK_H

#include "turns.h"

enum { LINK_BYTES = 8192, LINK_TOKEN = 16 };

/* A connection on which commands with answers of one line are sent. Only the last one's answer is a vote. */
struct link {
	int fd;
	unsigned owed;
	size_t size;
	char in[LINK_BYTES + 1];
};

struct links {
	unsigned count;
	unsigned quorum;
	struct link all[MAX_NODES];
};

void links_open(struct links *links, const struct options *options);

/* Loads a script at all nodes. */
void links_load(struct links *links, const char *script, char *ret_sha);

__attribute__((format(printf, 2, 3))) void link_send(struct link *link, const char *format, ...);

/* Receives what is there. 1: yes, 0: no, -1: the last command is not answered yet. */
int link_vote(struct link *link);

/* A token that was not used before by anybody of this run. */
void link_sign(char *ret_token);

#endif
