/* SPDX-License-Identifier: MIT */
/* Passes reports of the nodes' servers on: to the checkers, to the trace, and to the counters. */
#include <stdio.h>

#include "proof.h"
#include "redis_call.h"
#include "world.h"

static uint32_t node_of(const struct redis *r)
{
	const struct world *w = r->world;
	return (uint32_t)((const struct node *)(const void *)((const char *)r - offsetof(struct node, redis)) -
	                  w->nodes);
}

static void wrong(struct redis *r, const char *what)
{
	check_fail(r->world, VIOLATION_PROTOCOL, "n%u: %s", node_of(r), what);
}

static void claimed(struct redis *r, const struct session *s, struct bytes token)
{
	struct world *w = r->world;
	if (s->database != w->plan.database)
		check_fail(w, VIOLATION_PROTOCOL, "a claim in database %u", s->database);
	check_set(w, node_of(r), (uint32_t)(s->owner >> 32), (uint32_t)s->owner, token);
}

static void stored(struct redis *r, const struct key *key, const struct key *was, bool handed)
{
	struct key room;
	const struct key *token = check_as_token(key, &room);
	if (token != NULL)
		check_stored(r->world, node_of(r), token, handed);
	else if (was != NULL && was->owner == KEY_NOBODY)
		check_time_stored(r->world, node_of(r), key);
	if (handed)
		crowd_handed(r->world, key);
}

static void goes(struct redis *r, const struct key *key, bool deleted)
{
	struct world *w = r->world;
	uint32_t node = node_of(r);
	struct key room;
	const struct key *token = check_as_token(key, &room);
	if (!deleted)
		world_hit(w, COVER_EXPIRED);
	if (deleted && token != NULL)
		check_deleted(w, token->value);
	check_gone(w, node, key, deleted ? w->now_ns : node_expiry_world(&w->nodes[node], key));
}

static bool same(const struct key *is, const struct key *was)
{
	struct key is_room, was_room;
	is = check_as_token(is, &is_room);
	was = check_as_token(was, &was_room);
	return is != NULL && was != NULL && bytes_equal(is->value, was->value);
}

static void changed(struct redis *r, struct bytes name)
{
	check_key(r->world, name);
}

static void killed(struct redis *r, struct session *s)
{
	struct world *w = r->world;
	if (w->links.conns[s->tag].pipe[TO_NODE].inbox.length > 0)
		world_hit(w, COVER_KILLED_UNREAD);
	TRACE(w, "n%u kills conn %u", node_of(r), s->tag);
	link_node_close(w, s->tag, false);
}

/* Behind what the session was answered before, as on any connection. */
static void said(struct redis *r, struct session *s, struct bytes message)
{
	struct world *w = r->world;
	TRACE(w, "n%u tells conn %u", node_of(r), s->tag);
	if (memmem(message.at, message.size, "__keyspace@", strlen("__keyspace@")) != NULL)
		world_hit(w, COVER_KEY_TOLD);
	link_node_send(w, s->tag, message.at, message.size);
}

static void say_late(struct world *w, uint32_t node, uint64_t starts)
{
	if (w->nodes[node].up && w->nodes[node].starts == starts)
		redis_say_late(&w->nodes[node].redis);
}

static void die(struct world *w, uint32_t actor, uint64_t life)
{
	const struct actor *a = &w->actors[actor];
	if (a->alive && a->life == life && !a->paused && !a->retiring)
		actor_crash(w, actor, prng_chance(&w->chaos, 500));
}

#define MOST_LATE_NS (2 * SIM_SECOND)

static enum redis_fate fate(struct redis *r, const struct session *s)
{
	struct world *w = r->world;
	const struct node *n = &w->nodes[node_of(r)];
	uint64_t trip_ns = 2 * (w->plan.delay_ns + w->plan.jitter_ns) + SIM_MS;
	if (world_mishap(w, COVER_WOKEN_CRASH))
		world_after(w, prng_below(&w->chaos, 2 * trip_ns), die, (uint32_t)(s->owner >> 32),
		            (uint32_t)s->owner);
	if (world_mishap(w, COVER_MESSAGE_LOST))
		return FATE_LOST;
	if (world_mishap(w, COVER_MESSAGE_TWICE))
		return FATE_TWICE;
	if (!world_mishap(w, COVER_MESSAGE_LATE))
		return FATE_ARRIVES;
	world_after(w, prng_below(&w->chaos, MOST_LATE_NS), say_late, node_of(r), n->starts);
	return FATE_LATE;
}

