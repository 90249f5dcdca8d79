/* SPDX-License-Identifier: MIT */
#include "os/resolve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

bool rl_resolve_literal(const char *host, uint16_t port, struct rl_address *ret)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	ret->length = 0;
	if (inet_pton(AF_INET, host, &v4.sin_addr) == 1) {
		memcpy(ret->bytes, &v4, sizeof v4);
		ret->length = sizeof v4;
	} else if (inet_pton(AF_INET6, host, &v6.sin6_addr) == 1) {
		memcpy(ret->bytes, &v6, sizeof v6);
		ret->length = sizeof v6;
	}
	return ret->length > 0;
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
