/* SPDX-License-Identifier: MIT */
/* One sentence about why the last call on a handle failed, from its result, votes and findings. Nothing is
 * allocated, and no server is asked. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "core/policy.h"
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

/* ---- groups of nodes ---- */

static enum redlock_vote_code vote_of(const redlock_lock *lock, unsigned node)
{
	return (enum redlock_vote_code)rl_handle_votes(lock)[node].code;
}

static unsigned count_votes(const redlock_lock *lock, enum redlock_vote_kind kind)
{
	unsigned count = 0;
	for (unsigned i = 0; i < lock->client->nodes.count; i++)
		count += redlock_vote_kind(vote_of(lock, i)) == kind;
	return count;
}

/* Why the connection of a node failed that has no vote; "": it is not known, or the node has one. */
static const char *trouble_of(const redlock_lock *lock, unsigned node)
{
	bool missing = redlock_vote_kind(vote_of(lock, node)) >= REDLOCK_KIND_MISSING;
	return missing ? rl_link_trouble(&lock->client->nodes.list[node].link) : "";
}

/* Whether a node keeps an operation from its quorum. An answer that was not needed does not; one that the
 * clock did not wait for does. */
static bool has_cause(const redlock_lock *lock, unsigned node)
{
	enum redlock_vote_kind kind = redlock_vote_kind(vote_of(lock, node));
	bool ran_out = lock->last_cause == RL_CAUSE_LOSS && lock->loss == REDLOCK_LOSS_EXPIRED;
	return kind >= REDLOCK_KIND_NO || (kind == REDLOCK_KIND_PENDING && (ran_out || lock->core.round.open));
}

