/* SPDX-License-Identifier: MIT */
#include "proto/request.h"

#include <string.h>

#include "proto/command.h"
#include "proto/names.h"
#include "proto/side.h"

/* ---- keys beside the lock's own ---- */

enum { SHORT = 256 };

/* Where it is put together: in `room` if it is short, as nearly all are, else in `large`. */
struct side_key {
	char room[SHORT];
	struct rl_buffer large;
};

struct sides {
	struct side_key keys[RL_SIDE_SLOT]; /* those of slots are a list: below */
	bool large;                         /* one of them is: then their buffers are there */
	char ttl[24], terms[48], number[24], first[24], rules[RL_RULE_WORDS][24];
};

/* Seldom: short names need none. */
static __attribute__((noinline)) void free_sides(struct sides *sides)
{
	for (unsigned i = 0; i < RL_SIDE_SLOT; i++)
		rl_buffer_free(&sides->keys[i].large);
}

static __attribute__((noinline)) char *make_room(struct sides *sides, struct side_key *key, size_t size)
{
	for (unsigned i = 0; !sides->large && i < RL_SIDE_SLOT; i++)
		sides->keys[i].large = (struct rl_buffer){0};
	sides->large = true;
	return rl_buffer_reserve(&key->large, size) ? key->large.bytes : NULL;
}

/* Beside the lock's own, in the same slot of a cluster. NULL: out of memory. */
static struct rl_slice side_key(struct sides *sides, struct rl_slice name, enum rl_side side)
{
	struct side_key *key = &sides->keys[side];
	size_t size = name.size + RL_SIDE_MORE;
	char *at = size > SHORT ? make_room(sides, key, size) : key->room;
	return at != NULL ? rl_side_key(at, name, side) : (struct rl_slice){NULL, 0};
}

/* ---- as bytes ---- */

static struct rl_slice digits(char *room, uint64_t number)
{
	return (struct rl_slice){room, rl_command_digits(room, number)};
}

static struct rl_slice terms(char *room, const struct rl_request *r)
{
	size_t used = rl_command_digits(room, r->patience_ms);
	room[used++] = ' ';
	return (struct rl_slice){room, used + rl_command_digits(room + used, r->offered_ns)};
}

static struct rl_slice or_empty(struct rl_slice text)
{
	return text.size > 0 ? text : (struct rl_slice){"", 0};
}

/* The name whose queue the request uses. */
static struct rl_slice subject(const struct rl_request *r)
{
	return r->operation == RL_OP_ENTER_ALL ? r->line : r->name;
}

/* NULL: out of memory. */
static struct rl_slice part(const struct rl_request *r, enum rl_word_kind kind, struct sides *sides)
{
	switch (kind) {
	case RL_WORD_NAME:
		return subject(r);
	case RL_WORD_TOKEN:
		return or_empty(r->token);
	case RL_WORD_TTL:
		return digits(sides->ttl, r->ttl_ms);
	case RL_WORD_QUEUE:
		return side_key(sides, subject(r), RL_SIDE_QUEUE);
	case RL_WORD_OFFERS:
		return side_key(sides, subject(r), RL_SIDE_OFFERS);
	case RL_WORD_PLACE:
		return or_empty(r->place);
	case RL_WORD_PATIENCE:
		return digits(sides->terms, r->patience_ms);
	case RL_WORD_TERMS:
		return terms(sides->terms, r);
	case RL_WORD_BARS:
		return (struct rl_slice){r->quiet ? "2" : "1", r->bars};
	case RL_WORD_TURNS:
		return (struct rl_slice){"1", !r->own_value};
	case RL_WORD_QUIET:
		return (struct rl_slice){"1", r->quiet};
	case RL_WORD_NEXT:
		return or_empty(r->next);
	case RL_WORD_FENCE:
		return side_key(sides, r->name, RL_SIDE_FENCE);
	case RL_WORD_SETNX:
		return side_key(sides, r->name, RL_SIDE_SETNX);
	case RL_WORD_COUNT:
		return side_key(sides, r->name, RL_SIDE_COUNT);
	case RL_WORD_FIRST:
		return digits(sides->first, r->first);
	case RL_WORD_KEPT:
		return r->kept > 0 ? digits(sides->first, r->kept - 1) : (struct rl_slice){"", 0};
	case RL_WORD_PASS:
		return or_empty(r->pass);
	case RL_WORD_NUMBER:
		return digits(sides->number, r->number);
	case RL_WORD_FENCED:
		return (struct rl_slice){"1", r->fenced};
	case RL_WORD_TIMED:
		return (struct rl_slice){"1", r->timed};
	default:
		if (kind < RL_WORD_RECORD)
			return digits(sides->rules[kind - RL_WORD_RULE], r->rules[kind - RL_WORD_RULE]);
		return or_empty(r->record[kind - RL_WORD_RECORD]);
	}
}

