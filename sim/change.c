/* SPDX-License-Identifier: MIT */
#include "change.h"

#include <stdio.h>
#include <stdlib.h>

#include "proof.h"
#include "redis_types.h"
#include "world.h"

static const struct bytes record_name = {"redlock:set", 11};

/* ---- records ---- */

static void address_of(const struct world *w, unsigned node, char ret[64])
{
	if (w->plan.unix_sockets)
		snprintf(ret, 64, "unix:/run/node%u.sock/%u", node, w->plan.database);
	else
		snprintf(ret, 64, "node%u:%u/%u", node, 7000 + node, w->plan.database);
}

/* The ids are "config", "config2", "config3". */
static void name_step(unsigned step, char ret[16])
{
	if (step == 1)
		snprintf(ret, 16, "config");
	else
		snprintf(ret, 16, "config%u", step);
}

unsigned change_step(const char *id, size_t size)
{
	static const char word[] = "config";
	unsigned step = 0;
	if (size < sizeof word - 1 || memcmp(id, word, sizeof word - 1) != 0)
		return 0;
	for (size_t i = sizeof word - 1; i < size; i++)
		step = step * 10 + (unsigned)(id[i] - '0');
	return size == sizeof word - 1 ? 1 : step;
}

static void name_members(const struct world *w, uint32_t list, char ret[SIM_MAX_NODES * 64])
{
	char address[64];
	size_t used = 0;
	ret[0] = '\0';
	for (unsigned i = 0; i < w->plan.nodes; i++) {
		if ((list >> i & 1) == 0)
			continue;
		address_of(w, i, address);
		used += (size_t)snprintf(ret + used, SIM_MAX_NODES * 64 - used, "%s%s", used > 0 ? " " : "", address);
	}
}

static void name_quorum(const struct world *w, uint32_t list, char ret[24])
{
	unsigned most = (unsigned)__builtin_popcount(list) / 2 + 1;
	snprintf(ret, 24, "%u", w->plan.quorum != 0 ? w->plan.quorum : most);
}

static struct bytes get(const struct world *w, uint32_t node, const char *field)
{
	struct bytes value = text_bytes("");
	const struct key *key = keyspace_find(&w->nodes[node].redis.keys, w->plan.database, record_name, 0);
	if (key != NULL)
		(void)hash_get(key, text_bytes(field), &value);
	return value;
}

static struct key *record_of(struct world *w, uint32_t node)
{
	struct node *n = &w->nodes[node];
	struct key *key = keyspace_find(&n->redis.keys, w->plan.database, record_name, 0);
	if (key != NULL)
		return key;
	key = redis_put(&n->redis, w->plan.database, record_name, text_bytes(""));
	key->type = KEY_HASH;
	return key;
}

static void put(struct world *w, uint32_t node, const char *field, const char *value)
{
	hash_put(record_of(w, node), text_bytes(field), text_bytes(value));
}

static void put_pass(struct world *w, uint32_t node, const char *field, const char *config)
{
	char pass[80];
	snprintf(pass, sizeof pass, "%s:%s", w->nodes[node].redis.run_id, config);
	put(w, node, field, pass);
}

static void put_list(struct world *w, uint32_t node, unsigned step)
{
	char members[SIM_MAX_NODES * 64], address[64], ttl[24], quorum[24], config[16], number[24];
	uint32_t list = w->change.lists[step];
	name_members(w, list, members);
	name_quorum(w, list, quorum);
	name_step(step, config);
	address_of(w, node, address);
	snprintf(ttl, sizeof ttl, "%llu", (unsigned long long)plan_guard_ttl_ms(&w->plan));
	snprintf(number, sizeof number, "%u", step);
	const char *const words[][2] = {{"version", "1"},     {"mode", "guard"},  {"set", "set"},
	                                {"step", number},     {"config", config}, {"ttl", ttl},
	                                {"members", members}, {"quorum", quorum}, {"node", address}};
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		put(w, node, words[i][0], words[i][1]);
	put_pass(w, node, "pass", config);
}

void change_found(struct world *w, uint32_t node)
{
	if ((w->change.lists[1] >> node & 1) == 0)
		return;
	put_list(w, node, 1);
	put(w, node, "floor", "1000");
	put(w, node, "gmax", "1000");
}

