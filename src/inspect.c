/* SPDX-License-Identifier: MIT */
/* Getters: the state of a client, its nodes and a handle, without asking any server. */
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "core/quarantine.h"
#include "core/sized.h"
#include "options.h"
#include "seen.h"

/* ---- of a client ---- */

unsigned redlock_node_count(const redlock_client *c)
{
	unsigned count = 0;
	for (unsigned i = 0; rl_client_check(c) == 0 && i < rl_client_count(c); i++)
		count += rl_client_part(c, i)->nodes.count;
	return count;
}

unsigned redlock_quorum(const redlock_client *c)
{
	return rl_client_check(c) == 0 ? c->nodes.quorum : 0;
}

int redlock_client_last_error(redlock_client *c, char *text, size_t size)
{
	int error = text != NULL || size == 0 ? rl_client_enter(c) : REDLOCK_E_INVAL;
	if (error < 0)
		return error;
	int length = snprintf(text, size, "%s", c->refusal);
	rl_loop_leave(&c->loop);
	return length;
}

/* A cluster: what waits at its other servers, and lingers there. */
static void add_servers(const struct rl_nodes *nodes, unsigned index, struct redlock_node_status *status)
{
	const struct rl_node *first = &nodes->list[index];
	bool unsent = rl_node_has_unsent(first);
	status->waiting = first->link.outbox.count + first->talk.parked.count;
	for (unsigned i = 0; i < nodes->clusters->count; i++) {
		const struct rl_node *n = nodes->clusters->servers[i];
		if (n->id != index)
			continue;
		status->waiting += n->link.outbox.count + n->talk.parked.count;
		status->lingering += n->ledger.lingering;
		unsent |= rl_node_has_unsent(n);
	}
	unsent |= nodes->clusters->late[index].count > 0;
	status->unsent = unsent ? 1 : status->unsent == 2 ? 2 : 0;
}

static int tell_node(const struct rl_nodes *nodes, unsigned index, struct redlock_node_status *ret)
{
	bool cluster = rl_cluster_is(nodes->clusters, index);
	const struct rl_node *n = cluster ? rl_cluster_speaker(nodes->clusters, index) : &nodes->list[index];
	struct redlock_node_status status = {
	    .connected = n->link.state == RL_LINK_OPEN && n->link.setup.count == 0,
	    .last_failure = n->link.failure,
	    .waiting = n->link.outbox.count + n->talk.parked.count,
	    .unsent = rl_node_has_unsent(n)                  ? 1
	              : rl_nodes_may_ask_again(nodes, index) ? 2
	                                                     : 0,
	    .owed = rl_nodes_owed_by(nodes, index),
	    .lingering = nodes->list[index].ledger.lingering,
	    .replicas = n->link.endpoint.replicas,
	};
	if (cluster)
		add_servers(nodes, index, &status);
	snprintf(status.address, sizeof status.address, "%s", nodes->list[index].link.endpoint.address);
	snprintf(status.last_error, sizeof status.last_error, "%s", rl_link_trouble(&n->link));
	memcpy(status.run_id, n->link.facts.run_id, sizeof status.run_id);
	return rl_sized_return(ret, &status, sizeof status);
}

int redlock_node_status(redlock_client *c, unsigned index, struct redlock_node_status *ret)
{
	redlock_client *part;
	int error = ret != NULL ? rl_client_enter_node(c, index, &part, &index) : REDLOCK_E_INVAL;
	if (error < 0)
		return error;
	error = tell_node(&part->nodes, index, ret);
	rl_loop_leave(&part->loop);
	return error;
}

static void write_guard(const struct rl_set *set, struct redlock_guard_status *ret)
{
	struct rl_set_count count = rl_set_count(set);
	ret->state = rl_set_is_guarded(set) ? REDLOCK_SET_GUARDED
	             : set->is_plain        ? REDLOCK_SET_PLAIN
	                                    : REDLOCK_SET_UNKNOWN;
	if (ret->state == REDLOCK_SET_GUARDED)
		memcpy(ret->set, set->id, sizeof ret->set);
	ret->records = count.records;
	ret->without = count.without;
	ret->barred = count.barred;
	ret->max_ttl_ms = set->ttl_ms;
}

int redlock_guard_status(redlock_client *c, struct redlock_guard_status *ret)
{
	struct redlock_guard_status status = {0};
	int error = ret != NULL ? rl_client_enter_one(c) : REDLOCK_E_INVAL;
	if (error < 0)
		return error;
	if (c->nodes.set != NULL)
		write_guard(c->nodes.set, &status);
	rl_loop_leave(&c->loop);
	return rl_sized_return(ret, &status, sizeof status);
}

