/* SPDX-License-Identifier: MIT */
/* One sentence about why the last call on a handle failed, from its result, votes and findings. Nothing is
 * allocated, and no server is asked. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "seen.h"

/* Text that is written as snprintf(3) does: what does not fit is counted. */
struct sentence {
	char *text;
	size_t size;
	size_t length;
};

__attribute__((format(printf, 2, 3))) static void put(struct sentence *s, const char *format, ...)
{
	size_t left = s->length < s->size ? s->size - s->length : 0;
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(left > 0 ? s->text + s->length : NULL, left, format, arguments);
	va_end(arguments);
	s->length += length > 0 ? (size_t)length : 0;
}

/* Bytes that a server or another client chose: they must not control a terminal or forge a line of a log. */
static void put_foreign(struct sentence *s, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		unsigned char byte = (unsigned char)bytes[i];
		put(s, byte < ' ' || byte > '~' || byte == '\\' ? "\\x%02x" : "%c", byte);
	}
}

/* ---- the holder ---- */

/* A key that belongs to another client: an acquire hides its own keys. */
static bool has_holder(const redlock_lock *lock, unsigned node)
{
	const struct redlock_finding *f = lock->core.findings != NULL ? &lock->core.findings[node] : NULL;
	return f != NULL && f->known && f->pttl_ms != -2;
}

static bool same_holder(const redlock_lock *lock, unsigned a, unsigned b)
{
	const struct redlock_finding *f = &lock->core.findings[a], *g = &lock->core.findings[b];
	return has_holder(lock, a) && has_holder(lock, b) && strcmp(f->type, g->type) == 0 &&
	       f->value_len == g->value_len && f->value_kept == g->value_kept &&
	       memcmp(f->value, g->value, f->value_kept) == 0;
}

static void put_owner(struct sentence *s, const char *value, size_t size)
{
	enum { DIGITS = RL_HANDLE_TOKEN_DIGITS };
	if (size > DIGITS + 1 && value[DIGITS] == '|')
		put_foreign(s, value + DIGITS + 1, size - DIGITS - 1);
	else
		put(s, "a client without an owner label");
}

static void put_holder(struct sentence *s, const struct redlock_finding *f)
{
	if (strcmp(f->type, "string") == 0) {
		put_owner(s, f->value, f->value_kept);
		return;
	}
	put(s, "a key of type ");
	put_foreign(s, f->type, strlen(f->type));
}

/* Calls `same` for pairs of nodes. Returns the nodes that are the same as `node`, a bit for each; 0: an
 * earlier node is. */
static uint32_t group(const redlock_lock *lock, unsigned node,
                      bool (*same)(const redlock_lock *lock, unsigned a, unsigned b))
{
	uint32_t nodes = 0;
	for (unsigned i = 0; i < lock->client->nodes.count; i++)
		nodes |= (uint32_t)same(lock, node, i) << i;
	return (nodes & ((1u << node) - 1)) == 0 ? nodes : 0;
}

/* An acquire that waited reads no findings: its refusals told who has the lock. */
static void put_seen(struct sentence *s, const redlock_lock *lock)
{
	const struct rl_seen *seen = lock->seen;
	if (seen == NULL || seen->size == 0 || seen->wait_until_ns != lock->core.wait_until_ns) {
		put(s, "busy: %s", redlock_strerror(REDLOCK_E_BUSY));
		return;
	}
	put(s, "busy: held by ");
	put_owner(s, seen->holder, seen->size);
	put(s, ", as node %u reported last", seen->node + 1U);
}

static void put_busy(struct sentence *s, const redlock_lock *lock)
{
	const struct rl_nodes *ns = &lock->client->nodes;
	const char *before = "busy: held by ";
	for (unsigned i = 0; i < ns->count; i++) {
		uint32_t nodes = group(lock, i, same_holder);
		if (nodes == 0)
			continue;
		put(s, "%s", before);
		put_holder(s, &lock->core.findings[i]);
		put(s, " on %d of %u nodes", __builtin_popcount(nodes), ns->count);
		before = ", by ";
	}
	if (s->length == 0)
		put_seen(s, lock);
}