/* 0: not known. Numbers never fall. */
static void put_numbers(struct world *w, uint32_t node, uint64_t number)
{
	char digits[24] = "";
	struct bytes most = get(w, node, "gmax");
	uint64_t own = most.size > 0 ? (uint64_t)word_number(most) : 0;
	if (number != 0)
		snprintf(digits, sizeof digits, "%llu", (unsigned long long)(own > number ? own : number));
	put(w, node, "floor", digits);
	if (number != 0)
		put(w, node, "gmax", digits);
}

static void put_former(struct world *w, uint32_t node, unsigned step)
{
	char members[SIM_MAX_NODES * 64], quorum[24], config[16];
	name_members(w, w->change.lists[step], members);
	name_quorum(w, w->change.lists[step], quorum);
	name_step(step, config);
	put(w, node, "prev_config", config);
	put(w, node, "prev_members", members);
	put(w, node, "prev_quorum", quorum);
	put_pass(w, node, "prev", config);
}

static void drop_former(struct world *w, uint32_t node)
{
	static const char *const fields[] = {"prev", "prev_config", "prev_members", "prev_quorum"};
	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
		put(w, node, fields[i], "");
}

/* ---- what the operator reads ---- */

static bool is_in(uint32_t list, uint32_t node)
{
	return (list >> node & 1) != 0;
}

static bool answers(const struct world *w, uint32_t node)
{
	const struct node *n = &w->nodes[node];
	return n->up && !n->hung && n->redis.mode == REDIS_NORMAL;
}

static bool has(const struct world *w, uint32_t node, unsigned step)
{
	struct bytes config = get(w, node, "config");
	return node_admits(w, &w->nodes[node]) && change_step(config.at, config.size) == step;
}

static uint64_t quarantine_ms(const struct world *w)
{
	uint64_t ttl_ms = plan_guard_ttl_ms(&w->plan), more_ms = (ttl_ms + 3) / 4;
	return ttl_ms + (more_ms > 1000 ? more_ms : 1000) + (ttl_ms + 99) / 100 + 2;
}

/* The largest number that a quorum knows of nodes with the newest list, the members of this one; 0: too few
 * know. */
static uint64_t largest_number(const struct world *w, uint32_t list)
{
	unsigned count = 0;
	uint64_t largest = 0;
	for (uint32_t i = 0; i < w->plan.nodes; i++) {
		struct bytes floor = get(w, i, "floor"), most = get(w, i, "gmax");
		if (!is_in(list, i) || !answers(w, i) || !has(w, i, w->change.newest) || floor.size == 0 ||
		    most.size == 0)
			continue;
		count++;
		uint64_t number = (uint64_t)word_number(most);
		largest = number > largest ? number : largest;
	}
	return count >= (unsigned)__builtin_popcount(list) / 2 + 1 ? largest : 0;
}

/* ---- what the operator does ---- */

enum { TURN_MS = 40, ROLL_OUT_MS = 1500, REST_MS = 400 };

static uint64_t some_ms(struct world *w, uint64_t most_ms)
{
	return prng_between(&w->chaos, 1, most_ms) * SIM_MS;
}

static bool changes(const struct world *w)
{
	return w->change.newest != w->change.settled;
}

/* The node takes the newest configuration, and during a change the former one beside it. */
static void take(struct world *w, uint32_t node)
{
	struct change *c = &w->change;
	bool accepts_both = changes(w) && c->stage < CHANGE_ALONE;
	bool comes = changes(w) && !is_in(c->lists[c->newest - 1], node) && c->floor != 0;
	bool knew = node_admits(w, &w->nodes[node]) && get(w, node, "floor").size > 0;
	TRACE(w, "the operator writes list %u to n%u", c->newest, node);
	put_list(w, node, c->newest);
	put(w, node, "done", "");
	if (accepts_both)
		put_former(w, node, c->newest - 1);
	else
		drop_former(w, node);
	if (!knew)
		put_numbers(w, node, comes ? c->floor : largest_number(w, change_newest(w)));
	if (comes)
		c->floor = 0; /* from now on it may vote, and forget that: higher numbers were drawn then */
	put(w, node, "qrid", "");
	put(w, node, "quntil", "");
	proof_changed(w, node, PROOF_TAKES);
	if (!accepts_both && changes(w))
		proof_changed(w, node, PROOF_REFUSES_FORMER);
}

