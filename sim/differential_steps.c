/* SPDX-License-Identifier: MIT */
/* The random commands of the differential test. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "asked.h"
#include "differential.h"
#include "expected.h"

/* ---- words ---- */

static void add_bytes(struct step *s, const char *at, size_t size)
{
	s->words[s->count++] = (struct bytes){at, size};
}

static void add(struct step *s, const char *word)
{
	char *text = s->text[s->count];
	snprintf(text, STEP_WORD_SIZE, "%s", word);
	add_bytes(s, text, strlen(text));
}

static void add_all(struct step *s, const char *words)
{
	char word[STEP_WORD_SIZE];
	for (int size; sscanf(words, "%47s%n", word, &size) == 1; words += size)
		add(s, word);
}

static void add_number(struct step *s, int64_t number)
{
	char text[STEP_WORD_SIZE];
	snprintf(text, sizeof text, "%" PRId64, number);
	add(s, text);
}

static const char *pick(struct prng *p, const char *const *words, size_t count)
{
	return words[prng_below(p, count)];
}
#define PICK(p, ...)                                                                                         \
	pick(p, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void add_key(struct step *s, struct prng *p)
{
	s->key = s->count;
	add(s, PICK(p, "one", "two", "three", "a key with spaces\r\n"));
}

/* Writes the queue of one of the names: waiters that were woken, or could not be told, until now or later;
 * and text that is not an entry at all. */
static void add_queue(struct step *s, struct prng *p)
{
	char text[STEP_WORD_SIZE] = "", until[24];
	struct timespec now;
	timespec_get(&now, TIME_UTC);
	int64_t now_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
	static const int64_t after[] = {-3, -1, 1, 40, 30000, 60000, 70000};
	for (uint64_t i = prng_between(p, 1, 4), first = i; i > 0; i--) {
		size_t used = strlen(text);
		snprintf(until, sizeof until, "%s%" PRId64, prng_chance(p, 250) ? "0" : "",
		         now_ms + after[prng_below(p, sizeof after / sizeof after[0])]);
		bool woken = i == first && prng_chance(p, 500);
		snprintf(text + used, sizeof text - used, "%s%-23s%s%s;", PICK(p, "1w", "1w", "1w", "1r", "2w", "1h"),
		         PICK(p, "ab.1", "ab.12", "cd.3", "0123456789abcdef.4", "ef.5", "xy.6", "ab.",
		              "0123456789abcdef.456789"),
		         prng_chance(p, 900) ? " " : "", woken ? until : "");
	}
	if (prng_chance(p, 50))
		text[strlen(text) / 2] = '\0';
	add(s, text);
}

/* A queue is a key like others. */
static bool add_any_key(struct step *s, struct prng *p)
{
	bool queue = prng_chance(p, 150);
	if (queue) {
		s->key = s->count;
		add(s, PICK(p, "{one}:redlock:queue", "{two}:redlock:queue", "{three}:redlock:queue"));
	} else {
		add_key(s, p);
	}
	return queue;
}

static void add_value(struct step *s, struct prng *p)
{
	add(s, PICK(p, "value-1", "value-2", "value-3"));
}

/* A time that is past, or not yet: by seconds, or by the one that a short lock has. */
static void add_time(struct step *s, struct prng *p)
{
	static const int after[] = {-50, -1, 1, 2, 3, 50};
	if (prng_chance(p, 200))
		add(s, PICK(p, "1000000000.5", "12.", "1e3", " 12", "-5", "0x10", "99999999999999999999"));
	else
		add_number(s, (int64_t)time(NULL) + after[prng_below(p, sizeof after / sizeof after[0])]);
}

/* Most keys die soon, some live for long. */
static void add_ttl(struct step *s, struct prng *p)
{
	add_number(s,
	           prng_chance(p, 800) ? (int64_t)prng_between(p, 1, 12) : (int64_t)prng_between(p, 100, 90000));
}

/* ---- commands ---- */

static void draw_set(struct step *s, struct prng *p)
{
	uint64_t form = prng_below(p, 20);
	add(s, "SET");
	bool queue = add_any_key(s, p);
	if (form == 0)
		return; /* too few words */
	bool timed = prng_chance(p, 200);
	if (queue)
		add_queue(s, p);
	else if (timed)
		add_time(s, p);
	else
		add_value(s, p);
	if (form == 1 || (timed && form > 4))
		return; /* for ever */
	if (form == 2) {
		add(s, PICK(p, "NX", "XX", "XY", "PX"));
		return;
	}
	if (form > 3)
		add(s, "NX");
	add(s, "PX");
	if (form == 4)
		add(s, PICK(p, "0", "-5", "abc", "", "01", "99999999999999999999"));
	else
		add_ttl(s, p);
}

static void draw_pexpire(struct step *s, struct prng *p)
{
	add(s, "PEXPIRE");
	add_any_key(s, p);
	if (prng_chance(p, 100))
		add(s, PICK(p, "0", "-1", "x", "-0", "+1"));
	else
		add_ttl(s, p);
}

static void draw_of_key(struct step *s, struct prng *p)
{
	add(s, PICK(p, "GET", "PTTL", "TYPE", "DEL"));
	s->tells_life = s->text[0][0] == 'P';
	if (!prng_chance(p, 980)) {
		s->count = s->text[0][0] == 'D' ? 1 : s->count; /* DEL takes many keys: the model does not */
		return;
	}
	add_any_key(s, p);
}

static void draw_of_string(struct step *s, struct prng *p)
{
	bool range = prng_chance(p, 700);
	add(s, range ? "GETRANGE" : "STRLEN");
	add_key(s, p);
	if (range) {
		add(s, PICK(p, "0", "0", "3", "9"));
		add(s, PICK(p, "2", "6", "7", "1023"));
	}
}

static void draw_watch(struct step *s, struct prng *p)
{
	add(s, "WATCH");
	for (uint64_t i = prng_below(p, 3); i > 0; i--)
		add_key(s, p);
	s->key = 0; /* several: nothing is asked of them */
}

static void draw_other_type(struct step *s, struct prng *p)
{
	bool hash = prng_chance(p, 500);
	add(s, hash ? "HSET" : "RPUSH");
	add_any_key(s, p);
	if (hash)
		add(s, "field");
	add_value(s, p);
}

/* Draws a command that scripts call, as a session may send it. Its key follows the first word. */
static void draw_of_scripts(struct step *s, struct prng *p)
{
	static const char *const keys[] = {"number", "hash", "set"};
	const char *words =
	    PICK(p, "HSET a 1", "HSET a 2 b 3 a 4", "HSET a 1 b", "HGET a", "HMGET a b a", "HDEL a", "HDEL a b c",
	         "HLEN", "HSCAN 0 COUNT 1", "MGET one two", "INCRBY 7", "INCRBY x", "ZADD 5 a", "ZADD 7 b",
	         "ZADD 9 a", "ZADD x a", "ZREM a", "ZREM b", "ZSCORE a", "ZCOUNT 5 +inf", "ZCOUNT (5 9",
	         "ZCOUNT x 9", "ZREVRANGE 0 -1", "ZREVRANGE 0 0 withscores", "ZREVRANGE 1 7", "ZREVRANGE -1 -1",
	         "ZREVRANGEBYSCORE +inf 6 withscores limit 0 1", "ZREVRANGEBYSCORE (9 -inf limit 0 24",
	         "ZREMRANGEBYSCORE -inf (6", "PEXPIREAT 1", "PEXPIREAT 99999999999999", "PEXPIREAT x", "SET 41",
	         "DEL");
	const char *own = *words == 'H' ? keys[1] : *words == 'Z' ? keys[2] : keys[0];
	char first[STEP_WORD_SIZE];
	sscanf(words, "%47s", first);
	add(s, first);
	s->key = s->count;
	add(s, prng_chance(p, 800) ? own : pick(p, keys, 3));
	add_all(s, words + strlen(first));
}

/* Writes a pass that admits to the node set, or one that does not. */
static void add_pass(struct step *s, struct prng *p, const char *run_id)
{
	char *text = s->text[s->count];
	snprintf(text, STEP_WORD_SIZE, "%s:%s", prng_chance(p, 900) ? run_id : PICK(p, "-", "0123", ""),
	         prng_chance(p, 900) ? "c1" : "c2");
	add_bytes(s, text, strlen(text));
}

/* A word of the record. Quarantines that are begun here end long after the test; those that were begun
 * before are over, or are not of this server. */
static void add_record_word(struct step *s, struct prng *p, enum rl_record_word word)
{
	static const char *const words[RL_RECORD_WORDS][3] = {
	    [RL_RECORD_ID] = {"q1", "q1", "q2"},     [RL_RECORD_MEMBERS] = {"a b c", "a b c", "a b"},
	    [RL_RECORD_QUORUM] = {"2", "2", "3"},    [RL_RECORD_TTL] = {"2000000", "2000000", ""},
	    [RL_RECORD_SET] = {"s1", "s1", "s1"},    [RL_RECORD_STEP] = {"2", "2", "1"},
	    [RL_RECORD_CONFIG] = {"c1", "c1", "c2"}, [RL_RECORD_FLOOR] = {"", "50", "9007199254000000"},
	    [RL_RECORD_MEMBER] = {"a", "a", "b"},    [RL_RECORD_DONE] = {"", "c1", "c2"},
	};
	add(s, words[word][prng_below(p, 3)]);
}

static void add_rule_or_record_word(struct step *s, struct prng *p, enum rl_word_kind kind)
{
	if (kind < RL_WORD_RECORD)
		add_number(s, (int64_t)prng_below(p, 4));
	else
		add_record_word(s, p, (enum rl_record_word)(kind - RL_WORD_RECORD));
}

static void draw_record(struct step *s, struct prng *p, const char *run_id)
{
	static const char *const fields[][4] = {
	    {"version", "1", "1", "2"},
	    {"mode", "guard", "removed", "plain"},
	    {"members", "abc", "a", "b"},
	    {"quorum", "2", "2", "3"},
	    {"prev_quorum", "2", "2", "3"},
	    {"step", "1", "2", "3"},
	    {"done", "c1", "c1", "c2"},
	    {"ttl", "1000000", "", "x"},
	    {"floor", "1", "40", "x7"},
	    {"gmax", "60", "2000", "9007199254740992"},
	    {"quntil", "1", "1", "99999999999999"},
	    {"qid", "q1", "q1", "q2"},
	    {"qrid", "0123", "0123", "-"},
	};
	s->in_multi = false; /* a watched key that ends may stop EXEC on one side alone, and the record stays */
	if (prng_chance(p, 20)) {
		add_all(s, "DEL redlock:set");
		return;
	}
	add_all(s, "HSET redlock:set");
	if (prng_chance(p, 150)) { /* towards one that can count */
		add_all(s, PICK(p, "floor 40", "gmax 60"));
	} else if (prng_chance(p, 500)) {
		/* towards a quarantine of this server that is over: it may be admitted */
		const char *word = PICK(p, "mode guard", "step 1", "quntil 1", "qid q1", "qrid");
		add_all(s, word);
		if (s->count == 3)
			add(s, run_id);
	} else if (prng_chance(p, 300)) {
		add(s, PICK(p, "pass", "pass", "prev"));
		add_pass(s, p, run_id);
	} else if (prng_chance(p, 200)) {
		add(s, "qrid");
		add(s, run_id);
	} else {
		const char *const *field = fields[prng_below(p, sizeof fields / sizeof fields[0])];
		add(s, field[0]);
		add(s, field[1 + prng_below(p, 3)]);
	}
}

/* Writes the key beside the name of the same step. */
static void add_side_key(struct step *s, const char *what)
{
	struct buffer key = {0};
	expected_side(s->words[s->key], what, &key);
	snprintf(s->text[s->count], STEP_WORD_SIZE, "%.*s", (int)key.length, buffer_front(&key));
	add_bytes(s, s->text[s->count], key.length);
	buffer_free(&key);
}

/* Two names, and their queues after them. A waiter for one of them has said for which. */
static void add_names(struct step *s, struct prng *p)
{
	bool order = prng_chance(p, 800);
	if (s->queue != 0)
		order = !word_is(s->words[s->key], "three");
	s->other = s->count + 1;
	s->key = s->count;
	add(s, order ? "one" : "two");
	add(s, order ? "two" : "three");
}

static void add_queues(struct step *s)
{
	unsigned first = s->key;
	s->queue = s->count;
	add_side_key(s, "queue");
	s->key = s->other;
	s->other_queue = s->count;
	add_side_key(s, "queue");
	s->key = first;
}

/* The counters of two names. */
static void add_fences(struct step *s)
{
	unsigned first = s->key;
	s->fence = s->count;
	add_side_key(s, "fence");
	s->key = s->other;
	s->other_fence = s->count;
	add_side_key(s, "fence");
	s->key = first;
}

static bool is_pair(enum rl_word_kind kind)
{
	return kind == RL_WORD_NAMES || kind == RL_WORD_QUEUES || kind == RL_WORD_FENCES;
}

static void add_pair(struct step *s, struct prng *p, enum rl_word_kind kind)
{
	if (kind == RL_WORD_NAMES)
		add_names(s, p);
	else if (kind == RL_WORD_QUEUES)
		add_queues(s);
	else if (s->other != 0)
		add_fences(s);
	else
		s->fence = s->count, add_side_key(s, "fence");
}

/* Counters are keys of a request that draws a number, or raises it: as many as it has names. */
static int64_t keys_of(const struct rl_op *op, const struct rl_word *word, unsigned slots, bool fenced)
{
	int64_t keys = 0;
	for (word++; word->kind != RL_WORD_TOKEN; word++)
		if (word->kind != RL_WORD_FENCES || fenced)
			keys +=
			    word->kind == RL_WORD_SLOTS ? (int64_t)slots - 1 : 1 + (op->several && is_pair(word->kind));
	return keys;
}

/* The slots after the first one. */
static void add_slots(struct step *s, unsigned slots)
{
	s->slots = s->count;
	s->slot_count = slots - 1;
	for (unsigned i = 1; i < slots; i++) {
		char what[16];
		snprintf(what, sizeof what, "slot:%u", i);
		add_side_key(s, what);
	}
}

/* The keys that some rows look for are made only by those rows; and rows by time have one form of many. */
static const struct rl_op *draw_op(struct prng *p)
{
	enum {
		ALL = RL_OP_RELEASE_ALL - RL_OP_CLAIM_ALL + 1,
		BY_TIME = RL_OP_SETNX_QUERY - RL_OP_SETNX + 1,
		OF_SLOTS = RL_OP_SLOT_RELEASE - RL_OP_SLOT + 1,
		SHARED = RL_OP_UPGRADE - RL_OP_SHARE + 1
	};
	uint64_t number = prng_below(p, 1000);
	return number < 120   ? &rl_ops[RL_OP_CLAIM_ALL + prng_below(p, ALL)]
	       : number < 220 ? &rl_ops[RL_OP_SETNX + prng_below(p, BY_TIME)]
	       : number < 290 ? &rl_ops[RL_OP_SLOT + prng_below(p, OF_SLOTS)]
	       : number < 360 ? &rl_ops[RL_OP_SHARE + prng_below(p, SHARED)]
	       : number < 440 ? &rl_ops[RL_OP_RAISE] /* these seldom find what they need */
	       : number < 480 ? &rl_ops[RL_OP_UPGRADE]
	                      : &rl_ops[prng_below(p, RL_OP_SLOT)];
}

/* Nearly always two or three; 0: it is no row of theirs. */
static unsigned draw_slots(const struct rl_op *op, struct prng *p)
{
	bool is = op >= &rl_ops[RL_OP_SLOT] && op <= &rl_ops[RL_OP_SLOT_RELEASE];
	return is ? 2 + (unsigned)prng_below(p, 2) - prng_chance(p, 100) : 0;
}

/* Words that only a row of slots has, or has in another form. */
static bool draw_slot_word(struct step *s, struct prng *p, enum rl_word_kind kind, unsigned slots)
{
	if (slots == 0)
		return false;
	if (kind == RL_WORD_SLOTS)
		add_slots(s, slots);
	else if (kind == RL_WORD_COUNT)
		s->count_key = s->count, add_side_key(s, "slots");
	else if (kind == RL_WORD_RULE + RL_RULE_SLOTS)
		add_number(s, slots);
	else if (kind == RL_WORD_FIRST)
		add_number(s, (int64_t)prng_below(p, slots));
	else if (kind == RL_WORD_KEPT)
		add(s, PICK(p, "", "", "0", "1"));
	else if (kind == RL_WORD_QUIET)
		add(s, PICK(p, "", "", "1"));
	else if (kind == RL_WORD_TOKEN)
		add(s, PICK(p, "value-1", "value-2", "value-3", "value-4"));
	else if (kind == RL_WORD_PLACE)
		add(s, PICK(p, "", "ab.07", "ab.0012", "cd.03", "cd.04", "0123456789abcdef.05"));
	else
		return false;
	return true;
}

static bool is_shared(const struct rl_op *op)
{
	return op >= &rl_ops[RL_OP_SHARE] && op <= &rl_ops[RL_OP_UPGRADE];
}

/* Most of them are of one name, and of few holders. */
static bool add_shared(struct step *s, struct prng *p, enum rl_word_kind kind)
{
	bool name = kind == RL_WORD_NAME, token = kind == RL_WORD_TOKEN;
	if ((!name && !token) || !prng_chance(p, 900))
		return false;
	s->key = name ? s->count : s->key;
	add(s, name ? "four" : PICK(p, "value-1", "value-2", "value-3"));
	return true;
}

static void add_fixed(struct step *s, struct rl_slice fixed)
{
	s->record = strcmp(fixed.bytes, "redlock:set") == 0 ? s->count : s->record;
	if (fixed.size < STEP_WORD_SIZE)
		add(s, fixed.bytes);
	else
		add_bytes(s, fixed.bytes, fixed.size);
}

/* Any row of the library's table in any of its forms; now and then with the digest of no script. */
static void draw_row(struct step *s, struct prng *p, const char *run_id)
{
	const struct rl_op *op;
	uint64_t form;
	do {
		op = draw_op(p);
		form = prng_below(p, RL_FORM_WATCH);
	} while (op->words[form] == NULL);
	bool by_time = op >= &rl_ops[RL_OP_SETNX] && op <= &rl_ops[RL_OP_SETNX_QUERY];
	unsigned slots = draw_slots(op, p);
	bool fenced = prng_chance(p, 500) || op == &rl_ops[RL_OP_RAISE];
	for (const struct rl_word *word = op->words[form]; word->kind != RL_WORD_END; word++) {
		if (is_shared(op) && add_shared(s, p, word->kind))
			continue;
		if (word->kind == RL_WORD_NAME && op->several && slots == 0)
			s->key = s->count, add(s, PICK(p, "one", "two", "two", "three"));
		else if (word->kind == RL_WORD_NAME && (by_time || slots > 0) && prng_chance(p, 700))
			s->key = s->count, add(s, "three"); /* they have to meet */
		else if (word->kind == RL_WORD_NAME)
			add_key(s, p);
		else if (word->kind == RL_WORD_KEYS)
			add_number(s, keys_of(op, word, slots, fenced));
		else if (draw_slot_word(s, p, word->kind, slots) || (word->kind == RL_WORD_FENCES && !fenced))
			continue;
		else if (is_pair(word->kind))
			add_pair(s, p, word->kind);
		else if (word->kind == RL_WORD_TOKEN && (op->several || s->setnx != 0) && prng_chance(p, 800))
			add(s, "value-1"); /* or two keys would seldom have one */
		else if (word->kind == RL_WORD_TOKEN)
			add_value(s, p);
		else if (word->kind == RL_WORD_TTL)
			add_ttl(s, p);
		else if (word->kind == RL_WORD_QUEUE)
			s->queue = s->count, add_side_key(s, "queue");
		else if (word->kind == RL_WORD_OFFERS)
			s->offers = s->count, add_side_key(s, "offers");
		else if (word->kind == RL_WORD_TERMS)
			add(s, PICK(p, "1 0", "5 7", "250 123456789"));
		else if (word->kind == RL_WORD_NEXT)
			add(s, PICK(p, "", "ab.1 7 60000", "ab.12 7 0 t1", "cd.3 8 9000 value-2", "ef.5 9 40 t t",
			            "0123456789abcdef.4 18446744073709551615 9 t"));
		else if (word->kind == RL_WORD_PLACE)
			add(s, PICK(p, "", "ab.1", "ab.12", "cd.3", "0123456789abcdef.4"));
		else if (word->kind == RL_WORD_PATIENCE)
			add(s, PICK(p, "1", "5", "250"));
		else if (word->kind == RL_WORD_SETNX)
			s->setnx = s->count, add_side_key(s, "setnx");
		else if (word->kind == RL_WORD_FENCE)
			s->fence = s->count, add_side_key(s, "fence");
		else if (word->kind == RL_WORD_PASS)
			add_pass(s, p, run_id);
		else if (word->kind == RL_WORD_NUMBER)
			add(s, PICK(p, "7", "50", "9007199254000000"));
		else if (word->kind == RL_WORD_FENCED || word->kind == RL_WORD_TIMED || word->kind == RL_WORD_BARS ||
		         word->kind == RL_WORD_QUIET || word->kind == RL_WORD_TURNS)
			add(s, word->kind == RL_WORD_FENCED ? &"1"[!fenced] : PICK(p, "", "1"));
		else if (word->kind >= RL_WORD_RULE && word->kind < RL_WORD_FIXED)
			add_rule_or_record_word(s, p, word->kind);
		else
			add_fixed(s, word->fixed);
	}
	if ((RL_FORMS_SHA >> form & 1) != 0 && prng_chance(p, 50))
		s->words[1] = text_bytes(PICK(p, "0123456789012345678901234567890123456789", "short"));
	s->in_multi &= ((RL_FORMS_SHA | RL_FORMS_TEXT) >> form & 1) == 0;
	s->remembers = op == &rl_ops[RL_OP_MEET];
	if (op != &rl_ops[RL_OP_MEET] && op != &rl_ops[RL_OP_ADMIT])
		s->record = 0;
	s->shared = is_shared(op) ? s->key : 0;
	s->tells_life = s->shared != 0 || op->change == RL_CHANGE_LOOK || op->several ||
	                op == &rl_ops[RL_OP_ENTER] || (RL_FORMS_GUARD >> form & 1) != 0 ||
	                op == &rl_ops[RL_OP_MEET] || op == &rl_ops[RL_OP_ADMIT];
}

static void draw_of_connection(struct step *s, struct prng *p, const uint64_t ids[STEP_IDS])
{
	static const char *const plain[] = {
	    "PING",        "EXEC",        "PING hello",  "INFO server", "SCRIPT FLUSH", "SCRIPT X",
	    "CLIENT ID",   "CLIENT ID x", "CLIENT NOPE", "CLIENT",      "CLIENT KILL",  "SELECT 0",
	    "SELECT 1",    "SELECT 1",    "SELECT 16",   "SELECT -1",   "SELECT abc",   "AUTH x",
	    "AUTH secret", "FOO",         "FOO bar",     "SELECT",      "AUTH u x",     "AUTH default secret"};
	uint64_t form = prng_below(p, sizeof plain / sizeof plain[0] + 3);
	if (form < sizeof plain / sizeof plain[0]) {
		add_all(s, plain[form]);
		return;
	}
	if (prng_chance(p, 100)) {
		add_all(s, "COMMAND INFO delex delifeq");
		return;
	}
	add_all(s, "CLIENT KILL ID");
	if (prng_chance(p, 200))
		add(s, PICK(p, "0", "-1", "abc"));
	else
		add_number(s, (int64_t)ids[prng_below(p, STEP_IDS)]);
}

void step_draw(struct step *s, struct prng *p, const char *run_id, const uint64_t ids[STEP_IDS])
{
	uint64_t kind = prng_below(p, 100);
	s->count = s->key = s->other = s->queue = s->offers = s->fence = s->record = s->setnx = s->shared = 0;
	s->other_queue = s->other_fence = s->count_key = s->slots = s->slot_count = 0;
	s->tells_life = s->remembers = false;
	s->in_multi =
	    prng_chance(p, 250) && (kind < 20 || (kind >= 40 && kind < 70) || (kind >= 75 && kind < 88));
	if (kind < 20)
		draw_set(s, p);
	else if (kind < 46)
		draw_row(s, p, run_id);
	else if (kind < 52)
		draw_record(s, p, run_id);
	else if (kind < 66)
		draw_of_key(s, p);
	else if (kind < 70)
		draw_of_string(s, p);
	else if (kind < 75)
		draw_watch(s, p);
	else if (kind < 82)
		draw_pexpire(s, p);
	else if (kind < 84)
		draw_other_type(s, p);
	else if (kind < 88)
		draw_of_scripts(s, p);
	else
		draw_of_connection(s, p, ids);
	for (char *at = s->text[0]; prng_chance(p, 100) && *at != '\0'; at++)
		*at = (char)tolower((unsigned char)*at);
}

bool step_is(const struct step *s, const char *command)
{
	return word_is(s->words[0], command);
}

void step_print(const struct step *s)
{
	for (unsigned i = 0; i < s->count; i++)
		printf(" '%.*s'", (int)s->words[i].size, s->words[i].at);
	printf("\n");
}
