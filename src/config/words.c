/* SPDX-License-Identifier: MIT */
#include "config/words.h"

#include <stdio.h>
#include <string.h>

#include "core/lock_options.h"

#define CLIENT(field)                                                                                        \
	RL_WORD_CLIENT, offsetof(struct redlock_options, field), sizeof(((struct redlock_options *)0)->field),   \
	    #field
#define LOCK(field)                                                                                          \
	RL_WORD_LOCK, offsetof(struct redlock_lock_options, field),                                              \
	    sizeof(((struct redlock_lock_options *)0)->field), #field
#define OF_FILE RL_WORD_FILE, 0, 0, NULL
#define OF_SETS RL_WORD_SETS, 0, 0, NULL
#define OF_COMMAND RL_WORD_COMMAND, 0, 0, NULL

enum { HOUR_MS = 3600000 };
#define MONTH_MS REDLOCK_MAX_TTL_MS
#define YES_NO "no|yes|false|true|0|1"

const struct rl_word rl_words[] = {
    /* which nodes, and how to talk to them */
    {"url", RL_WORD_URLS, CLIENT(urls), 0, 0, NULL, true, "REDLOCK_URLS"},
    {"cluster", RL_WORD_TEXT, OF_FILE, 1, 0, NULL, true, "REDLOCK_CLUSTER"},
    {"quorums", RL_WORD_TEXT, OF_SETS, 1, 0, NULL, true, NULL},
    {"joining", RL_WORD_TEXT, OF_SETS, 1, 0, NULL, true, NULL},
    {"user", RL_WORD_TEXT, CLIENT(user), 0, 0, NULL, true, "REDLOCK_USER"},
    {"password", RL_WORD_TEXT, CLIENT(password), 0, 0, NULL, false, NULL},
    {"password-file", RL_WORD_PASSWORD_FILE, CLIENT(password), 0, 0, NULL, true, "REDLOCK_PASSWORD_FILE"},
    {"cacert", RL_WORD_TEXT, CLIENT(tls_ca_file), 0, 0, NULL, true, NULL},
    {"cacertdir", RL_WORD_TEXT, CLIENT(tls_ca_dir), 0, 0, NULL, true, NULL},
    {"cert", RL_WORD_TEXT, CLIENT(tls_cert_file), 0, 0, NULL, true, NULL},
    {"key", RL_WORD_TEXT, CLIENT(tls_key_file), 0, 0, NULL, true, NULL},
    {"sni", RL_WORD_TEXT, CLIENT(tls_name), 1, 0, NULL, true, NULL},
    {"insecure", RL_WORD_CHOICE, CLIENT(tls_insecure), 0, 0, YES_NO, false, NULL},
    {"prefix", RL_WORD_TEXT, CLIENT(prefix), 0, 0, NULL, true, "REDLOCK_PREFIX"},
    {"owner", RL_WORD_TEXT, CLIENT(owner), 0, 0, NULL, true, NULL},
    {"quorum", RL_WORD_NUMBER, CLIENT(quorum), 1, REDLOCK_MAX_NODES, NULL, true, NULL},
    {"guard", RL_WORD_CHOICE, CLIENT(guard), 0, 0, "off|auto|require", true, "REDLOCK_GUARD"},
    {"node-timeout", RL_WORD_DURATION, CLIENT(node_timeout_ms), 1, HOUR_MS, NULL, true,
     "REDLOCK_NODE_TIMEOUT"},
    {"drift-ppm", RL_WORD_NUMBER, CLIENT(drift_ppm), 0, 500000, NULL, true, NULL},
    {"drift", RL_WORD_DURATION, CLIENT(drift_ms), 0, HOUR_MS, NULL, false, NULL},
    {"interruptible", RL_WORD_CHOICE, CLIENT(interruptible), 0, 0, YES_NO, false, NULL},
    {"guarded-set", RL_WORD_TEXT, CLIENT(guarded_set), 0, 0, NULL, false, NULL},
    {"stop-fd", RL_WORD_NUMBER, CLIENT(stop_fd), 0, INT32_MAX, NULL, false, NULL},
    /* locks */
    {"token", RL_WORD_TEXT, LOCK(token), 1, 0, NULL, false, NULL},
    {"fence", RL_WORD_CHOICE, LOCK(fence), 0, 0, YES_NO, false, NULL},
    {"reentrant", RL_WORD_CHOICE, LOCK(reentrant), 0, 0, YES_NO, false, NULL},
    {"compat", RL_WORD_CHOICE, LOCK(compat), 0, 0, "off|setnx|setnx-safe", false, NULL},
    {"slot", RL_WORD_NUMBER, LOCK(slot), 0, REDLOCK_MAX_SLOTS - 1, NULL, false, NULL},
    {"mode", RL_WORD_CHOICE, LOCK(mode), 0, 0, "exclusive|shared", false, NULL},
    /* the command's own */
    {"conflict-exit-code", RL_WORD_NUMBER, OF_COMMAND, 0, 255, NULL, true, NULL},
    {"kill-after", RL_WORD_DURATION, OF_COMMAND, 1, MONTH_MS, NULL, true, NULL},
    {"accept", RL_WORD_TEXT, OF_COMMAND, 0, 0, NULL, true, NULL},
/* the numbers of a lock */
#define TIME(field) RL_WORD_DURATION, LOCK(field##_ms)
#define NUMBER(field) RL_WORD_NUMBER, LOCK(field)
#define WORD(unit, field, name, least, most, is_key, variable)                                               \
	{name, unit(field), least, most, NULL, is_key, variable},
    RL_LOCK_OPTIONS_MAP(WORD)
#undef WORD
#undef NUMBER
#undef TIME
};
const size_t rl_words_count = sizeof rl_words / sizeof rl_words[0];

