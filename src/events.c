/* SPDX-License-Identifier: MIT */
/* The calls for event loops: start, process, pull. None of them blocks. */
#include "client.h"
#include "options.h"
#include "os/bell.h"
#include "os/clock.h"

static int start(redlock_lock *lock, struct rl_event *event)
{
	RL_NO_CANCEL;
	int error = rl_enter_lock(lock);
	if (error < 0)
		return error;
	redlock_client *c = lock->client;
	c->now_ns = rl_clock_now();
	if (lock->waited || (lock->pending & RL_OBSERVE_DONE) != 0)
		error = REDLOCK_E_STATE;
	else
		error = rl_operate(c, lock, event);
	rl_leave(c);
	return error;
}

int redlock_start_acquire(redlock_lock *lock)
{
	return start(lock, &(struct rl_event){.kind = RL_EV_ACQUIRE});
}

int redlock_start_extend(redlock_lock *lock, uint64_t ttl_ms)
{
	uint64_t ttl_ns = lock != NULL ? rl_extend_ttl(&lock->core.rules, ttl_ms) : 0;
	return ttl_ns == 0 ? REDLOCK_E_INVAL
	                   : start(lock, &(struct rl_event){.kind = RL_EV_EXTEND, .ttl_ns = ttl_ns});
}

int redlock_start_release(redlock_lock *lock)
{
	return start(lock, &(struct rl_event){.kind = RL_EV_RELEASE});
}

int redlock_start_query(redlock_lock *lock)
{
	int error = rl_handle_prepare_query(lock);
	return error < 0 ? error : start(lock, &(struct rl_event){.kind = RL_EV_QUERY});
}

int redlock_start_probe(redlock_lock *lock)
{
	int error = rl_handle_prepare_query(lock);
	return error < 0 ? error : start(lock, &(struct rl_event){.kind = RL_EV_QUERY, .probe = true});
}

int redlock_fd(const redlock_client *c)
{
	return c != NULL ? c->poller.fd : REDLOCK_E_INVAL;
}

static bool can_send(const struct rl_node *n)
{
	if (n->link != RL_LINK_OPEN || n->watching_write)
		return n->link == RL_LINK_BROKEN;
	return rl_outbox_unsent(&n->setup).size > 0 ||
	       (rl_node_may_send(n) && rl_outbox_unsent(&n->outbox).size > 0) || rl_talk_may_go_on(n);
}

static bool has_work(const redlock_client *c)
{
	for (unsigned i = 0; i < c->node_count; i++)
		if (can_send(&c->nodes[i]))
			return true;
	return c->queue_head != NULL;
}

uint64_t redlock_timeout_ns(redlock_client *c)
{
	if (rl_enter(c) < 0)
		return REDLOCK_NEVER_NS;
	uint64_t next = has_work(c) ? 0 : rl_next_deadline(c);
	rl_leave(c);
	return next;
}

int redlock_process(redlock_client *c)
{
	RL_NO_CANCEL;
	int error = rl_enter(c);
	if (error < 0)
		return error;
	error = rl_poll_once(c);
	rl_leave(c);
	return error < 0 ? REDLOCK_E_SYSTEM : 0;
}

int redlock_next(redlock_client *c, struct redlock_event *ret_event)
{
	int error = ret_event != NULL ? rl_enter(c) : REDLOCK_E_INVAL;
	if (error < 0)
		return error;
	bool got = rl_next_event(c, ret_event);
	rl_leave(c);
	return got ? 1 : 0;
}

int redlock_notice_fd(redlock_client *c)
{
	RL_NO_CANCEL;
	int error = rl_enter(c);
	if (error < 0)
		return error;
	if (c->notice_fd < 0) {
		c->notice_fd = rl_bell_open();
		if (c->queue_head != NULL)
			rl_bell_ring(c->notice_fd);
	}
	int fd = c->notice_fd;
	rl_leave(c);
	return fd >= 0 ? fd : REDLOCK_E_SYSTEM;
}