/* ---- several names, or slots ---- */

/* The words of a request for several names or slots. */
struct several {
	struct rl_slice words[RL_OP_WORDS + 2 * REDLOCK_MAX_NAMES];
	unsigned count;
	struct rl_buffer sides; /* the keys beside the names, or of the slots, which words point to: one list */
	char keys[8];           /* how many keys there are */
};
_Static_assert(REDLOCK_MAX_SLOTS <= 2 * REDLOCK_MAX_NAMES, "there is room for both");

static void add_names(struct several *s, const struct rl_request *r)
{
	struct rl_slice name = r->name, also = r->also;
	do
		s->words[s->count++] = name;
	while (rl_names_next(&also, &name));
}

/* False: out of memory. */
static bool add_sides(struct several *s, const struct rl_request *r, enum rl_side side)
{
	struct rl_slice name = r->name, also = r->also;
	size_t most = name.size + also.size + (size_t)RL_SIDE_MORE * REDLOCK_MAX_NAMES;
	if (!rl_buffer_reserve(&s->sides, most)) /* at once: it must not move */
		return false;
	do {
		struct rl_slice key = rl_side_key(s->sides.bytes + s->sides.size, name, side);
		s->sides.size += key.size;
		s->words[s->count++] = key;
	} while (rl_names_next(&also, &name));
	return true;
}

struct rl_slice rl_request_slot(struct rl_buffer *buffer, struct rl_slice name, unsigned slot)
{
	if (slot == 0)
		return name;
	if (!rl_buffer_reserve(buffer, name.size + RL_SIDE_MORE))
		return (struct rl_slice){NULL, 0};
	char *at = buffer->bytes + buffer->size;
	size_t size = rl_side_key(at, name, RL_SIDE_SLOT).size;
	size += rl_command_digits(at + size, slot);
	buffer->size += size;
	return (struct rl_slice){at, size};
}

/* False: out of memory. */
static bool add_slots(struct several *s, const struct rl_request *r)
{
	unsigned slots = (unsigned)r->rules[RL_RULE_SLOTS];
	if (!rl_buffer_reserve(&s->sides, slots * (r->name.size + RL_SIDE_MORE))) /* at once: it must not move */
		return false;
	for (unsigned i = 1; i < slots; i++)
		s->words[s->count++] = rl_request_slot(&s->sides, r->name, i);
	return true;
}

/* The words for this one of the row. False: out of memory. */
static bool add(struct several *s, const struct rl_request *r, const struct rl_word *word,
                struct sides *sides)
{
	switch (word->kind) {
	case RL_WORD_NAMES:
		add_names(s, r);
		return true;
	case RL_WORD_QUEUES:
		return add_sides(s, r, RL_SIDE_QUEUE);
	case RL_WORD_FENCES:
		return !r->fenced || add_sides(s, r, RL_SIDE_FENCE);
	case RL_WORD_SLOTS:
		return add_slots(s, r);
	case RL_WORD_KEYS:
		s->words[s->count++] = (struct rl_slice){s->keys, 0};
		return true;
	default:
		s->words[s->count] = word->kind == RL_WORD_FIXED ? word->fixed : part(r, word->kind, sides);
		return s->words[s->count++].bytes != NULL;
	}
}

/* The words before the token are keys. */
static bool expand(struct several *s, const struct rl_request *r, const struct rl_word *word,
                   struct sides *sides)
{
	unsigned keys = 0;
	bool ok = true;
	for (; ok && word->kind != RL_WORD_END; word++) {
		if (word->kind == RL_WORD_KEYS)
			keys = s->count;
		if (word->kind == RL_WORD_TOKEN)
			s->words[keys].size = rl_command_digits(s->keys, s->count - keys - 1);
		ok = add(s, r, word, sides);
	}
	return ok;
}

static bool write_lists(struct rl_buffer *out, const struct rl_request *r, enum rl_form form)
{
	struct several s;
	struct sides sides;
	s.count = 0;
	sides.large = false;
	s.sides = (struct rl_buffer){0};
	bool ok =
	    expand(&s, r, rl_ops[r->operation].words[form], &sides) && rl_command_write(out, s.words, s.count);
	rl_buffer_free(&s.sides);
	if (sides.large)
		free_sides(&sides);
	return ok;
}

