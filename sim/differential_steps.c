/* SPDX-License-Identifier: MIT */
/* The random commands of the differential test, and what must come up among them. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "differential.h"
#include "net/script.h"

/* The first word of a command, and how the answer began. */
struct kind {
	const char *command;
	const char *answer;
};

static const struct kind kinds[] = {
    {"SET", "+OK"},
    {"SET", "$-1"},
    {"SET", "-ERR syntax"},
    {"SET", "-ERR invalid expire"},
    {"SET", "-ERR value"},
    {"SET", "-ERR wrong number"},
    {"SET", "-OOM"},
    {"SET", "-MISCONF"},
    {"SET", "-READONLY"},
    {"SET", "-BUSY"},
    {"SET", "-NOAUTH"},
    {"GET", "$7"},
    {"GET", "$-1"},
    {"GET", "-WRONGTYPE"},
    {"GET", "-ERR wrong number"},
    {"DEL", ":1"},
    {"DEL", ":0"},
    {"DEL", "-READONLY"},
    {"PEXPIRE", ":1"},
    {"PEXPIRE", ":0"},
    {"PEXPIRE", "-ERR value"},
    {"PEXPIRE", "-MISCONF"},
    {"PTTL", ":-2"},
    {"PTTL", ":-1"},
    {"PTTL", ":0"},
    {"PTTL", ":1"},
    {"TYPE", "+none"},
    {"TYPE", "+string"},
    {"TYPE", "+hash"},
    {"TYPE", "+list"},
    {"HSET", ":1"},
    {"HSET", ":0"},
    {"HSET", "-OOM"},
    {"HSET", "-WRONGTYPE"},
    {"RPUSH", ":1"},
    {"RPUSH", "-WRONGTYPE"},
    {"EVAL", ":1"},
    {"EVAL", ":0"},
    {"EVAL", "*4"},
    {"EVAL", "-WRONGTYPE"},
    {"EVAL", "-READONLY"},
    {"EVAL", "-MISCONF"},
    {"EVAL", "-BUSY"},
    {"EVALSHA", ":1"},
    {"EVALSHA", ":0"},
    {"EVALSHA", "*4"},
    {"EVALSHA", "-NOSCRIPT"},
    {"EVALSHA", "-WRONGTYPE"},
    {"SCRIPT", "+OK"},
    {"SCRIPT", "-ERR unknown subcommand"},
    {"SELECT", "+OK"},
    {"SELECT", "-ERR DB"},
    {"SELECT", "-ERR value"},
    {"CLIENT", ":1"},
    {"CLIENT", ":0"},
    {"CLIENT", "-ERR client-id"},
    {"CLIENT", "-ERR unknown subcommand"},
    {"CLIENT", "-ERR wrong number"},
    {"INFO", "$"},
    {"PING", "+PONG"},
    {"PING", "-MISCONF"},
    {"AUTH", "+OK"},
    {"AUTH", "-WRONGPASS"},
    {"AUTH", "-ERR AUTH"},
    {"FOO", "-ERR unknown command"},
    {"GETRANGE", "$7"},
    {"GETRANGE", "$3"},
    {"GETRANGE", "$0"},
    {"GETRANGE", "-WRONGTYPE"},
    {"STRLEN", ":7"},
    {"STRLEN", ":0"},
    {"STRLEN", "-WRONGTYPE"},
    {"WATCH", "+OK"},
    {"WATCH", "-ERR wrong number"},
    {"EXEC", "-ERR EXEC without MULTI"},
    {"MULTI", "+OK\r\n+QUEUED\r\n*1\r\n:1"},
    {"MULTI", "+OK\r\n+QUEUED\r\n*1\r\n$-1"},
    {"MULTI", "+OK\r\n+QUEUED\r\n*1\r\n-WRONGTYPE"},
    {"MULTI", "+OK\r\n+QUEUED\r\n*-1\r\n"},
    {"MULTI", "+OK\r\n-ERR wrong number"},
    {"MULTI", "+OK\r\n-OOM"},
    {"MULTI", "+OK\r\n-MISCONF"},
    {"MULTI", "+OK\r\n-READONLY"},
    {"MULTI", "+OK\r\n-BUSY"},
    {"MULTI", "-NOAUTH"},
};
enum { KINDS = sizeof kinds / sizeof kinds[0], NATIVE_KINDS = 6 };

