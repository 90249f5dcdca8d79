/* SPDX-License-Identifier: MIT */
#include "net/redirect.h"

#include <stdlib.h>
#include <string.h>

#include "proto/hashslot.h"

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* "3999 127.0.0.1:6381"; an IPv6 address has no brackets, and a server that does not know its own address
 * tells none. */
static bool read_place(const char *text, struct rl_redirect *r)
{
	char *end;
	unsigned long slot = strtoul(text, &end, 10);
	const char *host = end + 1, *colon = *end == ' ' ? strrchr(host, ':') : NULL;
	if (end == text || slot >= RL_HASHSLOT_COUNT || colon == NULL || (size_t)(colon - host) >= sizeof r->host)
		return false;
	unsigned long port = strtoul(colon + 1, &end, 10);
	if (end == colon + 1 || port == 0 || port > UINT16_MAX)
		return false;
	memcpy(r->host, host, (size_t)(colon - host));
	r->host[colon - host] = '\0';
	if (strcmp(r->host, "?") == 0)
		r->host[0] = '\0';
	r->slot = (unsigned)slot;
	r->port = (uint16_t)port;
	return true;
}

enum rl_redirect_kind rl_redirect_read(const char *error, struct rl_redirect *r)
{
	if (begins(error, "MOVED ") && read_place(error + strlen("MOVED "), r))
		return RL_REDIRECT_MOVED;
	if (begins(error, "ASK ") && read_place(error + strlen("ASK "), r))
		return RL_REDIRECT_ASK;
	if (begins(error, "TRYAGAIN"))
		return RL_REDIRECT_SPLIT;
	return begins(error, "CLUSTERDOWN") ? RL_REDIRECT_LATE : RL_REDIRECT_NONE;
}

bool rl_redirect_keep(struct rl_redirect *r, enum rl_redirect_kind kind, const struct rl_outbox *asked)
{
	struct rl_slice bytes = rl_outbox_front_bytes(asked);
	r->kind = RL_REDIRECT_NONE;
	r->entry = *rl_outbox_front(asked);
	r->bytes.size = 0;
	if (!rl_buffer_reserve(&r->bytes, bytes.size))
		return false;
	memcpy(r->bytes.bytes, bytes.bytes, bytes.size);
	r->bytes.size = bytes.size;
	r->kind = kind;
	return true;
}

bool rl_redirect_take(struct rl_redirect *r, const struct rl_outbox *asked, const char *error)
{
	enum rl_redirect_kind kind = r->kind = rl_redirect_read(error, r);
	return kind != RL_REDIRECT_NONE && rl_redirect_keep(r, kind, asked);
}
