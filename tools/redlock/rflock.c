/* SPDX-License-Identifier: MIT */
/*
 * rflock: the command line and the exit codes of flock(1) of util-linux, so that a script changes one word.
 * The real path of the lock file is the name of the lock. With a command it is `redlock run`; with a
 * descriptor a keeper in the background holds the lock (run/keeper.h). The nodes come from the environment.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <paths.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "cmd.h"
#include "config.h"
#include "message.h"
#include "printable.h"
#include "run/hold.h"
#include "run/keeper.h"

/* As flock(1), which takes EX_OSERR where the system has no lock to give (ENOLCK): here that is no quorum,
 * which is EX_UNAVAILABLE elsewhere in redlock. */
enum {
	FLOCK_BUSY = 1,
	FLOCK_BAD_FILE = 65,
	FLOCK_NO_FILE = 66,
	FLOCK_CANNOT_EXECUTE = 69,
	FLOCK_NO_LOCK = 71
};

enum { MAX_LINKS = 40 }; /* as the kernel follows */

#define FIELD(name) offsetof(struct settings, name)
#define SECONDS_MAX REDLOCK_MAX_TTL_MS

static const struct option_spec specs[] = {
    {'x', "exclusive", NULL, OPTION_OFF, FIELD(shared), 0, 0, "an exclusive lock, as without -s"},
    {'e', "exclusive", NULL, OPTION_OFF, FIELD(shared), 0, 0, "the same"},
    {'n', "nonblock", NULL, OPTION_ZERO, FIELD(wait_ms), 0, 0,
     "do not wait for a holder; while nodes are in quarantine it waits, and goes on by itself"},
    {0, "nonblocking", NULL, OPTION_ZERO, FIELD(wait_ms), 0, 0, "the same"},
    {0, "nb", NULL, OPTION_ZERO, FIELD(wait_ms), 0, 0, "the same"},
    {'w', "timeout", "SECONDS", OPTION_SECONDS, FIELD(wait_ms), 0, SECONDS_MAX, "wait at most this long"},
    {0, "wait", "SECONDS", OPTION_SECONDS, FIELD(wait_ms), 0, SECONDS_MAX, "the same"},
    {'E', "conflict-exit-code", "NUMBER", OPTION_NUMBER, FIELD(busy_code), 1, 255,
     "exit code after a conflict or timeout (1); 0 is for a lock that is held"},
    {'o', "close", NULL, OPTION_FLAG, FIELD(close_file), 0, 0,
     "always on: the command inherits nothing of the lock"},
    {'F', "no-fork", NULL, OPTION_FLAG, FIELD(no_fork), 0, 0, "ignored: the command has to be supervised"},
    {'s', "shared", NULL, OPTION_FLAG, FIELD(shared), 0, 0, "a shared lock: any number at once"},
    {'u', "unlock", NULL, OPTION_FLAG, FIELD(unlock), 0, 0, "unlock the descriptor"},
    {0, "verbose", NULL, OPTION_FLAG, FIELD(verbose), 0, 0, "print more messages"},
    {'h', "help", NULL, OPTION_FLAG, FIELD(help), 0, 0, "this text"},
    {'V', "version", NULL, OPTION_FLAG, FIELD(version), 0, 0, "the version"},
};
static const struct option_group flock_options = {"Options", specs, sizeof specs / sizeof specs[0]};
static const struct option_group *const groups[] = {&flock_options, NULL};

static const char usage[] = "usage: rflock [OPTION...] FILE COMMAND [ARG...]\n"
                            "       rflock [OPTION...] FILE -c 'SHELL LINE'\n"
                            "       rflock [OPTION...] DESCRIPTOR\n"
                            "flock(1) across machines: the real path of FILE is the name of a lock that all\n"
                            "of them share. See rflock(1).\n"
                            "The nodes: REDLOCK_URLS (comma list), else `url` in the configuration, else\n"
                            "REDIS_URL (one node).\n";

/* Refuses options that flock(1) has and this command cannot offer, and combinations that neither allows.
 * False: nothing of that kind was given. */
static bool is_refused(const struct settings *settings, int argc)
{
	if (settings->no_fork && settings->close_file)
		complain(MSG(RFLOCK_FO));
	else if (settings->unlock && argc > 1)
		complain(MSG(RFLOCK_UNLOCK));
	else
		return false;
	return true;
}

