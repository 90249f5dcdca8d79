/* SPDX-License-Identifier: MIT */
/* Names of what is counted. */
#include "cover.h"

const struct cover_row covers[COVER_COUNT] = {
#define SIM_COVER_ROW(name, text) [COVER_##name] = {#name, text},
    SIM_FAULT_MAP(SIM_COVER_ROW) SIM_ACT_MAP(SIM_COVER_ROW)
#undef SIM_COVER_ROW
};

void cover_add(struct cover *sum, const struct cover *more)
{
	for (int i = 0; i < COVER_COUNT; i++)
		sum->hits[i] += more->hits[i];
	transitions_add(&sum->transitions, &more->transitions);
	sum->operations += more->operations;
	sum->events += more->events;
	sum->commands += more->commands;
	sum->world_ns += more->world_ns;
	if (more->slowest_heal_ns > sum->slowest_heal_ns)
		sum->slowest_heal_ns = more->slowest_heal_ns;
	if (more->most_memory > sum->most_memory)
		sum->most_memory = more->most_memory;
}
