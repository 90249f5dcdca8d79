/* SPDX-License-Identifier: MIT */
/* The faults of a time, one small function each, and the table of them. */

#include "faults.h"
#include "client.h"
#include "core/enter.h"
#include "world.h"

static uint64_t between_ms(struct world *w, uint64_t low_ms, uint64_t high_ms)
{
	return prng_between(&w->chaos, low_ms, high_ms) * SIM_MS;
}

static uint32_t any_node(struct world *w)
{
	return (uint32_t)prng_below(&w->chaos, w->plan.nodes);
}

static uint32_t any_actor(struct world *w)
{
	return (uint32_t)prng_below(&w->chaos, w->plan.actors);
}

/* A client whose process runs; NULL: none at hand. */
static struct actor *any_process(struct world *w)
{
	struct actor *a = &w->actors[any_actor(w)];
	return a->alive && !a->paused && !a->retiring ? a : NULL;
}

/* ---- connections ---- */

/* Which connections: any, or those on which messages come. */
enum { ANY = 0, EARS = 2 };

/* A connection that both sides have; UINT32_MAX: none at hand. */
static uint32_t any_conn(struct world *w, int which)
{
	const struct redis *r = &w->nodes[any_node(w)].redis;
	uint32_t first = r->open_count > 0 ? (uint32_t)prng_below(&w->chaos, r->open_count) : 0;
	uint32_t tries = which == EARS ? r->open_count : r->open_count > 0;
	for (uint32_t i = 0; i < tries; i++) {
		const struct session *s = r->open[(first + i) % r->open_count];
		const struct conn *c = &w->links.conns[s->tag];
		if (!c->client_gone && !c->silent && c->state == CONN_OPEN && (which == ANY || s->channel_count > 0))
			return s->tag;
	}
	return UINT32_MAX;
}

enum { LOST = 1 };

static bool reset(struct world *w, int how)
{
	bool lost = (how & LOST) != 0;
	uint32_t conn = any_conn(w, how & EARS);
	if (conn == UINT32_MAX)
		return false;
	TRACE(w, "conn %u is reset%s", conn, lost ? ", bytes in flight are lost" : "");
	link_reset(w, conn, lost);
	return true;
}

static bool node_closes(struct world *w, int unused)
{
	uint32_t conn = any_conn(w, ANY);
	if (conn == UINT32_MAX)
		return false;
	TRACE(w, "n%u closes conn %u", w->links.conns[conn].node, conn);
	link_node_close(w, conn, false);
	return true;
}

static void end_silence(struct world *w, uint32_t conn, uint64_t unused)
{
	if (w->links.conns[conn].silent)
		link_reset(w, conn, true);
}

/* Most are found dead by a reset soon. Of the others the kernels' keepalive finds out at last, and the
 * library must not wait for that. */
static bool half_open(struct world *w, int which)
{
	uint32_t conn = any_conn(w, which);
	if (conn == UINT32_MAX)
		return false;
	TRACE(w, "conn %u falls silent", conn);
	link_silence(w, conn);
	bool soon = prng_chance(&w->chaos, 600);
	world_after(w, soon ? between_ms(w, 100, 3000) : KEEPALIVE_NS, end_silence, conn, 0);
	return true;
}

/* ---- links ---- */

static void cut(struct world *w, uint32_t actor, uint32_t node, unsigned directions, uint64_t for_ns)
{
	TRACE(w, "no bytes between c%u and n%u (%u) for %.3f ms", actor, node, directions,
	      (double)for_ns / (double)SIM_MS);
	for (int dir = TO_NODE; dir <= TO_CLIENT; dir++)
		if ((directions & 1u << dir) != 0)
			link_cut(w, actor, node, (enum direction)dir, w->now_ns + for_ns);
}

enum { BOTH_WAYS = 3 };

static bool partition(struct world *w, int unused)
{
	uint32_t actor = any_actor(w),
	         node = any_node(w); /* one draw at a time: compilers order arguments as they like */
	cut(w, actor, node, BOTH_WAYS, between_ms(w, 20, 2000));
	return true;
}

static bool one_way(struct world *w, int unused)
{
	uint32_t actor = any_actor(w), node = any_node(w);
	unsigned direction = 1u << prng_below(&w->chaos, 2);
	cut(w, actor, node, direction, between_ms(w, 20, 2000));
	return true;
}

