/* SPDX-License-Identifier: MIT */
/* Which word was meant. */
#ifndef REDLOCK_TOOL_SUGGEST_H
#define REDLOCK_TOOL_SUGGEST_H

struct suggestion {
	const char *word;    /* what was typed */
	const char *nearest; /* NULL: nothing is near */
	unsigned distance;   /* of that one */
};

/* Takes a word that exists into account; letters that are wrong, missing, too many or swapped count one. */
void suggest(struct suggestion *suggestion, const char *candidate);

/* ", did you mean `acquire`?", or "". `dashes`: "--" for an option, else "". Valid until the next call. */
const char *suggestion_text(const struct suggestion *suggestion, const char *dashes);

#endif
