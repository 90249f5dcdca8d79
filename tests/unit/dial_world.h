/* SPDX-License-Identifier: MIT */
/* The layer below dial.c in its test: sockets, a poller and lookups that do what these variables say, and log
 * in log_text the calls that they get. */
#pragma once

#include "net/dial.h"
#include "os.h"
#include "unit.h"

#define NODE 5u

static struct rl_dial dial;
static struct rl_endpoint endpoint;
static struct rl_poller poller;
static uint64_t now_ns;
static char log_text[2048];

static struct fake_process process;
static int connect_errors[128]; /* by address */
static int connected_errors[128];
static int watch_error;
static int lookup_error;
static const uint32_t *const lookup_id = &process.lookups[0].id; /* one at a time */
static struct rl_lookup_result result; /* what the lookup will say; why "?": not yet */

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	va_list args;
	size_t used = strlen(log_text);
	va_start(args, format);
	vsnprintf(log_text + used, sizeof log_text - used, format, args);
	va_end(args);
}

/* ---- the world below: a connection is its address ---- */

static void wrong(const char *what, int fd)
{
	fail_msg("%s: %d", what, fd);
}

static int try(const struct rl_address *address, uint32_t *ret_conn)
{
	assert_int_equal(address->length, 1);
	*ret_conn = address->bytes[0];
	say("try %c\n", (int)*ret_conn);
	return -connect_errors[*ret_conn];
}

static int connected(uint32_t conn)
{
	return -connected_errors[conn];
}

static void close_conn(uint32_t conn, bool abort)
{
	for (unsigned i = 0; i < FAKE_FDS && abort; i++) /* a child process may have it open still */
		assert_false(process.fds[i].conn == conn && !process.fds[i].used && process.fds[i].watched);
	say(abort ? "drop %c\n" : "close %c\n", (int)conn);
}

static int watch(void)
{
	return -watch_error;
}

static int look_up(const char *host, uint16_t port, struct rl_lookup *lookup)
{
	assert_string_equal(host, "name.example");
	assert_int_equal(port, 6380);
	assert_int_equal(RL_WATCH_NODE(lookup->id), NODE);
	assert_false(process.lookups[0].runs);
	say("look up\n");
	return -lookup_error;
}

static bool has_ended(const struct rl_lookup *lookup)
{
	return result.why[0] != '?';
}

static void found(const struct rl_lookup *lookup, struct rl_lookup_result *ret)
{
	*ret = result;
}

static void left(struct rl_lookup *lookup, bool child)
{
	say(child ? "free the lookup\n" : "leave the lookup\n");
}

static const struct fake_world world = {.wrong = wrong,
                                        .connect = try,
                                        .connected = connected,
                                        .close = close_conn,
                                        .watch = watch,
                                        .look_up = look_up,
                                        .has_ended = has_ended,
                                        .found = found,
                                        .left = left};

/* The descriptor of an address that the poller watches: of the newest connection, as nobody closes those that
 * were taken. */
static const struct fake_fd *watched(char letter)
{
	for (unsigned i = FAKE_FDS; i-- > 0;)
		if (process.fds[i].used && process.fds[i].watched && process.fds[i].conn == (unsigned char)letter)
			return &process.fds[i];
	fail_msg("%c is not watched", letter);
	return NULL;
}
