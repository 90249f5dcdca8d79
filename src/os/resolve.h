/* SPDX-License-Identifier: MIT */
/* From host names and paths to addresses. */
#ifndef RL_OS_RESOLVE_H
#define RL_OS_RESOLVE_H

#include <stdint.h>

#include "os/socket.h"

/* Resolves a host name or numeric address to one address; blocks in getaddrinfo(3) for names. An IPv4 address
 * is preferred: many servers listen on 127.0.0.1 alone, while `localhost` is ::1 first. Returns 0, or the
 * code that rl_resolve_error() explains; then `ret` is unresolved (length 0). */
int rl_resolve_host(const char *host, uint16_t port, struct rl_address *ret);
const char *rl_resolve_error(int code);

/* The address of a Unix socket. Returns 0, or -ENAMETOOLONG. */
int rl_resolve_path(const char *path, struct rl_address *ret);

#endif
