/* SPDX-License-Identifier: MIT */
/* A tiny blocking RESP client for the oracle. See raw.h. */
#include "raw.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

int raw_open(struct raw *raw, const char *unix_path, int timeout_ms)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval limit = {.tv_sec = timeout_ms / 1000, .tv_usec = (timeout_ms % 1000) * 1000L};
	*raw = (struct raw){.fd = -1};
	if (strlen(unix_path) >= sizeof address.sun_path)
		return -1;
	memcpy(address.sun_path, unix_path, strlen(unix_path) + 1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	if (connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
		close(fd);
		return -1;
	}
	raw->fd = fd;
	return 0;
}

void raw_close(struct raw *raw)
{
	if (raw->fd >= 0)
		close(raw->fd);
	raw->fd = -1;
}

static int send_bytes(int fd, const void *bytes, size_t size)
{
	const char *at = bytes;
	while (size > 0) {
		ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return -1;
		at += sent;
		size -= (size_t)sent;
	}
	return 0;
}

int raw_send(struct raw *raw, const struct raw_arg *args, size_t count)
{
	char head[32];
	int length = snprintf(head, sizeof head, "*%zu\r\n", count);
	int failed = send_bytes(raw->fd, head, (size_t)length);
	for (size_t i = 0; i < count && !failed; i++) {
		length = snprintf(head, sizeof head, "$%zu\r\n", args[i].length);
		failed = send_bytes(raw->fd, head, (size_t)length) != 0 ||
		         send_bytes(raw->fd, args[i].bytes, args[i].length) != 0 ||
		         send_bytes(raw->fd, "\r\n", 2) != 0;
	}
	return failed ? -1 : 0;
}

static int next_byte(struct raw *raw)
{
	if (raw->at == raw->end) {
		ssize_t got;
		do
			got = recv(raw->fd, raw->buffer, sizeof raw->buffer, 0);
		while (got < 0 && errno == EINTR);
		if (got <= 0)
			return -1;
		raw->at = 0;
		raw->end = (size_t)got;
	}
	return raw->buffer[raw->at++];
}

static void put(struct raw_reply *reply, int byte)
{
	if (reply->length + 1 < sizeof reply->text)
		reply->text[reply->length++] = (char)byte;
	reply->text[reply->length] = '\0';
}

static void put_text(struct raw_reply *reply, const char *text)
{
	while (*text != '\0')
		put(reply, *text++);
}

/* A line up to CR LF, which is not kept. */
static int read_line(struct raw *raw, char *line, size_t size)
{
	size_t length = 0;
	int byte = next_byte(raw);
	while (byte >= 0 && byte != '\r') {
		if (length + 1 < size)
			line[length++] = (char)byte;
		byte = next_byte(raw);
	}
	line[length] = '\0';
	return byte == '\r' && next_byte(raw) == '\n' ? 0 : -1;
}

static int read_bulk(struct raw *raw, long long size, struct raw_reply *reply)
{
	for (long long i = 0; i < size + 2; i++) {
		int byte = next_byte(raw);
		if (byte < 0)
			return -1;
		if (i < size)
			put(reply, byte);
	}
	return 0;
}

/* Reads one reply whose arrays are at most `depth` deep. */
static int read_reply(struct raw *raw, struct raw_reply *reply, int depth)
{
	char line[1024];
	int type = next_byte(raw);
	if (type < 0 || depth == 0 || read_line(raw, line, sizeof line) != 0)
		return -1;
	long long number = strtoll(line, NULL, 10);
	reply->type = (char)type;
	reply->integer = number;
	if (type == '+' || type == '-' || type == ':') {
		put_text(reply, line);
		return 0;
	}
	if (type != '$' && type != '*')
		return -1;
	if (number < 0) {
		put_text(reply, "(nil)");
		reply->type = '_';
		return 0;
	}
	if (type == '$')
		return read_bulk(raw, number, reply);
	for (long long i = 0; i < number; i++) {
		if (i > 0)
			put(reply, '\n');
		if (read_reply(raw, reply, depth - 1) != 0)
			return -1;
	}
	reply->type = '*';
	return 0;
}

int raw_receive(struct raw *raw, struct raw_reply *ret_reply)
{
	ret_reply->length = 0;
	ret_reply->integer = 0;
	ret_reply->text[0] = '\0';
	if (read_reply(raw, ret_reply, 8) == 0)
		return 0;
	ret_reply->type = 0;
	return -1;
}
