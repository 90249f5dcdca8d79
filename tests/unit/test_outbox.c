/* SPDX-License-Identifier: MIT */
/* The queue of requests against a plain list: order, growth, wrapping, and what counts as sent. */
#include "net/outbox.h"

#include "unit.h"

static struct rl_slice slice(const char *text)
{
	return (struct rl_slice){text, strlen(text)};
}

static void push(struct rl_outbox *o, uint32_t seq, const char *text)
{
	struct rl_entry entry = {.tag = {.slot = 1, .seq = seq}, .operation = REDLOCK_OP_QUERY};
	assert_true(rl_outbox_push(o, &entry, slice(text)));
}

static void expect_slice(struct rl_slice s, const char *want)
{
	assert_int_equal(s.size, strlen(want));
	assert_memory_equal(s.bytes, want, s.size);
}

TEST(empty)
{
	struct rl_outbox o = {0};
	assert_null(rl_outbox_front(&o));
	assert_int_equal(rl_outbox_unsent(&o).size, 0);
	assert_non_null(rl_outbox_unsent(&o).bytes);
	assert_int_equal(rl_outbox_size(&o), 0);
	assert_int_equal(rl_outbox_find_claim(&o, (struct rl_tag){0}), 0);
	rl_outbox_free(&o);
}

/* Bytes stay until the answer, sent or not. */
TEST(sent_and_answered)
{
	struct rl_outbox o = {0};
	push(&o, 1, "one");
	push(&o, 2, "two!");
	expect_slice(rl_outbox_unsent(&o), "onetwo!");
	assert_true(rl_outbox_front_unsent(&o));
	rl_outbox_sent(&o, 1); /* a part of the first: it may have an effect */
	assert_false(rl_outbox_front_unsent(&o));
	rl_outbox_sent(&o, 2);
	expect_slice(rl_outbox_unsent(&o), "two!");
	expect_slice(rl_outbox_front_bytes(&o), "one");
	assert_int_equal(rl_outbox_size(&o), 7);
	rl_outbox_pop(&o);
	assert_int_equal(rl_outbox_front(&o)->tag.seq, 2);
	assert_true(rl_outbox_front_unsent(&o));
	expect_slice(rl_outbox_front_bytes(&o), "two!");
	push(&o, 3, "three");
	expect_slice(rl_outbox_unsent(&o), "two!three");
	rl_outbox_pop(&o); /* without being sent: a connection broke */
	expect_slice(rl_outbox_unsent(&o), "three");
	rl_outbox_sent(&o, 5);
	assert_int_equal(rl_outbox_unsent(&o).size, 0);
	rl_outbox_pop(&o);
	assert_null(rl_outbox_front(&o));
	assert_int_equal(rl_outbox_size(&o), 0);
	rl_outbox_free(&o);
}

TEST(entries_are_kept)
{
	struct rl_outbox o = {0};
	struct rl_entry entry = {.tag = {3, 4, 5},
	                         .operation = REDLOCK_OP_RELEASE,
	                         .setup = RL_SETUP_INFO,
	                         .form = RL_FORM_DELEX,
	                         .owed = true,
	                         .set_number = 99};
	assert_true(rl_outbox_push(&o, &entry, slice("bytes")));
	const struct rl_entry *front = rl_outbox_front(&o);
	assert_int_equal(front->tag.slot, 3);
	assert_int_equal(front->tag.generation, 4);
	assert_int_equal(front->tag.seq, 5);
	assert_int_equal(front->operation, REDLOCK_OP_RELEASE);
	assert_int_equal(front->setup, RL_SETUP_INFO);
	assert_true(front->form == RL_FORM_DELEX && front->owed);
	assert_int_equal(front->set_number, 99);
	assert_int_equal(front->size, 5);
	rl_outbox_free(&o);
}

/* Entries have numbers, which go on for ever. */
TEST(numbers_of_acquires)
{
	struct rl_outbox o = {0};
	struct rl_tag tag = {.slot = 7, .generation = 1, .seq = 3};
	struct rl_tag other = {.slot = 7, .generation = 2, .seq = 3};
	struct rl_entry set = {.tag = tag, .operation = REDLOCK_OP_ACQUIRE};
	for (unsigned i = 0; i < 100; i++) {
		push(&o, 1, "x");
		rl_outbox_pop(&o);
	}
	push(&o, 1, "101");
	assert_true(rl_outbox_push(&o, &set, slice("102")));
	push(&o, 1, "103");
	assert_int_equal(rl_outbox_find_claim(&o, tag), 102);
	assert_int_equal(rl_outbox_find_claim(&o, other), 0); /* another handle in the same slot */
	assert_true(rl_outbox_push(&o, &set, slice("104")));
	assert_int_equal(rl_outbox_find_claim(&o, tag), 104); /* the last one */
	tag.seq = 0;
	assert_int_equal(rl_outbox_find_claim(&o, tag), 104); /* a release that nobody waits for asks, too */
	for (unsigned i = 0; i < 4; i++)
		rl_outbox_pop(&o);
	assert_int_equal(rl_outbox_find_claim(&o, tag), 0);
	rl_outbox_free(&o);
}

TEST(releases_that_are_owed)
{
	struct rl_outbox o = {0};
	const struct rl_tag tag = {.slot = 1, .generation = 7, .seq = 3}, other = {.slot = 1, .generation = 8};
	struct rl_entry release = {.tag = tag, .operation = REDLOCK_OP_RELEASE};
	assert_false(rl_outbox_owes(&o, tag));
	assert_true(rl_outbox_push(&o, &release, slice("one"))); /* of a key that does not exist */
	assert_false(rl_outbox_owes(&o, tag));
	release.owed = true;
	release.tag.seq = 0;
	assert_true(rl_outbox_push(&o, &release, slice("two")));
	assert_true(rl_outbox_owes(&o, tag));
	assert_false(rl_outbox_owes(&o, other)); /* another handle in the same slot */
	rl_outbox_free(&o);
}

