/* SPDX-License-Identifier: MIT */
/*
 * The options by name: one table of all names that redlock_options_set(), redlock_lock_options_set() and the
 * configuration know, with the field that each one sets. The command's own table has the same names.
 */
#ifndef RL_CONFIG_WORDS_H
#define RL_CONFIG_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <redlock/redlock.h>

enum rl_word_kind {
	RL_WORD_TEXT,          /* a text; with a min of 1 not empty */
	RL_WORD_URLS,          /* a comma list of nodes */
	RL_WORD_PASSWORD_FILE, /* a file, which is read */
	RL_WORD_NUMBER,        /* from min to max */
	RL_WORD_DURATION,      /* from min to max */
	RL_WORD_CHOICE         /* one of the words of `choices`, stored as its number; of a yes as 1 */
};

/* The struct to which the option belongs. */
enum rl_word_home {
	RL_WORD_CLIENT, /* struct redlock_options */
	RL_WORD_LOCK,   /* struct redlock_lock_options */
	RL_WORD_FILE,   /* the configuration itself */
	RL_WORD_SETS,   /* the same, also in a section: its node sets */
	RL_WORD_COMMAND /* the redlock command; the library only checks the value */
};

struct rl_word {
	const char *name;
	enum rl_word_kind kind;
	enum rl_word_home home;
	size_t offset; /* of the field */
	size_t width;
	const char *field; /* its name */
	uint64_t min;
	uint64_t max;
	const char *choices;  /* "a|b|c" */
	bool is_key;          /* may stand in a file */
	const char *variable; /* of the environment; NULL: none */
};

extern const struct rl_word rl_words[];
extern const size_t rl_words_count;

/* NULL: there is no such word. */
const struct rl_word *rl_words_find(const char *name);

/* The word that sets this field of struct redlock_options; NULL: none. */
const struct rl_word *rl_words_of_field(const char *field);

/* Parses a value; for texts it only checks, and `ret` becomes 0. False: `problem` says what is wrong and what
 * is allowed. */
bool rl_words_parse(const struct rl_word *word, const char *value, uint64_t *ret, char *problem, size_t size);

#endif