static void begin_quarantine(struct world *w, uint32_t node)
{
	char until[24];
	snprintf(until, sizeof until, "%llu",
	         (unsigned long long)node_now_ms(w, &w->nodes[node]) + quarantine_ms(w));
	TRACE(w, "the operator begins the quarantine of n%u", node);
	put(w, node, "qrid", w->nodes[node].redis.run_id);
	put(w, node, "quntil", until);
	put(w, node, "qid", "0123456789abcdef");
}

/* False: the node lacks the newest configuration. Gives it, or brings the node nearer to having it. */
static bool mend(struct world *w, uint32_t node)
{
	if (has(w, node, w->change.newest))
		return true;
	if (!answers(w, node))
		return false;
	struct bytes id = get(w, node, "qrid"), until = get(w, node, "quntil");
	bool blank = get(w, node, "config").size == 0 || bytes_equal(get(w, node, "mode"), text_bytes("removed"));
	uint64_t since_ns = w->now_ns - w->change.lost_ns[node];
	bool begun = bytes_equal(id, text_bytes(w->nodes[node].redis.run_id)) && until.size > 0;
	if (node_admits(w, &w->nodes[node]) ||
	    (blank && (w->change.lost_ns[node] == 0 || since_ns > quarantine_ms(w) * SIM_MS)) ||
	    (begun && word_number(until) <= node_now_ms(w, &w->nodes[node])))
		take(w, node);
	else if (!begun)
		begin_quarantine(w, node);
	return false;
}

static bool mend_all(struct world *w)
{
	bool all = true;
	for (uint32_t i = 0; i < w->plan.nodes; i++)
		if (is_in(change_newest(w), i))
			all &= mend(w, i);
	return all;
}

/* Another list: with one more member, or with one less. 0: none at present. */
static uint32_t draw_list(struct world *w)
{
	uint32_t list = change_newest(w), node = (uint32_t)prng_below(&w->chaos, w->plan.nodes);
	uint32_t other = list ^ UINT32_C(1) << node;
	for (uint32_t i = 0; i < w->plan.nodes; i++)
		if (is_in(list | other, i) && !answers(w, i))
			return 0;
	return __builtin_popcount(other) >= 2 ? other : 0;
}

static void begin_next(struct world *w)
{
	struct change *c = &w->change;
	uint32_t list = draw_list(w);
	if (c->stops || w->now_ns < c->until_ns || c->newest == CHANGE_STEPS || list == 0)
		return;
	c->floor = largest_number(w, change_newest(w));
	c->lists[++c->newest] = list;
	c->alone_ns = 0;
	c->stage = CHANGE_SPREADS;
	TRACE(w, "the operator begins step %u, members %x", c->newest, list);
	proof_changed(w, 0, PROOF_NEXT);
	world_hit(w, COVER_CHANGED);
}

static void roll_out(struct world *w)
{
	struct change *c = &w->change;
	if (c->until_ns == 0)
		c->until_ns = w->now_ns + some_ms(w, ROLL_OUT_MS);
	if (w->now_ns < c->until_ns && !c->stops)
		return;
	c->until_ns = 0;
	c->stage = w->plan.broken == BREAK_TWO_CHANGES ? CHANGE_READY : CHANGE_TELLS;
}

/* The node that leaves is told that it is no member. */
static void tell(struct world *w)
{
	struct change *c = &w->change;
	uint32_t leaves = c->lists[c->newest - 1] & ~c->lists[c->newest];
	c->stage = CHANGE_ALONE;
	if (leaves == 0 || w->plan.broken == BREAK_UNTOLD)
		return;
	uint32_t node = (uint32_t)__builtin_ctz(leaves);
	if (!answers(w, node)) {
		c->stage = CHANGE_TELLS;
		return;
	}
	TRACE(w, "the operator tells n%u that it is no member", node);
	put_list(w, node, c->newest);
	put(w, node, "mode", "removed");
	put(w, node, "pass", "");
	drop_former(w, node);
	proof_changed(w, node, PROOF_REMOVED);
}

static bool refuse_former(struct world *w)
{
	bool all = true;
	for (uint32_t i = 0; i < w->plan.nodes; i++) {
		if (!is_in(change_newest(w), i) || get(w, i, "prev").size == 0)
			continue;
		all = false;
		if (!answers(w, i))
			continue;
		TRACE(w, "n%u refuses the former list", i);
		drop_former(w, i);
		proof_changed(w, i, PROOF_REFUSES_FORMER);
	}
	return all;
}