TEST(unsent_by_number)
{
	struct rl_outbox o = {0};
	push(&o, 1, "gone");
	rl_outbox_sent(&o, 4);
	rl_outbox_pop(&o);
	push(&o, 2, "two");
	push(&o, 3, "three");
	push(&o, 4, "four");
	for (uint64_t number = 2; number <= 4; number++)
		assert_true(rl_outbox_is_unsent(&o, number));
	rl_outbox_sent(&o, 3);
	assert_false(rl_outbox_is_unsent(&o, 2));
	assert_true(rl_outbox_is_unsent(&o, 3));
	rl_outbox_sent(&o, 1);
	assert_false(rl_outbox_is_unsent(&o, 3));
	assert_true(rl_outbox_is_unsent(&o, 4));
	rl_outbox_free(&o);
}

/* ---- against a list ---- */

struct item {
	uint32_t seq;
	size_t size;
	unsigned char first; /* byte i of it is first + i */
};

enum { ITEMS_MAX = 300 };

struct model {
	struct item items[ITEMS_MAX];
	unsigned count;
	size_t unsent; /* bytes at the end that were not sent */
	size_t size;
	uint32_t next;
};

static void model_push(struct model *m, struct rl_outbox *o, struct rng *rng)
{
	static char bytes[70000];
	struct item item = {m->next++, 1 + rng_below(rng, rng_below(rng, 50) == 0 ? 65000 : 200),
	                    (unsigned char)rng_below(rng, 256)};
	if (m->count == ITEMS_MAX)
		return;
	for (size_t i = 0; i < item.size; i++)
		bytes[i] = (char)(item.first + i);
	struct rl_entry entry = {.tag = {.seq = item.seq}};
	assert_true(rl_outbox_push(o, &entry, (struct rl_slice){bytes, item.size}));
	m->items[m->count++] = item;
	m->unsent += item.size;
	m->size += item.size;
}

static void model_pop(struct model *m, struct rl_outbox *o)
{
	if (m->count == 0)
		return;
	struct item front = m->items[0];
	struct rl_slice got = rl_outbox_front_bytes(o);
	assert_int_equal(rl_outbox_front(o)->tag.seq, front.seq);
	assert_int_equal(got.size, front.size);
	for (size_t i = 0; i < got.size; i++)
		if ((unsigned char)got.bytes[i] != (unsigned char)(front.first + i))
			fail_msg("byte %zu of request %u is wrong", i, front.seq);
	assert_int_equal(rl_outbox_front_unsent(o), m->unsent == m->size);
	assert_int_equal(rl_outbox_front_sent(o), m->unsent <= m->size - front.size);
	rl_outbox_pop(o);
	m->count--;
	memmove(m->items, m->items + 1, m->count * sizeof m->items[0]);
	m->size -= front.size;
	if (m->unsent > m->size)
		m->unsent = m->size;
}

/* The bytes after the sent ones are the end of what the list holds. */
static void model_check(const struct model *m, const struct rl_outbox *o)
{
	struct rl_slice unsent = rl_outbox_unsent(o);
	assert_int_equal(unsent.size, m->unsent);
	assert_int_equal(rl_outbox_size(o), m->size);
	assert_int_equal(o->count, m->count);
	if (m->unsent > 0) {
		const struct item *last = &m->items[m->count - 1];
		assert_int_equal((unsigned char)unsent.bytes[unsent.size - 1],
		                 (unsigned char)(last->first + last->size - 1));
	}
}

TEST(random_use)
{
	struct rl_outbox o = {0};
	struct model m = {.next = 1};
	struct rng rng = {3};
	size_t most = 0;
	for (unsigned step = 0; step < 20000; step++) {
		unsigned phase = step / 1000 % 4; /* grows, shrinks, and wraps around */
		unsigned dice = rng_below(&rng, 10);
		if (dice < (phase == 0 ? 5u : phase == 1 ? 1u : 3u))
			model_push(&m, &o, &rng);
		else if (dice < 7)
			model_pop(&m, &o);
		else if (m.unsent > 0) {
			size_t sent = 1 + rng_below(&rng, (unsigned)m.unsent);
			rl_outbox_sent(&o, sent);
			m.unsent -= sent;
		}
		model_check(&m, &o);
		if (m.size > most)
			most = m.size;
	}
	while (m.count > 0)
		model_pop(&m, &o);
	assert_true(o.capacity <= 8 * most); /* memory follows what was kept, not what passed through */
	rl_outbox_free(&o);
}

/* A stream that never stands still, with two requests in flight, takes the room of a few requests: what was
 * answered is reclaimed, and what is kept moves down with all its marks. */
TEST(bytes_are_reclaimed)
{
	struct rl_outbox o = {0};
	char text[101];
	for (unsigned i = 0; i < 500; i++) {
		snprintf(text, sizeof text, "%0100u", i);
		push(&o, i + 1, text);
		if (i < 2)
			continue;
		snprintf(text, sizeof text, "%0100u", i - 2);
		expect_slice(rl_outbox_front_bytes(&o), text);
		assert_false(rl_outbox_front_sent(&o));
		rl_outbox_sent(&o, 100); /* the front; the next one is not sent yet */
		assert_true(rl_outbox_front_sent(&o));
		rl_outbox_pop(&o);
		assert_true(rl_outbox_front_unsent(&o));
		assert_int_equal(rl_outbox_unsent(&o).size, 200);
		assert_int_equal(o.capacity, 1024);
	}
	rl_outbox_free(&o);
}

TESTS()
