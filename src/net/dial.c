/* SPDX-License-Identifier: MIT */
#include "net/dial.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/time.h"

#define NEXT_ADDRESS_NS (250 * RL_NS_PER_MS) /* RFC 8305, section 8: Connection Attempt Delay */
#define FRESH_NS (1000 * RL_NS_PER_MS)

#define WATCH_IDS (RL_WATCH_LINKS << 20)

static void fail(struct rl_dial *d, enum redlock_vote_code vote, const char *text)
{
	d->failure = vote;
	snprintf(d->failure_text, sizeof d->failure_text, "%s", text);
}

static uint32_t new_watch_id(struct rl_dial *d)
{
	uint32_t id = d->next_watch_id;
	d->next_watch_id = (id + RL_WATCH_LINKS) % WATCH_IDS;
	return id;
}

static bool contains(const struct rl_addresses *all, const struct rl_address *one)
{
	for (unsigned i = 0; i < all->count; i++)
		if (rl_socket_same_address(&all->list[i], one))
			return true;
	return false;
}

/* In any order: name servers turn it round. */
static bool same_addresses(const struct rl_addresses *a, const struct rl_addresses *b)
{
	bool same = a->count == b->count;
	for (unsigned i = 0; i < a->count && same; i++)
		same = contains(b, &a->list[i]);
	return same;
}

/* ---- life ---- */

void rl_dial_open(struct rl_dial *d, const struct rl_endpoint *endpoint, struct rl_poller *poller,
                  uint32_t number)
{
	*d = (struct rl_dial){
	    .endpoint = endpoint, .poller = poller, .next_watch_id = number, .next_ns = UINT64_MAX};
	struct rl_address *only = &d->known.list[0];
	if (endpoint->is_unix) {
		d->known.count = rl_resolve_path(endpoint->host, only) == 0;
		if (d->known.count == 0)
			fail(d, REDLOCK_VOTE_NAME, "the path is too long for a Unix socket");
	} else if (endpoint->master == NULL && rl_resolve_literal(endpoint->host, endpoint->port, only)) {
		d->known.count = 1;
	} else {
		d->by_name = true;
	}
}

void rl_dial_close(struct rl_dial *d, bool child)
{
	for (unsigned i = 0; i < d->begun; i++) {
		int fd = d->attempts[i].fd;
		d->attempts[i].fd = -1;
		if (fd >= 0)
			rl_socket_close(fd); /* nothing was sent */
	}
	if (d->lookup != NULL)
		rl_lookup_leave(d->lookup, child);
	d->lookup = NULL;
}

/* ---- the race ---- */

static void drop_attempt(struct rl_dial *d, unsigned i)
{
	int fd = d->attempts[i].fd;
	d->attempts[i].fd = -1;
	if (fd < 0)
		return;
	rl_poller_forget(d->poller, fd);
	rl_socket_abort(fd);
}

void rl_dial_end(struct rl_dial *d)
{
	for (unsigned i = 0; i < d->begun; i++)
		drop_attempt(d, i);
	d->begun = 0;
	d->next_ns = UINT64_MAX;
	d->state = RL_DIAL_IDLE;
}

static bool runs(const struct rl_dial *d)
{
	for (unsigned i = 0; i < d->begun; i++)
		if (d->attempts[i].fd >= 0)
			return true;
	return false;
}

/* A family that this host does not have says less than what another address has answered. */
static void attempt_failed(struct rl_dial *d, int error)
{
	bool no_way = error == -ENETUNREACH || error == -EAFNOSUPPORT || error == -EADDRNOTAVAIL;
	if (!no_way || d->failure != REDLOCK_VOTE_DOWN)
		fail(d, REDLOCK_VOTE_DOWN, strerror(-error));
}

static bool begin_attempt(struct rl_dial *d, unsigned i)
{
	struct rl_attempt *a = &d->attempts[i];
	*a = (struct rl_attempt){.fd = -1, .watch_id = new_watch_id(d)};
	int error = rl_socket_connect(&d->known.list[i], &a->fd);
	if (error < 0) {
		a->fd = -1;
	} else {
		error = rl_poller_watch(d->poller, a->fd, a->watch_id, RL_READABLE | RL_WRITABLE, false);
		if (error < 0)
			drop_attempt(d, i);
	}
	if (error < 0)
		attempt_failed(d, error);
	return error == 0;
}

/* Tries addresses until one takes its time. The node is given up when all have failed, and no lookup may
 * still bring others. */
static enum rl_dial_news race(struct rl_dial *d, uint64_t now_ns)
{
	d->next_ns = UINT64_MAX;
	while (d->begun < d->known.count) {
		if (!begin_attempt(d, d->begun++))
			continue;
		if (d->begun < d->known.count)
			d->next_ns = rl_time_add(now_ns, NEXT_ADDRESS_NS);
		return RL_DIAL_NOTHING;
	}
	return runs(d) || rl_dial_looks_up(d) ? RL_DIAL_NOTHING : RL_DIAL_FAILED;
}

static enum rl_dial_news attempt_ready(struct rl_dial *d, unsigned i, uint64_t now_ns)
{
	int error = rl_socket_connected(d->attempts[i].fd);
	if (error < 0) {
		drop_attempt(d, i);
		attempt_failed(d, error);
		return race(d, now_ns);
	}
	for (unsigned k = 0; k < d->begun; k++)
		if (k != i)
			drop_attempt(d, k);
	d->state = RL_DIAL_WON;
	d->winner = i;
	d->next_ns = UINT64_MAX;
	if (d->peer.length > 0 && !rl_socket_same_address(&d->peer, &d->known.list[i]))
		d->elsewhere = true;
	d->peer = d->known.list[i];
	return RL_DIAL_CONNECTED;
}

