/* SPDX-License-Identifier: MIT */
/* URLs of nodes, as programs may show or compare them. */
#include <stdio.h>
#include <stdlib.h>

#include <redlock/url.h>

#include "core/sized.h"
#include "net/url.h"

int redlock_url_parse(const char *url, char *error_text, size_t error_text_size, struct redlock_url *ret)
{
	struct rl_endpoint e;
	if (url == NULL || ret == NULL)
		return REDLOCK_E_INVAL;
	int error = rl_url_parse(url, &e, error_text, error_text != NULL ? error_text_size : 0);
	if (error < 0)
		return error;
	struct redlock_url parts = {
	    .scheme = e.is_unix          ? "unix"
	              : e.is_cluster     ? (e.tls ? "rediss+cluster" : "redis+cluster")
	              : e.master != NULL ? (e.tls ? "rediss+sentinel" : "redis+sentinel")
	              : e.tls            ? "rediss"
	                                 : "redis",
	    .tls = e.tls,
	    .port = e.port,
	    .database = e.database,
	    .has_user = e.user != NULL,
	    .has_password = e.password != NULL,
	};
	snprintf(e.is_unix ? parts.path : parts.host, sizeof parts.path, "%s", e.host);
	snprintf(parts.address, sizeof parts.address, "%s", e.address);
	snprintf(parts.master, sizeof parts.master, "%s", e.master != NULL ? e.master : "");
	rl_url_free(&e);
	return rl_sized_return(ret, &parts, sizeof parts);
}

int redlock_url_same_server(const char *url, const char *other)
{
	struct rl_endpoint a = {0}, b = {0};
	if (url == NULL || other == NULL)
		return REDLOCK_E_INVAL;
	int result = rl_url_parse(url, &a, NULL, 0);
	if (result == 0)
		result = rl_url_parse(other, &b, NULL, 0);
	if (result == 0)
		result = rl_url_same_address(&a, &b);
	rl_url_free(&a);
	rl_url_free(&b);
	return result;
}
