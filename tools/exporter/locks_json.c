/* SPDX-License-Identifier: MIT */
/* A look, and the list of all locks, as JSON. */
#include <string.h>

#include "../redlock/json.h"
#include "show.h"

static void put_ms(struct json *json, const char *key, bool known, double seconds)
{
	json_number_or_null(json, key, known, (int64_t)(seconds * 1000));
}

static void put_node(struct json *json, const struct look_node *n)
{
	json_open(json, NULL, '{');
	json_text(json, "address", n->address);
	json_bool(json, "up", n->up);
	json_text(json, "vote", redlock_vote_name(n->vote));
	json_bool(json, "connected", n->connected);
	json_number_or_null(json, "round_trip_us", n->up || n->answered, (int64_t)(n->round_trip_s * 1e6));
	put_ms(json, "clock_offset_ms", n->answered, n->ahead_s);
	json_bytes(json, "version", n->version, strlen(n->version));
	json_bool(json, "guarded", n->guarded);
	json_bool(json, "quarantined", n->quarantined);
	json_close(json, '}');
}

static void put_lock(struct json *json, const struct look_lock *l)
{
	json_open(json, NULL, '{');
	json_bytes(json, "name", l->name, strlen(l->name));
	json_bool(json, "known", l->known);
	json_bool(json, "held", l->held);
	json_number(json, "votes", l->votes);
	json_text(json, "kind", l->kind);
	json_bytes(json, "owner", l->owner, strlen(l->owner));
	put_ms(json, "remaining_ms", l->held && l->remaining_s >= 0, l->remaining_s);
	put_ms(json, "seen_ms", l->held, l->since_s);
	json_number_or_null(json, "waiting", l->waiting >= 0, l->waiting);
	json_number_or_null(json, "fence", l->fence > 0, (int64_t)l->fence);
	json_close(json, '}');
}

/* ---- all locks ---- */

static void put_missing(struct json *json, const struct list_view *list)
{
	json_open(json, "not_listed", '[');
	for (unsigned i = 0; i < list->missing_count; i++) {
		json_open(json, NULL, '{');
		json_text(json, "address", list->missing[i].address);
		json_bytes(json, "why", list->missing[i].why, strlen(list->missing[i].why));
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_list(struct json *json, const struct list_view *list)
{
	json_open(json, "list", '{');
	json_bool(json, "known", list->known);
	json_number_or_null(json, "time", list->at_s > 0, (int64_t)list->at_s);
	put_ms(json, "took_ms", list->at_s > 0, list->took_s);
	json_number(json, "locks", (int64_t)list->locks);
	json_number(json, "odd", (int64_t)list->odd_locks);
	json_number(json, "waiting", (int64_t)list->waiting);
	json_bool(json, "complete", list->complete);
	json_number(json, "rows", (int64_t)list->rows.count);
	json_number(json, "rows_left_out", (int64_t)(list->rows.count - list->shown_count));
	put_missing(json, list);
	json_close(json, '}');
	json_open(json, "locks", '[');
	for (size_t i = 0; i < list->shown_count; i++) {
		json_open(json, NULL, '{');
		ls_json_members(json, list->shown[i], false);
		json_close(json, '}');
	}
	json_close(json, ']');
}

void show_json(FILE *out, const struct look *look, const struct list_view *list)
{
	struct json json;
	json_init(&json, out);
	json_open(&json, NULL, '{');
	json_number(&json, "time", (int64_t)look->at_s);
	json_number(&json, "quorum", look->quorum);
	json_number(&json, "up", look->up);
	json_open(&json, "nodes", '[');
	for (unsigned i = 0; i < look->count; i++)
		put_node(&json, &look->node[i]);
	json_close(&json, ']');
	json_open(&json, "named", '[');
	for (unsigned i = 0; i < look->locks; i++)
		put_lock(&json, &look->lock[i]);
	json_close(&json, ']');
	put_list(&json, list);
	json_close(&json, '}');
	json_end(&json);
}