/* The counter for a command that is answered so. */
struct told {
	const char *command, *answer;
	enum sim_cover kind;
};
static const struct told counted[] = {{"evalsha", "-NOSCRIPT", COVER_NOSCRIPT},
                                      {"evalsha", "-WRONGTYPE", COVER_WRONGTYPE},
                                      {"eval", "-WRONGTYPE", COVER_WRONGTYPE},
                                      {"exec", "*-1", COVER_EXEC_NIL}};

/* By which a transaction does what it is for. */
static const struct told changes[] = {[RL_CHANGE_LOOK] = {"type", "+", 0},
                                      [RL_CHANGE_DELETE] = {"del", ":1", 0},
                                      [RL_CHANGE_LENGTHEN] = {"pexpire", ":1", 0}};

static bool fits(const struct told *t, const char *name, struct bytes answer)
{
	return t->command != NULL && strcmp(name, t->command) == 0 && answer.size >= strlen(t->answer) &&
	       memcmp(answer.at, t->answer, strlen(t->answer)) == 0;
}

/* The rows of the library's table, each with its outcomes; by a transaction: that it was done. */
static void count_row(const struct call *c, const char *name, struct bytes answer)
{
	struct world *w = c->redis->world;
	asked_note(&w->cover->rows, &c->asked, answer);
	for (unsigned i = 0; i < RL_OP_COUNT && c->in_exec; i++)
		if (rl_ops[i].change < sizeof changes / sizeof changes[0] &&
		    fits(&changes[rl_ops[i].change], name, answer))
			w->cover->rows.times[i][RL_FORM_WATCH][0]++;
}

static void count(const struct call *c, const char *name, struct bytes answer)
{
	struct world *w = c->redis->world;
	w->cover->commands++;
	for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++)
		if (fits(&counted[i], name, answer))
			world_hit(w, counted[i].kind);
	count_row(c, name, answer);
	if (c->asked.op != NULL && c->asked.op->claims && answer.size > 0 && *answer.at != '-' &&
	    w->links.conns[c->session->tag].aborted)
		world_hit(w, COVER_LATE_EXECUTION);
}

/* The command's name and some of its token, and what was answered. The first digits are the client's. */
static void trace(const struct call *c, const char *name, struct bytes answer)
{
	struct bytes token = c->asked.op != NULL ? c->asked.parts[RL_WORD_TOKEN] : text_bytes("");
	size_t line = 0, from = token.size >= 24 ? 16 : 0;
	while (line < answer.size && line < 47 && strchr("\r\n", answer.at[line]) == NULL)
		line++;
	TRACE((struct world *)c->redis->world, "n%u conn %u of c%u: %s (operation %u) %.8s -> %.*s",
	      node_of(c->redis), c->session->tag, (unsigned)(c->session->owner >> 32), name,
	      c->asked.op != NULL ? asked_operation(&c->asked) : 0, token.size >= 8 ? token.at + from : "-",
	      (int)line, answer.at);
}

static void answered(const struct call *c, const char *name, size_t from)
{
	struct world *w = c->redis->world;
	struct bytes answer = {buffer_front(c->out) + from, c->out->length - from};
	count(c, name, answer);
	proof_command(w, node_of(c->redis), c, answer);
	if (c->asked.op == &rl_ops[RL_OP_ENTER] || c->asked.op == &rl_ops[RL_OP_SHARE])
		crowd_entered(w, c, answer);
	if (*name != '?' && w->trace.on)
		trace(c, name, answer);
	if (w->plan.broken == BREAK_ANSWERS && !c->inside && prng_chance(&w->chaos, 10))
		c->out->length = from;
}

const struct redis_ears node_ears = {
    .wrong = wrong,
    .claimed = claimed,
    .stored = stored,
    .goes = goes,
    .same = same,
    .changed = changed,
    .answered = answered,
    .killed = killed,
    .said = said,
    .fate = fate,
};
