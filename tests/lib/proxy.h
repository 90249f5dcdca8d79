/* SPDX-License-Identifier: MIT */
/*
 * A TCP proxy process in front of one server, to break the connection in every way a network can. The faults
 * are switched from the test at any time and hold for connections that exist and for new ones.
 */
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

enum proxy_close {
	PROXY_CUT = 1, /* closes both ends in order */
	PROXY_RESET,   /* resets both ends */
	PROXY_ABANDON  /* resets the client's end; what it said before still gets to the server, when it is due */
};

/* Shared with the proxy process. "Up" is from the client to the server. Set these through proxy_set(). */
struct proxy_faults {
	atomic_uint delay_up_ms;
	atomic_uint delay_down_ms;
	atomic_uint hold_up; /* 1: keep everything back, and pass it when this is 0 again */
	atomic_uint hold_down;
	atomic_uint drop_down;  /* 1: throw away what the server says */
	atomic_uint trickle;    /* 1: one byte per send, at most one per millisecond */
	atomic_uint refuse;     /* 1: close new connections at once */
	atomic_uint close_all;  /* an enum proxy_close; 0 again when it is done */
	atomic_uint accepted;   /* how many connections there have been */
	atomic_uint open;       /* how many clients are connected */
	atomic_uint up_bytes;   /* what was passed to the server */
	atomic_uint down_bytes; /* what was passed to the client */
};

struct proxy {
	pid_t pid;
	int wake_fd;
	int port;
	char url[64]; /* redis://127.0.0.1:port */
	struct proxy_faults *faults;
};

/* Starts a proxy in front of the server on this Unix socket. Ends the process when it cannot. */
void proxy_start(struct proxy *proxy, const char *server_socket);
void proxy_stop(struct proxy *proxy);

/* Sets one of the faults: proxy_set(&p, &p.faults->hold_up, 1). */
void proxy_set(struct proxy *proxy, atomic_uint *fault, unsigned value);

/* Ends all connections and returns when that is done. Bytes that the proxy keeps back are dropped, but for
 * PROXY_ABANDON; bytes that it passed to the server before stay there. */
void proxy_close(struct proxy *proxy, enum proxy_close how);
