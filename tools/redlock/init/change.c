/* SPDX-License-Identifier: MIT */
/* One script writes all of it: ops/operator/write_record.lua. It quotes what was read, the run_id with it,
 * and a time on the node's own clock, so that a write which comes late, or to a node that has forgotten, does
 * nothing. In values `@` in front stands for the run_id. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <operator_scripts.h>

#include "../exit_codes.h"
#include "../message.h"
#include "../quarantine.h"
#include "init.h"

/* No node can go through a quarantine, vote and forget again while a write is on its way. */
enum { LATE_MS = 10000 };
enum { QUOTE = 5, WORDS = 9 + 2 * GUARD_FIELDS, MOST_ROUNDS = 100 };

static const char *const field_names[GUARD_FIELDS] = {
#define FIELD_NAME(name, field) [GUARD_##name] = (field),
    GUARD_FIELD_MAP(FIELD_NAME)
#undef FIELD_NAME
};

void init_draw(char id[INIT_ID + 1])
{
	unsigned char random[INIT_ID / 2] = {0};
	if (getrandom(random, sizeof random, 0) < 0)
		abort(); /* not of so few bytes, on any kernel that has it */
	for (size_t i = 0; i < sizeof random; i++)
		snprintf(id + 2 * i, 3, "%02x", random[i]);
}

static uint64_t limit_ms(const struct init *in)
{
	uint64_t ttl_ms = strtoull(in->ttl, NULL, 10);
	return ttl_ms < LATE_MS ? ttl_ms : LATE_MS;
}

struct init_change *init_put(struct init *in, unsigned node, const char *said)
{
	struct init_change *c = &in->change[node];
	*c = (struct init_change){.said = said, .until_ms = in->record[node].now_ms + limit_ms(in)};
	return c;
}

void init_put_floor(struct init *in, unsigned node, uint64_t floor)
{
	struct init_change *c = &in->change[node];
	uint64_t own;
	if (!guard_record_counter(&in->record[node], &own) && own > floor)
		floor = own; /* one of the two was damaged: both become what is left */
	snprintf(c->floor, sizeof c->floor, "%llu", (unsigned long long)floor);
	c->text[GUARD_FLOOR] = c->text[GUARD_GMAX] = c->floor;
}

static void clear(struct init_change *c, const enum guard_field *fields, size_t count)
{
	for (size_t f = 0; f < count; f++)
		c->text[fields[f]] = "";
}
#define CLEAR(c, ...)                                                                                        \
	clear((c), (const enum guard_field[]){__VA_ARGS__},                                                      \
	      sizeof((const enum guard_field[]){__VA_ARGS__}) / sizeof(enum guard_field))

static void put_votes(struct init_change *c, const struct init_config *config)
{
	snprintf(c->pass, sizeof c->pass, "@:%s", config->config);
	c->text[GUARD_PASS] = c->pass;
	CLEAR(c, GUARD_QRID, GUARD_QUNTIL, GUARD_QID);
	if (config->prev_config[0] == '\0')
		return;
	snprintf(c->prev, sizeof c->prev, "@:%s", config->prev_config);
	c->text[GUARD_PREV] = c->prev;
	c->text[GUARD_PREV_CONFIG] = config->prev_config;
	c->text[GUARD_PREV_MEMBERS] = config->prev_members;
	c->text[GUARD_PREV_QUORUM] = config->prev_quorum;
}

/* A client that has not looked for the record yet is plain. No change of members keeps it out: its list and
 * the second list after it need not share a node. And no quarantine of the set's length is long enough for
 * its locks. */
uint64_t init_unseen_ms(const struct init *in)
{
	uint64_t left_ms = 0;
	for (unsigned i = 0; i < in->nodes; i++) {
		uint64_t until_ms = guard_record_number(&in->record[i], GUARD_UNSEEN);
		uint64_t now_ms = in->record[i].now_ms;
		bool waits = in->listed[i] && until_ms > now_ms && until_ms - now_ms > left_ms;
		left_ms = waits ? until_ms - now_ms : left_ms;
	}
	return left_ms;
}

static void put_quarantine(struct init *in, struct init_change *c)
{
	uint64_t whole_ms = quarantine_ms(strtoull(in->ttl, NULL, 10)), unseen_ms = init_unseen_ms(in);
	whole_ms = unseen_ms > whole_ms ? unseen_ms : whole_ms;
	snprintf(c->whole, sizeof c->whole, "%llu", (unsigned long long)whole_ms);
	init_draw(c->quarantine);
	c->text[GUARD_QRID] = "@";
	c->text[GUARD_QUNTIL] = c->whole;
	c->text[GUARD_QID] = c->quarantine;
}

void init_compose(struct init *in, unsigned node, enum init_kind kind, const struct init_config *config,
                  const char *said)
{
	struct init_change *c = init_put(in, node, said);
	c->text[GUARD_VERSION] = "1";
	c->text[GUARD_MODE] = kind == INIT_TELL ? "removed" : "guard";
	c->text[GUARD_SET] = config->set;
	c->text[GUARD_CONFIG] = config->config;
	c->text[GUARD_STEP] = config->step;
	c->text[GUARD_MEMBERS] = config->members;
	c->text[GUARD_QUORUM] = config->quorum;
	c->text[GUARD_TTL] = config->ttl;
	c->text[GUARD_NODE] = in->member[node];
	c->text[GUARD_LEAVING] = config->leaving;
	c->text[GUARD_DONE] =
	    config->finished && (kind == INIT_ADMIT || kind == INIT_REPAIR) ? config->config : "";
	c->text[GUARD_FOUNDING] = "";
	if (kind == INIT_REPAIR)
		return;
	CLEAR(c, GUARD_PASS, GUARD_PREV, GUARD_PREV_CONFIG, GUARD_PREV_MEMBERS, GUARD_PREV_QUORUM);
	if (kind == INIT_ADMIT)
		put_votes(c, config);
	if (kind == INIT_QUARANTINE)
		put_quarantine(in, c);
}