/* ---- votes ---- */

static enum redlock_vote_code vote_of(const redlock_lock *lock, unsigned node)
{
	return (enum redlock_vote_code)lock->core.votes[node].code;
}

static unsigned count_votes(const redlock_lock *lock, enum redlock_vote_kind kind)
{
	unsigned count = 0;
	for (unsigned i = 0; i < lock->client->nodes.count; i++)
		count += redlock_vote_kind(vote_of(lock, i)) == kind;
	return count;
}

static bool same_cause(const redlock_lock *lock, unsigned a, unsigned b)
{
	const struct rl_node *list = lock->client->nodes.list;
	return redlock_vote_kind(vote_of(lock, a)) >= REDLOCK_KIND_MISSING &&
	       vote_of(lock, a) == vote_of(lock, b) &&
	       strcmp(rl_link_trouble(&list[a].link), rl_link_trouble(&list[b].link)) == 0;
}

/* "; nodes 2, 4: no answer in time" or, of a single node, "; node 1 redis://10.0.0.1:6379: ..." */
static void put_cause(struct sentence *s, const redlock_lock *lock, unsigned node, uint32_t nodes)
{
	const struct rl_link *link = &lock->client->nodes.list[node].link;
	const char *trouble = rl_link_trouble(link);
	bool many = (nodes & (nodes - 1)) != 0;
	put(s, "; node%s %u", many ? "s" : "", node + 1);
	for (unsigned i = node + 1; i < lock->client->nodes.count; i++)
		if ((nodes >> i & 1) != 0)
			put(s, ", %u", i + 1);
	if (!many) {
		put(s, " ");
		put_foreign(s, link->endpoint.address, strlen(link->endpoint.address));
	}
	put(s, ": %s%s", redlock_vote_text(vote_of(lock, node)), *trouble ? ": " : "");
	put_foreign(s, trouble, strlen(trouble));
}

static void put_no_quorum(struct sentence *s, const redlock_lock *lock)
{
	const struct rl_nodes *ns = &lock->client->nodes;
	unsigned no = count_votes(lock, REDLOCK_KIND_NO);
	put(s, "no quorum: %u of %u nodes voted yes", count_votes(lock, REDLOCK_KIND_YES), ns->count);
	if (no > 0)
		put(s, " and %u no", no);
	put(s, ", %u are needed", ns->quorum);
	for (unsigned i = 0; i < ns->count; i++) {
		uint32_t nodes = group(lock, i, same_cause);
		if (nodes != 0)
			put_cause(s, lock, i, nodes);
	}
}

/* Only an extend, of all calls on a handle, has an argument that can be wrong. */
static void put_invalid(struct sentence *s, const redlock_lock *lock)
{
	const struct rl_rules *r = lock->core.rules;
	put(s, "an extend is for 10 ms to 30 days, and longer than node timeout + drift (node timeout %llu ms)",
	    (unsigned long long)(r->node_timeout_ns / RL_NS_PER_MS));
}

int redlock_last_error(const redlock_lock *lock, char *text, size_t size)
{
	int error = text != NULL || size == 0 ? rl_client_enter_lock(lock) : REDLOCK_E_INVAL;
	if (error < 0)
		return error;
	struct sentence s = {.text = text, .size = size};
	if (lock->last_result == REDLOCK_E_BUSY && !lock->last_at_once)
		put_busy(&s, lock);
	else if (lock->last_result == REDLOCK_E_NOQUORUM && !lock->last_at_once)
		put_no_quorum(&s, lock);
	else if (lock->last_result == REDLOCK_E_INVAL)
		put_invalid(&s, lock);
	else
		put(&s, "%s", redlock_strerror(lock->last_result));
	rl_loop_leave(&lock->client->loop);
	return (int)s.length;
}
