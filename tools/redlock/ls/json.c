/* SPDX-License-Identifier: MIT */
/* A row for programs: one object in a line. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../json.h"
#include "../side_key.h"
#include "ls.h"

static void json_text_or_null(struct json *json, const char *key, const char *text)
{
	if (text != NULL)
		json_bytes(json, key, text, strlen(text));
	else
		json_null(json, key);
}

static void json_change(struct json *json, const char *change)
{
	char stamp[40] = "";
	struct timespec now;
	struct tm parts;
	if (change == NULL)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	if (gmtime_r(&now.tv_sec, &parts) != NULL)
		strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", &parts);
	json_text(json, "time", stamp);
	json_text(json, "change", change);
}

static void json_sides(struct json *json, const struct ls_row *row)
{
	json_open(json, "side_keys", '[');
	for (int side = 0; side < LS_SIDES; side++) {
		if (row->side[side].nodes == 0)
			continue;
		json_open(json, NULL, '{');
		json_text(json, "what", ls_side_words[side]);
		char *key = side_key_new(NULL, row->key, ls_side_words[side]);
		if (key != NULL)
			json_bytes(json, "key", key, strlen(key));
		free(key);
		json_number(json, "nodes", row->side[side].nodes);
		json_number(json, "pttl_ms", row->side[side].pttl_ms);
		json_close(json, '}');
	}
	json_close(json, ']');
}

void ls_json_members(struct json *json, const struct ls_row *row, bool tells_holder)
{
	json_bytes(json, "name", row->name, strlen(row->name));
	json_text(json, "kind", row->kind);
	json_text(json, "state", standing_name(row->state));
	json_number_or_null(json, "slot", row->slots > 0, row->slot);
	json_number_or_null(json, "slots", row->slots > 0, row->slots);
	if (tells_holder)
		json_text_or_null(json, "holder", row->holder);
	json_text_or_null(json, "owner", row->owner);
	json_number_or_null(json, "held_ms", row->held_ms > 0, (int64_t)row->held_ms);
	json_bool(json, "held_is_exact", row->held_is_exact);
	json_number(json, "votes", row->votes);
	json_number(json, "answered", row->known);
	json_number(json, "nodes", row->nodes);
	json_number(json, "quorum", row->quorum);
	json_number(json, "pttl_ms", row->pttl_ms);
	json_number(json, "waiting", (int64_t)row->waiting);
	json_number_or_null(json, "fence", row->fence > 0, (int64_t)row->fence);
	json_open(json, "odd", '[');
	for (int i = 0; i < LS_ODDS; i++)
		if (row->odd >> i & 1)
			json_text(json, NULL, ls_odd_words[i]);
	json_close(json, ']');
	json_sides(json, row);
}

void ls_json(const struct ls_row *row, const char *change)
{
	struct json json;
	json_init(&json, stdout);
	json_open(&json, NULL, '{');
	json_change(&json, change);
	ls_json_members(&json, row, true);
	json_close(&json, '}');
	json_end(&json);
}
