/* SPDX-License-Identifier: MIT */
/* Answers that must come up among the random commands of the differential test. */
#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#include "asked.h"
#include "differential.h"

/* A command's first word, and how its answers began. */
enum { ANSWERS = 12 };

struct kind {
	const char *command, *answers[ANSWERS];
	uint64_t seen[ANSWERS];
};

static struct kind kinds[] = {
    {"SET",
     {"+OK", "$-1", "-ERR syntax", "-ERR invalid expire", "-ERR value", "-ERR wrong number", "-OOM",
      "-MISCONF", "-READONLY", "-BUSY", "-NOAUTH"},
     {0}},
    {"GET", {"$7", "$-1", "-WRONGTYPE", "-ERR wrong number"}, {0}},
    {"DEL", {":1", ":0", "-READONLY"}, {0}},
    {"PEXPIRE", {":1", ":0", "-ERR value", "-MISCONF"}, {0}},
    {"PTTL", {":-2", ":-1", ":0", ":1"}, {0}},
    {"TYPE", {"+none", "+string", "+hash", "+list"}, {0}},
    {"HSET", {":1", ":0", "-OOM", "-WRONGTYPE"}, {0}},
    {"RPUSH", {":1", "-WRONGTYPE"}, {0}},
    {"HGET", {"$1", "$-1", "-WRONGTYPE"}, {0}},
    {"HMGET", {"*3\r\n$1", "*3\r\n$-1", "-WRONGTYPE"}, {0}},
    {"HDEL", {":1", ":0", "-WRONGTYPE"}, {0}},
    {"HSCAN", {"*2\r\n$1\r\n0\r\n*2"}, {0}},
    {"MGET", {"*3\r\n$"}, {0}},
    {"INCRBY", {":7", ":14", ":48", "-ERR value"}, {0}},
    {"ZADD", {":1", ":0", "-ERR value", "-WRONGTYPE"}, {0}},
    {"ZREM", {":1", ":0", "-WRONGTYPE"}, {0}},
    {"ZSCORE", {"$1", "$-1", "-WRONGTYPE"}, {0}},
    {"ZCOUNT", {":0", ":1", ":2", "-ERR min"}, {0}},
    {"ZREVRANGE", {"*0", "*1", "*2", "-WRONGTYPE"}, {0}},
    {"ZREVRANGEBYSCORE", {"*0", "*1", "*2", "-WRONGTYPE"}, {0}},
    {"ZREMRANGEBYSCORE", {":0", ":1", "-WRONGTYPE"}, {0}},
    {"PEXPIREAT", {":0", ":1", "-ERR value"}, {0}},
    {"EVAL", {"-WRONGTYPE", "-READONLY", "-MISCONF", "-BUSY"}, {0}},
    {"EVALSHA", {"-NOSCRIPT", "-WRONGTYPE"}, {0}},
    {"SCRIPT", {"+OK", "-ERR unknown subcommand"}, {0}},
    {"SELECT", {"+OK", "-ERR DB", "-ERR value"}, {0}},
    {"CLIENT", {":1", ":0", "-ERR client-id", "-ERR unknown subcommand", "-ERR wrong number"}, {0}},
    {"INFO", {"$"}, {0}},
    {"PING", {"+PONG", "-MISCONF"}, {0}},
    {"AUTH", {"+OK", "-WRONGPASS", "-ERR AUTH"}, {0}},
    {"FOO", {"-ERR unknown command"}, {0}},
    {"GETRANGE", {"$7", "$3", "$0", "-WRONGTYPE"}, {0}},
    {"STRLEN", {":7", ":0", "-WRONGTYPE"}, {0}},
    {"WATCH", {"+OK", "-ERR wrong number"}, {0}},
    {"EXEC", {"-ERR EXEC without MULTI"}, {0}},
    {"MULTI",
     {"+OK\r\n+QUEUED\r\n*1\r\n:1", "+OK\r\n+QUEUED\r\n*1\r\n$-1", "+OK\r\n+QUEUED\r\n*1\r\n-WRONGTYPE",
      "+OK\r\n+QUEUED\r\n*-1\r\n", "+OK\r\n-ERR wrong number", "+OK\r\n-OOM", "+OK\r\n-MISCONF",
      "+OK\r\n-READONLY", "+OK\r\n-BUSY", "-NOAUTH"},
     {0}},
};
enum { KINDS = sizeof kinds / sizeof kinds[0], NATIVE_KINDS = 3 };

/* The answers of a server that has none of the comparing commands, or one of them. */
static struct kind native_kinds[][NATIVE_KINDS] = {
    [NATIVE_NONE] = {{"COMMAND", {"*2\r\n$-1\r\n$-1\r\n"}, {0}},
                     {"DELEX", {"-ERR unknown command"}, {0}},
                     {"DELIFEQ", {"-ERR unknown command"}, {0}}},
    [NATIVE_DELEX] = {{"COMMAND", {"*2\r\n*"}, {0}},
                      {"DELEX", {"-ERR Key should be of string type", "-READONLY"}, {0}},
                      {"DELIFEQ", {"-ERR unknown command"}, {0}}},
    [NATIVE_DELIFEQ] = {{"COMMAND", {"*2\r\n$-1\r\n*"}, {0}},
                        {"DELIFEQ", {"-WRONGTYPE", "-READONLY"}, {0}},
                        {"DELEX", {"-ERR unknown command"}, {0}}},
};

static struct asked_seen rows;

/* Counts the answer, or prints what never came up: how many kinds that is. */
static int look_at(struct kind *of, int size, const struct step *s, const struct buffer *answer, bool print)
{
	int missing = 0;
	for (int i = 0; i < size; i++)
		for (int k = 0; k < ANSWERS && of[i].answers[k] != NULL; k++) {
			const char *text = of[i].answers[k];
			if (s != NULL)
				of[i].seen[k] += strcasecmp(s->in_multi ? "MULTI" : s->text[0], of[i].command) == 0 &&
				                 answer->length >= strlen(text) &&
				                 memcmp(buffer_front(answer), text, strlen(text)) == 0;
			else if (of[i].seen[k] == 0 && ++missing && print)
				printf("never happened: %s answered %s\n", of[i].command, text);
		}
	return missing;
}

void step_count(const struct step *s, const struct buffer *answer, enum redis_native native)
{
	struct words words = {.count = s->count};
	struct asked asked;
	memcpy(words.at, s->words, sizeof s->words);
	if (!s->in_multi && asked_read(&words, &asked))
		asked_note(&rows, &asked, (struct bytes){buffer_front(answer), answer->length});
	look_at(kinds, KINDS, s, answer, false);
	look_at(native_kinds[native], NATIVE_KINDS, s, answer, false);
}

int steps_missing(enum redis_native native, bool print)
{
	static const uint32_t lacks[] = {[NATIVE_NONE] = RL_FORMS_NATIVE,
	                                 [NATIVE_DELEX] = RL_FORM_BIT(RL_FORM_DELIFEQ),
	                                 [NATIVE_DELIFEQ] = RL_FORM_BIT(RL_FORM_DELEX)};
	return look_at(kinds, KINDS, NULL, NULL, print) +
	       look_at(native_kinds[native], NATIVE_KINDS, NULL, NULL, print) +
	       asked_print(&rows, ~(lacks[native] | RL_FORM_BIT(RL_FORM_WATCH)),
	                   print ? ASKED_MISSING : ASKED_NOTHING);
}