/* The node at which a client waits, and who that is. SIM_MAX_NODES: nobody is at hand who waits. */
static uint32_t any_gate(struct world *w, const struct actor **ret_waiter)
{
	const struct actor *a = any_process(w);
	*ret_waiter = a;
	for (unsigned i = 0; a != NULL && i < SIM_MAX_HANDLES; i++)
		if (a->handles[i].running == REDLOCK_OP_ACQUIRE && rl_enter_waits(&a->handles[i].lock->core))
			return a->order[a->handles[i].lock->core.queue.gate];
	return SIM_MAX_NODES;
}

/* Clients disagree about the first node in the order. */
static bool gate_split(struct world *w, int unused)
{
	const struct actor *waiter;
	uint32_t gate = any_gate(w, &waiter);
	uint64_t for_ns = between_ms(w, 20, 2000);
	for (uint32_t actor = 0; gate < SIM_MAX_NODES && actor < w->plan.actors; actor++)
		if (actor == waiter->index || prng_chance(&w->chaos, 300))
			cut(w, actor, gate, BOTH_WAYS, for_ns);
	return gate < SIM_MAX_NODES;
}

static bool isolation(struct world *w, int unused)
{
	uint32_t node = any_node(w);
	uint64_t for_ns = between_ms(w, 20, 1500);
	for (uint32_t actor = 0; actor < w->plan.actors; actor++)
		cut(w, actor, node, BOTH_WAYS, for_ns);
	return true;
}

/* ---- nodes ---- */

static void restart(struct world *w, uint32_t node, uint64_t starts)
{
	struct node *n = &w->nodes[node];
	if (n->up || n->starts != starts)
		return;
	node_restart(w, node);
	if (!w->calm && w->plan.gap_ms[COVER_LOADING] != 0 && prng_chance(&w->chaos, 500))
		n->redis.mode = REDIS_LOADING;
}

enum { KEEP, WIPE, MACHINE };

static bool crash(struct world *w, int how)
{
	bool wipe = how == WIPE, machine = how == MACHINE || (wipe && prng_chance(&w->chaos, 300));
	uint32_t node = any_node(w);
	if (!w->nodes[node].up || (wipe && w->plan.guard && !node_others_know(w, node)) ||
	    (wipe && w->plan.changes && !change_spares(w, node)))
		return false;
	if (wipe && w->plan.guard && prng_chance(&w->chaos, 500)) {
		node_flush(w, node);
		return true;
	}
	node_crash(w, node, wipe, machine);
	uint64_t down = between_ms(w, 5, 1500);
	if (wipe) /* delayed restart, unless that is what is broken */
		down = plan_forgets(&w->plan) ? between_ms(w, 1, 30) : down + plan_longest_ttl_ns(&w->plan);
	world_after(w, down, restart, node, w->nodes[node].starts);
	return true;
}

static void unhang(struct world *w, uint32_t node, uint64_t starts)
{
	if (w->nodes[node].starts == starts && w->nodes[node].hung)
		node_hang(w, node, false);
}

enum { ANY_NODE, THE_GATE };

static bool hang(struct world *w, int which)
{
	const struct actor *waiter;
	uint32_t node = which == THE_GATE ? any_gate(w, &waiter) : any_node(w);
	if (node == SIM_MAX_NODES || !w->nodes[node].up || w->nodes[node].hung)
		return false;
	node_hang(w, node, true);
	world_after(w, between_ms(w, 20, 3000), unhang, node, w->nodes[node].starts);
	return true;
}

static void hasten(struct world *w, uint32_t node, uint64_t unused)
{
	w->nodes[node].slow_ns = 0;
}

static bool slow_node(struct world *w, int unused)
{
	uint32_t node = any_node(w);
	w->nodes[node].slow_ns = between_ms(w, 1, 200);
	TRACE(w, "n%u takes %.3f ms more for everything", node, (double)w->nodes[node].slow_ns / (double)SIM_MS);
	world_after(w, between_ms(w, 100, 2000), hasten, node, 0);
	return true;
}

static void normal_again(struct world *w, uint32_t node, uint64_t starts)
{
	if (w->nodes[node].starts == starts)
		w->nodes[node].redis.mode = REDIS_NORMAL;
}

static bool set_mode(struct world *w, int mode)
{
	uint32_t node = any_node(w);
	if (!w->nodes[node].up || w->nodes[node].redis.mode != REDIS_NORMAL)
		return false;
	TRACE(w, "n%u is in mode %d", node, mode);
	w->nodes[node].redis.mode = (enum redis_mode)mode;
	world_after(w, between_ms(w, 20, 1000), normal_again, node, w->nodes[node].starts);
	return true;
}

static bool script_flush(struct world *w, int unused)
{
	w->nodes[any_node(w)].redis.cached = 0;
	return true;
}

