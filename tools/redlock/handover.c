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
#include <unistd.h>

#include "exit_codes.h"
#include "message.h"
#include "secret.h"
#include "signals.h"

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

static void forget(void)
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

/* False, with errno: it cannot be told. */
static bool find_program(char path[PATH_MAX])
{
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - sizeof(REDLOCK_HANDOVER) - 1);
	char *slash;

	if (length <= 0)
		return false;
	path[length] = '\0';
	slash = strrchr(path, '/');
	memcpy(slash ? slash + 1 : path, REDLOCK_HANDOVER, sizeof(REDLOCK_HANDOVER));
	return true;
}

int handover(const struct settings *settings)
{
	char path[PATH_MAX] = "";

	if (!is_needed(settings)) {
		forget();
		return EXIT_OK;
	}
	if (!remembered)
		errno = ENOMEM;
	if (remembered && find_program(path)) {
		signals_restore();
		if (signals_caught())
			(void)raise(signals_caught()); /* it came for this command, whichever program that is */
		execv(path, remembered);
	}
	complain("cannot start the program for host names and TLS, %s: %s", path, strerror(errno));
	forget();
	return EXIT_INTERNAL;
}
