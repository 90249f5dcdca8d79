/* SPDX-License-Identifier: MIT */
/*
 * One lookup of a host name: a detached thread around getaddrinfo(3). It has two owners, the caller and
 * the thread, and the last one frees it, so that the caller can go away at any time. The thread touches
 * nothing but the lookup, no lock of ours, and rings a bell that is the lookup's own: the client, and its
 * poller, may be gone by then.
 */
#include <errno.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "os/bell.h"
#include "os/lookup.h"
#include "os/thread.h"

/* Stack that is not touched costs nothing, and NSS modules differ in how much they need. */
#define STACK_BYTES ((size_t)256 * 1024)

struct rl_lookup {
	atomic_int owners;
	atomic_bool ended;
	int bell;
	char service[8];
	struct rl_lookup_result result;
	char host[];
};

static void disown(struct rl_lookup *l)
{
	if (atomic_fetch_sub(&l->owners, 1) > 1)
		return;
	rl_bell_close(l->bell);
	free(l);
}

/* ---- in the thread ---- */

static void add(struct rl_addresses *to, const struct addrinfo *from)
{
	struct rl_address address = {.length = from->ai_addrlen};
	if (from->ai_addrlen > sizeof address.bytes)
		return;
	memcpy(address.bytes, from->ai_addr, from->ai_addrlen);
	for (unsigned i = 0; i < to->count; i++)
		if (rl_socket_same_address(&to->list[i], &address))
			return; /* two lines in /etc/hosts */
	to->list[to->count++] = address;
}

/* From `at` on, the first of this family, or the first of any other. */
static const struct addrinfo *find(const struct addrinfo *at, int family, bool same)
{
	while (at != NULL && (at->ai_family == family) != same)
		at = at->ai_next;
	return at;
}

/* RFC 8305, section 4: the resolver's order, with the families in turn. */
static void interleave(const struct addrinfo *list, struct rl_addresses *to)
{
	int family = list->ai_family;
	const struct addrinfo *next[2] = {find(list, family, true), find(list, family, false)};
	for (unsigned turn = 0; (next[0] != NULL || next[1] != NULL) && to->count < RL_MAX_ADDRESSES; turn ^= 1) {
		if (next[turn] == NULL)
			continue;
		add(to, next[turn]);
		next[turn] = find(next[turn]->ai_next, family, turn == 0);
	}
}

/* Whether the answer is that there is no address, which asking again does not change. */
static bool is_certain(int code)
{
	return code == EAI_NONAME || code == EAI_NODATA || code == EAI_ADDRFAMILY;
}

static void look_up(struct rl_lookup *l)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	struct addrinfo *list = NULL;
	struct rl_lookup_result *r = &l->result;
	int code = getaddrinfo(l->host, l->service, &hints, &list);
	if (code == 0 && list != NULL)
		interleave(list, &r->addresses);
	if (code == 0)
		freeaddrinfo(list);
	if (r->addresses.count > 0)
		return;
	code = code != 0 ? code : EAI_NONAME;
	snprintf(r->why, sizeof r->why, "%s", code == EAI_SYSTEM ? strerror(errno) : gai_strerror(code));
	r->certain = is_certain(code);
}

static void *run(void *argument)
{
	struct rl_lookup *l = argument;
	look_up(l);
	atomic_store(&l->ended, true);
	rl_bell_ring(l->bell);
	disown(l);
	return NULL;
}

/* ---- who asks ---- */

static struct rl_lookup *make(const char *host, uint16_t port)
{
	size_t size = strlen(host) + 1;
	struct rl_lookup *l = calloc(1, sizeof *l + size);
	if (l == NULL)
		return NULL;
	memcpy(l->host, host, size);
	snprintf(l->service, sizeof l->service, "%u", port);
	atomic_init(&l->owners, 2);
	atomic_init(&l->ended, false);
	l->bell = rl_bell_open();
	if (l->bell >= 0)
		return l;
	free(l);
	return NULL;
}

int rl_lookup_start(const char *host, uint16_t port, struct rl_poller *poller, uint32_t id,
                    struct rl_lookup **ret)
{
	struct rl_lookup *l = make(host, port);
	if (l == NULL)
		return -ENOMEM;
	int error = rl_poller_watch(poller, l->bell, id, RL_READABLE, false);
	if (error == 0 && (error = rl_thread_detach(STACK_BYTES, run, l)) < 0)
		rl_poller_forget(poller, l->bell);
	if (error < 0)
		rl_lookup_leave(l, true); /* there is no thread */
	else
		*ret = l;
	return error;
}

bool rl_lookup_take(struct rl_lookup *l, struct rl_poller *poller, struct rl_lookup_result *ret)
{
	if (!atomic_load(&l->ended))
		return false;
	rl_poller_forget(poller, l->bell);
	*ret = l->result;
	disown(l);
	return true;
}

void rl_lookup_leave(struct rl_lookup *l, bool child)
{
	if (child)
		atomic_store(&l->owners, 1);
	disown(l);
}
