/* SPDX-License-Identifier: MIT */
/* The keys that each node has under the slots of a name. */
#include "status_slots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "side_key.h"

/* How many a node knows; 0: it does not. */
static unsigned count_of(const struct redlock_reply *reply)
{
	bool told = reply != NULL && reply->kind == REDLOCK_REPLY_STRING;
	unsigned long count = told ? strtoul(reply->text, NULL, 10) : 0;
	return count <= REDLOCK_MAX_SLOTS ? (unsigned)count : 0;
}

/* How many there are, by most nodes; where as many differ, the larger one: it shows more. 0: none knows. */
static unsigned count_slots(struct status_slots *slots)
{
	unsigned told[REDLOCK_MAX_SLOTS + 1] = {0}, best = 0;
	struct redlock_question list[REDLOCK_MAX_NODES];
	char *key = side_key_new(NULL, slots->name, "slots");
	const char *const get[] = {"GET", key};
	for (unsigned i = 0; i < slots->nodes; i++)
		list[i] = (struct redlock_question){
		    .size = sizeof(struct redlock_question), .node = i, .argc = 2, .argv = get};
	if (key != NULL && redlock_ask(slots->asker, list, slots->nodes, slots->timeout_ms) >= 0)
		for (unsigned i = 0; i < slots->nodes; i++)
			told[count_of(list[i].reply)]++;
	for (unsigned count = 1; count <= REDLOCK_MAX_SLOTS; count++)
		if (told[count] > 0 && told[count] >= told[best] * (best > 0))
			best = count;
	free(key);
	return best;
}

enum { ASK_VALUE, ASK_LIFE, ASKS };

/* The reply of a node about a slot after the first one. */
static const struct redlock_reply *reply_of(const struct status_slots *slots, unsigned slot, unsigned node,
                                            unsigned ask)
{
	return slots->list[((slot - 1) * slots->nodes + node) * ASKS + ask].reply;
}

static bool ask_slots(struct status_slots *slots)
{
	static const char *const commands[ASKS] = {[ASK_VALUE] = "GET", [ASK_LIFE] = "PTTL"};
	const char *words[REDLOCK_MAX_SLOTS][ASKS][2];
	size_t most = (size_t)(slots->count - 1) * slots->nodes * ASKS;
	bool ok = (slots->list = calloc(most, sizeof *slots->list)) != NULL;
	struct redlock_question *at = slots->list;
	for (unsigned i = 1; ok && i < slots->count; i++) {
		ok = (slots->keys[i] = side_key_slot(NULL, slots->name, i)) != NULL;
		for (unsigned k = 0; k < ASKS; k++)
			words[i][k][0] = commands[k], words[i][k][1] = slots->keys[i];
		for (unsigned node = 0; ok && node < slots->nodes; node++)
			for (unsigned k = 0; k < ASKS; k++)
				*at++ = (struct redlock_question){
				    .size = sizeof(struct redlock_question), .node = node, .argc = 2, .argv = words[i][k]};
	}
	return ok && redlock_ask(slots->asker, slots->list, most, slots->timeout_ms) >= 0;
}

void status_slots_read(struct status_slots *slots, const struct session *session,
                       const struct settings *settings, const char *name)
{
	const char *prefix = settings->prefix != NULL ? settings->prefix : "";
	*slots = (struct status_slots){.nodes = redlock_node_count(session->client),
	                               .quorum = redlock_quorum(session->client),
	                               .timeout_ms = session->node_timeout_ms,
	                               .name = malloc(strlen(prefix) + strlen(name) + 1)};
	if (slots->name == NULL)
		return;
	memcpy(stpcpy(slots->name, prefix), name, strlen(name) + 1);
	if (redlock_asker_open(session->client, &slots->asker) == 0)
		slots->count = count_slots(slots);
	slots->told = slots->count > 1 && ask_slots(slots);
}

/* The finding of one node. A key that is not a string is somebody's too. */
static void find(struct redlock_finding *ret, const struct redlock_reply *value,
                 const struct redlock_reply *life)
{
	memset(ret, 0, sizeof *ret);
	if (value == NULL || life == NULL || life->kind != REDLOCK_REPLY_INTEGER)
		return;
	bool is = value->kind == REDLOCK_REPLY_STRING;
	ret->known = 1;
	ret->pttl_ms = life->integer;
	snprintf(ret->type, sizeof ret->type, "%s", life->integer == -2 ? "none" : is ? "string" : "other");
	ret->value_len = is ? value->length : 0;
	ret->value_kept = ret->value_len < sizeof ret->value ? ret->value_len : sizeof ret->value;
	if (is)
		memcpy(ret->value, value->text, ret->value_kept);
}

static void conclude(struct status_slots *slots, unsigned slot)
{
	struct standing *standing = &slots->standing;
	memset(standing, 0, sizeof *standing);
	standing->nodes = slots->nodes;
	standing->quorum = slots->quorum;
	for (unsigned i = 0; i < slots->nodes; i++)
		find(&standing->finding[i], reply_of(slots, slot, i, ASK_VALUE), reply_of(slots, slot, i, ASK_LIFE));
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

const struct standing *status_slots_at(struct status_slots *slots, unsigned slot)
{
	if (!slots->told || slot == 0 || slot >= slots->count)
		return NULL;
	conclude(slots, slot);
	return &slots->standing;
}

void status_slots_print(struct status_slots *slots)
{
	char verdict[STANDING_TEXT_MAX], life[48];
	if (slots->count == 0)
		return;
	put_line("  %u slot%s: slot 0 is the name itself", slots->count, slots->count == 1 ? "" : "s");
	for (unsigned i = 1; slots->told && i < slots->count; i++) {
		conclude(slots, i);
		put_line("  slot %u: %s%s", i, standing_text(&slots->standing, verdict, sizeof verdict),
		         standing_life(&slots->standing, life, sizeof life));
	}
}

void status_slots_json(struct status_slots *slots, const struct standing *first, struct json *json)
{
	json_open(json, "slots", '[');
	if (slots->count > 0)
		standing_json_token(first, json);
	for (unsigned i = 1; slots->told && i < slots->count; i++) {
		conclude(slots, i);
		standing_json_token(&slots->standing, json);
	}
	json_close(json, ']');
}

void status_slots_end(struct status_slots *slots)
{
	redlock_asker_close(slots->asker);
	slots->asker = NULL;
	for (unsigned i = 1; i < slots->count; i++)
		free(slots->keys[i]);
	free(slots->list);
	free(slots->name);
}