/* The end of a word in the request, including the line end after it. */
static const char *end_of(struct rl_slice word)
{
	return word.bytes + word.size + 2;
}

/* Reduces the words to those of the row: the first name, and the others as one word, replace the names, and
 * the keys beside them are dropped. A request that draws no number, as its last word says, has no counters.
 * Returns how the others are written. */
static struct rl_slice shrink(struct rl_slice *words, unsigned count, const struct rl_word *row)
{
	size_t length = 0, at = 0, queues = 0, fences = 0;
	for (; row[length].kind != RL_WORD_END; length++) {
		if (row[length].kind == RL_WORD_NAMES)
			at = length;
		queues += row[length].kind == RL_WORD_QUEUES;
		fences += row[length].kind == RL_WORD_FENCES;
	}
	bool counts = row[length - 1].kind != RL_WORD_FENCED || words[count - 1].size > 0;
	size_t lists = 1 + queues + fences, sent = counts ? lists : 1 + queues;
	size_t names = (count + lists - sent - length) / sent + 1;
	const char *from = end_of(words[at]), *to = end_of(words[at + names - 1]);
	memmove(words + at + lists, words + at + names * sent, (length - at - lists) * sizeof *words);
	return (struct rl_slice){from, (size_t)(to - from)};
}

/* As shrink(), for one name: drops its list, of slots after the first one, or of the counter. Returns how
 * many slots there are; 0: it is no list of slots. */
static unsigned shrink_beside(struct rl_slice *words, unsigned count, const struct rl_word *row)
{
	unsigned length = 0, at = 0;
	for (; row[length].kind != RL_WORD_END; length++)
		if (row[length].kind == RL_WORD_SLOTS || row[length].kind == RL_WORD_FENCES)
			at = length;
	unsigned others = count + 1 - length;
	memmove(words + at + 1, words + at + others, (length - at - 1) * sizeof *words);
	words[at] = (struct rl_slice){"", 0};
	return row[at].kind == RL_WORD_SLOTS ? others + 1 : 0;
}

static bool has_names(const struct rl_word *row)
{
	while (row->kind != RL_WORD_NAMES && row->kind != RL_WORD_END)
		row++;
	return row->kind == RL_WORD_NAMES;
}

/* ---- reading and writing ---- */

bool rl_request_write(struct rl_buffer *out, const struct rl_request *r, enum rl_form form)
{
	if ((rl_ops[r->operation].lists >> form & 1) != 0)
		return write_lists(out, r, form);
	struct sides sides;
	struct rl_slice words[RL_OP_WORDS];
	const struct rl_word *word = rl_ops[r->operation].words[form];
	bool ok = true;
	unsigned count = 0;
	sides.large = false;
	for (; ok && word->kind != RL_WORD_END; word++) {
		words[count] = word->kind == RL_WORD_FIXED ? word->fixed : part(r, word->kind, &sides);
		ok = words[count++].bytes != NULL;
	}
	ok = ok && rl_command_write(out, words, count);
	if (sides.large)
		free_sides(&sides);
	return ok;
}

static uint64_t number_of(struct rl_slice digits)
{
	uint64_t number = 0;
	for (size_t i = 0; i < digits.size; i++)
		number = number * 10 + (uint64_t)(digits.bytes[i] - '0');
	return number;
}

static void read_terms(struct rl_slice text, struct rl_request *r)
{
	const char *space = memchr(text.bytes, ' ', text.size);
	size_t size = space != NULL ? (size_t)(space - text.bytes) : text.size;
	r->patience_ms = number_of((struct rl_slice){text.bytes, size});
	if (space != NULL)
		r->offered_ns = number_of((struct rl_slice){space + 1, text.size - size - 1});
}

