/* SPDX-License-Identifier: MIT */
/* Drawing a plan. */
#include "plan.h"

#include <assert.h>
#include <stdio.h>

#include "check.h"
#include "faults.h"
#include "old.h"
#include "prng.h"
#include "scripts.h"

enum { STREAM_PLAN = 100, STREAM_GUARD, STREAM_BY_TIME, STREAM_STICKY, STREAM_JOINING, STREAM_CHANGES };

/* Two round trips (a script that a node has forgotten) must fit into a node timeout. */
#define MOST_JITTER_NS (20 * SIM_MS)

/* The time that a change of members takes beyond a TTL. */
#define CHANGE_MS 2500

/* Faults of an occasion: how often, at most, per thousand occasions. */
static const struct {
	enum sim_cover fault;
	uint16_t most_permille;
} occasions[] = {
    {COVER_DELAY_SPIKE, 60},    {COVER_SPLIT_CHUNK, 300},   {COVER_PARTIAL_READ, 300},
    {COVER_PARTIAL_WRITE, 300}, {COVER_CONNECT_ERROR, 200}, {COVER_CONNECT_REFUSED, 300},
    {COVER_CONNECT_HANG, 200},  {COVER_KILL_DENIED, 700},   {COVER_INFO_DENIED, 700},
    {COVER_NO_NAME, 300},       {COVER_NO_LOGIN, 300},      {COVER_NO_DATABASE, 300},
    {COVER_SLOW_LOOP, 100},     {COVER_NO_RANDOM, 20},      {COVER_SLOW_NAME, 300},
    {COVER_DEAD_ADDRESS, 500},  {COVER_EVAL_DENIED, 900},   {COVER_QUEUE_DENIED, 900},
    {COVER_NATIVE, 900},        {COVER_QUIET_LOGIN, 900},   {COVER_MESSAGE_LOST, 500},
    {COVER_MESSAGE_LATE, 500},  {COVER_MESSAGE_TWICE, 500}, {COVER_WOKEN_CRASH, 200},
    {COVER_PLAIN_CLIENT, 500},  {COVER_KEYS_TOLD, 900},     {COVER_KEYS_DENIED, 500},
};

static void draw_faults(struct plan *plan, struct prng *p)
{
	unsigned on =
	    (unsigned)prng_between(p, 100, 700); /* some seeds have few kinds of faults, some most of them */
	for (size_t i = 0; i < sizeof occasions / sizeof occasions[0]; i++)
		if (prng_chance(p, on))
			plan->permille[occasions[i].fault] = (uint16_t)prng_between(p, 1, occasions[i].most_permille);
	for (size_t i = 0; i < faults_count; i++)
		if (faults[i].kind != COVER_LOOK && prng_chance(p, on)) /* that is drawn with the guard */
			plan->gap_ms[faults[i].kind] =
			    (uint32_t)prng_between(p, faults[i].gap_ms, 6 * (uint64_t)faults[i].gap_ms);
}

static void draw_login(struct plan *plan, struct prng *p)
{
	uint64_t login = prng_below(p, 3);
	plan->password = login > 0 ? "secret" : NULL;
	plan->user = login > 1 ? "worker" : NULL;
	plan->database = prng_chance(p, 300) ? 3 : 0;
	plan->prefix = prng_chance(p, 300) ? "lock:" : NULL;
	plan->unix_sockets = prng_chance(p, 250);
}

/* A transaction takes two round trips, and may have to wait for another one. */
#define MOST_SCRIPTLESS_NS (4 * SIM_MS)

/* A modelled node reads whole commands. A client could never send one that is longer than the room for what
 * is on its way, so each script has to fit with its keys and words. */
static void check_room(uint64_t room)
{
	enum { WORDS = 1024 };
	for (unsigned i = 0; i < RL_SCRIPT_COUNT; i++)
		assert(rl_scripts[i].length + WORDS <= room);
}

static void draw_network(struct plan *plan, struct prng *p)
{
	static const uint64_t delays_us[] = {20, 100, 500, 3000, 20000};
	static const uint64_t rooms[] = {9216, 12288, 65536, 1 << 20};
	check_room(rooms[0]);
	plan->delay_ns = delays_us[prng_below(p, 5)] * SIM_US;
	plan->jitter_ns = plan->delay_ns * prng_below(p, 4);
	if (plan->jitter_ns > MOST_JITTER_NS)
		plan->jitter_ns = MOST_JITTER_NS;
	plan->loop_ns = prng_between(p, 1, 200) * SIM_US;
	plan->send_room = rooms[prng_below(p, 4)];
	if (plan->delay_ns >= 10 * SIM_MS && plan->send_room < rooms[1])
		plan->send_room = rooms[1]; /* a script must get through within a node timeout */
}

