/* SPDX-License-Identifier: MIT */
/* Transactions of a modelled server: MULTI, EXEC, WATCH, as redis-server 7.0 executes them. */
#include "command_multi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a session has ---- */

struct watched {
	unsigned database;
	bool existed;
	size_t size;
	char *name;
};

struct multi {
	bool open;      /* behind MULTI */
	bool failed;    /* a command was refused since: EXEC will be */
	bool dirty;     /* a watched key was touched */
	bool writes;    /* one of the queued commands does */
	unsigned count; /* queued commands */
	struct buffer queue;
	struct watched *watched;
	unsigned watched_count;
};

static struct multi *multi_of(struct call *c)
{
	struct session *s = &c->conn->session;
	if (s->multi == NULL) {
		s->multi = sim_realloc(NULL, sizeof *s->multi);
		memset(s->multi, 0, sizeof *s->multi);
	}
	return s->multi;
}

static void unwatch(struct multi *m)
{
	for (unsigned i = 0; i < m->watched_count; i++)
		free(m->watched[i].name);
	m->watched_count = 0;
	m->dirty = false;
}

static void end(struct multi *m)
{
	unwatch(m);
	buffer_drop(&m->queue, m->queue.length);
	m->open = m->failed = m->writes = false;
	m->count = 0;
}

void multi_free(struct session *s)
{
	if (s->multi == NULL)
		return;
	end(s->multi);
	buffer_free(&s->multi->queue);
	free(s->multi->watched);
	free(s->multi);
	s->multi = NULL;
}

void multi_touch(struct world *w, struct node *n, unsigned database, struct bytes name)
{
	for (uint32_t i = 0; i < n->open_count; i++) {
		struct multi *m = w->links.conns[n->open[i]].session.multi;
		for (unsigned k = 0; m != NULL && k < m->watched_count; k++) {
			struct watched *watched = &m->watched[k];
			m->dirty |= watched->database == database &&
			            bytes_equal((struct bytes){watched->name, watched->size}, name);
		}
	}
}

bool multi_is_open(const struct call *c)
{
	return c->conn->session.multi != NULL && c->conn->session.multi->open;
}

void multi_fail(struct call *c)
{
	if (multi_is_open(c))
		c->conn->session.multi->failed = true;
}

bool multi_writes(const struct call *c)
{
	return multi_is_open(c) && c->conn->session.multi->writes;
}

bool multi_has_commands(const struct call *c)
{
	return multi_is_open(c) && c->conn->session.multi->count > 0;
}

/* ---- the commands ---- */

void multi_queue(struct call *c, bool writes)
{
	struct multi *m = multi_of(c);
	char head[32];
	snprintf(head, sizeof head, "*%u\r\n", c->count);
	buffer_append(&m->queue, head, strlen(head));
	for (unsigned i = 0; i < c->count; i++) {
		snprintf(head, sizeof head, "$%zu\r\n", c->words[i].size);
		buffer_append(&m->queue, head, strlen(head));
		buffer_append(&m->queue, c->words[i].at, c->words[i].size);
		buffer_append(&m->queue, "\r\n", 2);
	}
	m->count++;
	m->writes |= writes;
	call_reply(c, "+QUEUED");
}

void run_multi(struct call *c)
{
	struct multi *m = multi_of(c);
	if (m->open)
		call_reply(c, "-ERR MULTI calls can not be nested");
	else
		call_reply(c, "+OK");
	m->open = true;
}

void run_watch(struct call *c)
{
	struct multi *m = multi_of(c);
	if (m->open) {
		call_reply(c, "-ERR WATCH inside MULTI is not allowed");
		return;
	}
	m->watched = sim_realloc(m->watched, (m->watched_count + c->count) * sizeof *m->watched);
	for (unsigned i = 1; i < c->count; i++) {
		struct bytes name = c->words[i];
		char *copy = sim_realloc(NULL, name.size + 1);
		memcpy(copy, name.at, name.size);
		m->watched[m->watched_count++] = (struct watched){.database = c->conn->session.database,
		                                                  .existed = call_find(c, name) != NULL,
		                                                  .size = name.size,
		                                                  .name = copy};
	}
	call_reply(c, "+OK");
}

static bool has_expired(struct call *c, const struct multi *m)
{
	for (unsigned i = 0; i < m->watched_count; i++) {
		const struct watched *k = &m->watched[i];
		struct bytes name = {k->name, k->size};
		int64_t now_ms = node_now_ms(c->w, c->node);
		if (k->existed && keyspace_find(&c->node->keys, k->database, name, now_ms) == NULL)
			return true;
	}
	return false;
}

void run_exec(struct call *c)
{
	struct multi *m = multi_of(c);
	char head[16];
	if (!m->open) {
		call_reply(c, "-ERR EXEC without MULTI");
		return;
	}
	if (m->failed || m->dirty || has_expired(c, m)) {
		if (!m->failed)
			world_hit(c->w, COVER_EXEC_NIL);
		call_reply(c, m->failed ? "-EXECABORT Transaction discarded because of previous errors." : "*-1");
		end(m);
		return;
	}
	struct buffer queue = m->queue;
	unsigned count = m->count;
	m->queue = (struct buffer){0};
	end(m);
	snprintf(head, sizeof head, "*%u", count);
	call_reply(c, head);
	call_run_queued(c, &queue);
	buffer_free(&queue);
}

void multi_abort(struct call *c, const char *why)
{
	char text[512];
	snprintf(text, sizeof text, "-EXECABORT Transaction discarded because of: %s", why + 1);
	call_reply(c, text);
	end(multi_of(c));
}
