/* SPDX-License-Identifier: MIT */
/*
 * URLs of nodes. An accepted URL has a host, a port or a path, and an address for people that names the same
 * node again without its user and password; a refused one leaves no memory, and a sentence that does not
 * depend on the secret.
 */
#include "fuzz.h"

#include <redlock/redlock.h>

#include "net/url.h"

static bool is_empty(const struct rl_endpoint *e)
{
	return e->host == NULL && e->user == NULL && e->password == NULL && e->address == NULL;
}

/* The address without the credentials parses to the same node. A Unix path with marks of a URL in it is said
 * as it is, decoded. */
static void check_address(const struct rl_endpoint *e)
{
	struct rl_endpoint again;
	char why[128];
	if (e->is_unix && strpbrk(e->host, "%?@") != NULL)
		return;
	must(rl_url_parse(e->address, &again, why, sizeof why) == 0);
	must(again.user == NULL && again.password == NULL);
	must(rl_url_same_address(&again, e) && rl_url_same_address(e, &again));
	must(again.port == e->port && again.database == e->database);
	must(strcmp(again.address, e->address) == 0);
	rl_url_free(&again);
}

/* The port is the number after the last colon of the authority, if that is not a part of an IPv6 address. */
static void check_port(const struct rl_endpoint *e, const char *url)
{
	const char *begin = strstr(url, "://") + 3;
	size_t end = strcspn(begin, "/");
	size_t at = end;
	while (at > 0 && strchr(":@]", begin[at - 1]) == NULL)
		at--;
	bool given = at > 0 && begin[at - 1] == ':';
	must(e->port == (given ? strtoul(begin + at, NULL, 10) : 6379));
}

static void check_accepted(const struct rl_endpoint *e, const char *url)
{
	must(e->host != NULL && e->host[0] != '\0' && e->address != NULL);
	if (e->is_unix)
		must(e->host[0] == '/');
	else
		check_port(e, url);
	must(e->database <= 99999);
	must(e->user == NULL || e->user[0] != '\0');
	must(e->password == NULL || e->password[0] != '\0');
	must(rl_url_same_address(e, e));
	check_address(e);
}

/* Refusals say one of a few fixed sentences. No byte of the URL is in them, except of one that is only a host
 * and a port. */
static void check_refused(const struct rl_endpoint *e, const char *why)
{
	static const char *const marks[] = {
	    "scheme", "user or password", "host", "port", "database", "?db=N", "path", "blank", "IPv6"};
	bool known = false;
	must(is_empty(e));
	for (size_t i = 0; i < COUNT(marks); i++)
		known = known || strstr(why, marks[i]) != NULL;
	must(known);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct feed feed = {bytes, size};
	struct rl_endpoint endpoint;
	char why[128] = "";
	char *url = feed_text(&feed);
	int error = rl_url_parse(url, &endpoint, why, sizeof why);
	must(error == 0 || error == REDLOCK_E_URL);
	if (error == 0)
		check_accepted(&endpoint, url);
	else
		check_refused(&endpoint, why);
	rl_url_free(&endpoint);
	must(is_empty(&endpoint));
	free(url);
	return 0;
}
