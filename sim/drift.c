/* SPDX-License-Identifier: MIT */
/* Drifting clocks, in whole numbers so that every machine gets the same ones. */
#include "drift.h"

#define MILLION 1000000

static uint64_t scaled(uint64_t elapsed_ns, int32_t rate_ppm)
{
	int64_t whole = (int64_t)(elapsed_ns / MILLION) * rate_ppm;
	int64_t rest = (int64_t)(elapsed_ns % MILLION) * rate_ppm / MILLION;
	return (uint64_t)((int64_t)elapsed_ns + whole + rest);
}

uint64_t drift_local(const struct drift *clock, uint64_t world_ns)
{
	if (world_ns <= clock->base_world_ns)
		return clock->base_local_ns;
	return clock->base_local_ns + scaled(world_ns - clock->base_world_ns, clock->rate_ppm);
}

uint64_t drift_world(const struct drift *clock, uint64_t local_ns)
{
	if (local_ns == SIM_NEVER)
		return SIM_NEVER;
	if (local_ns <= clock->base_local_ns)
		return clock->base_world_ns;
	uint64_t wanted = local_ns - clock->base_local_ns;
	/* An estimate from the inverse rate, then the last nanoseconds by steps. */
	uint64_t guess = (uint64_t)((double)wanted * MILLION / (MILLION + clock->rate_ppm));
	while (guess > 0 && scaled(guess, clock->rate_ppm) >= wanted)
		guess--;
	while (scaled(guess, clock->rate_ppm) < wanted)
		guess++;
	return clock->base_world_ns + guess;
}

void drift_set_rate(struct drift *clock, uint64_t world_ns, int32_t rate_ppm)
{
	if (world_ns > clock->base_world_ns) { /* else it stands still: that goes on */
		clock->base_local_ns = drift_local(clock, world_ns);
		clock->base_world_ns = world_ns;
	}
	clock->rate_ppm = rate_ppm;
}

void drift_jump(struct drift *clock, uint64_t world_ns, int64_t step_ns)
{
	drift_set_rate(clock, world_ns, clock->rate_ppm);
	clock->base_local_ns = (uint64_t)((int64_t)clock->base_local_ns + step_ns);
}

/* Before its base a clock shows what it shows there. */
void drift_freeze(struct drift *clock, uint64_t world_ns, uint64_t for_ns)
{
	drift_set_rate(clock, world_ns, clock->rate_ppm);
	clock->base_world_ns += for_ns;
}