void rl_request_read(struct rl_slice bytes, enum rl_form form, struct rl_request *r)
{
	struct rl_slice words[RL_OP_WORDS + 2 * REDLOCK_MAX_NAMES], parts[RL_WORD_FIXED];
	const struct rl_word *row = rl_ops[r->operation].words[form];
	for (unsigned i = 0; i < RL_WORD_FIXED; i++)
		parts[i] = (struct rl_slice){"", 0};
	unsigned count = rl_command_read(bytes, words);
	bool lists = (rl_ops[r->operation].lists >> form & 1) != 0, names = lists && has_names(row);
	r->also = names ? shrink(words, count, row) : (struct rl_slice){NULL, 0};
	unsigned slots = lists && !names ? shrink_beside(words, count, row) : 0;
	for (unsigned i = 0; row[i].kind != RL_WORD_END; i++)
		if (row[i].kind < RL_WORD_FIXED)
			parts[row[i].kind] = words[i];
	r->name = parts[parts[RL_WORD_NAMES].size > 0 ? RL_WORD_NAMES : RL_WORD_NAME];
	r->line = parts[RL_WORD_NAME];
	r->token = parts[RL_WORD_TOKEN];
	r->place = parts[RL_WORD_PLACE];
	r->ttl_ms = number_of(parts[RL_WORD_TTL]);
	r->next = parts[RL_WORD_NEXT];
	r->bars = parts[RL_WORD_BARS].size > 0;
	r->quiet = rl_slice_same(parts[RL_WORD_BARS], rl_slice_of("2")) || parts[RL_WORD_QUIET].size > 0;
	r->first = (unsigned)number_of(parts[RL_WORD_FIRST]);
	r->kept = parts[RL_WORD_KEPT].size > 0 ? (unsigned)number_of(parts[RL_WORD_KEPT]) + 1 : 0;
	r->patience_ms = number_of(parts[RL_WORD_PATIENCE]);
	r->number = number_of(parts[RL_WORD_NUMBER]);
	for (unsigned i = 0; i < RL_RULE_WORDS; i++)
		r->rules[i] = number_of(parts[RL_WORD_RULE + i]);
	if (slots > 0) /* not all of these rows have the number */
		r->rules[RL_RULE_SLOTS] = slots;
	r->fenced = parts[RL_WORD_FENCED].size > 0;
	r->timed = parts[RL_WORD_TIMED].size > 0;
	if (parts[RL_WORD_TERMS].size > 0)
		read_terms(parts[RL_WORD_TERMS], r);
}

/* A request with lists has another index, but the token comes after all keys. */
struct rl_slice rl_request_word(struct rl_slice bytes, unsigned operation, enum rl_form form,
                                enum rl_word_kind kind)
{
	enum { KEYS = 2 };
	const struct rl_word *row = rl_ops[operation].words[form];
	unsigned index = 0, token = 0;
	while (row[index].kind != kind)
		index++;
	if ((rl_ops[operation].lists >> form & 1) == 0)
		return rl_command_word(bytes, index);
	while (row[token].kind != RL_WORD_TOKEN)
		token++;
	struct rl_slice keys = rl_command_word(bytes, KEYS);
	return rl_command_word(bytes, KEYS + 1 + (unsigned)number_of(keys) + index - token);
}

/* ---- the bytes for all nodes ---- */

const struct rl_buffer *rl_request_bytes(struct rl_wire *wire, const struct rl_request *r, enum rl_form form)
{
	struct rl_buffer *bytes = &wire->forms[form];
	if ((wire->made >> form & 1) != 0)
		return bytes;
	bytes->size = 0;
	if (!rl_request_write(bytes, r, form))
		return NULL;
	wire->made |= RL_FORM_BIT(form);
	return bytes;
}

/* False: the new pass has another size. */
static bool replace_pass(struct rl_buffer *bytes, const struct rl_request *r, enum rl_form form)
{
	struct rl_slice old =
	    rl_request_word((struct rl_slice){bytes->bytes, bytes->size}, r->operation, form, RL_WORD_PASS);
	if (old.size != r->pass.size)
		return false;
	if (old.size > 0) /* none yet: both are null */
		memcpy(bytes->bytes + (old.bytes - bytes->bytes), r->pass.bytes, r->pass.size);
	return true;
}

void rl_request_pass(struct rl_wire *wire, const struct rl_request *r)
{
	bool same = wire->operation == r->operation && wire->timed == r->timed;
	for (enum rl_form form = RL_FORM_GUARD_SHA; form <= RL_FORM_GUARD_TEXT; form++)
		if (!same || ((wire->made >> form & 1) != 0 && !replace_pass(&wire->forms[form], r, form)))
			wire->made &= ~RL_FORM_BIT(form);
	wire->operation = r->operation;
	wire->timed = r->timed;
}

void rl_request_free(struct rl_wire *wire)
{
	for (unsigned i = 0; i < RL_FORM_WATCH; i++)
		rl_buffer_free(&wire->forms[i]);
	wire->made = 0;
}