/* What a server answers that has none of the comparing commands, or one. */
static const struct kind native_kinds[][NATIVE_KINDS] = {
    [NATIVE_NONE] = {{"COMMAND", "*2\r\n$-1\r\n$-1\r\n"},
                     {"DELEX", "-ERR unknown command"},
                     {"DELIFEQ", "-ERR unknown command"}},
    [NATIVE_DELEX] = {{"COMMAND", "*2\r\n*"},
                      {"DELEX", ":1"},
                      {"DELEX", ":0"},
                      {"DELEX", "-ERR Key should be of string type"},
                      {"DELEX", "-READONLY"},
                      {"DELIFEQ", "-ERR unknown command"}},
    [NATIVE_DELIFEQ] = {{"COMMAND", "*2\r\n$-1\r\n*"},
                        {"DELIFEQ", ":1"},
                        {"DELIFEQ", ":0"},
                        {"DELIFEQ", "-WRONGTYPE"},
                        {"DELIFEQ", "-READONLY"},
                        {"DELEX", "-ERR unknown command"}},
};

static uint64_t seen[KINDS], native_seen[NATIVE_KINDS];

/* ---- words ---- */

static void add_bytes(struct step *s, const char *at, size_t size)
{
	s->words[s->count++] = (struct bytes){at, size};
}

static void add(struct step *s, const char *word)
{
	char *text = s->text[s->count];
	snprintf(text, STEP_WORD_SIZE, "%s", word);
	add_bytes(s, text, strlen(text));
}

static void add_number(struct step *s, int64_t number)
{
	char text[STEP_WORD_SIZE];
	snprintf(text, sizeof text, "%" PRId64, number);
	add(s, text);
}

