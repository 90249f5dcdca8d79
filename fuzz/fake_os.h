/* SPDX-License-Identifier: MIT */
/*
 * The seam under src/net instead of src/os: one connection at a time, whose other end is two byte queues.
 * What is done to descriptors is checked. The target decides what each call may do.
 */
#ifndef FUZZ_FAKE_OS_H
#define FUZZ_FAKE_OS_H

#include "net/buffer.h"
#include "os/poller.h"
#include "os/socket.h"

struct fake_os {
	int fd; /* the open connection, -1: none */
	int last_fd;
	unsigned connections; /* made so far */
	bool watched;
	uint32_t watched_events;
	uint32_t watch_id;

	bool looking_up; /* a lookup has ended, and its result was not taken */
	uint32_t lookup_watch_id;

	/* What the next calls do: 0, or the error they fail with. */
	int connect_error;
	int connected_error;
	int watch_error;
	int random_error;
	bool lookup_fails;
	bool lookup_certain; /* and says that there is no such name */
	unsigned char lookup_address;

	/* From the peer: bytes that were not read yet, then the end or an error. */
	struct rl_buffer in;
	size_t in_head;
	size_t read_most; /* bytes in one read */
	bool ended;
	int read_error;
	size_t bytes_read; /* on this connection */

	/* To the peer: bytes that it has not looked at yet. */
	struct rl_buffer out;
	size_t send_most; /* bytes in one send; 0: the socket is full */
	bool send_broken;
};

extern struct fake_os fake_os;

void fake_os_begin(void);
void fake_os_end(void);

/* The peer says this. */
void fake_os_say(const void *bytes, size_t size);

/* Whether rl_socket_receive() would return something else than -EAGAIN. */
bool fake_os_readable(void);

#endif
