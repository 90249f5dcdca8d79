/* SPDX-License-Identifier: MIT */
/* The interface of a subcommand. To add one: a file cmd_NAME.c that defines it, named in CMakeLists.txt, and
 * a line below and in main.c. */
#ifndef REDLOCK_TOOL_CMD_H
#define REDLOCK_TOOL_CMD_H

#include "exit_codes.h"
#include "options.h"

struct command {
	const char *name;
	const char *arguments;                    /* as shown in the usage line */
	const char *summary;                      /* one line, for the overview */
	const char *details;                      /* a paragraph for --help */
	const struct option_group *const *groups; /* its options, ends with NULL */
	enum option_order order;                  /* 0: options anywhere */
	bool takes_name;                          /* its first argument is the name of a lock */
	bool looks;                               /* it reads what others wrote, which needs further rights */
	int min_args;
	int max_args;
	/* Runs with the parsed options and the remaining arguments; returns the exit code. */
	int (*run)(const struct settings *settings, int argc, char **argv);
};

/* `redlock` under the name of rflock: takes argv as flock(1) does, and returns the exit code. */
int rflock(int argc, char **argv);

extern const struct command cmd_run;
extern const struct command cmd_acquire;
extern const struct command cmd_extend;
extern const struct command cmd_release;
extern const struct command cmd_check;
extern const struct command cmd_break;
extern const struct command cmd_ls;
extern const struct command cmd_status;
extern const struct command cmd_doctor;
extern const struct command cmd_init;
extern const struct command cmd_last;
extern const struct command cmd_elect;
extern const struct command cmd_cluster;
extern const struct command cmd_bench;
extern const struct command cmd_config;
extern const struct command cmd_completion;

/* All of them, in the order of the help; ends with NULL. */
extern const struct command *const all_commands[];

/* The options of redlock itself, before the command. */
extern const struct option_group *const global_groups[];

#endif
