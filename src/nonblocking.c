/* SPDX-License-Identifier: MIT */
/* The calls for event loops: start, process, pull. None of them blocks. */
#include "client.h"
#include "core/sized.h"
#include "operate.h"
#include "os/bell.h"
#include "turn.h"

static int start(redlock_lock *lock, struct rl_event *event)
{
	RL_NO_CANCEL;
	int error = rl_client_check_lock(lock);
	if (error < 0)
		return error;
	redlock_client *c = lock->client;
	rl_loop_enter_now(&c->loop);
	rl_operate_catch_up(c);
	if (lock->waiter != NULL || (lock->pending & RL_OBSERVE_DONE) != 0)
		error = REDLOCK_E_STATE;
	else
		error = rl_operate_call(c, lock, event);
	if (error < 0)
		rl_handle_note(lock, error, true);
	rl_loop_leave(&c->loop);
	return error;
}

int redlock_start_acquire(redlock_lock *lock)
{
	return start(lock, &(struct rl_event){.kind = RL_EV_ACQUIRE});
}

int redlock_start_extend(redlock_lock *lock, uint64_t ttl_ms)
{
	return start(lock, &(struct rl_event){.kind = RL_EV_EXTEND, .ttl_ns = rl_time_ms(ttl_ms)});
}

int redlock_start_upgrade(redlock_lock *lock)
{
	return start(lock, &(struct rl_event){.kind = RL_EV_TURN, .up = true});
}

int redlock_start_downgrade(redlock_lock *lock)
{
	return start(lock, &(struct rl_event){.kind = RL_EV_TURN});
}

int redlock_start_release(redlock_lock *lock)
{
	return start(lock, &(struct rl_event){.kind = RL_EV_RELEASE, .passes = true});
}

int redlock_start_query(redlock_lock *lock)
{
	int error = rl_client_prepare_query(lock);
	return error < 0 ? error : start(lock, &(struct rl_event){.kind = RL_EV_QUERY});
}

int redlock_start_probe(redlock_lock *lock)
{
	int error = rl_client_prepare_query(lock);
	return error < 0 ? error : start(lock, &(struct rl_event){.kind = RL_EV_QUERY, .probe = true});
}

int redlock_fd(const redlock_client *c)
{
	int error = rl_client_check(c);
	return error == 0 ? c->loop.poller.fd : error;
}

uint64_t redlock_timeout_ns(redlock_client *c)
{
	if (rl_client_enter(c) < 0)
		return REDLOCK_NEVER_NS;
	bool work = rl_nodes_have_work(&c->nodes) || c->handles.queue_head != NULL || c->loop.leap_ns > 0;
	uint64_t next = work ? 0 : rl_turn_deadline(c);
	rl_loop_leave(&c->loop);
	return next;
}

int redlock_process(redlock_client *c)
{
	RL_NO_CANCEL;
	int error = rl_client_enter(c);
	if (error < 0)
		return error;
	c->loop.driven = true;
	error = rl_turn_poll(c);
	rl_loop_leave(&c->loop);
	return error < 0 ? REDLOCK_E_SYSTEM : 0;
}

static bool grants(unsigned operation)
{
	return operation == REDLOCK_OP_ACQUIRE || operation == REDLOCK_OP_EXTEND ||
	       operation == REDLOCK_OP_UPGRADE || operation == REDLOCK_OP_DOWNGRADE;
}

/* The program may come for a success after the validity has ended. Then the operation fails: an acquire gives
 * the lock back; after an extend, and after an inner acquire of a reentrant handle, the lock stays lost until
 * the program releases it. True: another handle may be the first in the queue now. */
static bool fail_if_late(redlock_client *c, redlock_lock *lock)
{
	bool acquired = lock->done_operation == REDLOCK_OP_ACQUIRE;
	if ((lock->pending & RL_OBSERVE_DONE) == 0 || lock->done_result != 0 || !grants(lock->done_operation))
		return false;
	rl_loop_look(&c->loop);
	rl_operate_catch_up(c);
	if (rl_lock_valid_until(&lock->core, c->loop.now_ns) > 0)
		return false;
	if (acquired && lock->entries == 0) {
		rl_registry_drop_events(&c->handles, lock);
		rl_operate(c, lock, &(struct rl_event){.kind = RL_EV_LATE});
		rl_turn_settle(c);
		return true;
	}
	if (acquired)
		lock->entries = (lock->entries - 1) & INT32_MAX;
	lock->done_result = REDLOCK_E_LOST;
	rl_handle_note(lock, REDLOCK_E_LOST, false);
	rl_operate(c, lock, &(struct rl_event){.kind = RL_EV_TICK});
	rl_turn_settle(c);
	return false;
}

int redlock_next(redlock_client *c, struct redlock_event *ret_event)
{
	struct redlock_event event;
	int error = rl_sized_check(ret_event); /* before an event is taken, which would be lost */
	if (error == 0)
		error = rl_client_enter(c);
	if (error < 0)
		return error;
	while (c->handles.queue_head != NULL && fail_if_late(c, c->handles.queue_head))
		continue;
	bool got = rl_registry_pull(&c->handles, &event);
	rl_loop_leave(&c->loop);
	return got && rl_sized_return(ret_event, &event, sizeof event) == 0;
}

int redlock_notice_fd(redlock_client *c)
{
	RL_NO_CANCEL;
	int error = rl_client_enter(c);
	if (error < 0)
		return error;
	if (c->handles.notice_fd < 0) {
		c->handles.notice_fd = rl_bell_open();
		if (c->handles.queue_head != NULL)
			rl_bell_ring(c->handles.notice_fd);
	}
	int fd = c->handles.notice_fd;
	rl_loop_leave(&c->loop);
	return fd >= 0 ? fd : REDLOCK_E_SYSTEM;
}
