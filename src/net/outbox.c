/* SPDX-License-Identifier: MIT */
#include "net/outbox.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/command.h"
#include "proto/transaction.h"

static bool grow_ring(struct rl_outbox *o)
{
	unsigned capacity = o->ring_capacity > 0 ? o->ring_capacity * 2 : 16;
	struct rl_entry *ring = malloc(capacity * sizeof *ring);
	if (ring == NULL)
		return false;
	for (unsigned i = 0; i < o->count; i++)
		ring[i] = o->ring[(o->first + i) & (o->ring_capacity - 1)];
	free(o->ring);
	o->ring = ring;
	o->ring_capacity = capacity;
	o->first = 0;
	return true;
}

static void move_down(struct rl_outbox *o)
{
	if (o->head == 0)
		return;
	memmove(o->bytes, o->bytes + o->head, o->tail - o->head);
	if (o->secrets > 0)
		explicit_bzero(o->bytes + o->tail - o->head, o->head);
	o->tail -= o->head;
	o->sent -= o->head;
	o->head = 0;
}

/* Answered bytes are reclaimed before the buffer grows, and only when that frees at least half of it, so that
 * each byte is moved once on average. */
static bool make_room(struct rl_outbox *o, size_t more)
{
	size_t kept = o->tail - o->head;
	if (kept + more <= o->capacity / 2) {
		move_down(o);
		return true;
	}
	size_t capacity = o->capacity > 0 ? o->capacity : 1024;
	while (capacity < (kept + more) * 2)
		capacity *= 2;
	char *bytes = malloc(capacity);
	if (bytes == NULL)
		return false;
	move_down(o);
	if (o->tail > 0)
		memcpy(bytes, o->bytes, o->tail);
	if (o->secrets > 0)
		explicit_bzero(o->bytes, o->capacity);
	free(o->bytes);
	o->bytes = bytes;
	o->capacity = capacity;
	return true;
}

bool rl_outbox_push(struct rl_outbox *o, const struct rl_entry *entry, struct rl_slice bytes)
{
	if (o->count == o->ring_capacity && !grow_ring(o))
		return false;
	if (o->tail + bytes.size > o->capacity && !make_room(o, bytes.size))
		return false;
	if (bytes.size > 0) /* what is held back has its bytes later */
		memcpy(o->bytes + o->tail, bytes.bytes, bytes.size);
	o->tail += bytes.size;
	struct rl_entry *slot = &o->ring[(o->first + o->count++) & (o->ring_capacity - 1)];
	*slot = *entry;
	slot->size = (uint32_t)bytes.size;
	return true;
}

static bool push_wait(struct rl_outbox *o, const struct rl_entry *e)
{
	static const struct rl_entry wait = {.step = RL_STEP_WAIT};
	char replicas[8], wait_ms[8];
	struct rl_buffer command = {0};
	snprintf(replicas, sizeof replicas, "%u", e->replicas);
	snprintf(wait_ms, sizeof wait_ms, "%u", e->wait_ms);
	const struct rl_slice words[] = {rl_slice_of("WAIT"), rl_slice_of(replicas), rl_slice_of(wait_ms)};
	bool ok = rl_command_write(&command, words, 3) &&
	          rl_outbox_push(o, &wait, (struct rl_slice){command.bytes, command.size});
	rl_buffer_free(&command);
	return ok;
}

bool rl_outbox_ask(struct rl_outbox *o, const struct rl_entry *entry, struct rl_slice bytes)
{
	if (!rl_outbox_push(o, entry, bytes))
		return false;
	if (entry->wait_ms == 0 || push_wait(o, entry))
		return true;
	o->count--;
	o->tail -= bytes.size;
	return false;
}

void rl_outbox_hold_front(struct rl_outbox *o)
{
	o->ring[o->first].step = RL_STEP_WAIT;
}

bool rl_outbox_push_secret(struct rl_outbox *o, const struct rl_entry *entry, struct rl_slice bytes)
{
	bool ok = rl_outbox_push(o, entry, bytes);
	o->secrets += ok;
	return ok;
}

