/* SPDX-License-Identifier: MIT */
/*
 * Options, declared once: a row of a table is the short and long name, the kind of value, where it is stored
 * and its help text. getopt_long(3), the parsing of values and --help all read the same rows.
 */
#ifndef REDLOCK_TOOL_OPTIONS_H
#define REDLOCK_TOOL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct text_list {
	char **items;
	size_t count;
};

/* Where a value comes from. Of two, the later one in this list counts. CONFIGURED: files and environment. */
enum setting_rank { RANK_DEFAULT, RANK_CONFIGURED, RANK_COMMAND_LINE };

/* The source of one field of the settings. */
struct setting_source {
	size_t field;
	enum setting_rank rank;
	const char *where; /* "/etc/redlock/redlock.conf:3", "REDLOCK_TTL", "--ttl" */
};

enum { MAX_SOURCES = 64 };

/* The settings, from the command line, the environment and the configuration. Fields of options that a
 * subcommand does not have keep their default. */
struct settings {
	struct text_list urls;        /* copies: passwords are blanked in argv */
	struct text_list url_sources; /* of each of them */
	struct text_list texts;       /* what other fields point to */
	struct setting_source sources[MAX_SOURCES];
	size_t source_count;
	struct text_list clusters; /* the sections [cluster NAME] of the configuration */
	char *password;            /* of the environment; NULL: none */
	const char *password_from; /* the variable that it is from */
	const char *quorums;       /* the sections of the node sets over which names are spread; NULL: one set */
	const char *joining;       /* the section of one that is being added; NULL */
	const char *cluster;       /* a section of the configuration; NULL: none */
	const char *config;        /* the only file to read; NULL: system's and user's */
	bool password_in_argv;
	const char *user;
	const char *password_file;
	const char *ca_file;
	const char *ca_dir;
	const char *cert_file;
	const char *key_file;
	const char *tls_name;
	bool insecure;
	bool ask_password;
	const char *prefix;
	const char *owner;        /* NULL: host:pid */
	const char *token;        /* NULL: a fresh random one */
	uint64_t quorum;          /* 0: a majority */
	uint64_t guard;           /* REDLOCK_GUARD_ */
	uint64_t node_timeout_ms; /* 0: the library's default */
	uint64_t drift_ppm;
	uint64_t ttl_ms;
	uint64_t renew_ms;      /* 0: ttl/3 */
	uint64_t kill_after_ms; /* 0: the smaller of 5s and ttl/6 */
	uint64_t min_hold_ms;
	uint64_t max_hold_ms;                           /* 0: no limit */
	uint64_t report_fd;                             /* 0: none */
	const char *on_gain, *on_loss_line, *on_change; /* elect: shell lines; NULL */
	uint64_t hook_ms;
	const char *status_file;
	bool is_leader;
	bool show_leader;
	uint64_t remember_ms; /* 0: no marker, unless there is a period */
	uint64_t once_per_ms; /* 0: as often as it is called */
	bool retry_failed;
	uint64_t within_ms; /* last; 0: whenever it was */
	bool succeeded;
	const char *metrics_file; /* NULL: none */
	uint64_t on_loss;         /* ON_LOSS_ */
	bool foreground;
	bool shared;              /* or rflock -s */
	bool unlock;              /* rflock -u */
	bool close_file;          /* rflock -o, which changes nothing */
	bool no_fork;             /* rflock -F, the same */
	bool interruptible;       /* signals end blocking calls of the library */
	bool has_no_node_options; /* rflock: messages do not speak of -r */
	uint64_t wait_ms;         /* REDLOCK_FOREVER: no -w, no -n */
	uint64_t busy_code;       /* acquire and rflock: never 0, which says that the lock is held */
	uint64_t run_busy_code;   /* run, also from the configuration: 0 says that nothing went wrong */
	uint64_t cluster_nodes;   /* 0: not given */
	uint64_t duration_ms;
	uint64_t pairs;           /* 0: by duration */
	uint64_t concurrency;     /* 0: one at a time over the blocking calls */
	uint64_t max_ttl_ms;      /* init; 0: not given */
	const char *add, *remove; /* the URL of a node; NULL */
	const char *replace;      /* the same; the node that replaces it is the next argument */
	bool finish;
	bool plain;
	bool new_epoch;
	bool dead;
	bool fresh;
	bool no_wait;
	bool fence;
	struct text_list also; /* further names of the same lock */
	bool reentrant;
	uint64_t compat;   /* REDLOCK_COMPAT_ */
	uint64_t slots;    /* 0: none */
	uint64_t sort;     /* ls: a column, by its number in LS_SORT_WORDS */
	uint64_t every_ms; /* ls --follow */
	uint64_t share;    /* ls: percent of a server's time */
	bool odd, orphans, follow;
	const char *holder, *reason; /* break; NULL */
	bool waiters, yes;
	struct text_list accept; /* doctor: comma lists of checks */
	bool quiet;
	bool verbose;
	bool json;
	bool trace;
	bool syslog;
	bool help;
	bool version;
};

