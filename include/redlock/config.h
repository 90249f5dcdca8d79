/* SPDX-License-Identifier: MIT */
/*
 * Options by name, and from the configuration that the redlock command reads. A part of redlock.h, which
 * includes it.
 *
 *     struct redlock_options o;
 *     redlock_options_init(&o);
 *     o.error_text = why; o.error_text_size = sizeof why;
 *     if (redlock_options_load(&o, NULL, NULL) == 0)     files, environment
 *         error = redlock_open(&o, &client);
 *     redlock_options_clear(&o);                         the client has copies
 *
 * The calls change no global state, but they read the environment: no other thread may change that meanwhile
 * (getenv(3)). Different options may be used by different threads at once.
 *
 * Memory. redlock_options_set() and redlock_options_load() copy every text into memory that `store` of the
 * options owns. redlock_options_clear() wipes and frees it; until then a copy of the struct shares the texts
 * and must not be cleared. Options for which neither was called need no clear.
 */
#ifndef REDLOCK_CONFIG_H
#define REDLOCK_CONFIG_H

#include "redlock.h" /* NOLINT(misc-header-include-cycle): it is a header by itself, too */

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Sets an option by its name, with a value as a configuration file has it: redlock_options_set(&o, "ttl",
 * "30s"). The names are in redlock_config(3). Of `url` the value is a comma list, which replaces all nodes;
 * of `password-file` it is a file that this call reads into `password`. Names of lock options (ttl, wait,
 * renew) set the default lock options of the client: `lock_options` then points to a copy, in which the other
 * options are those of the caller's struct. On failure error_text of the options
 * receives a sentence that names the option, what is wrong and what is allowed, and nothing has changed.
 * Errors: INVAL (an unknown name, a value that is out of its range), CONFIG (a password file that cannot be
 * used), INTERRUPTED (`stop_fd` became readable), NOMEM.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_options_set(struct redlock_options *options, const char *name,
                                                       const char *value);

/* Adds one node to those of the options. The URL is copied, and is one node whatever commas it has; node sets
 * of the options are replaced. For languages that cannot build an array easily. Errors: INVAL (an empty URL,
 * or more than REDLOCK_MAX_NODES nodes), NOMEM; as for redlock_options_set(). */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_options_add_url(struct redlock_options *options, const char *url);

/* Sets an option of a lock, as redlock_options_set() sets one of a client; error_text may be NULL. `token` is
 * not copied: the caller keeps the text until redlock_lock_new() has returned. Any thread. Errors: INVAL. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_options_set(struct redlock_lock_options *options,
                                                            const char *name, const char *value,
                                                            char *error_text, size_t error_text_size);

/*
 * Returns 1 if the values of an option are durations ("30s"), by its name in redlock_config(3), else 0: also
 * for an unknown name, and NULL. For languages that give durations as numbers, which add the unit ("1500ms").
 * Any thread.
 */
REDLOCK_API int redlock_option_is_duration(const char *name);

/*
 * Sets the options that the configuration has, as the redlock command does: system's file, user's file, the
 * environment, each before the one above it; see redlock_config(3). Options that the configuration does not
 * have stay as they are. `cluster` is the section [cluster NAME] whose nodes and values are wanted; NULL: the
 * one that REDLOCK_CLUSTER or `cluster` in a file names, if any. `file` is the only file to read; NULL: the
 * one that REDLOCK_CONFIG names, else the system's and the user's. Options that only the command has are
 * accepted and skipped.
 *
 * A file may be a pipe: then the call waits for its end, until `stop_fd` of the options is readable; without
 * a `stop_fd`, 10 s at most. On failure error_text receives a sentence with the file and the line, or the
 * variable. On success warning_text receives a line for each file that has a password and can be read by
 * other users. Errors: CONFIG (also if no node is named), INTERRUPTED, NOMEM, SYSTEM (no descriptor), INVAL.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_options_load(struct redlock_options *options, const char *cluster,
                                                        const char *file);

/*
 * Opens a client with the configuration that the redlock command reads: redlock_options_init(),
 * redlock_options_load() with this `cluster` and NULL for `file`, redlock_open() and redlock_options_clear()
 * in one call. Locks have an owner label only if the configuration has `owner`: HOST:PID is a default of the
 * command alone. On failure error_text receives the sentence of the call that has failed, with the file and
 * line of the value if one is refused, else ""; `error_text` may be NULL. A file that is a pipe is waited
 * for, 10 s at most. Errors: those of both calls.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_open_configured(const char *cluster, char *error_text,
                                                           size_t error_text_size,
                                                           redlock_client **ret_client);

/*
 * A client and a handle in one call each, with all options as text: for languages that read no C headers.
 * `words` are options by name, with values as redlock_options_set() has them, each with its NUL, and one more
 * NUL; NULL: none.
 *
 *     "url\0redis://10.0.0.1,redis://10.0.0.2\0node-timeout\0500ms\0"
 *
 * Without `url` among the words, redlock_open_words() first loads the configuration, as
 * redlock_options_load() does: NULL or "" as `cluster` and `file` name none. On failure error_text, which may
 * be NULL, receives the sentence of the call that has failed, else "". Errors: those of
 * redlock_options_load(), redlock_options_set() and redlock_open().
 *
 * redlock_lock_new_words() makes a handle of 1 to REDLOCK_MAX_NAMES names, with the options of the client and
 * those in the words of redlock_lock_options_set(). `token` has any bytes and is copied; NULL: none, unless
 * the words have one. `user` is that of the options. Errors: as redlock_lock_new_many_bytes();
 * redlock_client_last_error() also has the sentence for a wrong option.
 */