/* Another program gives back what it has, without a word. */
static void foreign_leaves(struct world *w, uint32_t resource, uint64_t unused)
{
	char buffer[SIM_MAX_KEY];
	struct bytes name = resource_key(&w->plan, resource, buffer);
	for (uint32_t i = 0; i < w->plan.nodes; i++) {
		struct node *n = &w->nodes[i];
		n->redis.now_ms = node_now_ms(w, n);
		struct key *key = keyspace_find(&n->redis.keys, w->plan.database, name, n->redis.now_ms);
		if (n->up && key != NULL && key->owner == KEY_NOBODY && key->type != KEY_ZSET)
			redis_delete(&n->redis, key);
	}
}

/* Another program has the key, on some of the nodes where it is free. */
static bool foreign(struct world *w, int type)
{
	static const char *const values[] = {
	    [KEY_STRING] = "1732150000.25", [KEY_HASH] = "38 1:8743c9c0-0795-4907-87fd-6c719a6b4586:11"};
	char buffer[SIM_MAX_KEY];
	uint32_t resource = (uint32_t)prng_below(&w->chaos, w->plan.resources);
	struct bytes name = resource_key(&w->plan, resource, buffer);
	bool any = false;
	for (uint32_t i = 0; i < w->plan.nodes; i++) {
		struct node *n = &w->nodes[i];
		int64_t now_ms = node_now_ms(w, n);
		if (!n->up || prng_chance(&w->chaos, 300) ||
		    keyspace_find(&n->redis.keys, w->plan.database, name, now_ms) != NULL)
			continue;
		n->redis.now_ms = now_ms;
		struct key *key = redis_put(&n->redis, w->plan.database, name, text_bytes(values[type]));
		key->type = (enum key_type)type;
		key->expires_ms = now_ms + (int64_t)prng_between(&w->chaos, 20, 500);
		any = true;
	}
	if (prng_chance(&w->chaos, 500))
		world_after(w, between_ms(w, 20, 500), foreign_leaves, resource, 0);
	TRACE(w, "another program takes '%.*s'", name.size < 10 ? (int)name.size : 10, name.at);
	return any;
}

/* ---- clients ---- */

static bool client_pause(struct world *w, int unused)
{
	const struct actor *a = any_process(w);
	if (a == NULL)
		return false;
	uint64_t for_ns = between_ms(w, 5, 3 * w->plan.ttl_ms_max);
	if (prng_chance(&w->chaos, 500))
		actor_pause(w, a->index, for_ns);
	else
		actor_stumble(w, a->index, for_ns);
	return true;
}

/* The whole machine stands still, and what is on its way to it waits. Its clock goes on. */
static bool suspend(struct world *w, int unused)
{
	const struct actor *a = any_process(w);
	if (a == NULL)
		return false;
	uint64_t for_ns = between_ms(w, 5, 3 * w->plan.ttl_ms_max);
	for (uint32_t node = 0; node < w->plan.nodes; node++)
		cut(w, a->index, node, BOTH_WAYS, for_ns);
	actor_pause(w, a->index, for_ns);
	return true;
}

static void log_in_again(struct world *w, uint32_t actor, uint64_t life)
{
	const struct actor *a = &w->actors[actor];
	if (!a->alive || a->life != life || !a->refused)
		return;
	if (a->paused)
		world_at(w, a->resume_ns, log_in_again, actor, life);
	else
		actor_log_in(w, actor, false);
}

/* A password file is ahead of the nodes. */
static bool new_login(struct world *w, int unused)
{
	const struct actor *a = any_process(w);
	if (a == NULL || !a->lends)
		return false;
	actor_log_in(w, a->index, true);
	world_after(w, between_ms(w, 1, 500), log_in_again, a->index, a->life);
	return true;
}

static bool client_crash(struct world *w, int machine)
{
	const struct actor *a = any_process(w);
	if (a != NULL)
		actor_crash(w, a->index, machine);
	return a != NULL;
}

static bool waiter_crash(struct world *w, int machine)
{
	const struct actor *a;
	bool waits = any_gate(w, &a) < SIM_MAX_NODES;
	if (waits)
		actor_crash(w, a->index, machine);
	return waits;
}

/*
 * ---- clocks ----
 * What the library allows for is a node's clock that gets ahead of a client's by at most 2 ms and 1 % of the
 * TTL during a lease, whether by its rate or by a jump. The other way round (a node that is set back, a
 * client that is ahead) costs time, never safety, so that any size is tried.
 */

