/* SPDX-License-Identifier: MIT */
#include "shards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "printable.h"

/* The words of a line of CLUSTER NODES before the slots, and those that are read. */
enum { WORD_ADDRESS = 1, WORD_FLAGS = 2, WORDS = 8 };

bool shards_are_of(const char *address)
{
	return strstr(address, "+cluster://") != NULL;
}

static void note_why(char *why, size_t size, const struct redlock_question *q)
{
	bool refused = q->reply != NULL && q->reply->kind == REDLOCK_REPLY_ERROR;
	const char *text = refused ? q->reply->text : q->reply == NULL ? q->error : "an answer of another kind";
	printable(text, strcspn(text, ",\r\n"), why, size);
}

/* ---- CLUSTER NODES ---- */

/* "0-5460", "7"; "[93->-...]" is one that moves, and is counted where it is. */
static unsigned count_slots(const char *word)
{
	char *end;
	unsigned long first = strtoul(word, &end, 10), last = first;
	if (end == word)
		return 0;
	if (*end == '-')
		last = strtoul(end + 1, NULL, 10);
	return last >= first && last < SHARD_SLOTS ? (unsigned)(last - first + 1) : 0;
}

/* "ID HOST:PORT@BUS[,NAME] FLAGS MASTER PING PONG EPOCH STATE SLOTS..." */
static void take_line(struct shards *shards, char *line)
{
	struct shard shard = {.slots = 0};
	char *rest = NULL, *word = strtok_r(line, " ", &rest);
	const char *flags = "";
	for (unsigned i = 0; word != NULL; i++, word = strtok_r(NULL, " ", &rest)) {
		if (i == WORD_ADDRESS)
			snprintf(shard.address, sizeof shard.address, "%.*s", (int)strcspn(word, "@,"), word);
		if (i == WORD_FLAGS)
			flags = word;
		shard.slots += i >= WORDS ? count_slots(word) : 0;
	}
	if (shard.slots == 0 || strstr(flags, "master") == NULL)
		return;
	shards->slots += shard.slots;
	if (shards->count < REDLOCK_MAX_NODES)
		shards->list[shards->count++] = shard;
	else
		shards->more++;
}

void shards_list(redlock_asker *asker, unsigned node, uint64_t timeout_ms, struct shards *ret)
{
	static const char *const words[] = {"CLUSTER", "NODES"};
	struct redlock_question q = {.size = sizeof q, .node = node, .argc = 2, .argv = words};
	*ret = (struct shards){.count = 0};
	if (redlock_ask(asker, &q, 1, timeout_ms) < 0 || q.reply == NULL ||
	    q.reply->kind != REDLOCK_REPLY_STRING) {
		note_why(ret->why, sizeof ret->why, &q);
		return;
	}
	char *text = strdup(q.reply->text), *rest = NULL;
	for (char *line = text != NULL ? strtok_r(text, "\r\n", &rest) : NULL; line != NULL;
	     line = strtok_r(NULL, "\r\n", &rest))
		take_line(ret, line);
	free(text);
	if (ret->count == 0)
		snprintf(ret->why, sizeof ret->why, "no master has a slot");
}

/* ---- each master ---- */

int shards_open(redlock_client *client, unsigned node, const struct shards *shards, redlock_asker **ret)
{
	const char *servers[REDLOCK_MAX_NODES];
	for (unsigned i = 0; i < shards->count; i++)
		servers[i] = shards->list[i].address;
	return redlock_asker_open_servers(client, node, servers, shards->count, ret);
}

void shard_take(struct shard *shard, const struct redlock_question *info)
{
	static const char replicas[] = "connected_slaves:";
	shard->up = info->reply != NULL && info->reply->kind == REDLOCK_REPLY_STRING;
	if (!shard->up) {
		note_why(shard->why, sizeof shard->why, info);
		return;
	}
	const char *count = strstr(info->reply->text, replicas);
	shard->replica = strstr(info->reply->text, "role:slave") != NULL;
	shard->replicas = count != NULL ? (int)strtol(count + sizeof replicas - 1, NULL, 10) : 0;
}

void shards_look(redlock_client *client, unsigned node, uint64_t timeout_ms, struct shards *shards)
{
	static const char *const info[] = {"INFO", "replication"};
	struct redlock_question list[REDLOCK_MAX_NODES];
	redlock_asker *asker = NULL;
	if (shards->count == 0 || shards_open(client, node, shards, &asker) < 0)
		return;
	for (unsigned i = 0; i < shards->count; i++)
		list[i] = (struct redlock_question){.size = sizeof list[i], .node = i, .argc = 2, .argv = info};
	bool asked = redlock_ask(asker, list, shards->count, timeout_ms) >= 0;
	for (unsigned i = 0; i < shards->count && asked; i++)
		shard_take(&shards->list[i], &list[i]);
	redlock_asker_close(asker);
}

/* ---- showing ---- */

const char *shard_text(const struct shard *s, char *buffer, size_t size)
{
	if (s->up)
		snprintf(buffer, size, "%s: up, %u slots, %s%d replica%s", s->address, s->slots,
		         s->replica ? "a replica itself by now, " : "", s->replicas, s->replicas == 1 ? "" : "s");
	else
		snprintf(buffer, size, "%s: DOWN, %u slots, %s", s->address, s->slots, s->why);
	return buffer;
}

void shards_json(const struct shards *shards, struct json *json)
{
	json_open(json, "servers", '[');
	for (unsigned i = 0; i < shards->count; i++) {
		const struct shard *s = &shards->list[i];
		json_open(json, NULL, '{');
		json_text(json, "address", s->address);
		json_number(json, "slots", s->slots);
		json_bool(json, "up", s->up);
		json_number_or_null(json, "replicas", s->up, s->replicas);
		json_text(json, "error", s->why);
		json_close(json, '}');
	}
	json_close(json, ']');
}
