/* SPDX-License-Identifier: MIT */
/* Text of one line for people, written as snprintf(3) does: what does not fit is counted. Nothing is
 * allocated. */
#ifndef RL_SENTENCE_H
#define RL_SENTENCE_H

#include <stddef.h>

struct rl_sentence {
	char *text;
	size_t size;
	size_t length; /* of the whole sentence, also where that is more than fits */
};

__attribute__((format(printf, 2, 3))) void rl_sentence_put(struct rl_sentence *s, const char *format, ...);

/* Bytes that a server or another client chose: they must not control a terminal or forge a line of a log. */
void rl_sentence_put_foreign(struct rl_sentence *s, const char *bytes, size_t size);

#endif