static const char *pick(struct prng *p, const char *const *words, size_t count)
{
	return words[prng_below(p, count)];
}
#define PICK(p, ...)                                                                                         \
	pick(p, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void add_key(struct step *s, struct prng *p)
{
	s->key = s->count;
	add(s, PICK(p, "one", "two", "three", "a key with spaces\r\n"));
}

static void add_value(struct step *s, struct prng *p)
{
	add(s, PICK(p, "value-1", "value-2", "value-3"));
}

/* Most keys die soon, some live for long. */
static void add_ttl(struct step *s, struct prng *p)
{
	add_number(s,
	           prng_chance(p, 800) ? (int64_t)prng_between(p, 1, 12) : (int64_t)prng_between(p, 100, 90000));
}

/* ---- commands ---- */

static void draw_set(struct step *s, struct prng *p)
{
	uint64_t form = prng_below(p, 20);
	add(s, "SET");
	add_key(s, p);
	if (form == 0)
		return; /* too few words */
	add_value(s, p);
	if (form == 1)
		return; /* for ever */
	if (form == 2) {
		add(s, PICK(p, "NX", "XY", "PX"));
		return;
	}
	if (form > 3)
		add(s, "NX");
	add(s, "PX");
	if (form == 4)
		add(s, PICK(p, "0", "-5", "abc", "", "01", "99999999999999999999"));
	else
		add_ttl(s, p);
}

static void draw_pexpire(struct step *s, struct prng *p)
{
	add(s, "PEXPIRE");
	add_key(s, p);
	if (prng_chance(p, 100))
		add(s, PICK(p, "0", "-1", "x", "-0", "+1"));
	else
		add_ttl(s, p);
}

static void draw_of_key(struct step *s, struct prng *p)
{
	add(s, PICK(p, "GET", "PTTL", "TYPE", "DEL"));
	s->tells_life = s->text[0][0] == 'P';
	if (!prng_chance(p, 980)) {
		s->count = s->text[0][0] == 'D' ? 1 : s->count; /* DEL takes many keys: the model does not */
		return;
	}
	add_key(s, p);
}

static void draw_of_string(struct step *s, struct prng *p)
{
	bool range = prng_chance(p, 700);
	add(s, range ? "GETRANGE" : "STRLEN");
	add_key(s, p);
	if (range) {
		add(s, PICK(p, "0", "0", "3", "9"));
		add(s, PICK(p, "2", "6", "7", "1023"));
	}
}

static void draw_watch(struct step *s, struct prng *p)
{
	add(s, "WATCH");
	for (uint64_t i = prng_below(p, 3); i > 0; i--)
		add_key(s, p);
	s->key = 0; /* several: nothing is asked of them */
}

static void draw_other_type(struct step *s, struct prng *p)
{
	bool hash = prng_chance(p, 500);
	add(s, hash ? "HSET" : "RPUSH");
	add_key(s, p);
	if (hash)
		add(s, "field");
	add_value(s, p);
}

static void draw_native(struct step *s, struct prng *p)
{
	bool delex = prng_chance(p, 500);
	add(s, delex ? "DELEX" : "DELIFEQ");
	add_key(s, p);
	if (delex)
		add(s, "IFEQ");
	add_value(s, p);
}

static void draw_script(struct step *s, struct prng *p)
{
	enum rl_script script = (enum rl_script)prng_below(p, RL_SCRIPT_COUNT);
	bool by_text = prng_chance(p, 300);
	add(s, by_text ? "EVAL" : "EVALSHA");
	if (by_text)
		add_bytes(s, rl_scripts[script].text, rl_scripts[script].length);
	else if (prng_chance(p, 950))
		add(s, rl_scripts[script].sha);
	else
		add(s, PICK(p, "0123456789012345678901234567890123456789", "short"));
	add(s, "1");
	add_key(s, p);
	s->tells_life = script == RL_SCRIPT_INSPECT;
	if (script != RL_SCRIPT_INSPECT)
		add_value(s, p);
	if (script == RL_SCRIPT_EXTEND)
		add_ttl(s, p);
}

static void draw_of_connection(struct step *s, struct prng *p, const uint64_t ids[STEP_IDS])
{
	static const char *const plain[][3] = {
	    {"PING"},
	    {"EXEC"},
	    {"PING", "hello"},
	    {"INFO", "server"},
	    {"SCRIPT", "FLUSH"},
	    {"SCRIPT", "X"},
	    {"CLIENT", "ID"},
	    {"CLIENT", "ID", "x"},
	    {"CLIENT", "NOPE"},
	    {"CLIENT"},
	    {"CLIENT", "KILL"},
	    {"SELECT", "0"},
	    {"SELECT", "1"},
	    {"SELECT", "1"},
	    {"SELECT", "16"},
	    {"SELECT", "-1"},
	    {"SELECT", "abc"},
	    {"AUTH", "x"},
	    {"AUTH", "secret"},
	    {"FOO"},
	    {"FOO", "bar"},
	    {"SELECT"},
	    {"AUTH", "u", "x"},
	    {"AUTH", "default", "secret"},
	};
	uint64_t form = prng_below(p, sizeof plain / sizeof plain[0] + 3);
	if (form < sizeof plain / sizeof plain[0]) {
		for (int i = 0; i < 3 && plain[form][i] != NULL; i++)
			add(s, plain[form][i]);
		return;
	}
	if (prng_chance(p, 100)) {
		add(s, "COMMAND");
		add(s, "INFO");
		add(s, "delex");
		add(s, "delifeq");
		return;
	}
	add(s, "CLIENT");
	add(s, "KILL");
	add(s, "ID");
	if (prng_chance(p, 200))
		add(s, PICK(p, "0", "-1", "abc"));
	else
		add_number(s, (int64_t)ids[prng_below(p, STEP_IDS)]);
}

void step_draw(struct step *s, struct prng *p, const uint64_t ids[STEP_IDS])
{
	uint64_t kind = prng_below(p, 100);
	s->count = s->key = 0;
	s->tells_life = false;
	s->in_multi =
	    prng_chance(p, 250) && (kind < 20 || (kind >= 40 && kind < 70) || (kind >= 75 && kind < 88));
	if (kind < 20)
		draw_set(s, p);
	else if (kind < 40)
		draw_script(s, p);
	else if (kind < 46)
		draw_native(s, p);
	else if (kind < 66)
		draw_of_key(s, p);
	else if (kind < 70)
		draw_of_string(s, p);
	else if (kind < 75)
		draw_watch(s, p);
	else if (kind < 82)
		draw_pexpire(s, p);
	else if (kind < 88)
		draw_other_type(s, p);
	else
		draw_of_connection(s, p, ids);
	for (char *at = s->text[0]; prng_chance(p, 100) && *at != '\0'; at++)
		*at = (char)tolower((unsigned char)*at);
}

void step_print(const struct step *s)
{
	for (unsigned i = 0; i < s->count; i++)
		printf(" '%.*s'", (int)s->words[i].size, s->words[i].at);
	printf("\n");
}

/* ---- what came up ---- */

static void count(const struct kind *of, int size, uint64_t *counts, const struct step *s,
                  const struct buffer *answer)
{
	const char *command = s->in_multi ? "MULTI" : s->text[0];
	for (int i = 0; i < size && of[i].command != NULL; i++) {
		size_t length = strlen(of[i].answer);
		if (strcasecmp(command, of[i].command) == 0 && answer->length >= length &&
		    memcmp(buffer_front(answer), of[i].answer, length) == 0)
			counts[i]++;
	}
}

void step_count(const struct step *s, const struct buffer *answer, enum redis_native native)
{
	count(kinds, KINDS, seen, s, answer);
	count(native_kinds[native], NATIVE_KINDS, native_seen, s, answer);
}

static int missing(const struct kind *of, int size, const uint64_t *counts)
{
	int count = 0;
	for (int i = 0; i < size && of[i].command != NULL; i++)
		if (counts[i] == 0) {
			printf("never happened: %s answered %s\n", of[i].command, of[i].answer);
			count++;
		}
	return count;
}

int steps_missing(enum redis_native native)
{
	return missing(kinds, KINDS, seen) + missing(native_kinds[native], NATIVE_KINDS, native_seen);
}
