/* SPDX-License-Identifier: MIT */
/* Sockets and preformatted commands of the probes. See wire.h. */
#include "wire.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/scripts_generated.h"

static const char script[] =
    "if redis.call(\"get\", KEYS[1]) == ARGV[1] then return redis.call(\"del\", KEYS[1]) else return 0 end";

static int connect_tcp(const char *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port))};
	int one = 1;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
		die("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	return fd;
}

static int connect_unix(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
		die(path);
	return fd;
}

int wire_dial(const char *node)
{
	return strchr(node, '/') != NULL ? connect_unix(node) : connect_tcp(node);
}

void wire_load(int fd, const char *text, char *ret_sha)
{
	char bytes[4096];
	int size = snprintf(bytes, sizeof bytes, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$%zu\r\n%s\r\n",
	                    strlen(text), text);
	if (send(fd, bytes, (size_t)size, 0) != size || recv(fd, bytes, sizeof bytes, 0) < 47 || bytes[0] != '$')
		die("SCRIPT LOAD");
	memcpy(ret_sha, bytes + 5, 40);
	ret_sha[40] = '\0';
}

int wire_connect(const char *node, struct shas *ret)
{
	int fd = wire_dial(node);
	wire_load(fd, script, ret->release);
	wire_load(fd, RL_LUA_ACQUIRE_TEXT, ret->claim);
	return fd;
}

void wire_read_pass(int fd, char ret_pass[PASS_SIZE])
{
	static const char ask[] = "*3\r\n$4\r\nHGET\r\n$11\r\nredlock:set\r\n$4\r\npass\r\n";
	char bytes[128];
	if (send(fd, ask, sizeof ask - 1, 0) < 0 || recv(fd, bytes, sizeof bytes, 0) != PASS_SIZE + 7)
		die("no guarded set");
	memcpy(ret_pass, bytes + 5, PASS_SIZE);
}

static const char token[TOKEN_SIZE + 1] = "0123456789012345678901234567890123456789";

/* As the library's RL_FORM_GUARD_SHA, whose scripts they are. */
static void make_claim(struct wire *w, const struct options *o, const char *name, const struct shas *shas,
                       size_t room)
{
	int n = snprintf(w->set, room,
	                 "*%d\r\n$7\r\nEVALSHA\r\n$40\r\n%s\r\n$1\r\n%d\r\n$%zu\r\n%s\r\n$11\r\nredlock:set\r\n",
	                 o->fence ? 10 : 9, shas->claim, o->fence ? 3 : 2, o->name_size, name);
	if (o->fence)
		n +=
		    snprintf(w->set + n, room - (size_t)n, "$%zu\r\n{%s}:redlock:fence\r\n", o->name_size + 16, name);
	n += snprintf(w->set + n, room - (size_t)n, "$40\r\n%s\r\n$5\r\n30000\r\n$57\r\n", token);
	w->set_pass = w->set + n;
	memset(w->set_pass, '-', PASS_SIZE);
	n += PASS_SIZE;
	n += snprintf(w->set + n, room - (size_t)n, "\r\n$0\r\n\r\n"); /* the time is not told */
	w->set_size = (size_t)n;
}

static void make_set(struct wire *w, const struct options *o, const char *name, size_t room)
{
	w->set_size = (size_t)snprintf(
	    w->set, room, "*6\r\n$3\r\nSET\r\n$%zu\r\n%s\r\n$40\r\n%s\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n30000\r\n",
	    o->name_size, name, token);
}

void wire_make(struct wire *w, const struct options *o, unsigned number, const struct shas *shas)
{
	size_t room = 2 * o->name_size + 512;
	char *name = calloc(1, o->name_size + 1);
	*w = (struct wire){.set = malloc(room), .release = malloc(room), .state = number + 1};
	if (name == NULL || w->set == NULL || w->release == NULL)
		die("malloc");
	options_name(o, number, name);
	if (o->guard)
		make_claim(w, o, name, shas, room);
	else
		make_set(w, o, name, room);
	w->release_size = (size_t)snprintf(
	    w->release, room, "*5\r\n$7\r\nEVALSHA\r\n$40\r\n%s\r\n$1\r\n1\r\n$%zu\r\n%s\r\n$40\r\n%s\r\n",
	    shas->release, o->name_size, name, token);
	w->set_token = strstr(w->set, token);
	w->release_token = w->release + w->release_size - TOKEN_SIZE - 2;
	free(name);
}

void wire_sign(struct wire *w)
{
	w->state = w->state * 6364136223846793005u + 1442695040888963407u;
	for (unsigned i = 0; i < TOKEN_SIZE; i++)
		w->set_token[i] = "0123456789abcdef"[w->state >> (i % 16 * 4) & 15];
	memcpy(w->release_token, w->set_token, TOKEN_SIZE);
}

void wire_free(struct wire *w)
{
	free(w->set);
	free(w->release);
}
