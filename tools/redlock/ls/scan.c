/* SPDX-License-Identifier: MIT */
/*
 * Finds the names of locks: SCAN on all nodes at once, some keys at a time. A side key tells its name. Any
 * other key counts as a lock under a prefix; without one only if its value looks like a lock's. No key is
 * kept longer than a step but those that count, so that a million keys of others take no memory.
 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "../guard_record.h"
#include "ls.h"

#define STEP "1000"
enum { STEP_KEYS = 1000, MOST_KEYS = 20000, TOKEN = 40, CURSOR = 24 };

bool ls_is_token(const char *text, size_t length)
{
	return length >= TOKEN && holder_made_here(text, length);
}

/* ---- keys that count ---- */

static bool is_in_scope(const struct ls_scope *scope, const char *name, size_t length)
{
	size_t prefix = strlen(scope->prefix);
	if (length <= prefix || memcmp(name, scope->prefix, prefix) != 0)
		return false;
	char *text = scope->pattern != NULL ? strndup(name + prefix, length - prefix) : NULL;
	bool is = scope->pattern == NULL || (text != NULL && fnmatch(scope->pattern, text, 0) == 0);
	free(text);
	return is;
}

/* A pattern for SCAN that lets pass all keys of the scope, and few others: side keys begin with a brace. From
 * the first bracket on, fnmatch(3) decides alone. */
static char *make_glob(const struct ls_scope *scope)
{
	const char *pattern = scope->pattern != NULL ? scope->pattern : "";
	char *glob = malloc(2 * strlen(scope->prefix) + strlen(pattern) + 4), *at = glob;
	if (glob == NULL)
		return NULL;
	*at++ = '*';
	for (const char *from = scope->prefix; *from; from++) {
		if (strchr("*?[]\\", *from) != NULL)
			*at++ = '\\';
		*at++ = *from;
	}
	for (const char *from = pattern; *from && *from != '['; from++) {
		*at++ = *from;
		if (*from == '\\') /* with the character that it stands before */
			*at++ = from[1] ? *++from : '\\';
	}
	*at++ = '*';
	*at = '\0';
	return glob;
}

/* ---- one step ---- */

struct walk {
	char cursor[CURSOR];
	bool runs;
	const struct redlock_reply *page; /* keys of the last answer; NULL: none */
};

struct scan {
	struct ls_nodes *nodes;
	const struct ls_scope *scope;
	struct ls_names *names;
	char *glob;
	struct walk walk[REDLOCK_MAX_NODES];
	uint64_t barred[REDLOCK_MAX_NODES]; /* keys that the user may not read */
	uint64_t steps;
};

/* SCAN's answer: the next cursor, and some keys. */
static void turn_page(struct scan *scan, const struct redlock_question *q)
{
	struct walk *walk = &scan->walk[q->node];
	const struct redlock_reply *r = q->reply;
	bool fits = r != NULL && r->kind == REDLOCK_REPLY_ARRAY && r->count == 2 &&
	            r->items[0].kind == REDLOCK_REPLY_STRING && r->items[0].length > 0 &&
	            r->items[0].length < sizeof walk->cursor && r->items[1].kind == REDLOCK_REPLY_ARRAY &&
	            r->items[1].count <= MOST_KEYS;
	walk->page = fits ? &r->items[1] : NULL;
	walk->runs = false;
	if (!fits) {
		ls_nodes_refused(scan->nodes, q->node, q);
		return;
	}
	memcpy(walk->cursor, r->items[0].text, r->items[0].length + 1);
	walk->runs = strcmp(walk->cursor, "0") != 0;
	if (!walk->runs)
		scan->nodes->scanned |= UINT64_C(1) << q->node;
}

static bool ask_pages(struct scan *scan)
{
	struct redlock_question list[REDLOCK_MAX_NODES];
	const char *argv[REDLOCK_MAX_NODES][6];
	size_t count = 0;
	for (unsigned i = 0; i < scan->nodes->report.nodes; i++) {
		struct walk *walk = &scan->walk[i];
		walk->page = NULL;
		walk->runs &= (scan->nodes->asked >> i & 1) != 0;
		if (!walk->runs)
			continue;
		memcpy(argv[i], (const char *[]){"SCAN", walk->cursor, "MATCH", scan->glob, "COUNT", STEP},
		       sizeof argv[i]);
		list[count++] = (struct redlock_question){
		    .size = sizeof(struct redlock_question), .node = i, .argc = 6, .argv = argv[i]};
	}
	bool ok = ls_nodes_ask(scan->nodes, list, count);
	for (size_t i = 0; i < count && ok; i++)
		turn_page(scan, &list[i]);
	return ok;
}

