/* SPDX-License-Identifier: MIT */
/* Locks of the old SETNX protocol, as the checkers see them: the name has a time, and beside it stands
 * whose it is (docs/decisions/setnx.md). See check.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "redis_call.h"
#include "world.h"

static const char mark[] = ":redlock:setnx";

/* The time in which the library takes another value for a race: ops/lib/setnx.lua. */
enum { RACE_MS = 1000 };

static struct bytes beside_of(struct bytes name, char buffer[SIM_MAX_BESIDE])
{
	buffer[0] = '{';
	memcpy(buffer + 1, name.at, name.size);
	buffer[1 + name.size] = '}';
	memcpy(buffer + 2 + name.size, mark, sizeof mark - 1);
	return (struct bytes){buffer, 2 + name.size + sizeof mark - 1};
}

struct bytes check_beside(const struct world *w, unsigned resource, char buffer[SIM_MAX_BESIDE])
{
	char room[SIM_MAX_KEY];
	return beside_of(resource_key(&w->plan, resource, room), buffer);
}

/* "1732150031 1732150000123 token", or the time alone. False: it is neither. */
struct noted {
	int64_t wrote, since_ms;
	struct bytes token;
};

static bool read_number(struct bytes *rest, int64_t *ret)
{
	size_t size = 0;
	while (size < rest->size && rest->at[size] >= '0' && rest->at[size] <= '9')
		size++;
	*ret = word_number((struct bytes){rest->at, size});
	*rest = (struct bytes){rest->at + size, rest->size - size};
	return size > 0 && size < 19;
}

static bool read_space(struct bytes *rest)
{
	bool is = rest->size > 0 && *rest->at == ' ';
	*rest = (struct bytes){rest->at + is, rest->size - is};
	return is;
}

static bool read_noted(const struct key *key, struct noted *ret)
{
	struct bytes rest = key->value;
	bool whole = key->type == KEY_STRING && read_number(&rest, &ret->wrote) && read_space(&rest) &&
	             read_number(&rest, &ret->since_ms) && read_space(&rest);
	ret->token = rest;
	return whole && rest.size > 0;
}

static bool read_time(const struct key *key, int64_t *ret)
{
	struct bytes rest = key->value;
	return key->type == KEY_STRING && read_number(&rest, ret) && rest.size == 0;
}

static bool is_beside(const struct key *key)
{
	size_t size = sizeof mark - 1;
	return key->name.size > size && memcmp(key->name.at + key->name.size - size, mark, size) == 0;
}

const struct key *check_as_token(const struct key *key, struct key *room)
{
	struct noted noted;
	int64_t time;
	if (is_beside(key) && read_noted(key, &noted)) {
		*room = *key;
		room->value = noted.token;
		return room;
	}
	return read_time(key, &time) ? NULL : key;
}

/* An old client may have written its own time over ours: it has lost, and nobody takes the lock over before
 * that is past. It says so by the clock of who takes it over. */
static uint64_t past_world(const struct world *w, const struct node *n, int64_t time)
{
	uint64_t at_ms = (uint64_t)(time + 1) * 1000 - w->plan.old_ahead_ms;
	return drift_world(&n->clock, at_ms * SIM_MS);
}

static bool says_ours(const struct world *w, const struct node *n, const struct noted *noted, int64_t time)
{
	int64_t now_ms = node_now_ms(w, n), age_ms = now_ms - noted->since_ms;
	return age_ms >= 0 && age_ms <= RACE_MS && time > now_ms / 1000 && time <= noted->wrote + 1;
}

bool check_time_beyond(const struct world *w, const struct node *n, const struct handle *h, uint64_t until_ns,
                       bool ours)
{
	char buffer[SIM_MAX_KEY], room[SIM_MAX_BESIDE];
	int64_t now_ms = node_now_ms(w, n), time;
	struct noted noted;
	struct bytes name = resource_key(&w->plan, h->resource, buffer);
	const struct key *key = keyspace_find(&n->redis.keys, w->plan.database, name, now_ms);
	const struct key *beside =
	    keyspace_find(&n->redis.keys, w->plan.database, check_beside(w, h->resource, room), now_ms);
	if (key == NULL || beside == NULL || !read_time(key, &time) || !read_noted(beside, &noted) ||
	    !bytes_equal(noted.token, (struct bytes){h->token, h->token_size}) ||
	    node_expiry_world(n, beside) < until_ns)
		return false;
	if (key->expires_ms != KEY_FOREVER)
		return time == noted.wrote && node_expiry_world(n, key) >= until_ns;
	bool clear = !w->old_twice[h->resource][n - w->nodes]; /* what it said between the two is unknown */
	return ours ? clear && says_ours(w, n, &noted, time) : past_world(w, n, time) >= until_ns;
}

static const struct key *name_of(const struct world *w, const struct node *n, const struct key *beside)
{
	struct bytes name = {beside->name.at + 1, beside->name.size - sizeof mark - 1};
	return keyspace_find(&n->redis.keys, w->plan.database, name, node_now_ms(w, n));
}

bool check_is_noted(const struct world *w, const struct node *n, const struct key *beside)
{
	struct noted noted;
	int64_t time;
	const struct key *key = name_of(w, n, beside);
	return key != NULL && read_noted(beside, &noted) && read_time(key, &time) && time == noted.wrote;
}

void check_time_stored(struct world *w, uint32_t node, const struct key *key)
{
	char room[SIM_MAX_BESIDE];
	const struct node *n = &w->nodes[node];
	struct noted noted;
	const struct key *beside =
	    keyspace_find(&n->redis.keys, w->plan.database, beside_of(key->name, room), node_now_ms(w, n));
	if (beside != NULL && read_noted(beside, &noted))
		world_hit(w, noted.since_ms != 0 ? COVER_TAKEN_OVER : COVER_SET_RIGHT);
}
