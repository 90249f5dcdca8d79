/* SPDX-License-Identifier: MIT */
/* Which word was meant: the nearest one by Damerau's distance, if it is near. */
#include "suggest.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { WORD_MAX = 31 };

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static unsigned distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
	unsigned cost[WORD_MAX + 1][WORD_MAX + 1];
	for (size_t i = 0; i <= a_size; i++)
		for (size_t j = 0; j <= b_size; j++) {
			if (i == 0 || j == 0) {
				cost[i][j] = (unsigned)(i + j);
				continue;
			}
			cost[i][j] =
			    least(cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]), least(cost[i - 1][j], cost[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				cost[i][j] = least(cost[i][j], cost[i - 2][j - 2] + 1);
		}
	return cost[a_size][b_size];
}

void suggest(struct suggestion *suggestion, const char *candidate)
{
	size_t size = strlen(suggestion->word), other = strlen(candidate);
	if (size > WORD_MAX || other > WORD_MAX)
		return;
	unsigned found = distance(suggestion->word, size, candidate, other);
	if (found > 2 || found > other / 2 || (suggestion->nearest != NULL && found >= suggestion->distance))
		return;
	suggestion->nearest = candidate;
	suggestion->distance = found;
}

const char *suggestion_text(const struct suggestion *suggestion, const char *dashes)
{
	static char text[WORD_MAX + 32];
	if (suggestion->nearest == NULL)
		return "";
	snprintf(text, sizeof text, ", did you mean `%s%s`?", dashes, suggestion->nearest);
	return text;
}