/* ---- the keys of a step ---- */

/* A key that may be a lock's, which only its value can tell. */
struct candidate {
	unsigned node;
	char *key;
};

struct candidates {
	struct candidate *list;
	size_t count;
};

/* Copies the key: the answer that it is in is freed by the next question. */
static bool keep(struct candidates *all, unsigned node, const struct redlock_reply *key)
{
	char *copy = strdup(key->text);
	if (copy != NULL)
		all->list[all->count++] = (struct candidate){.node = node, .key = copy};
	return copy != NULL;
}

static bool add(struct scan *scan, const struct ls_key *key)
{
	struct ls_name *name = ls_names_add(scan->names, key->name, key->length, key->slot);
	if (name != NULL && key->side >= 0)
		name->sides |= 1U << key->side;
	/* A slot may be held while the name itself is free: the number of slots is beside the name. */
	if (name != NULL && key->slot > 0)
		name->sides |= 1U << LS_SLOTS;
	return name != NULL;
}

static bool sort_out(struct scan *scan, unsigned node, const struct redlock_reply *reply,
                     struct candidates *all)
{
	struct ls_key key;
	bool is_name = reply->kind == REDLOCK_REPLY_STRING && strlen(reply->text) == reply->length;
	if (!is_name || strcmp(reply->text, GUARD_RECORD_KEY) == 0) /* no lock has a NUL in its name */
		return true;
	ls_key_read(&key, reply->text, reply->length);
	if (!is_in_scope(scan->scope, key.name, key.length))
		return true;
	bool counts = key.side >= 0 || key.slot > 0 || *scan->scope->prefix;
	return counts ? add(scan, &key) : keep(all, node, reply);
}

static bool sort_pages(struct scan *scan, struct candidates *all)
{
	size_t most = 0;
	for (unsigned i = 0; i < scan->nodes->report.nodes; i++)
		most += scan->walk[i].page != NULL ? scan->walk[i].page->count : 0;
	*all = (struct candidates){.list = calloc(most + 1, sizeof *all->list)};
	bool ok = all->list != NULL;
	for (unsigned i = 0; i < scan->nodes->report.nodes && ok; i++)
		for (size_t k = 0; ok && scan->walk[i].page != NULL && k < scan->walk[i].page->count; k++)
			ok = sort_out(scan, i, &scan->walk[i].page->items[k], all);
	return ok;
}

static void forget(struct candidates *all)
{
	for (size_t i = 0; i < all->count; i++)
		free(all->list[i].key);
	free(all->list);
}

/* ---- values ---- */

static bool is_wrong_type(const struct redlock_reply *reply)
{
	return reply != NULL && reply->kind == REDLOCK_REPLY_ERROR && strncmp(reply->text, "WRONGTYPE", 9) == 0;
}

/* "NOPERM ... access one of the keys": a user with a prefix of its own, to whom other keys are nothing. */
static bool is_about_the_key(const struct redlock_question *q)
{
	const struct redlock_reply *r = q->reply;
	return r != NULL && r->kind == REDLOCK_REPLY_ERROR && redlock_question_vote(q) == REDLOCK_VOTE_NOPERM &&
	       strstr(r->text, "to run the '") == NULL;
}

/* An empty table must not stand for values that the nodes do not tell. A key of another type is no lock. */
static void note_refusals(struct scan *scan, const struct redlock_question *list, size_t count)
{
	for (const struct redlock_question *q = list; q < list + count; q++) {
		bool is_error = q->reply != NULL && q->reply->kind == REDLOCK_REPLY_ERROR;
		if (!is_error || is_wrong_type(q->reply))
			continue;
		if (is_about_the_key(q))
			scan->barred[q->node]++;
		else
			ls_nodes_refused(scan->nodes, q->node, q);
	}
}

