/* SPDX-License-Identifier: MIT */
/* One round: finds the names, looks at them, and puts the rows in the order of their names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../clock.h"
#include "../guard_record.h"
#include "../side_key.h"
#include "ls.h"

/* Side keys of the name tell of its slots as well. */
static bool share_sides(struct ls_names *names)
{
	bool ok = true;
	for (size_t i = 0; i < names->count && ok; i++) {
		struct ls_name *slot = names->list[i];
		if (slot->slot == 0)
			continue;
		struct ls_name *name = ls_names_add(names, slot->text, strlen(slot->text), 0);
		ok = name != NULL;
		slot->sides |= ok ? name->sides : 0;
	}
	return ok;
}

/* A name whose slot 0 is free is no remainder while another slot of it is held. Rows are in the order of
 * names, slots of a name after it. */
static void drop_beside_slots(struct ls_rows *rows)
{
	size_t kept = 0;
	for (size_t i = 0; i < rows->count; i++) {
		bool is_beside = ls_row_is_remainder(&rows->list[i]) && i + 1 < rows->count &&
		                 strcmp(rows->list[i].name, rows->list[i + 1].name) == 0;
		if (is_beside)
			ls_row_clear(&rows->list[i]);
		else
			rows->list[kept++] = rows->list[i];
	}
	rows->count = kept;
}

bool ls_scope_is_name(const struct ls_scope *scope)
{
	return scope->pattern != NULL && scope->pattern[strcspn(scope->pattern, "*?[\\")] == '\0';
}

/* A pattern that is a name counts as a lock whatever its value is: the user has named it, perhaps because a
 * key of another program keeps a job out. NULL: it is no name, or out of memory. */
static struct ls_name *add_named(struct ls_nodes *nodes, const struct ls_scope *scope, struct ls_names *names)
{
	char *key = NULL;
	struct ls_key read;
	if (!ls_scope_is_name(scope))
		return NULL;
	int length = asprintf(&key, "%s%s", scope->prefix, scope->pattern);
	struct ls_name *name = NULL;
	bool ok = length >= 0;
	if (ok) {
		ls_key_read(&read, key, (size_t)length);
		bool is_name = read.side < 0 && read.slot == 0 && length > 0 && strcmp(key, GUARD_RECORD_KEY) != 0;
		name = is_name ? ls_names_add(names, key, (size_t)length, 0) : NULL;
		ok = name != NULL || !is_name;
		free(key);
	}
	if (name != NULL) {
		name->is_asked = true;
		name->sides = (1U << LS_SIDES) - 1;
	}
	if (!ok)
		nodes->error = REDLOCK_E_NOMEM;
	return name;
}

/* Asks each node for the number of slots of a name. False: it cannot go on. */
static bool ask_slots(struct ls_nodes *nodes, const char *key, uint64_t *ret)
{
	struct redlock_question list[REDLOCK_MAX_NODES];
	const char *const get[] = {"GET", key};
	size_t count = 0;
	for (unsigned i = 0; i < nodes->report.nodes; i++)
		if ((nodes->asked >> i & 1) != 0)
			list[count++] = (struct redlock_question){
			    .size = sizeof(struct redlock_question), .node = i, .argc = 2, .argv = get};
	bool ok = ls_nodes_ask(nodes, list, count);
	nodes->scanned = nodes->asked;
	*ret = 0;
	for (size_t i = 0; ok && i < count; i++) {
		const struct redlock_reply *r = list[i].reply;
		uint64_t slots = r != NULL && r->kind == REDLOCK_REPLY_STRING ? strtoull(r->text, NULL, 10) : 0;
		*ret = slots > *ret && slots <= REDLOCK_MAX_SLOTS ? slots : *ret;
	}
	return ok;
}

/* All keys of a name are known without a search, which would take as long as for all names. */
static bool find_slots(struct ls_nodes *nodes, struct ls_names *names, const struct ls_name *name)
{
	char *key = side_key_new(NULL, name->text, "slots");
	uint64_t slots;
	bool ok = key != NULL;
	if (!ok)
		nodes->error = REDLOCK_E_NOMEM;
	ok = ok && ask_slots(nodes, key, &slots);
	for (unsigned slot = 1; ok && slot < slots; slot++) {
		struct ls_name *its = ls_names_add(names, name->text, strlen(name->text), slot);
		ok = its != NULL;
		if (ok)
			its->sides |= 1U << LS_SLOTS;
		else
			nodes->error = REDLOCK_E_NOMEM;
	}
	free(key);
	return ok;
}

static bool find_names(struct ls_nodes *nodes, const struct ls_scope *scope, struct ls_names *names)
{
	const struct ls_name *name = add_named(nodes, scope, names);
	if (name != NULL)
		return find_slots(nodes, names, name);
	return nodes->error >= 0 && ls_scan(nodes, scope, names);
}

bool ls_gather(struct ls_nodes *nodes, const struct ls_scope *scope, struct ls_rows *rows)
{
	struct ls_names names = {0};
	bool ok = ls_nodes_begin(nodes) && find_names(nodes, scope, &names);
	rows->is_cut = scope->most > 0 && names.count >= scope->most;
	if (ok && !share_sides(&names)) {
		nodes->error = REDLOCK_E_NOMEM;
		ok = false;
	}
	ok = ok && ls_look_at_names(nodes, &names, strlen(scope->prefix), rows) &&
	     ls_find_rivals(nodes, strlen(scope->prefix), rows);
	ls_names_free(&names);
	ls_sort(rows, 0);
	drop_beside_slots(rows);
	return ok;
}

/* Nobody holds the lock, and yet its key lives longer than before: somebody renews it. */
static bool is_renewed(const struct ls_row *was, const struct ls_row *is)
{
	unsigned below = 1u << LS_BELOW, rival = 1u << LS_RIVAL;
	bool both = (was->odd & is->odd & below) != 0 && is->known == is->nodes;
	return both && ((was->odd & rival) != 0 || is->pttl_ms > was->pttl_ms);
}

void ls_rows_carry(const struct ls_rows *before, struct ls_rows *after)
{
	uint64_t now_ns = clock_ns();
	for (size_t b = 0, a = 0; a < after->count; a++) {
		struct ls_row *is = &after->list[a];
		while (b < before->count && ls_compare_names(&before->list[b], is) < 0)
			b++;
		const struct ls_row *was = b < before->count ? &before->list[b] : NULL;
		bool same = was != NULL && ls_compare_names(was, is) == 0 && was->identity == is->identity;
		is->seen_ns = same ? was->seen_ns : now_ns;
		is->odd |= (unsigned)(same && is_renewed(was, is)) << LS_RIVAL;
		if (!is->held_is_exact && !ls_row_is_remainder(is))
			is->held_ms = (now_ns - is->seen_ns) / 1000000;
	}
}
