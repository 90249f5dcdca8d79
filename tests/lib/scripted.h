/* SPDX-License-Identifier: MIT */
/*
 * A server whose answers are written by the test: for every kind of bad behaviour that a real server cannot
 * be made to show. A command that no rule matches is answered as a healthy Redis would, with the keys of that
 * connection.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "redis.h"

struct scripted_rule {
	const char *command; /* in capitals; "*": any */
	const char *reply;   /* its bytes; "": silence */
	bool close;          /* and the end */
};

struct scripted_plan {
	const struct scripted_rule
	    *rules;               /* the first that matches counts; ended by a NULL command. NULL: none */
	const char *greeting;     /* said at once to who connects, and the end; NULL: nothing */
	const char *early;        /* said at once to who connects, and then as usual; NULL: nothing */
	enum redis_native native; /* which commands of newer servers it has */
	bool close_on_accept;
	bool close_on_command; /* closes at the first command instead of answering */
	bool one_byte;         /* sends each reply byte by byte */
	size_t flood;          /* so many bytes of filler follow each reply that a rule gave */
};

struct scripted_counts {
	atomic_uint connections;
	atomic_uint commands;
	atomic_ulong flooded; /* bytes of filler that were taken */
};

struct scripted {
	pid_t pid;
	int port;
	char url[64]; /* redis://127.0.0.1:port */
	struct scripted_counts *counts;
};

/* The plan must stay valid only for the call. Ends the process when it cannot. */
void scripted_start(struct scripted *scripted, const struct scripted_plan *plan);
void scripted_stop(struct scripted *scripted);
