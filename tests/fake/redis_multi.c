/* SPDX-License-Identifier: MIT */
/* Transactions of a modelled server: MULTI, EXEC, WATCH, as redis-server 7.0 executes them. */
#include <stdlib.h>

#include "redis_call.h"

/* ---- what a session has ---- */

struct watched {
	unsigned database;
	bool existed;
	struct buffer name;
};

struct multi {
	bool open;      /* after MULTI */
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
	struct session *s = c->session;
	if (s->multi == NULL) {
		s->multi = buffer_realloc(NULL, sizeof *s->multi);
		*s->multi = (struct multi){0};
	}
	return s->multi;
}

static void end(struct multi *m)
{
	for (unsigned i = 0; i < m->watched_count; i++)
		buffer_free(&m->watched[i].name);
	m->watched_count = m->count = 0;
	buffer_drop(&m->queue, m->queue.length);
	m->open = m->failed = m->dirty = m->writes = false;
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

static struct bytes name_of(const struct watched *watched)
{
	return (struct bytes){watched->name.bytes, watched->name.length};
}

void multi_touch(struct redis *r, unsigned database, struct bytes name)
{
	for (uint32_t i = 0; i < r->open_count; i++) {
		struct multi *m = r->open[i]->multi;
		for (unsigned k = 0; m != NULL && k < m->watched_count; k++)
			m->dirty |= m->watched[k].database == database && bytes_equal(name_of(&m->watched[k]), name);
	}
}

bool multi_is_open(const struct call *c)
{
	return c->session->multi != NULL && c->session->multi->open;
}

void multi_fail(struct call *c)
{
	if (multi_is_open(c))
		c->session->multi->failed = true;
}

bool multi_writes(const struct call *c)
{
	return multi_is_open(c) && c->session->multi->writes;
}

bool multi_has_commands(const struct call *c)
{
	return multi_is_open(c) && c->session->multi->count > 0;
}

/* ---- the commands ---- */

void multi_queue(struct call *c, bool writes)
{
	struct multi *m = multi_of(c);
	resp_write(&m->queue, c->w.at, c->w.count);
	m->count++;
	m->writes |= writes;
	call_reply(c, "+QUEUED");
}

void run_multi(struct call *c)
{
	struct multi *m = multi_of(c);
	call_reply(c, m->open ? "-ERR MULTI calls can not be nested" : "+OK");
	m->open = true;
}

void run_watch(struct call *c)
{
	struct multi *m = multi_of(c);
	if (m->open) {
		call_reply(c, "-ERR WATCH inside MULTI is not allowed");
		return;
	}
	m->watched = buffer_realloc(m->watched, (m->watched_count + c->w.count) * sizeof *m->watched);
	for (unsigned i = 1; i < c->w.count; i++) {
		struct watched *watched = &m->watched[m->watched_count++];
		*watched =
		    (struct watched){.database = c->session->database, .existed = call_find(c, c->w.at[i]) != NULL};
		buffer_append(&watched->name, c->w.at[i].at, c->w.at[i].size);
	}
	call_reply(c, "+OK");
}

static bool has_expired(struct call *c, const struct multi *m)
{
	for (unsigned i = 0; i < m->watched_count; i++) {
		const struct watched *k = &m->watched[i];
		if (k->existed && keyspace_find(&c->redis->keys, k->database, name_of(k), c->redis->now_ms) == NULL)
			return true;
	}
	return false;
}

void run_exec(struct call *c)
{
	struct multi *m = multi_of(c);
	if (!m->open) {
		call_reply(c, "-ERR EXEC without MULTI");
		return;
	}
	if (m->failed || m->dirty || has_expired(c, m)) {
		call_reply(c, m->failed ? "-EXECABORT Transaction discarded because of previous errors." : "*-1");
		end(m);
		return;
	}
	struct buffer queue = m->queue;
	struct call inner = *c;
	inner.in_exec = true;
	call_reply_text(c, "*%u", m->count);
	m->queue = (struct buffer){0};
	end(m);
	while (queue.length > 0) {
		size_t size = resp_command(buffer_front(&queue), queue.length, &inner.w);
		call_execute(&inner);
		buffer_drop(&queue, size);
	}
	buffer_free(&queue);
}

void multi_abort(struct call *c, const char *why)
{
	call_reply_text(c, "-EXECABORT Transaction discarded because of: %s", why + 1);
	end(multi_of(c));
}