bool init_has_changes(const struct init *in)
{
	for (unsigned i = 0; i < in->nodes; i++)
		if (in->change[i].said != NULL)
			return true;
	return false;
}

/* ---- writing ---- */

struct words {
	char until[24], *quoted, names[GUARD_QUOTED * 16]; /* of the fields that are quoted */
	const char *argv[WORDS];
	size_t count;
};

/* As the script puts it together. */
static char *quote(const struct guard_record *r)
{
	size_t size = strlen(r->run_id) + 1, used;
	for (unsigned f = 0; f < GUARD_QUOTED; f++)
		size += strlen(r->field[f]) + 1;
	char *text = malloc(size);
	used = text != NULL ? (size_t)snprintf(text, size, "%s", r->run_id) : 0;
	for (unsigned f = 0; f < GUARD_QUOTED && text != NULL; f++)
		used += (size_t)snprintf(text + used, size - used, " %s", r->field[f]);
	return text;
}

/* Up to the step: what follows are pairs. */
static bool put_words(struct words *w, const struct guard_record *r, const struct init_change *c)
{
	const char *step = c->text[GUARD_STEP] != NULL ? c->text[GUARD_STEP] : r->field[GUARD_STEP];
	const char *const first[] = {"EVAL",   OPERATOR_LUA_WRITE_RECORD_TEXT, "1",      GUARD_RECORD_KEY,
	                             w->until, w->quoted = quote(r),           w->names, step};
	const char *before = "";
	for (size_t f = 0, used = 0; f < GUARD_QUOTED; f++, before = " ")
		used += (size_t)snprintf(w->names + used, sizeof w->names - used, "%s%s", before, field_names[f]);
	snprintf(w->until, sizeof w->until, "%llu", (unsigned long long)c->until_ms);
	memcpy(w->argv, first, sizeof first);
	w->count = sizeof first / sizeof first[0];
	for (unsigned f = 0; f < GUARD_FIELDS; f++)
		if (c->text[f] != NULL) {
			w->argv[w->count++] = field_names[f];
			w->argv[w->count++] = c->text[f];
		}
	return w->quoted != NULL;
}

/* False: it refuses. One that does not answer, or has another record by now, is seen at the next reading. */
static bool hear(const struct init *in, const struct redlock_question *q)
{
	const struct redlock_reply *r = q->reply;
	if (r == NULL)
		return true;
	if (r->kind == REDLOCK_REPLY_ARRAY && r->count == 3 && r->items[0].kind == REDLOCK_REPLY_INTEGER &&
	    strcmp(r->items[2].text, q->argv[QUOTE]) == 0) {
		if (r->items[0].integer == 1 && !in->settings->quiet && !in->settings->json)
			put_line("node %u %s: %s", q->node + 1, init_address(in, q->node), in->change[q->node].said);
		return true;
	}
	(void)init_refuse(in, q->node, MSG(INIT_NODE),
	                  r->kind == REDLOCK_REPLY_ERROR ? r->text : "an answer of another kind");
	return false;
}

static int write_all(struct init *in, struct redlock_question *questions, struct words *words)
{
	size_t count = 0;
	for (unsigned i = 0; i < in->nodes; i++) {
		if (in->change[i].said == NULL)
			continue;
		if (!put_words(&words[i], &in->record[i], &in->change[i])) {
			complain(MSG(NO_MEMORY));
			return EXIT_INTERNAL;
		}
		questions[count++] = (struct redlock_question){.size = sizeof(struct redlock_question),
		                                               .node = i,
		                                               .argc = words[i].count,
		                                               .argv = words[i].argv};
	}
	int code = INIT_MORE,
	    error = redlock_ask(in->asker, questions, count, in->session.node_timeout_ms + 1000);
	for (size_t q = 0; q < count; q++) {
		if (!hear(in, &questions[q]))
			code = EXIT_REFUSED;
	}
	if (error < 0 && error != REDLOCK_E_INTERRUPTED) {
		complain(MSG(LIBRARY), redlock_strerror(error));
		return EXIT_INTERNAL;
	}
	if (++in->rounds > MOST_ROUNDS) {
		complain(MSG(INIT_RACE));
		return EXIT_NO;
	}
	return code;
}

int init_write(struct init *in)
{
	struct redlock_question *questions = calloc(in->nodes, sizeof *questions);
	struct words *words = calloc(in->nodes, sizeof *words);
	int code = EXIT_INTERNAL;
	if (questions != NULL && words != NULL)
		code = write_all(in, questions, words);
	else
		complain(MSG(NO_MEMORY));
	for (unsigned i = 0; i < in->nodes && words != NULL; i++)
		free(words[i].quoted);
	free(words);
	free(questions);
	return code;
}
