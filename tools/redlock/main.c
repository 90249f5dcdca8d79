/* SPDX-License-Identifier: MIT */
/* The redlock command: the table of subcommands, and the way from argv to one of them. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <redlock/redlock.h>

#include "cmd.h"
#include "config.h"
#include "conflicts.h"
#include "message.h"
#include "signals.h"
#include "suggest.h"
#include "troubleshooting.h"

const struct command *const all_commands[] = {
    &cmd_run,     &cmd_acquire, &cmd_extend, &cmd_release,    &cmd_check,  &cmd_status,
    &cmd_ls,      &cmd_break,   &cmd_last,   &cmd_elect,      &cmd_doctor, &cmd_init,
    &cmd_cluster, &cmd_bench,   &cmd_config, &cmd_completion, NULL,
};

enum { COMMAND_COUNT = sizeof all_commands / sizeof all_commands[0] - 1 };

static const struct option_spec global_specs[] = {
    {'h', "help", NULL, OPTION_FLAG, offsetof(struct settings, help), 0, 0, "this text"},
    {'V', "version", NULL, OPTION_FLAG, offsetof(struct settings, version), 0, 0, "the version"},
};
static const struct option_group global_options = {"Options", global_specs, 2};
const struct option_group *const global_groups[] = {&global_options, NULL};

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(all_commands[i]->name, name) == 0)
			return all_commands[i];
	return NULL;
}

static int no_command(const char *name)
{
	struct suggestion suggestion = {.word = name};
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		suggest(&suggestion, all_commands[i]->name);
	complain(MSG(NO_VERB), name, suggestion_text(&suggestion, ""));
	return EXIT_USAGE;
}

static void print_exit_codes(FILE *out)
{
	fputs("\nExit codes:\n", out);
#define EXIT_CODE_LINE(name, code, text)                                                                     \
	fprintf(out, "  %-4d ", code);                                                                           \
	help_wrap(out, 7, 7, text);
	EXIT_CODE_MAP(EXIT_CODE_LINE)
#undef EXIT_CODE_LINE
}

/* A name longer than its column takes the room of its arguments. */
static void overview_line(FILE *out, const char *name, const char *arguments, const char *summary)
{
	enum { NAME = 8, BOTH = 26 };
	int length = (int)strlen(name);
	fprintf(out, "  %-*s %-*s %s\n", NAME, name, BOTH - 1 - (length > NAME ? length : NAME), arguments,
	        summary);
}

static void print_overview(FILE *out)
{
	fputs("usage: redlock COMMAND [OPTION...] [ARGUMENT...]\n"
	      "Locks that many machines share, over independent Redis or Valkey servers.\n"
	      "\nCommands:\n",
	      out);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		overview_line(out, all_commands[i]->name, all_commands[i]->arguments, all_commands[i]->summary);
	overview_line(out, "help", "[COMMAND]", "this text, or that of a command");
	overview_line(out, "help", "acl", "the rights that redlock needs on the servers");
	overview_line(out, "help", "troubleshooting", "causes and next steps of all results, or of a word");
	overview_line(out, "version", "", "the version");
	options_help(out, global_groups);
	fputs("\nNodes: -r URL (repeat it), else REDLOCK_URLS (comma list), else `url` in the\n"
	      "configuration, else REDIS_URL (one node).\n"
	      "To try it: redlock cluster start; export REDLOCK_URLS=local; redlock acquire job\n",
	      out);
	print_exit_codes(out);
}

/* The overview as an answer to a command line without a command. */
static void show_usage(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	if (out == NULL)
		return;
	print_overview(out);
	if (fclose(out) == 0)
		put_usage(text);
	free(text);
}

static void print_help(FILE *out, const struct command *command)
{
	fprintf(out, "usage: redlock %s [OPTION...] %s\n%s.\n", command->name, command->arguments,
	        command->summary);
	if (command->details != NULL) {
		fputs("\n", out);
		help_wrap(out, 0, 0, command->details);
	}
	options_help(out, command->groups);
	fputs("\nTIME is a number with a unit: 500ms 1.5s 2m 1h 30d. See also redlock(1).\n", out);
}

static int show_version(void)
{
	printf("redlock %s (libredlock %s)\n", REDLOCK_VERSION, redlock_version());
	return EXIT_OK;
}