/* Appends the last word of the path, the file that need not be there, to the real path of its directory. */
static bool join(const char *path, char real[PATH_MAX])
{
	const char *slash = strrchr(path, '/'), *last = slash != NULL ? slash + 1 : path;
	char directory[PATH_MAX];
	snprintf(directory, sizeof directory, "%.*s", slash != NULL ? (int)(last - path) : 1,
	         slash != NULL ? path : ".");
	if (!*last) { /* "name/" is a directory, and there is none: realpath() said so */
		errno = ENOENT;
		return false;
	}
	if (realpath(directory, real) == NULL)
		return false;
	size_t length = strlen(real);
	if (snprintf(real + length, PATH_MAX - length, "%s%s", length > 1 ? "/" : "", last) <
	    (int)(PATH_MAX - length))
		return true;
	errno = ENAMETOOLONG;
	return false;
}

/* Finds the file that flock(1) would open or make, also through a link whose target does not exist yet.
 * False, with errno. */
static bool find_file(const char *path, char real[PATH_MAX])
{
	char next[PATH_MAX];
	if (snprintf(next, sizeof next, "%s", path) >= (int)sizeof next) {
		errno = ENAMETOOLONG;
		return false;
	}
	char target[PATH_MAX];
	for (int links = 0; links < MAX_LINKS; links++) {
		if (realpath(next, real) != NULL)
			return true;
		if (errno != ENOENT || !join(next, real))
			return false;
		ssize_t length = readlink(real, target, sizeof target - 1);
		if (length < 0)
			return errno == ENOENT;
		target[length] = '\0';
		int before = *target == '/' ? 0 : (int)(strrchr(real, '/') + 1 - real);
		if (snprintf(next, sizeof next, "%.*s%s", before, real, target) >= (int)sizeof next)
			break;
	}
	errno = ELOOP;
	return false;
}

/* The `wait` of a configuration is for redlock: scripts expect that flock(1) waits as it was told. */
static int configure(struct settings *settings, const char *name)
{
	const uint64_t wait_ms = settings->wait_ms;
	int code = config_apply(settings, name);
	settings->wait_ms = wait_ms;
	return code;
}

static int run(struct settings *settings, int argc, char **argv)
{
	const char *shell = getenv("SHELL");
	char file[PATH_MAX], path[PATH_MAX], option[] = "-c";
	char *line[] = {path, option, NULL, NULL};
	struct run_order order = {.name = file,
	                          .argv = argv + 1,
	                          .report_fd = -1,
	                          .silent_when_busy = true,
	                          .busy_code = (int)settings->busy_code,
	                          .no_quorum_code = FLOCK_NO_LOCK,
	                          .not_found_code = FLOCK_CANNOT_EXECUTE,
	                          .cannot_execute_code = FLOCK_CANNOT_EXECUTE};
	if (strcmp(argv[1], "-c") == 0 || strcmp(argv[1], "--command") == 0) {
		if (argc != 3) {
			complain(MSG(RFLOCK_C), argv[1]);
			return EXIT_USAGE;
		}
		snprintf(path, sizeof path, "%s", shell != NULL && *shell ? shell : _PATH_BSHELL);
		line[2] = argv[2];
		order.argv = line;
	}
	if (!find_file(argv[0], file)) {
		char shown[PRINTABLE_MAX];
		complain(MSG(RFLOCK_OPEN), printable(argv[0], strlen(argv[0]), shown, sizeof shown), strerror(errno));
		return FLOCK_NO_FILE;
	}
	int code = configure(settings, file);
	return code == EXIT_OK ? run_supervise(settings, &order) : code;
}

/* ---- a descriptor ---- */

static bool read_descriptor(const char *text, int *ret)
{
	char *end, shown[PRINTABLE_MAX];
	errno = 0;
	long number = strtol(text, &end, 10);
	*ret = (int)number;
	if (end != text && !*end && errno == 0 && number >= INT_MIN && number <= INT_MAX)
		return true;
	complain(MSG(RFLOCK_FD), printable(text, strlen(text), shown, sizeof shown));
	return false;
}

/* A descriptor that an exec closes was not open before: it is one of ours. With O_PATH there is nothing to
 * lock. */
