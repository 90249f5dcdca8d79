/* SPDX-License-Identifier: MIT */
/*
 * A world for os.h in which a connection is two queues of bytes in the hands of the test: it reads what the
 * client said in `up`, says what it likes in `down`, and decides what each call may do.
 *
 *     wires_begin();                              no connection, all calls succeed, the clock shows 0
 *     ... the library connects ...
 *     wire_say(wire_last(), "+OK\r\n");
 *     wires_end();                                no descriptor and no lookup may be left
 *
 * A program that needs another world for some calls copies wire_world and changes these.
 */
#pragma once

#include "buffer.h"
#include "os.h"

struct wire {
	struct rl_address address;
	bool open;          /* the client has a descriptor of it */
	bool settled;       /* rl_socket_connected() was asked */
	int connect_error;  /* what it says */
	struct buffer up;   /* what the client has sent */
	struct buffer down; /* the bytes that it is to read; after them: */
	bool ended;         /* the end, */
	int read_error;     /* or an error */
	bool broken;        /* sends fail */
	size_t read;        /* bytes that the client has read */
	uint64_t due_ns;    /* nothing is ready before */
	void *peer;         /* the test's */
};

struct wires {
	uint64_t now_ns;
	int64_t ahead_ns;  /* of the wall clock */
	struct wire *list; /* in the order of the connects; the first one is a closed dummy */
	uint32_t count;
	uint32_t capacity;
	/* The results of the next calls: 0, or the errno they fail with; the bytes that they move. */
	int connect_error, connected_error, watch_error, lookup_error, random_error;
	size_t read_most, send_most; /* 0: nothing can be sent */
	bool looking_up;             /* lookups do not end */
	struct rl_lookup_result found;
	struct fake_process process; /* for tests that need one only */
};

extern struct wires wires;
extern const struct fake_world wire_world;

void wires_begin(void);
void wires_end(void);

/* The newest connection; a closed one when there was none yet. */
struct wire *wire_last(void);

/* The peer says this. */
void wire_say(struct wire *w, const char *text);
void wire_say_bytes(struct wire *w, const void *bytes, size_t size);

/* The readiness of a connection, whatever is watched. */
unsigned wire_ready(const struct wire *w);