enum option_kind {
	OPTION_FLAG,     /* no value: the bool becomes true */
	OPTION_OFF,      /* no value: the bool becomes false */
	OPTION_ZERO,     /* no value: the number becomes 0 */
	OPTION_NUMBER,   /* a number from min to max */
	OPTION_SECONDS,  /* 5 0.25, stored in milliseconds, from min to max */
	OPTION_DURATION, /* 30s 500ms 2m, stored in milliseconds, as redlock_duration_parse() has it */
	OPTION_WORD,     /* one of the words of its value, "a|b|c": stored as its number */
	OPTION_TEXT,     /* kept as it is; with a min of 1 not empty */
	OPTION_URL,      /* the same, once; a password in it is blanked in argv */
	OPTION_URLS,     /* a comma list, appended; passwords are blanked in argv */
	OPTION_TEXTS     /* kept as it is, and appended to a list */
};

struct option_spec {
	char letter; /* 0: long name only */
	const char *name;
	const char *value; /* the name of the value in the help, NULL: none */
	enum option_kind kind;
	size_t field; /* offset in struct settings */
	uint64_t min;
	uint64_t max;
	const char *help;
};

struct option_group {
	const char *title;
	const struct option_spec *specs;
	size_t count;
};

/* Groups that several subcommands share. */
extern const struct option_group node_options;   /* which nodes, and how to talk to them */
extern const struct option_group output_options; /* -q -v --json --trace --help */
extern const struct option_group ttl_options;    /* -t */
extern const struct option_group compat_options; /* --compat */
extern const struct option_group wait_options;   /* -w -n --fence --owner */
extern const struct option_group renew_options;  /* --renew */
extern const struct option_group kill_options;   /* -k */
extern const struct option_group busy_options;   /* -E of run */
extern const struct option_group names_options;  /* --also --slots */
extern const struct option_group kind_options;   /* --reentrant */
extern const struct option_group accept_options; /* --accept of doctor */

void settings_init(struct settings *settings);
void settings_clear(struct settings *settings);

/* Where options may stand: anywhere before `--`, or only in front of the first other argument. */
enum option_order { OPTIONS_ANYWHERE, OPTIONS_FIRST };

/* Parses argv[1..]; `command` is for messages. Returns the index of the first remaining argument, or -1 after
 * it has said on stderr what is wrong. argv may be reordered. */
int options_parse(struct settings *settings, const char *command, const struct option_group *const *groups,
                  enum option_order order, int argc, char **argv);

/* Stores the text as the value of an option, unless what is there ranks higher. Of the same rank, URLs and
 * texts are appended, other values are replaced. False: `problem` says what is wrong: "15s: out of range: 1ms
 * to 10s".
 */
bool settings_store(struct settings *settings, const struct option_spec *spec, const char *text,
                    enum setting_rank rank, const char *where, char *problem, size_t size);

/* Where the value of a field comes from; NULL: it is the default. */
const struct setting_source *settings_source(const struct settings *settings, size_t field);

/* Forgets where the value of a field comes from: the caller gives the field its default. */
void settings_forget(struct settings *settings, size_t field);

/* The option with this long name in the groups, NULL: none. */
const struct option_spec *options_find(const struct option_group *const *groups, const char *name);

/* Writes a text that begins at column `at`, in lines of at most 80 columns; those after the first begin at
 * `indent`. It may have line ends of its own. */
void help_wrap(FILE *out, size_t at, size_t indent, const char *text);

void options_help(FILE *out, const struct option_group *const *groups);

#endif