int redlock_client_terms(redlock_client *c, const struct redlock_lock_options *options,
                         struct redlock_terms *ret)
{
	int error = rl_client_enter(c);
	if (error < 0)
		return error;
	error = rl_options_terms(options != NULL ? options : &c->lock_options, c->node_timeout_ms, c->drift_ppm,
	                         c->drift_ms, ret);
	rl_loop_leave(&c->loop);
	return error;
}

int redlock_client_lock_options(redlock_client *c, struct redlock_lock_options *ret)
{
	int error = rl_client_enter(c);
	if (error < 0)
		return error;
	error = ret != NULL ? rl_sized_return(ret, &c->lock_options, sizeof c->lock_options) : REDLOCK_E_INVAL;
	rl_loop_leave(&c->loop);
	return error;
}

/* The next turn tells the handles of a leap that is seen here. A sleeping thread is woken for that turn,
 * since not every kernel does that. */
static void look(struct rl_loop *l)
{
	uint64_t before_ns = l->leap_ns;
	rl_loop_look(l);
	if (l->leap_ns > before_ns)
		rl_poller_wake(&l->poller);
}

uint64_t redlock_leapt_ms(redlock_client *c)
{
	if (rl_client_check(c) < 0)
		return 0;
	c = rl_client_part(c, 0); /* the others see the same clock */
	rl_loop_enter(&c->loop);
	look(&c->loop);
	uint64_t leapt_ns = rl_time_add(c->loop.leapt_ns, c->loop.leap_ns);
	rl_loop_leave(&c->loop);
	return rl_time_add(leapt_ns, RL_NS_PER_MS - 1) / RL_NS_PER_MS;
}

/* ---- of a handle ---- */

redlock_client *redlock_lock_client(const redlock_lock *lock)
{
	return lock != NULL ? lock->client : NULL;
}

void *redlock_lock_user(const redlock_lock *lock)
{
	return lock != NULL ? lock->user : NULL;
}

/* Also what time it is. */
static uint64_t valid_until(const redlock_lock *lock, uint64_t *ret_now_ns)
{
	if (rl_client_enter_lock(lock) < 0)
		return 0;
	struct rl_loop *l = &lock->client->loop;
	look(l);
	uint64_t until = rl_lock_valid_until(&lock->core, rl_time_add(l->now_ns, l->leap_ns));
	until = rl_time_sub(until, l->leap_ns);
	*ret_now_ns = l->now_ns;
	rl_loop_leave(l);
	return until;
}

uint64_t redlock_deadline_ns(const redlock_lock *lock)
{
	uint64_t now;
	return valid_until(lock, &now);
}

uint64_t redlock_remaining_ms(const redlock_lock *lock)
{
	uint64_t now = 0;
	uint64_t until = valid_until(lock, &now);
	return rl_time_sub(until, now) / RL_NS_PER_MS;
}

int redlock_lock_token(const redlock_lock *lock, void *buffer, size_t size, size_t *ret_len)
{
	int error = buffer != NULL && ret_len != NULL ? rl_client_enter_lock(lock) : REDLOCK_E_INVAL;
	if (error < 0)
		return error;
	size_t length =
	    lock->core.phase == RL_KEPT ? 0 : lock->token_size; /* that of the client's next turn is not told */
	if (length < size) {
		memcpy(buffer, rl_handle_token_bytes(lock), length);
		((char *)buffer)[length] = '\0';
		*ret_len = length;
		rl_registry_at(&lock->client->handles, lock->slot)->told = 1; /* `lock` itself is const */
	} else {
		error = REDLOCK_E_INVAL;
	}
	rl_loop_leave(&lock->client->loop);
	return error;
}

uint64_t redlock_lock_fence(const redlock_lock *lock)
{
	if (rl_client_enter_lock(lock) < 0)
		return 0;
	uint64_t fence = rl_lock_fence(&lock->core);
	rl_loop_leave(&lock->client->loop);
	return fence;
}

int redlock_lock_obstacle(const redlock_lock *lock, unsigned *ret)
{
	int error = ret != NULL ? rl_client_enter_lock(lock) : REDLOCK_E_INVAL;
	if (error < 0)
		return error;
	if (lock->core.queue.obstacle > 0)
		*ret = lock->core.queue.obstacle - 1U;
	else
		error = REDLOCK_E_STATE;
	rl_loop_leave(&lock->client->loop);
	return error;
}

