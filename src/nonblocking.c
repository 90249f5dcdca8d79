/* SPDX-License-Identifier: MIT */
/* The calls for event loops: start, process, pull. None of them blocks. */
#include <limits.h>

#include "call.h"
#include "client.h"
#include "core/sized.h"
#include "operate.h"
#include "os/bell.h"
#include "registry.h"
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
		error = rl_call_begin(c, lock, event);
	if (error < 0)
		rl_handle_note_refusal(lock, error, event);
	rl_loop_leave(&c->loop);
	return error;
}

int redlock_start_acquire(redlock_lock *lock)
{
	return start(lock, &(struct rl_event){.kind = RL_EV_ACQUIRE});
}

int redlock_start_extend(redlock_lock *lock, uint64_t ttl_ms)
{
	return start(lock, &(struct rl_event){.kind = RL_EV_EXTEND, .asked.ttl_ns = rl_time_ms(ttl_ms)});
}

int redlock_start_upgrade(redlock_lock *lock)
{
	return start(lock, &(struct rl_event){.kind = RL_EV_TURN, .asked.up = true});
}

int redlock_start_downgrade(redlock_lock *lock)
{
	return start(lock, &(struct rl_event){.kind = RL_EV_TURN});
}

int redlock_start_release(redlock_lock *lock)
{
	return start(lock, &(struct rl_event){.kind = RL_EV_RELEASE, .asked.passes = true});
}

int redlock_start_query(redlock_lock *lock)
{
	int error = rl_client_prepare_query(lock);
	return error < 0 ? error : start(lock, &(struct rl_event){.kind = RL_EV_QUERY});
}

int redlock_start_probe(redlock_lock *lock)
{
	int error = rl_client_prepare_query(lock);
	return error < 0 ? error : start(lock, &(struct rl_event){.kind = RL_EV_QUERY, .asked.probe = true});
}

int redlock_start(redlock_lock *lock, enum redlock_operation operation, uint64_t ms)
{
	int error;
	switch (operation) {
	case REDLOCK_OP_ACQUIRE:
		error = redlock_lock_set_wait(lock, ms);
		return error < 0 ? error : redlock_start_acquire(lock);
	case REDLOCK_OP_EXTEND:
		return redlock_start_extend(lock, ms);
	case REDLOCK_OP_RELEASE:
		return redlock_start_release(lock);
	case REDLOCK_OP_QUERY:
		return redlock_start_query(lock);
	case REDLOCK_OP_PROBE:
		return redlock_start_probe(lock);
	case REDLOCK_OP_UPGRADE:
		return redlock_start_upgrade(lock);
	case REDLOCK_OP_DOWNGRADE:
		return redlock_start_downgrade(lock);
	case REDLOCK_OP_NONE:
		break;
	}
	return REDLOCK_E_INVAL;
}

int redlock_fd(const redlock_client *c)
{
	int error = rl_client_check(c);
	return error == 0 ? c->loop.poller.fd : error;
}

static uint64_t timeout_of(redlock_client *c)
{
	rl_loop_enter(&c->loop);
	bool work = rl_nodes_have_work(&c->nodes) || c->handles.queue_head != NULL || c->loop.leap_ns > 0;
	uint64_t next = work ? 0 : rl_turn_deadline(c);
	rl_loop_leave(&c->loop);
	return next;
}

uint64_t redlock_timeout_ns(redlock_client *c)
{
	if (rl_client_check(c) < 0)
		return REDLOCK_NEVER_NS;
	uint64_t next = timeout_of(rl_client_part(c, 0));
	for (unsigned i = 1; i < rl_client_count(c); i++)
		next = rl_time_min(next, timeout_of(rl_client_part(c, i)));
	return next;
}

/* Takes note of a wall clock that was set, so that the descriptor of the whole does not stay readable. */
static void look_at_parts(redlock_client *c)
{
	struct rl_ready ready[2 * REDLOCK_MAX_SETS];
	(void)rl_poller_look(&c->loop.poller, ready, 2 * REDLOCK_MAX_SETS);
}

static int process(redlock_client *c)
{
	rl_loop_enter(&c->loop);
	c->loop.driven = true;
	int error = rl_turn_poll(c);
	rl_loop_leave(&c->loop);
	return error < 0 ? REDLOCK_E_SYSTEM : 0;
}