/* A rule as some ACL SETUSER lines, each of which adds to the user. */
static void print_rule(int scripts)
{
	enum { WIDTH = 74 };
	static const char begin[] = "  ACL SETUSER redlock";
	char rights[512], *rest = rights;
	int column = printf("%s reset on >PASSWORD ~PREFIX*%s", begin, scripts ? " ~{PREFIX* ~redlock:set" : "");
	if (scripts)
		column = printf("\n%s &redlock:wake:* &__keyspace@*__:PREFIX*", begin) - 1;
	redlock_acl_rights(scripts, rights, sizeof rights);
	for (char *right; (right = strtok_r(rest, " ", &rest)) != NULL;) {
		if (column + (int)strlen(right) >= WIDTH)
			column = printf("\n%s", begin) - 1;
		column += printf(" %s", right);
	}
	putchar('\n');
}

static int show_acl(void)
{
	fputs("A user that may do what redlock does, and nothing else (Redis 6.2, Valkey,\n"
	      "or newer):\n\n",
	      stdout);
	print_rule(1);
	fputs("\nPREFIX is the prefix of your locks (--prefix). Without one give ~* in place of\n"
	      "all patterns that begin with ~, as servers take no pattern after it. Locks need\n"
	      "set to del, and eval; select for a database other than 0. Without client|id,\n"
	      "client|kill and info, a key may stay until its TTL after a broken connection,\n"
	      "one server under two addresses is noticed late, and a value of your own\n"
	      "(--token) that is used again is not safe: a late release on such a connection\n"
	      "may delete its next key.\n"
	      "Waiting in order needs ~{PREFIX*, &redlock:wake:*, and mget to unsubscribe.\n"
	      "Without them waiters ask again and again, --slots, --fence, --compat setnx and\n"
	      "shared locks of guarded sets are not available, and a waiter for a lock that\n"
	      "others share, or stand in line for, may never acquire it. Since Redis 7 a new\n"
	      "user has no channels, not even with +@all. A user who may publish on that\n"
	      "channel can forge a lock, as can a user who may write the keys. Guarded node\n"
	      "sets need ~redlock:set, hmget, hget, hset, hdel, mget, time, info and eval;\n"
	      "a Redis Cluster needs info, and asking for slots that move; a URL with\n"
	      "?replicas= needs wait, eval and evalsha;\n"
	      "without incrby, --fence takes two round trips. zadd to zcount are for --shared.\n"
	      "type and the last four are for `redlock status NAME`, `redlock ls`, `redlock\n"
	      "check`, and runs inside runs: without type these find nothing out (76), and a\n"
	      "run waits for itself. --shared needs type, too. `redlock ls` also needs scan,\n"
	      "which these rules do not permit.\n\n"
	      "&__keyspace@*__:PREFIX* is of use where servers publish changes of keys:\n\n"
	      "  CONFIG SET notify-keyspace-events Kgx\n\n"
	      "If another program deletes the key, the first waiter is then told at once.\n"
	      "Otherwise it finds out by asking, within a second and a half, mostly sooner. It\n"
	      "is always told when redlock releases a lock.\n\n"
	      "For a user that may not run scripts; release and renewal then take two round\n"
	      "trips:\n\n",
	      stdout);
	print_rule(0);
	fputs("\nNeeded: set to del. On servers that have DELEX (Redis 8.4) or DELIFEQ (Valkey 9)\n"
	      "permit that command as well, in both rules: releases then use it in place of the\n"
	      "script or the transaction.\n",
	      stdout);
	return EXIT_OK;
}

/* Several arguments are a line that was not quoted. */
static int show_troubleshooting(int count, char **words)
{
	char line[4096] = "";
	size_t used = 0;
	for (int i = 0; i < count && used < sizeof line; i++)
		used += (size_t)snprintf(line + used, sizeof line - used, "%s%s", i > 0 ? " " : "", words[i]);
	if (troubleshooting_print(stdout, count > 0 ? line : NULL))
		return EXIT_OK;
	complain(MSG(NOTHING_FOUND), line);
	return EXIT_NO;
}

