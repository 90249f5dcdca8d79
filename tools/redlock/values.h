/* SPDX-License-Identifier: MIT */
/* Texts to values and back: numbers, words, lists of texts. Durations: redlock_duration_parse(). */
#ifndef REDLOCK_TOOL_VALUES_H
#define REDLOCK_TOOL_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

/* Parse a text. Return NULL and write the value, or return what is wrong. */
const char *value_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret);

/* The number of the word among `words`, "a|b|c". */
const char *value_word(const char *text, const char *words, uint64_t *ret);

/* "a, b or c". Returns `buffer`. */
const char *value_words_text(const char *words, char *buffer, size_t size);

/* The word with this number. */
void value_word_at(const char *words, uint64_t number, char *buffer, size_t size);

/* Seconds with or without a fraction, without a unit, as flock(1) takes them; rounded up to milliseconds. */
const char *value_seconds(const char *text, uint64_t min, uint64_t max, uint64_t *ret_ms);

/* The answers for a value outside of min to max, and for another word: compared by address. */
extern const char value_out_of_range[], value_unknown_word[];

/* Appends a copy. False: out of memory. */
bool text_list_add(struct text_list *list, const char *text);
/* Writes the texts with commas between them. Returns `buffer`. */
char *text_list_join(const struct text_list *list, char *buffer, size_t size);
/* Wipes and frees all: URLs may have passwords in them. */
void text_list_free(struct text_list *list);

#endif