static bool is_open(int fd)
{
	int flags = fcntl(fd, F_GETFD), status = fcntl(fd, F_GETFL);
	return flags >= 0 && (flags & FD_CLOEXEC) == 0 && (status & O_PATH) == 0;
}

/* The name of the lock: the path by which the kernel knows the file, which is its real path. Returns NULL, or
 * why there is none. */
static const char *name_descriptor(int fd, char path[PATH_MAX])
{
	char link[64];
	struct stat opened, named;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t length = readlink(link, path, PATH_MAX - 1);
	if (length < 0 || fstat(fd, &opened) < 0)
		return strerror(errno);
	path[length] = '\0';
	if (!S_ISREG(opened.st_mode) && !S_ISDIR(opened.st_mode))
		return "is no file and no directory, so that there is no path to name the lock";
	if (stat(path, &named) < 0 || named.st_dev != opened.st_dev || named.st_ino != opened.st_ino)
		return "its file was deleted, so that there is no path to name the lock";
	return NULL;
}

static int open_again(int fd)
{
	char link[64];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	int again = open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return again >= 0 ? again : open(link, O_WRONLY | O_CLOEXEC | O_NOCTTY);
}

static uint64_t end_of_wait_ns(const struct settings *settings)
{
	return settings->wait_ms == REDLOCK_FOREVER ? UINT64_MAX : clock_ns() + settings->wait_ms * 1000000;
}

static int hold_descriptor(struct settings *settings, int fd, char *path)
{
	struct hold hold = {.fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1),
	                    .again = open_again(fd),
	                    .shared = settings->shared,
	                    .end_ns = end_of_wait_ns(settings),
	                    .busy_code = (int)settings->busy_code};
	char *words[] = {path, NULL};
	struct run_order order = {.name = path,
	                          .argv = words,
	                          .report_fd = -1,
	                          .silent_when_busy = true,
	                          .busy_code = (int)settings->busy_code,
	                          .no_quorum_code = FLOCK_NO_LOCK,
	                          .not_found_code = EXIT_INTERNAL,
	                          .cannot_execute_code = EXIT_INTERNAL};
	if (hold.again < 0 || hold.fd < 0) {
		complain(MSG(RFLOCK_ANEW), fd, strerror(errno));
		return FLOCK_NO_FILE;
	}
	return keeper_start(settings, &order, &hold);
}

static int lock_descriptor(struct settings *settings, const char *text)
{
	int fd;
	char path[PATH_MAX];
	if (!read_descriptor(text, &fd))
		return EXIT_USAGE;
	const char *problem = is_open(fd) ? NULL : strerror(EBADF);
	if (problem == NULL && settings->unlock) {
		keeper_unlock(fd);
		return EXIT_OK;
	}
	const enum keeper_finding found = problem == NULL ? keeper_find(fd, settings->shared) : KEEPER_NONE;
	if (found == KEEPER_SAME)
		return EXIT_OK;
	if (problem == NULL)
		problem = name_descriptor(fd, path);
	if (problem != NULL) {
		complain(MSG(RFLOCK_FILE), fd, problem);
		return FLOCK_BAD_FILE;
	}
	int code = configure(settings, path);
	if (code != EXIT_OK)
		return code;
	if (found == KEEPER_OTHER)
		keeper_unlock(fd); /* as flock(2) converts: the old lock first, so that another may be faster */
	return hold_descriptor(settings, fd, path);
}

int rflock(int argc, char **argv)
{
	struct settings settings;
	int code = EXIT_USAGE;
	settings_init(&settings);
	settings.busy_code = FLOCK_BUSY;
	settings.has_no_node_options = true;
	int first = options_parse(&settings, "rflock", groups, OPTIONS_FIRST, argc, argv);
	if (first >= 0 && settings.help) {
		fputs(usage, stdout);
		options_help(stdout, groups);
		code = EXIT_OK;
	} else if (first >= 0 && settings.version) {
		printf("rflock (redlock %s)\n", REDLOCK_VERSION);
		code = EXIT_OK;
	} else if (first >= 0 && !is_refused(&settings, argc - first)) {
		if (argc - first < 1)
			put_usage(usage);
		else if (argc - first == 1)
			code = lock_descriptor(&settings, argv[first]);
		else
			code = run(&settings, argc - first, argv + first);
	}
	settings_clear(&settings);
	return code;
}