static int32_t any_rate(struct world *w)
{
	return (int32_t)prng_between(&w->chaos, 0, 2 * (uint64_t)w->plan.rate_ppm) - w->plan.rate_ppm;
}

/* A jump of a size that is allowed once per lease: whether the last one is long enough ago. */
static bool is_due(const struct world *w, uint64_t *last_ns)
{
	if (*last_ns != 0 && w->now_ns - *last_ns < plan_longest_ttl_ns(&w->plan))
		return false;
	*last_ns = w->now_ns;
	return true;
}

/* Farther than any allowance reaches. */
static uint64_t beyond(struct world *w)
{
	return between_ms(w, w->plan.ttl_ms_min, 3 * w->plan.ttl_ms_max);
}

static bool jump(struct world *w, uint32_t node, int64_t step_ns)
{
	TRACE(w, "n%u's clock jumps by %.3f ms", node, (double)step_ns / (double)SIM_MS);
	drift_jump(&w->nodes[node].clock, w->now_ns, step_ns);
	check_clocks(w);
	return true;
}

static bool node_drift(struct world *w, int unused)
{
	struct node *n = &w->nodes[any_node(w)];
	drift_set_rate(&n->clock, w->now_ns, any_rate(w));
	check_clocks(w);
	return true;
}

static bool node_jump(struct world *w, int unused)
{
	uint32_t node = any_node(w);
	if (w->plan.broken == BREAK_NODE_JUMP)
		return jump(w, node, (int64_t)beyond(w));
	uint64_t step_ns = prng_below(&w->chaos, w->plan.node_jump_ns + 1);
	return is_due(w, &w->nodes[node].jumped_ns) && jump(w, node, (int64_t)step_ns);
}

static bool node_step_back(struct world *w, int unused)
{
	uint32_t node = any_node(w);
	uint64_t step_ns = prng_below(&w->chaos, w->plan.step_back_ns + 1);
	return is_due(w, &w->nodes[node].stepped_back_ns) && jump(w, node, -(int64_t)step_ns);
}

static bool client_drift(struct world *w, int unused)
{
	uint32_t actor = any_actor(w);
	actor_set_rate(w, actor, any_rate(w));
	return true;
}

/* Time that the process did not live through: the host was suspended while nothing ran, or set right. */
static bool client_jump(struct world *w, int unused)
{
	uint32_t actor = any_actor(w);
	actor_jump(w, actor, prng_below(&w->chaos, 2 * w->plan.ttl_ms_max * SIM_MS));
	return true;
}

/* A virtual machine that is stopped: its processes and its clock stand still. */
static bool client_freeze(struct world *w, int unused)
{
	struct actor *a = any_process(w);
	bool broken = w->plan.broken == BREAK_CLIENT_JUMP;
	uint64_t for_ns = broken ? beyond(w) : prng_below(&w->chaos, w->plan.client_freeze_ns + 1);
	if (a == NULL || (!broken && !is_due(w, &a->frozen_ns)))
		return false;
	actor_freeze(w, a->index, for_ns);
	return true;
}

/* Stops a client for long, its connections too: the wall clock is set right before anything runs. */
static bool client_stop(struct world *w, int unused)
{
	const struct actor *a = any_process(w);
	if (a == NULL)
		return false;
	uint64_t for_ns = between_ms(w, 5, 3 * w->plan.ttl_ms_max);
	for (uint32_t node = 0; node < w->plan.nodes; node++)
		cut(w, a->index, node, BOTH_WAYS, for_ns);
	actor_stop(w, a->index, for_ns);
	return true;
}

enum { FORWARD, BACK };

static bool wall_set(struct world *w, int how)
{
	const struct actor *a = any_process(w);
	if (a == NULL)
		return false;
	int64_t step_ns = (int64_t)between_ms(w, 1, 3 * w->plan.ttl_ms_max);
	actor_set_wall(w, a->index, how == FORWARD ? step_ns : -step_ns);
	return true;
}

/* A client looks again, which is due once a minute otherwise. */
static bool look(struct world *w, int unused)
{
	const struct actor *a = any_process(w);
	if (a == NULL || a->client->nodes.look_ns == UINT64_MAX)
		return false;
	TRACE(w, "c%u looks again whether the set is guarded", a->index);
	a->client->nodes.look_ns = 0;
	return true;
}

/* ---- the table ---- */