struct redlock_name;
REDLOCK_API REDLOCK_MUST_CHECK int redlock_open_words(const char *words, const char *cluster,
                                                      const char *file, char *error_text,
                                                      size_t error_text_size, redlock_client **ret_client);
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_new_words(redlock_client *client,
                                                          const struct redlock_name *names, size_t count,
                                                          const char *words, const void *token,
                                                          size_t token_len, void *user,
                                                          redlock_lock **ret_lock);

/* Set `error_text`, and `trace`: for languages that know no more of the struct than its size, by
 * redlock_constant("sizeof redlock_options"), and set all other options by name. The buffer stays the
 * caller's, and redlock_open() writes to it too. NULL options are ignored. */
REDLOCK_API void redlock_options_set_error_text(struct redlock_options *options, char *text, size_t size);
REDLOCK_API void redlock_options_set_trace(struct redlock_options *options,
                                           void (*trace)(void *trace_user, const char *line),
                                           void *trace_user);

/* Wipes and frees the texts that redlock_options_set(), _add_url() and _load() have copied, and sets all
 * options to their defaults. An open client is not affected. Texts and buffers of the caller stay the
 * caller's. */
REDLOCK_API void redlock_options_clear(struct redlock_options *options);

/*
 * Writes the options that handles of this client have without any of their own: `lock_options` of the
 * client's options, which redlock_options_load() takes from the configuration. For a handle that differs in
 * some of them. The caller sets `size`. Any thread. Errors: INVAL, FORKED.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_client_lock_options(redlock_client *client,
                                                               struct redlock_lock_options *ret_options);

/* ---- the configuration itself: for programs with a command line of their own ------------------------- */

typedef struct redlock_config redlock_config;

struct redlock_setting {
	size_t size;       /* the caller's: sizeof(struct redlock_setting) */
	const char *name;  /* "ttl" */
	const char *value; /* "30s"; it may be a secret: a URL, and the value of "password" */
	const char *where; /* "/etc/redlock/redlock.conf:3", or the name of a variable */
};

/*
 * Reads the configuration as redlock_options_load() does, without using it: no password file is read, and no
 * node is needed. The config has the settings that count, and where each stands. Of `options` only
 * error_text, warning_text and stop_fd are used. Errors: as redlock_options_load().
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_config_read(const struct redlock_options *options,
                                                       const char *cluster, const char *file,
                                                       redlock_config **ret_config);

/* Writes setting `index`, from 0; `url` may come several times. Its texts live as long as the config. Any
 * thread. Returns 1, or 0 if there are no more. Errors: INVAL. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_config_setting(const redlock_config *config, size_t index,
                                                          struct redlock_setting *ret_setting);

/* The name of section [cluster NAME] number `index`, from 0, of all files; NULL: there are no more. Any
 * thread. */
REDLOCK_API const char *redlock_config_cluster(const redlock_config *config, size_t index);

/* Wipes and frees. */
REDLOCK_API void redlock_config_free(redlock_config *config);

/* ---- durations ----------------------------------------------------------------------------------------- */

/*
 * Parses a duration as the configuration and the command have it: "500ms", "1.5s", "2m", "1h", "30d"; a
 * fraction is rounded up to whole milliseconds. With a `max_ms` of REDLOCK_FOREVER the word "forever" is
 * allowed, and other durations up to REDLOCK_MAX_TTL_MS. On failure error_text, which may be NULL, receives a
 * sentence that says what is wrong and what is allowed. Any thread. Errors: INVAL.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_duration_parse(const char *text, uint64_t min_ms, uint64_t max_ms,
                                                          char *error_text, size_t error_text_size,
                                                          uint64_t *ret_ms);

/* Writes a duration as redlock_duration_parse() reads it, in the largest unit that fits: "30s", "1500ms". 32
 * bytes suffice. Any thread. */
REDLOCK_API void redlock_duration_text(uint64_t ms, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif
