/* SPDX-License-Identifier: MIT */
#include "http.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show.h"

/* A thread for each connection: one that reads slowly delays nobody. It is closed after so long without
 * progress. */
enum { CONNECTIONS_MOST = 256, IDLE_S = 10, STACK_BYTES = 512 * 1024, MEMORY_BYTES = 16 * 1024 };

/* ---- answers ---- */

static void put_metrics(FILE *out, struct watch *watch, struct look *look)
{
	watch_look(watch, look);
	show_metrics(out, look, list_enter(watch_list(watch)));
	list_leave(watch_list(watch));
}

static void put_json(FILE *out, struct watch *watch, struct look *look)
{
	watch_look(watch, look);
	show_json(out, look, list_enter(watch_list(watch)));
	list_leave(watch_list(watch));
}

static void put_page(FILE *out, struct watch *watch, struct look *look)
{
	struct moment *history = calloc(HISTORY_COUNT, sizeof *history);
	watch_look(watch, look);
	if (history != NULL) {
		watch_history(watch, history);
		show_page(out, look, history, list_enter(watch_list(watch)));
		list_leave(watch_list(watch));
	}
	free(history);
}

/* Whether this program works; that a quorum of nodes is missing is no reason to restart it. */
static void put_health(FILE *out, struct watch *watch, struct look *look)
{
	(void)look;
	fputs(watch_is_alive(watch) ? "ok\n" : "no look at the nodes for a minute\n", out);
}

static const struct {
	const char *path, *type;
	void (*put)(FILE *out, struct watch *watch, struct look *look);
} paths[] = {
    {"/metrics", "text/plain; version=0.0.4; charset=utf-8", put_metrics},
    {"/healthz", "text/plain; charset=utf-8", put_health},
    {"/locks.json", "application/json", put_json},
    {"/", "text/html; charset=utf-8", put_page},
};

/* ---- HTTP ---- */

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status, const char *type, char *body,
                             size_t size, enum MHD_ResponseMemoryMode memory)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(size, body, memory);
	if (r == NULL)
		return MHD_NO;
	static const char *const headers[][2] = {
	    {"Cache-Control", "no-store"},
	    {"X-Content-Type-Options", "nosniff"},
	    {"Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"},
	};
	bool ok = MHD_add_response_header(r, "Content-Type", type) == MHD_YES;
	for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
		ok = ok && MHD_add_response_header(r, headers[i][0], headers[i][1]) == MHD_YES;
	enum MHD_Result result = ok ? MHD_queue_response(connection, status, r) : MHD_NO;
	MHD_destroy_response(r);
	return result;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, const char *text)
{
	/* libmicrohttpd does not write to it. NOLINTNEXTLINE(performance-no-int-to-ptr) */
	return reply(connection, status, "text/plain", (char *)(uintptr_t)text, strlen(text),
	             MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result serve(struct MHD_Connection *connection, struct watch *watch, size_t path)
{
	char *body = NULL;
	size_t size = 0;
	struct look *look = calloc(1, sizeof *look);
	FILE *out = look != NULL ? open_memstream(&body, &size) : NULL;
	if (out != NULL)
		paths[path].put(out, watch, look);
	free(look);
	if (out == NULL || fclose(out) != 0) {
		free(body);
		return MHD_NO;
	}
	bool dead = paths[path].put == put_health && !watch_is_alive(watch);
	return reply(connection, dead ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK, paths[path].type, body, size,
	             MHD_RESPMEM_MUST_FREE);
}

static enum MHD_Result handle(void *user, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **state)
{
	static int seen; /* a request is answered when its headers were seen, at the second call */
	(void)version, (void)upload, (void)upload_size;
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET and HEAD only\n");
	if (*state == NULL) {
		*state = &seen;
		return MHD_YES;
	}
	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
		if (strcmp(url, paths[i].path) == 0)
			return serve(connection, user, i);
	return refuse(connection, MHD_HTTP_NOT_FOUND, "not found\n");
}

/* ---- listening ---- */

/* Splits HOST:PORT, and looks it up as numbers. */
static struct addrinfo *resolve(const char *listen, char *why, size_t size)
{
	char host[80];
	const char *colon = strrchr(listen, ':');
	size_t length = colon != NULL ? (size_t)(colon - listen) : 0;
	bool bracketed = length > 2 && listen[0] == '[' && listen[length - 1] == ']';
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
	                         .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	if (length > 0 && length < sizeof host) {
		snprintf(host, sizeof host, "%.*s", (int)(bracketed ? length - 2 : length), listen + bracketed);
		if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
			found = NULL;
	}
	if (found == NULL)
		snprintf(why, size, "--listen takes ADDRESS:PORT, as 127.0.0.1:9037 or [::1]:9037");
	return found;
}

struct MHD_Daemon *http_start(const char *listen, struct watch *watch, char *why, size_t size)
{
	struct addrinfo *address = resolve(listen, why, size);
	if (address == NULL)
		return NULL;
	unsigned flags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL |
	                 (address->ai_family == AF_INET6 ? MHD_USE_IPv6 : 0);
	struct MHD_Daemon *daemon = MHD_start_daemon(
	    flags, 0, NULL, NULL, handle, watch, MHD_OPTION_SOCK_ADDR, address->ai_addr,
	    MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MOST, MHD_OPTION_CONNECTION_TIMEOUT,
	    (unsigned)IDLE_S, MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_BYTES, MHD_OPTION_END);
	if (daemon == NULL)
		snprintf(why, size, "cannot listen on %s: %s", listen, strerror(errno));
	freeaddrinfo(address);
	return daemon;
}

unsigned http_port(struct MHD_Daemon *daemon)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
	return info != NULL ? info->port : 0;
}

void http_stop(struct MHD_Daemon *daemon)
{
	if (daemon != NULL)
		MHD_stop_daemon(daemon);
}