const struct fault faults[] = {
    {COVER_RESET_LOST, 60, reset, LOST},
    {COVER_RESET_LATE, 60, reset, ANY},
    {COVER_NODE_CLOSES, 60, node_closes, 0},
    {COVER_HALF_OPEN, 150, half_open, ANY},
    {COVER_EARS_RESET, 150, reset, EARS | LOST},
    {COVER_EARS_SILENT, 300, half_open, EARS},
    {COVER_PARTITION, 200, partition, 0},
    {COVER_ONE_WAY, 200, one_way, 0},
    {COVER_ISOLATION, 300, isolation, 0},
    {COVER_CRASH_KEEP, 300, crash, KEEP},
    {COVER_CRASH_WIPE, 1000, crash, WIPE},
    {COVER_CRASH_MACHINE, 400, crash, MACHINE},
    {COVER_HANG, 200, hang, ANY_NODE},
    {COVER_GATE_HANG, 300, hang, THE_GATE},
    {COVER_GATE_SPLIT, 300, gate_split, 0},
    {COVER_SLOW_NODE, 200, slow_node, 0},
    {COVER_LOADING, 300, set_mode, REDIS_LOADING},
    {COVER_OUT_OF_MEMORY, 300, set_mode, REDIS_OOM},
    {COVER_MISCONF, 300, set_mode, REDIS_MISCONF},
    {COVER_READONLY, 300, set_mode, REDIS_READONLY},
    {COVER_BUSY_SCRIPT, 300, set_mode, REDIS_BUSY},
    {COVER_GARBAGE, 300, set_mode, NODE_GARBAGE},
    {COVER_SCRIPT_FLUSH, 200, script_flush, 0},
    {COVER_NEW_LOGIN, 300, new_login, 0},
    {COVER_CLIENT_PAUSE, 300, client_pause, 0},
    {COVER_CLIENT_CRASH, 400, client_crash, false},
    {COVER_HOST_CRASH, 400, client_crash, true},
    {COVER_WAITER_CRASH, 400, waiter_crash, false},
    {COVER_WAITER_LOSS, 400, waiter_crash, true},
    {COVER_SUSPEND, 500, suspend, 0},
    {COVER_CLIENT_DRIFT, 200, client_drift, 0},
    {COVER_NODE_DRIFT, 200, node_drift, 0},
    {COVER_CLIENT_JUMP, 500, client_jump, 0},
    {COVER_CLIENT_FREEZE, 200, client_freeze, 0},
    {COVER_CLIENT_STOP, 200, client_stop, 0},
    {COVER_WALL_FORWARD, 200, wall_set, FORWARD},
    {COVER_WALL_BACK, 200, wall_set, BACK},
    {COVER_NODE_JUMP, 200, node_jump, 0},
    {COVER_NODE_STEP_BACK, 300, node_step_back, 0},
    {COVER_LOOK, 50, look, 0},
    {COVER_FOREIGN_STRING, 300, foreign, KEY_STRING},
    {COVER_FOREIGN_HASH, 300, foreign, KEY_HASH},
};
const size_t faults_count = sizeof faults / sizeof faults[0];

static void fault_comes(struct world *w, uint32_t index, uint64_t unused);

static void plan_next(struct world *w, uint32_t index)
{
	uint64_t gap = w->plan.gap_ms[faults[index].kind];
	if (gap != 0)
		world_after(w, between_ms(w, gap / 4, gap * 2), fault_comes, index, 0);
}

static void fault_comes(struct world *w, uint32_t index, uint64_t unused)
{
	if (w->calm && w->only != faults[index].kind)
		return;
	if (faults[index].inject(w, faults[index].how))
		world_hit(w, faults[index].kind);
	plan_next(w, index);
}

void faults_begin(struct world *w)
{
	for (uint32_t i = 0; i < faults_count; i++)
		plan_next(w, i);
}

void faults_alone(struct world *w, enum sim_cover kind, unsigned permille, unsigned gap_ms)
{
	w->only = kind;
	w->plan.permille[kind] = (uint16_t)permille;
	w->plan.gap_ms[kind] = gap_ms;
	for (uint32_t i = 0; i < faults_count; i++)
		if (faults[i].kind == kind)
			plan_next(w, i);
}

void faults_end(struct world *w)
{
	TRACE(w, "the faults are over");
	w->calm = true;
	w->only = COVER_COUNT;
	memset(w->cut_until_ns, 0, sizeof w->cut_until_ns);
	for (uint32_t i = 0; i < w->plan.nodes; i++) {
		w->nodes[i].redis.mode = REDIS_NORMAL;
		w->nodes[i].slow_ns = 0;
		if (w->nodes[i].hung)
			node_hang(w, i, false);
	}
	for (uint32_t i = 0; i < w->plan.actors; i++) {
		actor_stumble(w, i, 0);
		log_in_again(w, i, w->actors[i].life);
	}
}
