/* SPDX-License-Identifier: MIT */
/* Looks again at locks beside whose holder another client has a key. */
#include <stdlib.h>

#include "../clock.h"
#include "../rival.h"
#include "ls.h"

/* The rows that a further look could tell more about, as a list of their names. False: out of memory. */
static bool choose(const struct ls_rows *rows, struct ls_names *ret)
{
	*ret = (struct ls_names){.list = calloc(rows->count + 1, sizeof(struct ls_name *))};
	for (size_t i = 0; i < rows->count && ret->list != NULL; i++)
		if (rows->list[i].rivals != NULL && rivals_want_look(rows->list[i].rivals))
			ret->list[ret->count++] = rows->list[i].found_as;
	return ret->list != NULL;
}

/* The later rows have the order of the former ones, of which they are a part. A row that is missing, or has
 * no such key any more, has no rival. */
static void compare(struct ls_rows *rows, const struct ls_names *names, const struct ls_rows *later)
{
	static const struct rivals none;
	for (size_t i = 0, n = 0, l = 0; i < rows->count && n < names->count; i++) {
		if (rows->list[i].found_as != names->list[n])
			continue;
		bool is_there = l < later->count && later->list[l].found_as == names->list[n];
		const struct rivals *now = is_there ? later->list[l].rivals : NULL;
		(void)rivals_compare(rows->list[i].rivals, now != NULL ? now : &none);
		l += is_there;
		n++;
	}
}

static bool look_again(struct ls_nodes *nodes, const struct ls_names *names, size_t prefix_length,
                       struct ls_rows *rows)
{
	struct ls_rows later = {0};
	bool ok = ls_nodes_rest_until(nodes, clock_ns() + rival_pause_ns(nodes->timeout_ms)) &&
	          ls_look_at_names(nodes, names, prefix_length, &later);
	if (ok)
		compare(rows, names, &later);
	ls_rows_free(&later);
	return ok;
}

static void conclude(struct ls_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		struct ls_row *row = &rows->list[i];
		if (row->rivals == NULL)
			continue;
		row->rival_nodes = rivals_on(row->rivals);
		row->odd |= (unsigned)(row->rival_nodes != 0) << LS_RIVAL;
		free(row->rivals);
		row->rivals = NULL;
	}
}

bool ls_find_rivals(struct ls_nodes *nodes, size_t prefix_length, struct ls_rows *rows)
{
	bool ok = true, more = true;
	for (unsigned look = 1; look < RIVAL_LOOKS && ok && more; look++) {
		struct ls_names names;
		ok = choose(rows, &names);
		if (!ok)
			nodes->error = REDLOCK_E_NOMEM;
		more = names.count > 0;
		ok = ok && (!more || look_again(nodes, &names, prefix_length, rows));
		free(names.list);
	}
	conclude(rows);
	return ok;
}
