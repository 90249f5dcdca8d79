/* SPDX-License-Identifier: MIT */
/* The guard's decisions. */
#include "watch.h"

enum { KILL_AGAIN_NS = 5000000 }; /* a process that was just born when the last KILL went out */

static uint64_t before(uint64_t time_ns, uint64_t distance_ns)
{
	if (time_ns == UINT64_MAX)
		return UINT64_MAX;
	return time_ns > distance_ns ? time_ns - distance_ns : 0;
}

void watch_init(struct watch *watch, enum on_loss on_loss, uint64_t kill_after_ns, uint64_t margin_ns)
{
	*watch = (struct watch){.state = GUARD_READY,
	                        .on_loss = on_loss,
	                        .kill_after_ns = kill_after_ns,
	                        .margin_ns = margin_ns,
	                        .kill_ns = UINT64_MAX};
}

uint64_t watch_start_by(const struct watch *watch, uint64_t deadline_ns)
{
	return watch->on_loss == ON_LOSS_WARN ? deadline_ns : before(deadline_ns, watch->kill_after_ns);
}

uint64_t watch_due(const struct watch *watch, uint64_t deadline_ns)
{
	uint64_t end_ns = watch->on_loss == ON_LOSS_KILL ? before(deadline_ns, watch->margin_ns) : UINT64_MAX;
	switch (watch->state) {
	case GUARD_RUNNING:
		return watch->on_loss == ON_LOSS_WARN ? UINT64_MAX : watch_start_by(watch, deadline_ns);
	case GUARD_TERMED:
		return end_ns < watch->kill_ns ? end_ns : watch->kill_ns;
	case GUARD_KILLING:
		return watch->kill_ns;
	default:
		return UINT64_MAX;
	}
}

bool watch_is_due(const struct watch *watch, uint64_t now_ns, uint64_t deadline_ns, enum guard_event *ret)
{
	if (now_ns < watch_due(watch, deadline_ns))
		return false;
	/* A guard that was kept from running does not begin with TERM when it is time for KILL. */
	if (watch->state == GUARD_RUNNING &&
	    (watch->on_loss != ON_LOSS_KILL || now_ns < before(deadline_ns, watch->margin_ns)))
		*ret = GUARD_ON_NEAR_END;
	else
		*ret = GUARD_ON_KILL_TIME;
	return true;
}

/* When KILL follows on an event. */
static uint64_t kill_time(const struct watch *watch, enum guard_event event, uint64_t now_ns)
{
	uint64_t soon_ns = now_ns + watch->kill_after_ns - watch->margin_ns;
	switch (event) {
	case GUARD_ON_STOP:
		return soon_ns < watch->kill_ns ? soon_ns : watch->kill_ns;
	case GUARD_ON_NEAR_END:
	case GUARD_ON_ORPHANED:
		/* Fixed here: a renewal that comes now does not undo TERM. */
		return watch->on_loss == ON_LOSS_KILL ? soon_ns : UINT64_MAX;
	case GUARD_ON_KILL_TIME:
		return now_ns + KILL_AGAIN_NS;
	default:
		return watch->kill_ns;
	}
}

unsigned watch_step(struct watch *watch, enum guard_event event, uint64_t now_ns)
{
	const struct guard_rule *rule = guard_step(watch->state, event);
	if (rule == NULL)
		return 0;
	watch->kill_ns = kill_time(watch, event, now_ns);
	watch->state = rule->next;
	return rule->actions;
}

enum guard_event watch_orphaned(const struct watch *watch)
{
	return watch->on_loss == ON_LOSS_WARN ? GUARD_ON_LET_GO : GUARD_ON_ORPHANED;
}
