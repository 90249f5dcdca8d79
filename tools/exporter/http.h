/* SPDX-License-Identifier: MIT */
/* The HTTP server: GET and HEAD of four paths, read-only. libmicrohttpd does HTTP. */
#ifndef REDLOCK_EXPORTER_HTTP_H
#define REDLOCK_EXPORTER_HTTP_H

#include "watch.h"

struct MHD_Daemon;

/* Listens on "HOST:PORT", HOST an IPv4 address or an IPv6 one in brackets. NULL: `why` says what is wrong. */
struct MHD_Daemon *http_start(const char *listen, struct watch *watch, char *why, size_t size);
/* The port; with port 0 in `listen` the one that was free. */
unsigned http_port(struct MHD_Daemon *daemon);
void http_stop(struct MHD_Daemon *daemon);

#endif
