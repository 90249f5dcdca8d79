/* SPDX-License-Identifier: MIT */
/* See link.h. */
#include "link.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire.h"

void links_open(struct links *l, const struct options *o)
{
	l->count = o->node_count;
	l->quorum = l->count / 2 + 1;
	for (unsigned i = 0; i < l->count; i++)
		l->all[i] = (struct link){.fd = wire_dial(o->nodes[i])};
}

void links_load(struct links *l, const char *script, char *ret_sha)
{
	for (unsigned i = 0; i < l->count; i++)
		wire_load(l->all[i].fd, script, ret_sha);
}

void link_send(struct link *l, const char *format, ...)
{
	char bytes[1024];
	va_list values;
	va_start(values, format);
	int size = vsnprintf(bytes, sizeof bytes, format, values);
	va_end(values);
	if (send(l->fd, bytes, (size_t)size, MSG_NOSIGNAL) != size)
		die("send");
	l->owed++;
}

int link_vote(struct link *l)
{
	int vote = -1;
	ssize_t got = recv(l->fd, l->in + l->size, LINK_BYTES - l->size, MSG_DONTWAIT);
	if (got <= 0)
		return vote;
	char *at = l->in;
	char *end = at + l->size + (size_t)got;
	for (char *line_end; (line_end = memchr(at, '\n', (size_t)(end - at))) != NULL; at = line_end + 1)
		if (--l->owed == 0)
			vote = at[0] == '+' || (at[0] == ':' && at[1] == '1');
	l->size = (size_t)(end - at);
	memmove(l->in, at, l->size);
	return vote;
}

void link_sign(char *ret_token)
{
	static _Atomic unsigned number;
	snprintf(ret_token, LINK_TOKEN + 1, "%08x%08x", (unsigned)getpid(), number++);
}