const struct rl_entry *rl_outbox_answerable(const struct rl_outbox *o)
{
	if (o->count == 0)
		return NULL;
	const struct rl_entry *front = &o->ring[o->first];
	bool may = front->step != 0 ? o->sent > o->head : o->sent >= o->head + front->size;
	return may ? front : NULL;
}

static void wipe_front(struct rl_outbox *o)
{
	if (o->ring[o->first].setup != RL_SETUP_AUTH)
		return;
	explicit_bzero(o->bytes + o->head, o->ring[o->first].size);
	o->secrets--;
}

void rl_outbox_pop(struct rl_outbox *o)
{
	assert(o->count > 0);
	if (o->secrets > 0)
		wipe_front(o);
	o->head += o->ring[o->first].size;
	if (o->sent < o->head)
		o->sent = o->head;
	o->first = (o->first + 1) & (o->ring_capacity - 1);
	o->popped++;
	if (--o->count == 0)
		o->head = o->sent = o->tail = 0;
}

const struct rl_entry *rl_outbox_at(const struct rl_outbox *o, unsigned index)
{
	return &o->ring[(o->first + index) & (o->ring_capacity - 1)];
}

/* Where the bytes of the entry number `index` begin. */
static size_t begin_of(const struct rl_outbox *o, uint64_t index)
{
	size_t begin = o->head;
	for (unsigned i = 0; i < index; i++)
		begin += rl_outbox_at(o, i)->size;
	return begin;
}

struct rl_slice rl_outbox_bytes_at(const struct rl_outbox *o, unsigned index)
{
	return (struct rl_slice){o->bytes + begin_of(o, index), rl_outbox_at(o, index)->size};
}

struct rl_request rl_outbox_request(const struct rl_entry *entry, struct rl_slice bytes)
{
	struct rl_request r = {.operation = entry->operation, .tag = entry->tag, .own_value = entry->own_value};
	rl_request_read(bytes, (enum rl_form)entry->form, &r);
	r.fenced = entry->fenced; /* some forms do not say so */
	r.wait_ms = entry->wait_ms;
	return r;
}

uint64_t rl_outbox_find_claim(const struct rl_outbox *o, struct rl_tag tag)
{
	for (unsigned i = o->count; i-- > 0;) {
		const struct rl_entry *e = rl_outbox_at(o, i);
		bool same = e->tag.slot == tag.slot && e->tag.generation == tag.generation;
		if (same && rl_ops[e->operation].claims)
			return o->popped + i + 1;
	}
	return 0;
}

bool rl_outbox_owes(const struct rl_outbox *o, struct rl_tag tag)
{
	for (unsigned i = 0; i < o->count; i++) {
		const struct rl_entry *e = rl_outbox_at(o, i);
		if (e->owed && e->tag.slot == tag.slot && e->tag.generation == tag.generation)
			return true;
	}
	return false;
}

bool rl_outbox_give_up(struct rl_outbox *o, struct rl_tag tag)
{
	uint64_t number = rl_outbox_find_claim(o, tag);
	if (number == 0)
		return false;
	uint64_t index = number - o->popped - 1;
	o->ring[(o->first + index) & (o->ring_capacity - 1)].given_up = true;
	return true;
}

bool rl_outbox_is_unsent(const struct rl_outbox *o, uint64_t number)
{
	return o->sent <= begin_of(o, number - o->popped - 1);
}

struct rl_slice rl_outbox_unsent(const struct rl_outbox *o)
{
	return (struct rl_slice){o->bytes != NULL ? o->bytes + o->sent : "", o->tail - o->sent};
}

void rl_outbox_sent(struct rl_outbox *o, size_t size)
{
	o->sent += size;
	assert(o->sent <= o->tail);
}

size_t rl_outbox_size(const struct rl_outbox *o)
{
	return o->tail - o->head;
}

void rl_outbox_clear(struct rl_outbox *o)
{
	while (o->count > 0)
		rl_outbox_pop(o);
}

void rl_outbox_free(struct rl_outbox *o)
{
	rl_outbox_clear(o); /* wipes */
	free(o->bytes);
	free(o->ring);
	*o = (struct rl_outbox){0};
}
