/* SPDX-License-Identifier: MIT */
#include "break_foreign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <operator_scripts.h>

#include "answer.h"
#include "audit.h"
#include "message.h"
#include "printable.h"
#include "side_key.h"

/* Side keys whose loss costs time only, so not the counter of fencing numbers. */
static const char *const sides[] = {"queue", "offers", "setnx", "last", "slots"};

enum { SCRIPT_WORDS = 6, SIDES = sizeof sides / sizeof sides[0] };

/* ---- asking ---- */

/* Takes the mark, and whether the key was deleted. False: it is no such answer. */
static bool take(struct break_foreign_key *key, const struct redlock_reply *r)
{
	if (r == NULL || r->kind != REDLOCK_REPLY_ARRAY || r->count != 2 ||
	    r->items[0].kind != REDLOCK_REPLY_STRING || r->items[1].kind != REDLOCK_REPLY_INTEGER)
		return false;
	key->is_deleted = r->items[1].integer == 1;
	snprintf(key->mark, sizeof key->mark, "%s", r->items[0].text);
	return true;
}

/* Asks the nodes of all keys, with the marks that are known. False: out of memory. */
static bool ask(struct break_foreign *f, const struct session *session)
{
	const char *(*argv)[SCRIPT_WORDS] = calloc(f->count + 1, sizeof *argv);
	struct redlock_question *list = calloc(f->count + 1, sizeof *list);
	bool ok = argv != NULL && list != NULL;
	for (size_t i = 0; ok && i < f->count; i++) {
		struct break_foreign_key *key = &f->list[i];
		memcpy(argv[i],
		       (const char *[]){"EVAL", OPERATOR_LUA_DELETE_KEY_TEXT, "1", key->key, key->mark,
		                        key->is_side ? "1" : "0"},
		       sizeof argv[i]);
		list[i] = (struct redlock_question){
		    .size = sizeof *list, .node = key->node, .argc = SCRIPT_WORDS, .argv = argv[i]};
	}
	if (ok)
		(void)!redlock_ask(f->asker, list, f->count, session->node_timeout_ms);
	for (size_t i = 0; ok && i < f->count; i++) {
		struct node_report *node = &f->report.node[f->list[i].node];
		if (!take(&f->list[i], list[i].reply))
			answer_refused(node, &list[i]);
		else if (node->detail[0] == '\0')
			node->vote.code = REDLOCK_VOTE_YES;
	}
	free(list);
	free(argv);
	return ok;
}

/* ---- which keys ---- */

static bool append(struct break_foreign *f, char *key, uint64_t nodes, bool is_side)
{
	bool ok = key != NULL;
	for (unsigned node = 0; ok && node < f->report.nodes; node++)
		if ((nodes >> node & 1) != 0) {
			char *own = strdup(key);
			ok = own != NULL;
			if (ok)
				f->list[f->count++] =
				    (struct break_foreign_key){.node = node, .is_side = is_side, .key = own};
		}
	free(key);
	return ok;
}

/* Keeps the keys that nodes have told of. */
static void drop_missing(struct break_foreign *f)
{
	size_t kept = 0;
	for (size_t i = 0; i < f->count; i++) {
		if (f->list[i].mark[0] == '\0' || strncmp(f->list[i].mark, "none", 4) == 0)
			free(f->list[i].key);
		else
			f->list[kept++] = f->list[i];
	}
	f->count = kept;
}

bool break_foreign_read(struct break_foreign *f, const struct break_targets *targets, struct session *session,
                        const char *name)
{
	const char *prefix = session->settings->prefix;
	size_t room = (size_t)(REDLOCK_MAX_SLOTS + SIDES) * REDLOCK_MAX_NODES;
	*f = (struct break_foreign){.list = calloc(room, sizeof *f->list)};
	bool ok = f->list != NULL && redlock_asker_open(session->client, &f->asker) == 0;
	answer_begin(&f->report, "break", session->client);
	f->report.name = name;
	for (unsigned slot = 0; ok && slot < REDLOCK_MAX_SLOTS; slot++)
		if (targets->foreign[slot] != 0)
			ok = append(f, side_key_slot(prefix, name, slot), targets->foreign[slot], false);
	for (size_t i = 0; ok && i < SIDES; i++)
		ok = append(f, side_key_new(prefix, name, sides[i]), targets->answered, true);
	ok = ok && ask(f, session);
	drop_missing(f);
	return ok;
}

void break_foreign_close(struct break_foreign *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->list[i].key);
	free(f->list);
	redlock_asker_close(f->asker);
}

/* ---- words ---- */

static int type_length(const struct break_foreign_key *key)
{
	return (int)strcspn(key->mark, " ");
}

static const char *key_text(const struct break_foreign_key *key, char *shown, size_t size)
{
	return printable(key->key, strlen(key->key), shown, size);
}

void break_foreign_print(const struct break_foreign *f)
{
	char shown[PRINTABLE_MAX];
	for (size_t i = 0; i < f->count; i++) {
		const struct break_foreign_key *key = &f->list[i];
		if (key->is_side)
			put_line("  node %u %s: side key '%s' of type %.*s, no expiry", key->node + 1,
			         f->report.node[key->node].status.address, key_text(key, shown, sizeof shown),
			         type_length(key), key->mark);
	}
}

/* Tells what became of one key, which is in these rows of the list. */
static void tell(const struct break_foreign *f, size_t first, size_t end, const struct session *session)
{
	const struct settings *settings = session->settings;
	const struct break_foreign_key *key = &f->list[first];
	char shown[PRINTABLE_MAX], text[PRINTABLE_MAX + 128];
	unsigned deleted = 0;
	key_text(key, shown, sizeof shown);
	for (size_t i = first; i < end; i++) {
		const struct node_report *node = &f->report.node[f->list[i].node];
		deleted += f->list[i].is_deleted;
		if (!f->list[i].is_deleted && node->detail[0] == '\0')
			say(settings, MSG(BREAK_CHANGED), shown, f->list[i].node + 1, node->status.address);
	}
	if (deleted == 0)
		return;
	snprintf(text, sizeof text, "deleted the key '%s' of type %.*s on %u of %u nodes", shown,
	         type_length(key), key->mark, deleted, f->report.nodes);
	audit(text, settings->reason);
	say(settings, MSG(BROKE), text);
}

unsigned break_foreign_delete(struct break_foreign *f, struct session *session)
{
	unsigned deleted = 0;
	if (f->count == 0 || !ask(f, session))
		return 0;
	for (size_t first = 0, end; first < f->count; first = end) {
		for (end = first; end < f->count && strcmp(f->list[end].key, f->list[first].key) == 0; end++)
			deleted += f->list[end].is_deleted;
		tell(f, first, end, session);
	}
	for (unsigned i = 0; i < f->report.nodes; i++)
		if (f->report.node[i].detail[0])
			say(session->settings, MSG(BREAK_KEPT), i + 1, f->report.node[i].status.address,
			    f->report.node[i].detail);
	return deleted;
}
