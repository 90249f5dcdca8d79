/* SPDX-License-Identifier: MIT */
/* Virtual time and the trace. */
#include "world.h"

#include "proof.h"

#include <stdarg.h>
#include <stdio.h>

/* A seed has some thousands of events. More than this is a loop that does not let time pass. */
#define EVENTS_MAX 3000000u

#define FNV_START 0xcbf29ce484222325u
#define FNV_PRIME 0x100000001b3u

enum stream { STREAM_NET = 1, STREAM_CHAOS, STREAM_WORK };

struct world *sim_world;

void world_init(struct world *w, const struct plan *plan, struct cover *cover, bool trace, bool print)
{
	memset(w, 0, sizeof *w);
	w->plan = *plan;
	w->now_ns = SIM_SECOND; /* nothing in the world is at 0, which the library may take for "none" */
	w->cover = cover;
	w->only = COVER_COUNT;
	w->trace = (struct trace){.on = trace, .print = print, .hash = FNV_START};
	prng_seed(&w->net, plan->seed, STREAM_NET);
	prng_seed(&w->chaos, plan->seed, STREAM_CHAOS);
	prng_seed(&w->work, plan->seed, STREAM_WORK);
	sim_world = w;
	fake_world = &sim_os;
}

void world_free(struct world *w)
{
	proof_end(w);
	for (unsigned i = 0; i < w->plan.nodes; i++)
		node_free(&w->nodes[i]);
	links_free(&w->links);
	check_free(&w->check);
	heap_free(&w->heap);
	sim_world = NULL;
}

void world_at(struct world *w, uint64_t at_ns, sim_fire fire, uint32_t subject, uint64_t argument)
{
	if (at_ns == SIM_NEVER)
		return;
	heap_push(&w->heap, (struct sim_event){.at_ns = at_ns > w->now_ns ? at_ns : w->now_ns,
	                                       .fire = fire,
	                                       .subject = subject,
	                                       .argument = argument});
}

void world_after(struct world *w, uint64_t after_ns, sim_fire fire, uint32_t subject, uint64_t argument)
{
	world_at(w, w->now_ns + after_ns, fire, subject, argument);
}

void world_run(struct world *w, uint64_t until_ns)
{
	struct sim_event event;
	while (!w->check.failed && heap_next_ns(&w->heap) <= until_ns && heap_pop(&w->heap, &event)) {
		w->now_ns = event.at_ns;
		if (++w->events > EVENTS_MAX)
			check_fail(w, VIOLATION_SPIN, "%u events in %.3f s", EVENTS_MAX,
			           (double)w->now_ns / (double)SIM_SECOND);
		proof_tick(w, false);
		event.fire(w, event.subject, event.argument);
	}
	if (!w->check.failed)
		w->now_ns = until_ns;
}

void world_trace(struct world *w, const char *format, ...)
{
	char line[512];
	int head = snprintf(line, sizeof line, "[%12.6f] ", (double)w->now_ns / (double)SIM_MS);
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(line + head, sizeof line - (size_t)head, format, arguments);
	va_end(arguments);
	for (const char *at = line; *at != '\0'; at++)
		w->trace.hash = (w->trace.hash ^ (unsigned char)*at) * FNV_PRIME;
	w->trace.hash = (w->trace.hash ^ '\n') * FNV_PRIME;
	w->trace.lines++;
	if (w->trace.print)
		puts(line);
}