static int show_help(int argc, char **argv)
{
	const struct command *command = argc > 1 ? find_command(argv[1]) : NULL;
	if (argc > 1 && strcmp(argv[1], "acl") == 0)
		return show_acl();
	if (argc > 1 && strcmp(argv[1], "troubleshooting") == 0)
		return show_troubleshooting(argc - 2, argv + 2);
	if (argc > 1 && command == NULL)
		return no_command(argv[1]);
	if (command != NULL)
		print_help(stdout, command);
	else
		print_overview(stdout);
	return EXIT_OK;
}

static bool names_nodes(const struct command *command)
{
	for (const struct option_group *const *group = command->groups; *group != NULL; group++)
		if (*group == &node_options)
			return true;
	return false;
}

static int run_command(const struct command *command, int argc, char **argv)
{
	char title[64];
	int code = EXIT_USAGE;
	snprintf(title, sizeof title, "redlock %s", command->name);
	struct settings settings;
	settings_init(&settings);
	int first = options_parse(&settings, title, command->groups, command->order, argc, argv);
	int count = argc - first;
	if (first >= 0 && settings.help) {
		print_help(stdout, command);
		code = EXIT_OK;
	} else if (first >= 0 && (count < command->min_args || count > command->max_args)) {
		complain(MSG(ARGUMENTS), title,
		         count < command->min_args ? "an argument is missing" : "too many arguments", title,
		         command->arguments);
	} else if (first >= 0) {
		const char *name = command->takes_name && count > 0 ? argv[first] : NULL;
		code = conflicts_of_options(&settings, title) ? EXIT_USAGE
		       : names_nodes(command)                 ? config_apply(&settings, name)
		                                              : EXIT_OK;
		if (code == EXIT_OK)
			code = command->run(&settings, count, argv + first);
	}
	settings_clear(&settings);
	return code;
}

/* A script that says `rflock` instead of `flock`. */
static bool is_rflock(const char *path)
{
	const char *slash = path != NULL ? strrchr(path, '/') : NULL;
	return path != NULL && strcmp(slash != NULL ? slash + 1 : path, "rflock") == 0;
}

/* Runs the word after the options of redlock itself: a subcommand, or a word such as "version". */
static int dispatch_word(const struct settings *settings, int argc, char **argv)
{
	bool is_version = argc > 0 && strcmp(argv[0], "version") == 0;
	if (is_version && argc > 1) {
		complain(MSG(ARGUMENT_MORE));
		return EXIT_USAGE;
	}
	if (settings->version || is_version)
		return show_version();
	if (settings->help)
		return show_help(0, argv);
	if (argc > 0 && strcmp(argv[0], "help") == 0)
		return show_help(argc, argv);
	if (argc == 0) {
		show_usage();
		return EXIT_USAGE;
	}
	const struct command *command = find_command(argv[0]);
	if (command == NULL)
		return no_command(argv[0]);
	return run_command(command, argc, argv);
}

static int dispatch(int argc, char **argv)
{
	struct settings settings;
	int code = EXIT_USAGE;
	settings_init(&settings);
	int first = options_parse(&settings, "redlock", global_groups, OPTIONS_FIRST, argc, argv);
	if (first >= 0)
		code = dispatch_word(&settings, argc - first, argv + first);
	settings_clear(&settings);
	return code;
}

/* A descriptor 0, 1 or 2 that is closed would be given to the next socket, and a token or a message would be
 * written to a server. The stand-in cannot be written, so that a lost token is noticed. */
static int keep_standard_fds(void)
{
	int fd;
	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
	return fd;
}

int main(int argc, char **argv)
{
	/* The nodes of a client are large, and little of them is used. calloc(3) does not wipe what comes fresh
	 * from the kernel, but what the heap has in reserve it does, with a page fault for each page. */
	(void)mallopt(M_TOP_PAD, 8192);
	if (keep_standard_fds() < 0 || signals_catch() < 0) {
		complain(MSG(START), strerror(errno));
		return EXIT_INTERNAL;
	}
	if (is_rflock(argv[0]))
		messages_are_of("rflock");
	int code = is_rflock(argv[0]) ? rflock(argc, argv) : dispatch(argc, argv);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	if (code != EXIT_INTERNAL) /* else it was said */
		complain(MSG(OUTPUT), strerror(errno));
	return code == EXIT_OK ? EXIT_INTERNAL : code; /* a no is a no, also where its reasons are lost */
}
