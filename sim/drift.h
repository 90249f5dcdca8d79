/* SPDX-License-Identifier: MIT */
/* A clock that is not the world's: own start, own rate. Every client and every node has one. */
#ifndef SIM_DRIFT_H
#define SIM_DRIFT_H

#include <stdint.h>

#define SIM_NEVER UINT64_MAX
#define SIM_US ((uint64_t)1000)
#define SIM_MS ((uint64_t)1000000)
#define SIM_SECOND ((uint64_t)1000000000)

struct drift {
	uint64_t base_world_ns;
	uint64_t base_local_ns;
	int32_t rate_ppm; /* faster than the world by so many parts per million */
};

/* The time that this clock shows at a point of world time (not before its base). */
uint64_t drift_local(const struct drift *clock, uint64_t world_ns);

/* The first point of world time at which this clock shows `local_ns` or more; SIM_NEVER for SIM_NEVER. */
uint64_t drift_world(const struct drift *clock, uint64_t local_ns);

/* From now on the clock runs at another rate, shows `step_ns` more (a jump), or stands still for a while. */
void drift_set_rate(struct drift *clock, uint64_t world_ns, int32_t rate_ppm);
void drift_jump(struct drift *clock, uint64_t world_ns, int64_t step_ns);
void drift_freeze(struct drift *clock, uint64_t world_ns, uint64_t for_ns);

#endif
