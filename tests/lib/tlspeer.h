/* SPDX-License-Identifier: MIT */
/*
 * A server that speaks TLS by OpenSSL, in a thread of the test, and answers as a healthy Redis: with a hand
 * on every byte that it sends, and eyes on how connections begin and end.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "redis.h"

/* Certificates made by tlspeer_pki() in its directory, each NAME.crt with NAME.key. */
#define TLSPEER_GOOD "good"         /* 127.0.0.1, signed by "ca" */
#define TLSPEER_CLIENT "client"     /* signed by "ca" */
#define TLSPEER_STRANGER "stranger" /* 127.0.0.1, signed by itself */

void tlspeer_pki(const char *dir);

struct tlspeer_plan {
	const char *dir;
	const char *cert;     /* NULL: "good" */
	bool wants_client;    /* a certificate that "ca" has signed */
	int max_version;      /* TLS1_1_VERSION ...; 0: the newest */
	size_t chunk;         /* so many bytes at a time, in both directions; 0: what there is */
	size_t stall_after;   /* AFTER(n): silence when n bytes were sent; 0: not at all */
	size_t cut_after;     /* AFTER(n): the end then */
	size_t damage_at;     /* AFTER(n): the byte after n others is changed on its way */
	bool stall_in_answer; /* silence in the middle of its first answer */
	unsigned close_after; /* so many answers, in order; 0: never */
};
/* So many bytes; 0 alone is never. */
#define AFTER(bytes) ((bytes) + 1)

struct tlspeer {
	struct tlspeer_plan plan;
	struct redis redis; /* what it says, in between */
	pthread_t thread;
	void *context;
	int listener;
	int port;
	char url[64]; /* rediss://127.0.0.1:port */
	atomic_bool stop;
	atomic_uint connections, resumed;
	atomic_uint ended_in_order; /* with a close_notify */
	atomic_uint ended_otherwise;
	atomic_size_t hello_bytes; /* what the server said until the handshake was done */
};

void tlspeer_start(struct tlspeer *peer, const struct tlspeer_plan *plan);
void tlspeer_stop(struct tlspeer *peer);
