/* SPDX-License-Identifier: MIT */
/* Channels of a modelled server: SUBSCRIBE, UNSUBSCRIBE, PUBLISH, as redis-server 7.0 executes them in RESP2.
 */
#include <stdio.h>
#include <stdlib.h>

#include "redis_call.h"

struct channel {
	struct buffer name;
};

static struct bytes name_of(const struct channel *channel)
{
	return (struct bytes){buffer_front(&channel->name), channel->name.length};
}

static bool listens_to(const struct session *s, struct bytes name)
{
	for (unsigned i = 0; i < s->channel_count; i++)
		if (bytes_equal(name_of(&s->channels[i]), name))
			return true;
	return false;
}

static void leave(struct session *s, unsigned i)
{
	buffer_free(&s->channels[i].name);
	s->channels[i] = s->channels[--s->channel_count];
}

void pubsub_free(struct session *s)
{
	while (s->channel_count > 0)
		leave(s, s->channel_count - 1);
	free(s->channels);
	s->channels = NULL;
}

/* ---- messages ---- */

static void write_message(struct buffer *to, struct bytes channel, struct bytes payload)
{
	const struct bytes words[] = {text_bytes("message"), channel, payload};
	resp_write(to, words, 3);
}

static void say(struct redis *r, struct session *s, const struct buffer *message)
{
	if (r->ears != NULL && r->ears->said != NULL)
		r->ears->said(r, s, (struct bytes){buffer_front(message), message->length});
}

static void deliver(struct redis *r, struct session *s, const struct buffer *message)
{
	const struct redis_ears *ears = r->ears;
	enum redis_fate fate = ears != NULL && ears->fate != NULL ? ears->fate(r, s) : FATE_ARRIVES;
	if (fate == FATE_LATE)
		buffer_append(&s->late, buffer_front(message), message->length);
	if (fate == FATE_ARRIVES || fate == FATE_TWICE)
		say(r, s, message);
	if (fate == FATE_TWICE)
		say(r, s, message);
}

const struct session *fake_redis_listener(const struct redis *r, struct bytes channel)
{
	for (uint32_t i = 0; i < r->open_count; i++)
		if (listens_to(r->open[i], channel))
			return r->open[i];
	return NULL;
}

static int publish(struct redis *r, struct bytes channel, struct bytes payload)
{
	struct buffer message = {0};
	int receivers = 0;
	write_message(&message, channel, payload);
	for (uint32_t i = 0; i < r->open_count; i++)
		if (listens_to(r->open[i], channel)) {
			receivers++;
			deliver(r, r->open[i], &message);
		}
	buffer_free(&message);
	return receivers;
}

int fake_redis_publish(struct redis *r, struct bytes channel, struct bytes payload)
{
	return r->publish_denied ? -1 : publish(r, channel, payload);
}

#define OF_KEYS "__keyspace@"

void fake_redis_tell(struct redis *r, unsigned database, struct bytes name, const char *event)
{
	struct buffer channel = {0};
	char begin[32];
	if (!r->tells_keys)
		return;
	buffer_append(&channel, begin, (size_t)snprintf(begin, sizeof begin, OF_KEYS "%u__:", database));
	buffer_append(&channel, name.at, name.size);
	(void)publish(r, (struct bytes){buffer_front(&channel), channel.length}, text_bytes(event));
	buffer_free(&channel);
}

void redis_say_late(struct redis *r)
{
	for (uint32_t i = 0; i < r->open_count; i++) {
		struct session *s = r->open[i];
		struct buffer late = s->late;
		s->late = (struct buffer){0};
		if (late.length > 0)
			say(r, s, &late);
		buffer_free(&late);
	}
}

/* ---- the commands ---- */

static void reply_count(struct call *c, const char *word, struct bytes channel)
{
	call_reply(c, "*3");
	call_reply_bulk(c, text_bytes(word));
	call_reply_bulk(c, channel);
	call_reply_number(c, c->session->channel_count);
}

static bool is_denied(const struct call *c)
{
	struct bytes first = c->w.at[1];
	bool of_keys = first.size >= strlen(OF_KEYS) && memcmp(first.at, OF_KEYS, strlen(OF_KEYS)) == 0;
	return c->redis->subscribe_denied || (of_keys && c->redis->keys_denied);
}

void run_subscribe(struct call *c)
{
	struct session *s = c->session;
	if (is_denied(c)) {
		call_reply(c, "-NOPERM this user has no permissions to access one of the channels used as arguments");
		return;
	}
	for (unsigned i = 1; i < c->w.count; i++) {
		if (!listens_to(s, c->w.at[i])) {
			s->channels = buffer_realloc(s->channels, (s->channel_count + 1) * sizeof *s->channels);
			s->channels[s->channel_count] = (struct channel){0};
			buffer_append(&s->channels[s->channel_count++].name, c->w.at[i].at, c->w.at[i].size);
		}
		reply_count(c, "subscribe", c->w.at[i]);
	}
}

static void unsubscribe(struct call *c, struct bytes channel)
{
	struct session *s = c->session;
	for (unsigned i = 0; i < s->channel_count; i++)
		if (bytes_equal(name_of(&s->channels[i]), channel)) {
			leave(s, i);
			break;
		}
	reply_count(c, "unsubscribe", channel);
}

void run_unsubscribe(struct call *c)
{
	for (unsigned i = 1; i < c->w.count; i++)
		unsubscribe(c, c->w.at[i]);
	if (c->w.count > 1)
		return;
	if (c->session->channel_count == 0)
		call_reply(c, "*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0");
	while (c->session->channel_count > 0) {
		struct buffer name = {0};
		struct bytes last = name_of(&c->session->channels[c->session->channel_count - 1]);
		buffer_append(&name, last.at, last.size);
		unsubscribe(c, (struct bytes){buffer_front(&name), name.length});
		buffer_free(&name);
	}
}

void run_publish(struct call *c)
{
	int receivers = fake_redis_publish(c->redis, c->w.at[1], c->w.at[2]);
	if (c->script != NULL && receivers > 0)
		c->script->heir = fake_redis_listener(c->redis, c->w.at[1])->owner;
	if (receivers < 0)
		call_reply(c, "-NOPERM this user has no permissions to run the 'publish' command");
	else
		call_reply_number(c, receivers);
}