/* Asks all candidates that are left the same, of their own node. */
static struct redlock_question *ask_values(struct scan *scan, const struct candidates *all,
                                           const char *command, const char *from, const char *to)
{
	struct redlock_question *list = calloc(all->count + 1, sizeof *list);
	const char *(*argv)[4] = calloc(all->count + 1, sizeof *argv);
	bool ok = list != NULL && argv != NULL;
	for (size_t i = 0; ok && i < all->count; i++) {
		const struct candidate *c = &all->list[i];
		memcpy(argv[i], (const char *[]){command, c->key, from, to}, sizeof argv[i]);
		list[i] =
		    (struct redlock_question){.size = sizeof *list, .node = c->node, .argc = 4, .argv = argv[i]};
	}
	if (!ok)
		scan->nodes->error = REDLOCK_E_NOMEM;
	ok = ok && ls_nodes_ask(scan->nodes, list, all->count);
	free(argv);
	if (ok) {
		note_refusals(scan, list, all->count);
		return list;
	}
	free(list);
	return NULL;
}

static bool add_candidate(struct scan *scan, const struct candidate *c)
{
	struct ls_key key = {.name = c->key, .length = strlen(c->key), .side = -1};
	return add(scan, &key);
}

/* The values of strings; those of another type stay in the list. */
static bool take_strings(struct scan *scan, struct candidates *all, const struct redlock_question *list)
{
	size_t kept = 0;
	bool ok = true;
	for (size_t i = 0; i < all->count; i++) {
		const struct redlock_reply *r = list[i].reply;
		bool is_string = r != NULL && r->kind == REDLOCK_REPLY_STRING;
		if (is_wrong_type(r)) {
			all->list[kept++] = all->list[i];
			continue;
		}
		if (is_string && ls_is_token(r->text, r->length))
			ok = ok && add_candidate(scan, &all->list[i]);
		free(all->list[i].key);
	}
	all->count = kept;
	return ok;
}

/* The first members of sorted sets. */
static bool take_sets(struct scan *scan, const struct candidates *all, const struct redlock_question *list)
{
	bool ok = true;
	for (size_t i = 0; i < all->count && ok; i++) {
		const struct redlock_reply *r = list[i].reply;
		if (r != NULL && r->kind == REDLOCK_REPLY_ARRAY && r->count == 1 &&
		    r->items[0].kind == REDLOCK_REPLY_STRING && ls_is_token(r->items[0].text, r->items[0].length))
			ok = add_candidate(scan, &all->list[i]);
	}
	return ok;
}

/* One byte more than a token has: its label begins there, or the value is not one. */
static bool look_at_values(struct scan *scan, struct candidates *all)
{
	struct redlock_question *list = NULL;
	bool ok = all->count == 0 || ((list = ask_values(scan, all, "GETRANGE", "0", "40")) != NULL &&
	                              take_strings(scan, all, list));
	free(list);
	list = NULL;
	ok = ok && (all->count == 0 || ((list = ask_values(scan, all, "ZREVRANGE", "0", "0")) != NULL &&
	                                take_sets(scan, all, list)));
	free(list);
	return ok;
}

/* ---- all of it ---- */

static bool any_runs(const struct scan *scan)
{
	bool any = false;
	for (unsigned i = 0; i < scan->nodes->report.nodes; i++)
		any |= scan->walk[i].runs && (scan->nodes->asked >> i & 1) != 0;
	return any;
}

static bool is_full(const struct scan *scan)
{
	return scan->scope->most > 0 && scan->names->count >= scan->scope->most;
}

static bool step(struct scan *scan)
{
	struct candidates all = {NULL, 0};
	if (!ask_pages(scan))
		return false;
	bool ok = sort_pages(scan, &all);
	if (!ok)
		scan->nodes->error = REDLOCK_E_NOMEM;
	ok = ok && look_at_values(scan, &all);
	forget(&all);
	scan->steps++;
	return ok;
}

bool ls_scan(struct ls_nodes *nodes, const struct ls_scope *scope, struct ls_names *names)
{
	struct scan scan = {.nodes = nodes, .scope = scope, .names = names, .glob = make_glob(scope)};
	bool ok = scan.glob != NULL;
	if (!ok)
		nodes->error = REDLOCK_E_NOMEM;
	nodes->scanned = 0;
	for (unsigned i = 0; i < nodes->report.nodes; i++)
		scan.walk[i] = (struct walk){.cursor = "0", .runs = (nodes->asked >> i & 1) != 0};
	while (ok && any_runs(&scan) && !is_full(&scan)) {
		ok = step(&scan) && ls_nodes_rest(nodes);
		nodes->program->progress(nodes, scan.steps * STEP_KEYS);
	}
	nodes->barred = 0;
	for (unsigned i = 0; i < nodes->report.nodes; i++)
		nodes->barred = scan.barred[i] > nodes->barred ? scan.barred[i] : nodes->barred;
	free(scan.glob);
	return ok;
}