int redlock_process(redlock_client *c)
{
	RL_NO_CANCEL;
	int result = rl_client_check(c);
	if (result < 0)
		return result;
	if (c->parts != NULL)
		look_at_parts(c);
	for (unsigned i = 0; i < rl_client_count(c); i++) {
		int error = process(rl_client_part(c, i));
		result = error < 0 ? error : result;
	}
	return result;
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
	rl_handle_note(lock, REDLOCK_E_LOST, RL_CAUSE_LOSS);
	rl_operate(c, lock, &(struct rl_event){.kind = RL_EV_TICK});
	rl_turn_settle(c);
	return false;
}

static bool pull(redlock_client *c, struct redlock_event *ret)
{
	while (c->handles.queue_head != NULL && fail_if_late(c, c->handles.queue_head))
		continue;
	return rl_registry_pull(&c->handles, ret);
}

/* The part whose events come first. The parts take turns, so that each of them is heard. */
static unsigned first_part(const redlock_client *c)
{
	return c->parts != NULL ? atomic_fetch_add(&c->parts->next, 1) % c->parts->count : 0;
}

static redlock_client *part_after(const redlock_client *c, unsigned first, unsigned index)
{
	return rl_client_part(c, c->parts != NULL ? (first + index) % c->parts->count : 0);
}

int redlock_next(redlock_client *c, struct redlock_event *ret_event)
{
	struct redlock_event event;
	int error = rl_sized_check(ret_event); /* before an event is taken, which would be lost */
	if (error == 0)
		error = rl_client_check(c);
	if (error < 0)
		return error;
	bool got = false;
	unsigned first = first_part(c);
	for (unsigned i = 0; i < rl_client_count(c) && !got; i++) {
		redlock_client *part = part_after(c, first, i);
		rl_loop_enter(&part->loop);
		got = pull(part, &event);
		rl_loop_leave(&part->loop);
	}
	return got && rl_sized_return(ret_event, &event, sizeof event) == 0;
}

/* Returns the number of events, or SYSTEM. */
static int turn(redlock_client *c, unsigned most, char *events, size_t size)
{
	struct redlock_event event;
	unsigned count = 0;
	rl_loop_enter(&c->loop);
	c->loop.driven = true;
	rl_registry_be_quiet(&c->handles, true);
	int error = rl_turn_poll(c);
	for (; error == 0 && count < most && pull(c, &event); count++)
		rl_sized_fill(events + count * size, size, &event, sizeof event);
	rl_registry_be_quiet(&c->handles, false);
	rl_loop_leave(&c->loop);
	return error < 0 ? REDLOCK_E_SYSTEM : (int)count;
}

int redlock_turn(redlock_client *c, unsigned most, struct redlock_event *ret_events)
{
	RL_NO_CANCEL;
	unsigned count = 0;
	int error = most > INT_MAX ? REDLOCK_E_INVAL : rl_sized_check(ret_events);
	if (error == 0)
		error = rl_client_check(c);
	if (error < 0)
		return error;
	size_t size = ret_events->size;
	if (c->parts != NULL)
		look_at_parts(c);
	unsigned first = first_part(c);
	for (unsigned i = 0; i < rl_client_count(c); i++) {
		int got = turn(part_after(c, first, i), most - count, (char *)ret_events + count * size, size);
		error = got < 0 ? got : error;
		count += got > 0 ? (unsigned)got : 0;
	}
	return count == 0 && error < 0 ? error : (int)count;
}

static int notice_fd_of(redlock_client *c)
{
	rl_loop_enter(&c->loop);
	int fd = rl_registry_notice_fd(&c->handles);
	rl_loop_leave(&c->loop);
	return fd;
}

/* The mutexes of the parts come before that of the whole, which a part takes to trace. */
static int notice_fd_of_parts(redlock_client *c)
{
	int fds[2 * REDLOCK_MAX_SETS];
	for (unsigned i = 0; i < c->parts->count; i++) {
		fds[i] = notice_fd_of(c->parts->list[i]);
		if (fds[i] < 0)
			return -1;
	}
	rl_loop_enter(&c->loop);
	if (c->parts->notice_fd < 0)
		c->parts->notice_fd = rl_bell_join(fds, c->parts->count);
	int fd = c->parts->notice_fd;
	rl_loop_leave(&c->loop);
	return fd;
}

int redlock_notice_fd(redlock_client *c)
{
	RL_NO_CANCEL;
	int error = rl_client_check(c);
	if (error < 0)
		return error;
	int fd = c->parts != NULL ? notice_fd_of_parts(c) : notice_fd_of(c);
	return fd >= 0 ? fd : REDLOCK_E_SYSTEM;
}