/* In most seeds a round fits into a node timeout, which is a third of the TTL at most: two round trips. */
static void fit_ttl(struct plan *plan, struct prng *p)
{
	uint64_t rounds_ms = 12 * (plan->delay_ns + plan->jitter_ns) / SIM_MS;
	if (prng_chance(p, 800) && plan->ttl_ms_min < rounds_ms)
		plan->ttl_ms_min = rounds_ms;
	plan->ttl_ms_max = prng_between(p, plan->ttl_ms_min, 3 * plan->ttl_ms_min);
}

/* Draws the conditions under which the broken assumption has consequences soon. */
static void draw_break(struct plan *plan, struct prng *p)
{
	switch (plan->broken) {
	case BREAK_QUORUM:
	case BREAK_MEMBERS:
		plan->nodes = 4;
		plan->quorum = 0;
		break;
	case BREAK_AMNESIA:
	case BREAK_EXTEND:
		plan->gap_ms[COVER_CRASH_WIPE] = (uint32_t)prng_between(p, 50, 300);
		break;
	case BREAK_SHARED:
		plan->resources = 1;
		break;
	case BREAK_SOME:
		plan->resources = 2;
		break;
	case BREAK_LATE_ACTION:
		plan->gap_ms[COVER_CLIENT_PAUSE] = (uint32_t)prng_between(p, 200, 800);
		break;
	case BREAK_OWN_VALUE: /* attempts that fail, and processes that end with bytes on their way */
		plan->resources = 1;
		plan->actors = 5;
		plan->think_ms = 20;
		plan->ttl_ms_min = plan->ttl_ms_max = 300;
		plan->permille[COVER_DELAY_SPIKE] = 200;
		plan->gap_ms[COVER_CLIENT_CRASH] = 40;
		break;
	case BREAK_DRIFT:
		plan->rate_ppm = 200000;
		plan->gap_ms[COVER_CLIENT_DRIFT] = 500;
		plan->gap_ms[COVER_NODE_DRIFT] = 500;
		break;
	case BREAK_NODE_JUMP:
		plan->gap_ms[COVER_NODE_JUMP] = 300;
		break;
	case BREAK_CLIENT_JUMP:
		plan->gap_ms[COVER_CLIENT_FREEZE] = 300;
		break;
	case BREAK_WALL:
		plan->gap_ms[COVER_CLIENT_STOP] = 300;
		break;
	case BREAK_LOGIN:
		plan->permille[COVER_QUIET_LOGIN] = 1000;
		plan->gap_ms[COVER_NEW_LOGIN] = 200;
		break;
	case BREAK_VALIDITY: /* slow rounds, or the beginning and the end are the same */
		plan->delay_ns = plan->jitter_ns = MOST_JITTER_NS;
		plan->ttl_ms_min = plan->ttl_ms_max = 300;
		break;
	default:
		break;
	}
}

/* The library allows for 2 ms and 1 % of the TTL. Rates take at most 0.6 % of that: jumps of both clocks have
 * the 2 ms, less what rounding may take. */
#define JUMPS_NS (1900 * SIM_US)
#define MOST_STEP_BACK_NS (400 * SIM_MS)

static void draw_jumps(struct plan *plan, struct prng *p)
{
	plan->node_jump_ns = prng_below(p, JUMPS_NS + 1);
	plan->client_freeze_ns = JUMPS_NS - plan->node_jump_ns;
	if (plan->gap_ms[COVER_NODE_STEP_BACK] != 0)
		plan->step_back_ns = prng_between(p, 1, MOST_STEP_BACK_NS / SIM_MS) * SIM_MS;
}

bool plan_forgets(const struct plan *plan)
{
	return plan->guard || plan->broken == BREAK_AMNESIA || plan->broken == BREAK_EXTEND;
}

/* Draws a guard for a share of the seeds, and clients that look for one for others, by numbers of its own:
 * the others stay as they are. A user that may not read the record has no vote there. */