const struct rl_word *rl_words_find(const char *name)
{
	for (size_t i = 0; i < rl_words_count; i++)
		if (strcmp(rl_words[i].name, name) == 0)
			return &rl_words[i];
	return NULL;
}

const struct rl_word *rl_words_of_field(const char *field)
{
	for (size_t i = 0; i < rl_words_count; i++)
		if (rl_words[i].home == RL_WORD_CLIENT && strcmp(rl_words[i].field, field) == 0)
			return &rl_words[i];
	return NULL;
}

static bool parse_number(const struct rl_word *word, const char *value, uint64_t *ret, char *problem,
                         size_t size)
{
	uint64_t number = 0;
	size_t digits = strspn(value, "0123456789");
	bool is_number = digits > 0 && value[digits] == '\0';
	for (size_t i = 0; is_number && i < digits; i++) /* saturates far above every max */
		number = number < UINT64_MAX / 100 ? number * 10 + (uint64_t)(value[i] - '0') : UINT64_MAX / 100;
	*ret = number;
	if (is_number && number >= word->min && number <= word->max)
		return true;
	snprintf(problem, size, "%s%s%s: %llu to %llu", value, *value ? ": " : "",
	         is_number ? "out of range" : "not a number", (unsigned long long)word->min,
	         (unsigned long long)word->max);
	return false;
}

static bool parse_choice(const struct rl_word *word, const char *value, uint64_t *ret, char *problem,
                         size_t size)
{
	const char *choice = word->choices;
	for (uint64_t number = 0; *choice != '\0'; number++) {
		size_t length = strcspn(choice, "|");
		if (length == strlen(value) && memcmp(choice, value, length) == 0) {
			*ret = strcmp(word->choices, YES_NO) == 0 ? number % 2 : number;
			return true;
		}
		choice += length + (choice[length] == '|');
	}
	size_t used = (size_t)snprintf(problem, size, "%s%sgive ", value, *value ? ": " : "");
	const char *before = "";
	for (choice = word->choices; *choice != '\0' && used < size;) {
		size_t length = strcspn(choice, "|");
		used += (size_t)snprintf(problem + used, size - used, "%s%.*s", before, (int)length, choice);
		choice += length + (choice[length] == '|');
		before = strchr(choice, '|') != NULL ? ", " : " or ";
	}
	return false;
}

bool rl_words_parse(const struct rl_word *word, const char *value, uint64_t *ret, char *problem, size_t size)
{
	*ret = 0;
	switch (word->kind) {
	case RL_WORD_NUMBER:
		return parse_number(word, value, ret, problem, size);
	case RL_WORD_CHOICE:
		return parse_choice(word, value, ret, problem, size);
	case RL_WORD_DURATION:
		return redlock_duration_parse(value, word->min, word->max, problem, size, ret) == 0;
	case RL_WORD_TEXT:
	case RL_WORD_URLS:
	case RL_WORD_PASSWORD_FILE:
		break;
	}
	if (word->min > 0 && !*value) {
		snprintf(problem, size, "is empty");
		return false;
	}
	return true;
}
