/* SPDX-License-Identifier: MIT */
/* What each node has under the slots of a name. */
#include "status_slots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "side_key.h"

/* The same command to all nodes. */
static bool ask(struct status_slots *slots, size_t argc, const char *const *argv)
{
	for (unsigned i = 0; i < slots->nodes; i++)
		slots->list[i] = (struct redlock_question){.node = i, .argc = argc, .argv = argv};
	return redlock_ask(slots->asker, slots->list, slots->nodes, slots->timeout_ms) >= 0;
}

/* How many there are, by the first node that knows; 0: none does. */
static unsigned count_slots(struct status_slots *slots)
{
	char key[STATUS_SLOT_KEY];
	side_key(slots->name, "slots", key, sizeof key);
	const char *const get[] = {"GET", key};
	if (!ask(slots, 2, get))
		return 0;
	for (unsigned i = 0; i < slots->nodes; i++) {
		const struct redlock_reply *reply = slots->list[i].reply;
		bool told = reply != NULL && reply->kind == REDLOCK_REPLY_STRING;
		unsigned long count = told ? strtoul(reply->text, NULL, 10) : 0;
		if (count > 0 && count <= REDLOCK_MAX_SLOTS)
			return (unsigned)count;
	}
	return 0;
}

static bool ask_slots(struct status_slots *slots)
{
	const char *words[1 + REDLOCK_MAX_SLOTS] = {"MGET"};
	char *keys = malloc((size_t)slots->count * STATUS_SLOT_KEY);
	if (keys == NULL)
		return false;
	for (unsigned i = 1; i < slots->count; i++) {
		char what[16], *key = keys + (size_t)i * STATUS_SLOT_KEY;
		snprintf(what, sizeof what, "slot:%u", i);
		side_key(slots->name, what, key, STATUS_SLOT_KEY);
		words[i] = key;
	}
	bool asked = slots->count > 1 && ask(slots, slots->count, words);
	free(keys);
	return asked;
}

void status_slots_read(struct status_slots *slots, const struct session *session,
                       const struct settings *settings, const char *name)
{
	*slots = (struct status_slots){.nodes = redlock_node_count(session->client),
	                               .quorum = redlock_quorum(session->client),
	                               .timeout_ms = session->node_timeout_ms};
	snprintf(slots->name, sizeof slots->name, "%s%s", settings->prefix != NULL ? settings->prefix : "", name);
	if (redlock_asker_open(session->client, &slots->asker) == 0)
		slots->count = count_slots(slots);
	slots->told = slots->count > 1 && ask_slots(slots);
}

/* Of one node: a key that is no string has no value here. */
static void find(struct redlock_finding *ret, const struct redlock_reply *reply, unsigned slot)
{
	memset(ret, 0, sizeof *ret);
	if (reply == NULL || reply->kind != REDLOCK_REPLY_ARRAY || reply->count < slot)
		return;
	const struct redlock_reply *value = &reply->items[slot - 1];
	bool is = value->kind == REDLOCK_REPLY_STRING;
	ret->known = 1;
	ret->pttl_ms = is ? 0 : -2; /* it was not asked for */
	snprintf(ret->type, sizeof ret->type, "%s", is ? "string" : "none");
	ret->value_len = is ? value->length : 0;
	ret->value_kept = ret->value_len < sizeof ret->value ? ret->value_len : sizeof ret->value;
	memcpy(ret->value, value->text, ret->value_kept);
}

static void conclude(struct status_slots *slots, unsigned slot)
{
	struct standing *standing = &slots->standing;
	memset(standing, 0, sizeof *standing);
	standing->nodes = slots->nodes;
	standing->quorum = slots->quorum;
	for (unsigned i = 0; i < slots->nodes; i++)
		find(&standing->finding[i], slots->list[i].reply, slot);
	standing_conclude(standing);
}

int status_slots_find(struct status_slots *slots, const char *value)
{
	for (unsigned i = 1; slots->told && i < slots->count; i++) {
		conclude(slots, i);
		if (standing_count(&slots->standing, value, strlen(value)) > 0)
			return (int)i;
	}
	return -1;
}

void status_slots_print(struct status_slots *slots)
{
	char verdict[STANDING_TEXT_MAX];
	if (slots->count == 0)
		return;
	put_line("  %u slot%s: slot 0 is the name itself", slots->count, slots->count == 1 ? "" : "s");
	for (unsigned i = 1; slots->told && i < slots->count; i++) {
		conclude(slots, i);
		put_line("  slot %u: %s", i, standing_text(&slots->standing, verdict, sizeof verdict));
	}
}

void status_slots_json(struct status_slots *slots, const struct standing *first, struct json *json)
{
	json_open(json, "slots", '[');
	if (slots->count > 0)
		standing_json(first, NULL, json);
	for (unsigned i = 1; slots->told && i < slots->count; i++) {
		conclude(slots, i);
		standing_json(&slots->standing, NULL, json);
	}
	json_close(json, ']');
}

void status_slots_end(struct status_slots *slots)
{
	redlock_asker_close(slots->asker);
	slots->asker = NULL;
}