static void conclude(struct world *w)
{
	struct change *c = &w->change;
	char config[16];
	for (uint32_t i = 0; i < w->plan.nodes; i++)
		if (is_in(change_newest(w), i) && !answers(w, i))
			return;
	uint64_t number = largest_number(w, change_newest(w));
	name_step(c->newest, config);
	for (uint32_t i = 0; i < w->plan.nodes; i++) {
		if (!is_in(change_newest(w), i))
			continue;
		put(w, i, "done", config);
		if (number != 0)
			put_numbers(w, i, number);
	}
	TRACE(w, "step %u is finished", c->newest);
	proof_changed(w, 0, PROOF_FINISHED);
	c->settled = c->newest;
	c->stage = CHANGE_READY;
	c->until_ns = w->now_ns + some_ms(w, REST_MS);
}

static void alone(struct world *w)
{
	struct change *c = &w->change;
	bool refuse = w->plan.broken == BREAK_STILL_ACCEPTED || refuse_former(w);
	if (!mend_all(w) || !refuse) {
		c->alone_ns = 0;
		return;
	}
	uint64_t wait_ns = w->plan.broken == BREAK_NO_WAIT ? 0 : quarantine_ms(w) * SIM_MS;
	c->alone_ns = c->alone_ns != 0 ? c->alone_ns : w->now_ns;
	if (w->now_ns - c->alone_ns >= wait_ns)
		conclude(w);
}

static void turn(struct world *w, uint32_t unused, uint64_t unused_too)
{
	struct change *c = &w->change;
	if (c->stage == CHANGE_READY && mend_all(w))
		begin_next(w);
	else if (c->stage == CHANGE_SPREADS && mend_all(w))
		c->stage = CHANGE_ROLLS_OUT, c->until_ns = 0;
	else if (c->stage == CHANGE_ROLLS_OUT)
		roll_out(w);
	else if (c->stage == CHANGE_TELLS)
		tell(w);
	else if (c->stage == CHANGE_ALONE)
		alone(w);
	world_after(w, some_ms(w, TURN_MS), turn, 0, 0);
}

/* ---- the rest of the world ---- */

void change_begin(struct world *w)
{
	uint32_t all = (UINT32_C(1) << w->plan.nodes) - 1;
	w->change = (struct change){.newest = 1, .settled = 1};
	w->change.lists[1] = w->plan.changes ? all >> 1 : all;
}

void change_operate(struct world *w)
{
	if (w->plan.changes)
		world_after(w, some_ms(w, REST_MS), turn, 0, 0);
}

uint32_t change_newest(const struct world *w)
{
	return w->change.lists[w->change.newest];
}

/* Some hosts have the new list too early, some have a former one for long. */
uint32_t change_list(struct world *w)
{
	const struct change *c = &w->change;
	if (!w->plan.changes || c->stops)
		return change_newest(w);
	bool spreads = c->stage == CHANGE_SPREADS;
	if (prng_chance(&w->work, 800))
		return c->lists[spreads ? c->newest - 1 : c->newest];
	return c->lists[prng_between(&w->work, 1, c->newest)];
}

bool change_spares(const struct world *w, uint32_t node)
{
	for (uint32_t i = 0; i < w->plan.nodes; i++)
		if (i != node && is_in(change_newest(w), i) && !node_admits(w, &w->nodes[i]))
			return false;
	return true;
}

/* Ends those that go on. A process that stands still, and its clock with it, ends later. */
static bool has_former_clients(struct world *w)
{
	bool some = false;
	for (uint32_t i = 0; i < w->plan.actors; i++) {
		const struct actor *a = &w->actors[i];
		if (!a->alive || a->list == change_newest(w))
			continue;
		some |= a->paused;
		if (!a->paused)
			actor_crash(w, i, false);
	}
	return some;
}

#define END_NS (60 * SIM_SECOND)

void change_end(struct world *w)
{
	uint64_t by_ns = w->now_ns + END_NS + 4 * quarantine_ms(w) * SIM_MS;
	w->change.stops = true;
	if (!w->plan.changes)
		return;
	while (changes(w) && !w->check.failed) {
		if (w->now_ns > by_ns)
			check_fail(w, VIOLATION_STANDSTILL, "step %u is not finished in stage %d", w->change.newest,
			           (int)w->change.stage);
		world_run(w, w->now_ns + 20 * SIM_MS);
	}
	while (has_former_clients(w) && !w->check.failed)
		world_run(w, w->now_ns + 20 * SIM_MS);
}
