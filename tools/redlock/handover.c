/* SPDX-License-Identifier: MIT */
/* From the static program to the one with shared libraries. */
#include "handover.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "exit_codes.h"
#include "message.h"
#include "secret.h"
#include "signals.h"

#define SELF "/proc/self/exe"

static char **remembered; /* like signals, argv belongs to the process */

void handover_remember(int argc, char **argv)
{
	remembered = calloc((size_t)argc + 1, sizeof(*remembered));
	for (int i = 0; i < argc && remembered; i++) {
		remembered[i] = strdup(argv[i]);
		if (!remembered[i])
			remembered = NULL; /* out of memory: no way to hand over */
	}
}

void handover_forget(void)
{
	for (char **word = remembered; word && *word; word++)
		secret_free(*word);
	free(remembered);
	remembered = NULL;
}

static bool is_address(const char *text, size_t length)
{
	char host[64];
	struct in6_addr address;

	if (length >= sizeof(host))
		return false;
	memcpy(host, text, length);
	host[length] = '\0';
	return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1;
}

/* What this program can do by itself: paths, and addresses without TLS. All else is left to the other one,
 * which also says what is wrong with it. */
static bool is_easy(const char *url, size_t length)
{
	static const char *const schemes[] = {"redis://", "valkey://"};
	const char *end = url + length, *host = NULL;

	if (*url == '/' || strncasecmp(url, "unix:", 5) == 0 || (length == 5 && memcmp(url, "local", 5) == 0))
		return true;
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (strncasecmp(url, schemes[i], strlen(schemes[i])) == 0)
			host = url + strlen(schemes[i]);
	if (!host || host > end)
		return false;
	for (const char *at = host; at < end; at++)
		if (*at == '@')
			host = at + 1;
	if (*host == '[') {
		host++;
		length = strcspn(host, "],");
	} else {
		length = strcspn(host, ":/?, \t\r\n");
	}
	return is_address(host, length);
}

static bool are_easy(const char *list)
{
	const char *from = list;

	while (*from) {
		size_t length;

		from += strspn(from, ", \t\r\n");
		length = strcspn(from, ", \t\r\n");
		if (length > 0 && !is_easy(from, length))
			return false;
		from += length;
	}
	return true;
}

static bool is_needed(const struct settings *settings)
{
	for (size_t i = 0; i < settings->urls.count; i++)
		if (!are_easy(settings->urls.items[i]))
			return true;
	return false;
}

/* Where the other program may be: from the folder of this one, so that a tree can be moved; then where it
 * gets installed, so that this one can be copied. */
static const char *const places[] = {REDLOCK_HANDOVER};

enum { PLACE_COUNT = sizeof(places) / sizeof(places[0]) };

/* The folder of this program with a slash behind it, or NULL. Without /proc it is not known, and a program
 * with the rights of another user does not look at it: who may make a link to it could choose what is
 * executed. */
static const char *own_folder(char path[PATH_MAX])
{
	ssize_t length = getauxval(AT_SECURE) ? -1 : readlink(SELF, path, PATH_MAX - 1);
	char *slash;

	if (length <= 0)
		return NULL;
	path[length] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return NULL;
	slash[1] = '\0';
	return path;
}

/* A copy of this program in the other one's place would execute itself for ever. */
static bool is_self(const char *path)
{
	struct stat self, other;

	return stat(SELF, &self) == 0 && stat(path, &other) == 0 && self.st_dev == other.st_dev &&
	       self.st_ino == other.st_ino;
}

/* False, with errno and the last place in the path: there is none. */
static bool find_program(char path[PATH_MAX])
{
	char buffer[PATH_MAX];
	const char *folder = own_folder(buffer);
	int error = ENOENT;

	for (size_t i = 0; i < PLACE_COUNT; i++) {
		const char *before = places[i][0] == '/' ? "" : folder;

		if (!before || snprintf(path, PATH_MAX, "%s%s", before, places[i]) >= PATH_MAX)
			continue;
		if (access(path, X_OK) < 0)
			error = errno;
		else if (!is_self(path))
			return true;
	}
	errno = error;
	return false;
}

/* With errno. */
static int refused(const char *path)
{
	complain(
	    "a node is given by a host name or has TLS, which is the work of %s, and that cannot be started: %s; "
	    "install the whole of redlock, libexec too",
	    path, strerror(errno));
	handover_forget();
	return EXIT_INTERNAL;
}

/* Comes back only if there is no such program: an exit code. */
static int become(const char *path)
{
	signals_restore();
	if (signals_caught())
		(void)raise(signals_caught()); /* it came for this command, whichever program that is */
	execv(path, remembered);
	return refused(path);
}

/* A pipe or a terminal: what this program reads there is gone for the other one. */
static bool can_be_read_once(const char *path)
{
	enum { MEMORY_DEVICES = 1 }; /* /dev/null */
	struct stat status;

	if (stat(path, &status) < 0)
		return false;
	return S_ISFIFO(status.st_mode) || (S_ISCHR(status.st_mode) && major(status.st_rdev) != MEMORY_DEVICES);
}

int handover_unread(const char *path)
{
	char program[PATH_MAX];

	/* Without the other program this one reads it: perhaps it is enough. */
	return remembered && can_be_read_once(path) && find_program(program) ? become(program) : EXIT_OK;
}

int handover(const struct settings *settings)
{
	char path[PATH_MAX] = "";

	if (!is_needed(settings)) {
		handover_forget();
		return EXIT_OK;
	}
	errno = remembered ? 0 : ENOMEM;
	return remembered && find_program(path) ? become(path) : refused(places[PLACE_COUNT - 1]);
}