static bool same_cause(const redlock_lock *lock, unsigned a, unsigned b)
{
	return has_cause(lock, a) && vote_of(lock, a) == vote_of(lock, b) &&
	       strcmp(trouble_of(lock, a), trouble_of(lock, b)) == 0;
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

/* The first of those that share the lock: their tokens, separated by spaces (ops/lib/shared.lua). */
static void put_readers(struct sentence *s, const struct redlock_finding *f)
{
	const char *end = memchr(f->value, ' ', f->value_kept);
	put(s, "shared by ");
	put_owner(s, f->value, end != NULL ? (size_t)(end - f->value) : f->value_kept);
	if (f->value_len > 1)
		put(s, " and %llu more", (unsigned long long)f->value_len - 1);
}

static void put_holder(struct sentence *s, const struct redlock_finding *f)
{
	if (strcmp(f->type, "string") == 0) {
		put(s, "held by ");
		put_owner(s, f->value, f->value_kept);
	} else if (strcmp(f->type, "zset") == 0 && f->value_len > 0) {
		put_readers(s, f);
	} else {
		put(s, "held by a key of type ");
		put_foreign(s, f->type, strlen(f->type));
	}
}

/* The holders that the last look or query has found. */
static void put_found(struct sentence *s, const redlock_lock *lock)
{
	const struct rl_nodes *ns = &lock->client->nodes;
	for (unsigned i = 0; i < ns->count; i++) {
		uint32_t nodes = group(lock, i, same_holder);
		if (nodes == 0)
			continue;
		put(s, s->length == 0 ? "busy: " : ", ");
		put_holder(s, &lock->core.findings[i]);
		put(s, " on %d of %u nodes", __builtin_popcount(nodes), ns->count);
	}
}

static void put_name(struct sentence *s, struct rl_slice name)
{
	put_foreign(s, name.bytes, name.size);
}

/* An acquire that waited reads no findings: its refusals told who has the lock. */
static void put_seen(struct sentence *s, const redlock_lock *lock)
{
	const struct rl_seen *seen = lock->seen;
	if (seen == NULL || seen->size == 0 || seen->wait_until_ns != lock->core.wait_until_ns)
		return;
	put(s, "busy: ");
	if (lock->also_size > 0) {
		put_name(s, rl_handle_line(lock));
		put(s, " is ");
	}
	put(s, "held by ");
	put_owner(s, seen->holder, seen->size);
	put(s, ", as node %u reported last", seen->node + 1U);
}

/* The refusals told no holder. */
static void put_refusal(struct sentence *s, const redlock_lock *lock)
{
	const struct rl_nodes *ns = &lock->client->nodes;
	unsigned no = count_votes(lock, REDLOCK_KIND_NO);
	if (lock->core.queue.obstacle > 0) {
		put(s, "busy: somebody else holds ");
		put_name(s, rl_handle_name_at(lock, lock->core.queue.obstacle - 1U));
		put(s, "; %u of %u nodes voted no", no, ns->count);
	} else if (lock->core.rules->slots > 0 && no >= ns->quorum) {
		put(s, "busy: none of the %u slots is free on %u of %u nodes", lock->core.rules->slots, no,
		    ns->count);
	} else if (lock->core.queue.kept_out) {
		put(s, "busy: a client that waits for the exclusive lock goes first");
	} else {
		put(s, "busy: %s", redlock_strerror(REDLOCK_E_BUSY));
	}
}

/* Whether the votes of a failed acquire would have been enough. */
static bool is_late(const redlock_lock *lock)
{
	const struct rl_lock *core = &lock->core;
	return core->round.operation == REDLOCK_OP_ACQUIRE &&
	       core->policy->asks[core->round.ask].weigh(core) == RL_WON;
}

/* The findings are not those of an upgrade, but of an earlier query. */
static void put_busy(struct sentence *s, const redlock_lock *lock)
{
	const struct rl_nodes *ns = &lock->client->nodes;
	if (lock->done_operation == REDLOCK_OP_UPGRADE) {
		put(s, "busy: others share the lock, on %u of %u nodes", count_votes(lock, REDLOCK_KIND_NO),
		    ns->count);
		return;
	}
	if (is_late(lock)) {
		put(s,
		    "busy: %u of %u nodes voted yes, but less than min_validity_ms (%llu ms) of the validity was "
		    "left",
		    count_votes(lock, REDLOCK_KIND_YES), ns->count,
		    (unsigned long long)(lock->core.rules->min_validity_ns / RL_NS_PER_MS));
		return;
	}
	put_found(s, lock);
	if (s->length == 0)
		put_seen(s, lock);
	if (s->length == 0)
		put_refusal(s, lock);
}

/* ---- votes ---- */

/* "; nodes 2, 4: no answer in time" or, of a single node, "; node 1 redis://10.0.0.1:6379: ..." */
static void put_cause(struct sentence *s, const redlock_lock *lock, unsigned node, uint32_t nodes)
{
	const char *address = lock->client->nodes.list[node].link.endpoint.address;
	const char *trouble = trouble_of(lock, node);
	bool many = (nodes & (nodes - 1)) != 0;
	put(s, "; node%s %u", many ? "s" : "", node + 1);
	for (unsigned i = node + 1; i < lock->client->nodes.count; i++)
		if ((nodes >> i & 1) != 0)
			put(s, ", %u", i + 1);
	if (!many) {
		put(s, " ");
		put_foreign(s, address, strlen(address));
	}
	put(s, ": %s%s", redlock_vote_text(vote_of(lock, node)), *trouble ? ": " : "");
	put_foreign(s, trouble, strlen(trouble));
}

/* How many voted yes, and what each of the others answered. */
static void put_votes(struct sentence *s, const redlock_lock *lock)
{
	const struct rl_nodes *ns = &lock->client->nodes;
	unsigned no = count_votes(lock, REDLOCK_KIND_NO);
	put(s, "%u of %u nodes voted yes", count_votes(lock, REDLOCK_KIND_YES), ns->count);
	if (no > 0)
		put(s, " and %u no", no);
	put(s, ", %u are needed", ns->quorum);
	for (unsigned i = 0; i < ns->count; i++) {
		uint32_t nodes = group(lock, i, same_cause);
		if (nodes != 0)
			put_cause(s, lock, i, nodes);
	}
}

static void put_no_quorum(struct sentence *s, const redlock_lock *lock)
{
	put(s, "no quorum: ");
	put_votes(s, lock);
}

/* ---- losses ---- */

/* The renewal or extend that came last, unless it succeeded. */
static void put_extend(struct sentence *s, const redlock_lock *lock)
{
	bool confirmed = count_votes(lock, REDLOCK_KIND_YES) >= lock->client->nodes.quorum;
	if (lock->core.round.operation != REDLOCK_OP_EXTEND || confirmed)
		return;
	put(s, "; the last %s: ", lock->core.round.background ? "renewal" : "extend");
	put_votes(s, lock);
}

static void put_loss(struct sentence *s, const redlock_lock *lock)
{
	static const char *const reasons[] = {
	    [REDLOCK_LOSS_EXPIRED] = "its validity has ended",
	    [REDLOCK_LOSS_GONE] = "a quorum of nodes no longer has it",
	    [REDLOCK_LOSS_LEAP] = "the wall clock was set forward beyond its validity",
	};
	put(s, "the lock was lost: %s", reasons[lock->loss]);
	put_extend(s, lock);
}

/* The notice DANGER was given, and nothing has extended the lock since. */
static bool is_in_danger(const redlock_lock *lock)
{
	return lock->core.phase == RL_HELD && lock->core.warned;
}

static void put_danger(struct sentence *s, const redlock_lock *lock)
{
	put(s, "the validity ends soon");
	put_extend(s, lock);
}

/* Only an extend, of all calls on a handle, has an argument that can be wrong. */
static void put_invalid(struct sentence *s, const redlock_lock *lock)
{
	const struct rl_rules *r = lock->core.rules;
	put(s, "an extend is for 10 ms to 30 days, and longer than node timeout + drift (node timeout %llu ms)",
	    (unsigned long long)(r->node_timeout_ns / RL_NS_PER_MS));
}

static void put_other(struct sentence *s, const redlock_lock *lock)
{
	static const char *const causes[RL_CAUSE_COUNT] = {
	    [RL_CAUSE_RUNS] = "another operation of the handle runs",
	    [RL_CAUSE_EVENT] = "redlock_next() has not returned the end of its last operation",
	    [RL_CAUSE_HELD] = "the lock is held already",
	    [RL_CAUSE_LOST] = "the lock was lost, and has to be released first",
	    [RL_CAUSE_IDLE] = "the lock is not held",
	    [RL_CAUSE_KIND] = "locks of this kind do not have this operation",
	};
	const char *cause = causes[lock->last_cause];
	put(s, "%s%s%s", redlock_strerror(lock->last_result), cause != NULL ? ": " : "",
	    cause != NULL ? cause : "");
}

int redlock_last_error(const redlock_lock *lock, char *text, size_t size)
{
	int error = text != NULL || size == 0 ? rl_client_enter_lock(lock) : REDLOCK_E_INVAL;
	if (error < 0)
		return error;
	struct sentence s = {.text = text, .size = size};
	if (lock->last_result == REDLOCK_E_BUSY && lock->last_cause == RL_CAUSE_VOTES)
		put_busy(&s, lock);
	else if (lock->last_result == REDLOCK_E_NOQUORUM && lock->last_cause == RL_CAUSE_VOTES)
		put_no_quorum(&s, lock);
	else if (lock->last_cause == RL_CAUSE_LOSS)
		put_loss(&s, lock);
	else if (lock->last_result == 0 && is_in_danger(lock))
		put_danger(&s, lock);
	else if (lock->last_result == REDLOCK_E_INVAL)
		put_invalid(&s, lock);
	else
		put_other(&s, lock);
	rl_loop_leave(&lock->client->loop);
	return (int)s.length;
}