static void draw_guard(struct plan *plan)
{
	static const enum sim_cover denials[] = {COVER_INFO_DENIED, COVER_EVAL_DENIED, COVER_QUEUE_DENIED,
	                                         COVER_PLAIN_CLIENT};
	static const enum sim_cover forgets[] = {COVER_CRASH_KEEP, COVER_CRASH_MACHINE};
	struct prng p;
	prng_seed(&p, plan->seed, STREAM_GUARD);
	bool drawn =
	    prng_chance(&p, 150) && plan->broken != BREAK_LOGIN; /* its logins are requests, without a form */
	plan->guard = plan->broken >= BREAK_QUARANTINE || drawn;
	plan->looks = plan->broken == BREAK_NONE && !plan->guard && prng_chance(&p, 300);
	if (plan->looks)
		plan->gap_ms[COVER_LOOK] = (uint32_t)prng_between(&p, 20, 300);
	if (!plan->guard)
		return;
	for (size_t i = 0; i < sizeof denials / sizeof denials[0]; i++)
		plan->permille[denials[i]] = 0;
	plan->gap_ms[COVER_CRASH_WIPE] = (uint32_t)prng_between(&p, 100, 1000);
	/* In some seeds a majority always knows its numbers, and those that forgot get them back from it. */
	if (plan->broken != BREAK_NONE || plan_guard_ttl_ms(plan) > 4000 || !prng_chance(&p, 500))
		return;
	for (size_t i = 0; i < sizeof forgets / sizeof forgets[0]; i++)
		plan->gap_ms[forgets[i]] = 0;
	plan->gap_ms[COVER_CRASH_WIPE] = (uint32_t)(2 * plan_guard_ttl_ms(plan) + prng_between(&p, 1000, 5000));
	plan->busy_ns += 2 * SIM_MS * plan->gap_ms[COVER_CRASH_WIPE];
}

/* A share of the guarded seeds changes its members. The operator gets into each node, and a change takes as
 * long as a quarantine. */
static void draw_changes(struct plan *plan)
{
	static const enum sim_cover none[] = {COVER_NO_LOGIN, COVER_NO_DATABASE};
	struct prng p;
	prng_seed(&p, plan->seed, STREAM_CHANGES);
	plan->changes =
	    plan->broken >= BREAK_TWO_CHANGES || (plan->guard && !plan->joins && prng_chance(&p, 300));
	if (!plan->changes)
		return;
	for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
		plan->permille[none[i]] = 0;
	plan->nodes = (unsigned)prng_between(&p, 3, 6);
	plan->quorum = 0;
	plan->busy_ns += prng_between(&p, 2, 6) * (plan_guard_ttl_ms(plan) + CHANGE_MS) * SIM_MS;
}

/* As draw_guard(). A lock is kept where few want it, and use it often. */
static void draw_sticky(struct plan *plan)
{
	struct prng p;
	prng_seed(&p, plan->seed, STREAM_STICKY);
	plan->sticky = plan->broken == BREAK_NONE && prng_chance(&p, 250);
	if (!plan->sticky || prng_chance(&p, 300))
		return;
	plan->actors = (unsigned)prng_between(&p, 2, plan->actors < 4 ? plan->actors : 4);
	plan->resources = 2;
	plan->think_ms = prng_between(&p, 2, 50);
}

/* Draws clients to the letter of the page, with the page's assumptions: clocks that agree, and timeouts that
 * are alike. They would delete another program's key as their own; and they would overwrite a lock of another
 * kind that was free when they looked. */
static void draw_old(struct plan *plan, struct prng *p)
{
	static const enum sim_cover none[] = {COVER_EVAL_DENIED,    COVER_QUEUE_DENIED,   COVER_PLAIN_CLIENT,
	                                      COVER_NODE_STEP_BACK, COVER_FOREIGN_STRING, COVER_FOREIGN_HASH};
	for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
		plan->permille[none[i]] = 0, plan->gap_ms[none[i]] = 0;
	plan->step_back_ns = 0;
	plan->old_clients = (unsigned)prng_between(p, 1, SIM_OLD_CLIENTS);
	plan->old_timeout_s = (plan->ttl_ms_max + 999) / 1000 + prng_below(p, 2);
	plan->old_ahead_ms = prng_below(p, OLD_CLOCKS_MS + 1);
	plan->busy_ns += 5 * SIM_SECOND; /* what a dead one leaves is past after two or three of them */
	if (prng_chance(p, 400))
		plan->nodes = 1, plan->quorum = 0;
	if (plan->broken == BREAK_NONE)
		return;
	plan->nodes = 3, plan->quorum = 0;
	plan->resources = 1;
	plan->old_clients = SIM_OLD_CLIENTS;
	plan->think_ms = 20;
}

/* A share of the seeds, in the same way. */
static void draw_by_time(struct plan *plan)
{
	struct prng p;
	prng_seed(&p, plan->seed, STREAM_BY_TIME);
	bool old = plan->broken == BREAK_GIVE_ALL || plan->broken == BREAK_GETSET;
	bool any = old || plan->broken == BREAK_UNASKED;
	plan->by_time = any || (plan->broken == BREAK_NONE && !plan->guard && prng_chance(&p, 200));
	if (old || (plan->by_time && !any && prng_chance(&p, 500)))
		draw_old(plan, &p);
}