int rl_dial_take(struct rl_dial *d, uint32_t *ret_watch_id)
{
	int fd = d->attempts[d->winner].fd;
	*ret_watch_id = d->attempts[d->winner].watch_id;
	d->begun = 0;
	return fd;
}

/* ---- the name ---- */

static void look_up(struct rl_dial *d, uint64_t now_ns)
{
	d->asked_ns = now_ns;
	d->seeks = d->endpoint->master != NULL;
	if (d->seeks)
		return;
	d->lookup_watch_id = new_watch_id(d);
	int error =
	    rl_lookup_start(d->endpoint->host, d->endpoint->port, d->poller, d->lookup_watch_id, &d->lookup);
	if (error == 0)
		return;
	d->lookup = NULL;
	d->looked_ns = now_ns;
	fail(d, REDLOCK_VOTE_NAME, strerror(-error));
}

static bool is_fresh(const struct rl_dial *d, uint64_t now_ns)
{
	return now_ns - d->looked_ns < FRESH_NS;
}

/* The last answer of a name server that cannot be asked still counts. If the name server says that the name
 * does not exist, the last answer is dropped. */
enum rl_dial_news rl_dial_found(struct rl_dial *d, const struct rl_lookup_result *r, uint64_t asked_ns,
                                uint64_t now_ns)
{
	d->seeks = false;
	d->looked_ns = now_ns;
	bool found = r->addresses.count > 0;
	d->told_ns = found ? asked_ns : d->told_ns;
	bool other = (found || r->certain) && !same_addresses(&d->known, &r->addresses);
	if (!found)
		fail(d, d->endpoint->master != NULL ? REDLOCK_VOTE_MASTER : REDLOCK_VOTE_NAME, r->why);
	if (d->state == RL_DIAL_RACING && (other || d->begun == 0)) {
		rl_dial_end(d);
		d->state = RL_DIAL_RACING;
	}
	if (other || (found && d->begun == 0)) /* attempts go by number: not in another order under them */
		d->known = r->addresses;
	switch (d->state) {
	case RL_DIAL_IDLE:
		return d->known.count > 0 ? RL_DIAL_FOUND : RL_DIAL_FAILED;
	case RL_DIAL_RACING:
		return d->begun > 0 && runs(d) ? RL_DIAL_NOTHING : race(d, now_ns);
	case RL_DIAL_WON:
		return found && !contains(&d->known, &d->peer) ? RL_DIAL_MOVED : RL_DIAL_NOTHING;
	}
	return RL_DIAL_NOTHING;
}

static enum rl_dial_news lookup_ended(struct rl_dial *d, uint64_t now_ns)
{
	struct rl_lookup_result r;
	if (!rl_lookup_take(d->lookup, d->poller, &r))
		return RL_DIAL_NOTHING;
	d->lookup = NULL;
	return rl_dial_found(d, &r, d->asked_ns, now_ns);
}

void rl_dial_doubt(struct rl_dial *d, uint64_t now_ns)
{
	if (d->by_name && !rl_dial_looks_up(d) && !is_fresh(d, now_ns))
		look_up(d, now_ns);
}

/* ---- connecting ---- */

bool rl_dial_may_begin(const struct rl_dial *d)
{
	return d->known.count > 0 || (d->by_name && !rl_dial_looks_up(d));
}

enum rl_dial_news rl_dial_begin(struct rl_dial *d, uint64_t now_ns)
{
	rl_dial_end(d);
	d->state = RL_DIAL_RACING;
	d->failure = REDLOCK_VOTE_PENDING;
	if (d->by_name && !rl_dial_looks_up(d) && (d->known.count == 0 || !is_fresh(d, now_ns)))
		look_up(d, now_ns);
	uint64_t patience = d->known.count > 0 ? rl_time_add(d->asked_ns, NEXT_ADDRESS_NS) : UINT64_MAX;
	if (!rl_dial_looks_up(d) || now_ns >= patience)
		return race(d, now_ns);
	d->next_ns = patience;
	return RL_DIAL_NOTHING;
}

enum rl_dial_news rl_dial_ready(struct rl_dial *d, uint32_t watch_id, uint32_t events, uint64_t now_ns)
{
	if (d->lookup != NULL && watch_id == d->lookup_watch_id)
		return lookup_ended(d, now_ns);
	for (unsigned i = 0; i < d->begun; i++) {
		const struct rl_attempt *a = &d->attempts[i];
		if (a->fd >= 0 && a->watch_id == watch_id && (events & RL_WRITABLE) != 0)
			return attempt_ready(d, i, now_ns);
	}
	return RL_DIAL_NOTHING;
}

uint64_t rl_dial_deadline(const struct rl_dial *d)
{
	return d->next_ns;
}

enum rl_dial_news rl_dial_tick(struct rl_dial *d, uint64_t now_ns)
{
	return now_ns >= d->next_ns ? race(d, now_ns) : RL_DIAL_NOTHING;
}

void rl_dial_time_out(struct rl_dial *d)
{
	if (rl_dial_looks_up(d) && d->begun == 0)
		fail(d, d->seeks ? REDLOCK_VOTE_MASTER : REDLOCK_VOTE_NAME,
		     d->seeks ? "no Sentinel answers" : "the name server does not answer");
	else
		fail(d, REDLOCK_VOTE_DOWN, "connecting timed out");
}

bool rl_dial_same(const struct rl_dial *a, const struct rl_dial *b)
{
	bool written = !a->by_name && !b->by_name && a->known.count > 0 && b->known.count > 0;
	return rl_url_same_address(a->endpoint, b->endpoint) ||
	       (written && rl_socket_same_address(&a->known.list[0], &b->known.list[0]));
}
