/* SPDX-License-Identifier: MIT */
/* The order of rows, by one column; rows that are alike there are in the order of their names. */
#include <stdlib.h>
#include <string.h>

#include "ls.h"

int ls_compare_names(const struct ls_row *a, const struct ls_row *b)
{
	int order = strcmp(a->name, b->name);
	return order != 0 ? order : (a->slot > b->slot) - (a->slot < b->slot);
}

static int compare_texts(const char *a, const char *b)
{
	return strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

static int by_name(const void *a, const void *b)
{
	return ls_compare_names(a, b);
}

static int by_kind(const void *one, const void *other)
{
	const struct ls_row *a = one, *b = other;
	int order = strcmp(a->kind, b->kind);
	return order != 0 ? order : ls_compare_names(a, b);
}

static int by_holder(const void *one, const void *other)
{
	const struct ls_row *a = one, *b = other;
	int order = compare_texts(a->holder, b->holder);
	return order != 0 ? order : ls_compare_names(a, b);
}

/* For columns of numbers: what a person looks for comes first. */
#define BY_NUMBER(column, number)                                                                            \
	static int by_##column(const void *one, const void *other)                                               \
	{                                                                                                        \
		const struct ls_row *a = one, *b = other;                                                            \
		uint64_t first = (number(a)), second = (number(b));                                                  \
		return first != second ? (first > second) - (first < second) : ls_compare_names(a, b);               \
	}

#define LONGEST_HELD(row) UINT64_MAX - (row)->held_ms
#define FEWEST_VOTES(row) (row)->votes
#define LEAST_LIFE(row) (uint64_t)(row)->pttl_ms
#define MOST_WAITERS(row) UINT64_MAX - (row)->waiting
#define HIGHEST_FENCE(row) UINT64_MAX - (row)->fence
#define ODDEST(row) UINT64_MAX - (row)->odd

BY_NUMBER(held, LONGEST_HELD)
BY_NUMBER(votes, FEWEST_VOTES)
BY_NUMBER(ttl, LEAST_LIFE)
BY_NUMBER(waiters, MOST_WAITERS)
BY_NUMBER(fence, HIGHEST_FENCE)
BY_NUMBER(odd, ODDEST)

void ls_sort(struct ls_rows *rows, uint64_t key)
{
	/* In the order of LS_SORT_WORDS. */
	static int (*const orders[])(const void *, const void *) = {
	    by_name, by_kind, by_holder, by_held, by_votes, by_ttl, by_waiters, by_fence, by_odd};
	if (rows->count > 1)
		qsort(rows->list, rows->count, sizeof *rows->list, orders[key]);
}
