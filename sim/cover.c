/* SPDX-License-Identifier: MIT */
/* Names of what is counted. */
#include "cover.h"

#include <inttypes.h>
#include <stdio.h>

const struct cover_row covers[COVER_COUNT] = {
#define SIM_COVER_ROW(name, text) [COVER_##name] = {#name, text},
    SIM_FAULT_MAP(SIM_COVER_ROW) SIM_ACT_MAP(SIM_COVER_ROW)
#undef SIM_COVER_ROW
};

const char *const cover_observations[RL_OBSERVE_COUNT] = {
#define SIM_OBSERVATION(name, words, event) #name,
    RL_OBSERVE_MAP(SIM_OBSERVATION)
#undef SIM_OBSERVATION
};

unsigned cover_observed(enum redlock_event_kind event)
{
	unsigned i = RL_OBSERVE_COUNT - 1;
	while (i > 0 && rl_observe_events[i] != event)
		i--;
	return i;
}

void cover_add(struct cover *sum, const struct cover *more)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)more;
	for (size_t i = 0; i < offsetof(struct cover, slowest_heal_ns) / sizeof *to; i++)
		to[i] += from[i];
	if (more->slowest_heal_ns > sum->slowest_heal_ns)
		sum->slowest_heal_ns = more->slowest_heal_ns;
	for (unsigned i = 0; i <= SIM_TROUBLES; i++)
		if (more->idle_ns[i] > sum->idle_ns[i])
			sum->idle_ns[i] = more->idle_ns[i];
	if (more->most_memory > sum->most_memory)
		sum->most_memory = more->most_memory;
}

static int show(bool missing, uint64_t count, const char *name, const char *text)
{
	if (!missing)
		printf("  %-15s %10" PRIu64 "  %s\n", name, count, text);
	else if (count == 0)
		printf("never happened: %s, %s\n", name, text);
	return count == 0;
}

int cover_print(const struct cover *c, bool missing)
{
	int never = 0;
	for (int i = 0; i < COVER_COUNT; i++)
		never += show(missing, c->hits[i], covers[i].name, covers[i].text);
	for (unsigned i = 0; i < RL_OBSERVE_COUNT; i++)
		if (rl_observe_events[i] != 0)
			never += show(missing, c->notices[i], cover_observations[i], "event of a handle");
	return never + asked_print(&c->rows, UINT32_MAX, missing ? ASKED_MISSING : ASKED_ALL);
}
