/* SPDX-License-Identifier: MIT */
/* What is below dial.c in its test: sockets, a poller and lookups that do what these variables say, and write
 * down in log_text what is done with them. */
#ifndef TEST_DIAL_WORLD_H
#define TEST_DIAL_WORLD_H

#include "net/dial.h"
#include "os/random.h"
#include "unit.h"

#define NODE 5u
#define FIRST_FD 100

/* What -Wl,--wrap makes of the names. */
int __wrap_rl_socket_connect(const struct rl_address *address, int *ret_fd);
int __wrap_rl_socket_connected(int fd);
void __wrap_rl_socket_abort(int fd);
void __wrap_rl_socket_close(int fd);
int __wrap_rl_poller_watch(struct rl_poller *poller, int fd, uint32_t id, uint32_t events, bool known);
void __wrap_rl_poller_forget(struct rl_poller *poller, int fd);
int __wrap_rl_lookup_start(const char *host, uint16_t port, struct rl_poller *poller, uint32_t id,
                           struct rl_lookup **ret);
bool __wrap_rl_lookup_take(struct rl_lookup *lookup, struct rl_poller *poller, struct rl_lookup_result *ret);
void __wrap_rl_lookup_leave(struct rl_lookup *lookup, bool child);

static struct rl_dial dial;
static struct rl_endpoint endpoint;
static struct rl_poller poller;
static uint64_t now_ns;
static char log_text[2048];

static uint32_t ids[128]; /* in the poller, by address; 0: not watched */
static int connect_errors[128];
static int connected_errors[128];
static int watch_error;
static int lookup_error;
static bool looking_up;
static uint32_t lookup_id;
static struct rl_lookup_result found; /* what the lookup will say */

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	va_list args;
	size_t used = strlen(log_text);
	va_start(args, format);
	vsnprintf(log_text + used, sizeof log_text - used, format, args);
	va_end(args);
}

/* ---- the world below ---- */

int __wrap_rl_socket_connect(const struct rl_address *address, int *ret_fd)
{
	unsigned char letter = address->bytes[0];
	assert_int_equal(address->length, 1);
	say("try %c\n", letter);
	*ret_fd = connect_errors[letter] == 0 ? FIRST_FD + letter : -1;
	return -connect_errors[letter];
}

int __wrap_rl_socket_connected(int fd)
{
	return -connected_errors[fd - FIRST_FD];
}

void __wrap_rl_socket_abort(int fd)
{
	assert_int_equal(ids[fd - FIRST_FD], 0); /* a child process may have it open still */
	say("drop %c\n", fd - FIRST_FD);
}

void __wrap_rl_socket_close(int fd)
{
	say("close %c\n", fd - FIRST_FD);
}

int __wrap_rl_poller_watch(struct rl_poller *p, int fd, uint32_t id, uint32_t events, bool known)
{
	assert_ptr_equal(p, &poller);
	assert_false(known);
	assert_int_equal(events, RL_READABLE | RL_WRITABLE);
	assert_int_equal(RL_WATCH_NODE(id), NODE);
	for (unsigned i = 0; i < COUNT(ids); i++)
		assert_true(ids[i] != id && id != lookup_id);
	if (watch_error == 0)
		ids[fd - FIRST_FD] = id;
	return -watch_error;
}

void __wrap_rl_poller_forget(struct rl_poller *p, int fd)
{
	assert_ptr_equal(p, &poller);
	ids[fd - FIRST_FD] = 0;
}

int __wrap_rl_lookup_start(const char *host, uint16_t port, struct rl_poller *p, uint32_t id,
                           struct rl_lookup **ret)
{
	assert_string_equal(host, "name.example");
	assert_int_equal(port, 6380);
	assert_ptr_equal(p, &poller);
	assert_int_equal(RL_WATCH_NODE(id), NODE);
	assert_false(looking_up);
	say("look up\n");
	if (lookup_error != 0)
		return -lookup_error;
	looking_up = true;
	lookup_id = id;
	*ret = (struct rl_lookup *)&found;
	return 0;
}

bool __wrap_rl_lookup_take(struct rl_lookup *lookup, struct rl_poller *p, struct rl_lookup_result *ret)
{
	assert_ptr_equal(lookup, &found);
	assert_ptr_equal(p, &poller);
	assert_true(looking_up);
	*ret = found;
	looking_up = found.why[0] == '?'; /* not yet */
	return !looking_up;
}

void __wrap_rl_lookup_leave(struct rl_lookup *lookup, bool child)
{
	assert_ptr_equal(lookup, &found);
	say(child ? "free the lookup\n" : "leave the lookup\n");
	looking_up = false;
}

#endif