/* As draw_guard(). The clients of two steps share few nodes, and want little else. */
static void draw_joining(struct plan *plan)
{
	static const unsigned sizes[][2] = {{3, 3}, {3, 3}, {3, 4}, {2, 3}, {3, 1}, {1, 3}, {1, 1}};
	struct prng p;
	prng_seed(&p, plan->seed, STREAM_JOINING);
	bool broken = plan->broken == BREAK_JOINT || plan->broken == BREAK_STEPS;
	bool drawn = plan->broken == BREAK_NONE && prng_chance(&p, 80);
	plan->joins = broken || (drawn && !plan->guard && !plan->looks && plan->old_clients == 0);
	if (!plan->joins)
		return;
	const unsigned *size = sizes[prng_below(&p, broken ? 3 : sizeof sizes / sizeof sizes[0])];
	plan->old_nodes = size[0];
	plan->nodes = size[0] + size[1];
	plan->quorum = 0;
	plan->first_step = (unsigned)prng_below(&p, 2);
	plan->resources = 1;
}

void plan_draw(struct plan *plan, uint64_t seed, enum sim_break broken)
{
	static const unsigned nodes[] = {1, 3, 3, 4, 5, 5, 7};
	static const uint64_t ttls_ms[] = {60, 300, 500, 1000, 3000};
	struct prng p;
	prng_seed(&p, seed, STREAM_PLAN);
	*plan = (struct plan){.seed = seed, .broken = broken, .rate_ppm = 3000};
	plan->actors = (unsigned)prng_between(&p, 2, SIM_MAX_ACTORS);
	plan->nodes = nodes[prng_below(&p, sizeof nodes / sizeof nodes[0])];
	plan->resources = (unsigned)prng_between(&p, 1, 2);
	if (plan->nodes > 1 && prng_chance(&p, 100))
		plan->quorum = plan->nodes / 2 + 1 + (unsigned)prng_below(&p, plan->nodes - plan->nodes / 2);
	plan->ttl_ms_min = ttls_ms[prng_below(&p, 4)];
	plan->think_ms = prng_between(&p, 20, 600);
	plan->busy_ns = prng_between(&p, 1500, 4000) * SIM_MS;
	draw_login(plan, &p);
	draw_network(plan, &p);
	fit_ttl(plan, &p);
	draw_faults(plan, &p);
	if (plan->delay_ns + plan->jitter_ns > MOST_SCRIPTLESS_NS)
		plan->permille[COVER_EVAL_DENIED] = 0;
	draw_jumps(plan, &p);
	draw_break(plan, &p);
	draw_guard(plan);
	draw_by_time(plan);
	draw_sticky(plan);
	draw_joining(plan);
	draw_changes(plan);
}

uint64_t plan_guard_ttl_ms(const struct plan *plan)
{
	uint64_t most_ms = SIM_TTL_STRETCH * plan->ttl_ms_max;
	return most_ms > HEAL_TTL_MS ? most_ms : HEAL_TTL_MS;
}

uint64_t plan_longest_ttl_ns(const struct plan *plan)
{
	uint64_t ns = SIM_TTL_STRETCH * plan->ttl_ms_max * SIM_MS;
	if (plan->old_clients > 0 && ns < (plan->old_timeout_s + OLD_SLACK_S) * SIM_SECOND)
		ns = (plan->old_timeout_s + OLD_SLACK_S) * SIM_SECOND;
	return ns + ns / 50 + 2 * SIM_MS + plan->step_back_ns;
}

/* ---- resources ---- */

static const char long_name[] =
    "nightly report of all the branches whose names are so long that one reply does not fit into one segment "
    "of the network, although nobody would really call a lock like that, except where names are made by "
    "programs out of paths, and paths out of names";

struct bytes resource_name(unsigned resource)
{
	static const struct bytes names[SIM_MAX_RESOURCES] = {
	    {"stock", 5},
	    {"a name\r\nwith \0 in it", 20},
	    {long_name, sizeof long_name - 1},
	    {"\xc3\xa9t\xc3\xa9", 5},
	};
	return names[resource];
}

struct bytes resource_key(const struct plan *plan, unsigned resource, char buffer[SIM_MAX_KEY])
{
	size_t size = 0;
	if (plan->prefix != NULL) {
		size = strlen(plan->prefix);
		memcpy(buffer, plan->prefix, size);
	}
	struct bytes name = resource_name(resource);
	memcpy(buffer + size, name.at, name.size);
	return (struct bytes){buffer, size + name.size};
}

struct bytes slot_key(const struct plan *plan, unsigned resource, unsigned slot, char buffer[SIM_MAX_KEY])
{
	char name[SIM_MAX_KEY];
	struct bytes plain = resource_key(plan, resource, slot == 0 ? buffer : name);
	if (slot == 0)
		return plain;
	buffer[0] = '{';
	memcpy(buffer + 1, plain.at, plain.size);
	int more = snprintf(buffer + 1 + plain.size, SIM_MAX_KEY - 1 - plain.size, "}:redlock:slot:%u", slot);
	return (struct bytes){buffer, 1 + plain.size + (size_t)more};
}