int redlock_lock_slot(const redlock_lock *lock, unsigned *ret)
{
	int error = ret != NULL ? rl_client_enter_lock(lock) : REDLOCK_E_INVAL;
	if (error < 0)
		return error;
	bool has = lock->core.phase == RL_HELD || lock->core.phase == RL_LOST;
	if (has && lock->core.rules->slots > 0)
		*ret = lock->core.claim.slot;
	else
		error = REDLOCK_E_STATE;
	rl_loop_leave(&lock->client->loop);
	return error;
}

int redlock_lock_terms(const redlock_lock *lock, struct redlock_terms *ret)
{
	int error = ret != NULL ? rl_client_enter_lock(lock) : REDLOCK_E_INVAL;
	if (error < 0)
		return error;
	error = rl_options_terms_of_rules(lock->core.rules, ret);
	rl_loop_leave(&lock->client->loop);
	return error;
}

static int tell_vote(const struct rl_ballot *ballot, struct redlock_vote *ret)
{
	const struct redlock_vote vote = {.code = (enum redlock_vote_code)ballot->code, .rtt_ns = ballot->rtt_ns};
	return rl_sized_return(ret, &vote, sizeof vote);
}

int redlock_lock_vote(const redlock_lock *lock, unsigned index, struct redlock_vote *ret)
{
	int error = ret != NULL ? rl_client_enter_lock(lock) : REDLOCK_E_INVAL;
	if (error < 0)
		return error;
	error =
	    index < lock->client->nodes.count ? tell_vote(&rl_handle_votes(lock)[index], ret) : REDLOCK_E_INVAL;
	rl_loop_leave(&lock->client->loop);
	return error;
}

int redlock_lock_finding(const redlock_lock *lock, unsigned index, struct redlock_finding *ret)
{
	int error = ret != NULL ? rl_client_enter_lock(lock) : REDLOCK_E_INVAL;
	if (error < 0)
		return error;
	if (index >= lock->client->nodes.count)
		error = REDLOCK_E_INVAL;
	else if (lock->core.findings == NULL)
		error = REDLOCK_E_STATE;
	else
		error = rl_sized_return(ret, &lock->core.findings[index], sizeof *ret);
	rl_loop_leave(&lock->client->loop);
	return error;
}

/* ---- of a wait ---- */

_Static_assert(RL_TIME_NEVER == REDLOCK_NEVER_NS, "points in time go out as they are");

static void tell(const redlock_lock *first, unsigned before, unsigned count, struct redlock_wait *ret)
{
	const struct rl_seen *seen = first->seen;
	const struct rl_lock *core = &first->core;
	ret->node = seen->node;
	ret->told_ns = seen->told_ns;
	ret->since_ns = seen->since_ns;
	ret->until_ns = seen->until_ns;
	ret->waiting = seen->waiting + count - 1;
	if (core->queue.placed && core->queue.gate == seen->node && core->queue.place > 0)
		ret->place = core->queue.place + before;
	ret->holder_len = seen->size;
	memcpy(ret->holder, seen->holder, seen->size);
}

/* All handles of the line wait for its first one, which has the place. */
static int tell_line(const redlock_lock *lock, struct redlock_wait *ret)
{
	struct redlock_wait wait = {.node = -1};
	unsigned before, count;
	const redlock_lock *first = rl_places_first(&lock->client->places, lock, &before, &count);
	if (first->seen != NULL)
		tell(first, before, count, &wait);
	return rl_sized_return(ret, &wait, sizeof wait);
}

static int tell_quarantine(uint64_t until_ns, struct redlock_wait *ret)
{
	struct redlock_wait wait = {.node = -1, .quarantine_ns = until_ns};
	return rl_sized_return(ret, &wait, sizeof wait);
}

int redlock_lock_waiting(const redlock_lock *lock, struct redlock_wait *ret_wait)
{
	int error = ret_wait != NULL ? rl_client_enter_lock(lock) : REDLOCK_E_INVAL;
	if (error < 0)
		return error;
	uint64_t quarantine_ns = rl_quarantine_end(&lock->core);
	if (quarantine_ns != 0)
		error = tell_quarantine(quarantine_ns, ret_wait);
	else
		error = lock->in_line && lock->core.phase != RL_HELD ? tell_line(lock, ret_wait) : REDLOCK_E_STATE;
	rl_loop_leave(&lock->client->loop);
	return error;
}
