/* SPDX-License-Identifier: MIT */
#include "os/resolve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* An address needs no resolver, which would cost more than the connect. Those with a zone do. */
static bool take_literal(const char *host, uint16_t port, struct rl_address *ret)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	if (inet_pton(AF_INET, host, &v4.sin_addr) == 1) {
		memcpy(ret->bytes, &v4, sizeof v4);
		ret->length = sizeof v4;
	} else if (inet_pton(AF_INET6, host, &v6.sin6_addr) == 1) {
		memcpy(ret->bytes, &v6, sizeof v6);
		ret->length = sizeof v6;
	}
	return ret->length > 0;
}

int rl_resolve_host(const char *host, uint16_t port, struct rl_address *ret)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	struct addrinfo *list = NULL;
	char service[8];
	ret->length = 0;
	if (take_literal(host, port, ret))
		return 0;
	snprintf(service, sizeof service, "%u", port);
	int code = getaddrinfo(host, service, &hints, &list);
	if (code == 0 && list == NULL)
		code = EAI_NONAME;
	if (code != 0)
		return code;
	const struct addrinfo *chosen = list;
	for (const struct addrinfo *at = list; at != NULL; at = at->ai_next) {
		if (at->ai_family != AF_INET)
			continue;
		chosen = at;
		break;
	}
	memcpy(ret->bytes, chosen->ai_addr, chosen->ai_addrlen);
	ret->length = chosen->ai_addrlen;
	freeaddrinfo(list);
	return 0;
}

const char *rl_resolve_error(int code)
{
	return gai_strerror(code);
}

int rl_resolve_path(const char *path, struct rl_address *ret)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_Static_assert(sizeof address <= RL_ADDRESS_MAX, "a Unix address fits");
	size_t size = strlen(path);
	ret->length = 0;
	if (size >= sizeof address.sun_path)
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, size);
	memcpy(ret->bytes, &address, sizeof address);
	ret->length = sizeof address;
	return 0;
}
