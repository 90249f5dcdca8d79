/* SPDX-License-Identifier: MIT */
/* The exact bytes of every operation in every form, and what a real server makes of them. */
#include "proto/request.h"

#include "expected.h"

#include "fixture.h"
#include "proto/command.h"
#include "proto/names.h"
#include "proto/side.h"
#include "redis.h"
#include "scripts.h"
#include "unit.h"

static struct rl_slice slice(const char *text)
{
	return (struct rl_slice){text, strlen(text)};
}

static struct rl_request request_of(enum redlock_operation operation)
{
	static struct rl_slice record[RL_RECORD_WORDS];
	for (unsigned i = 0; i < RL_RECORD_WORDS; i++)
		record[i] = slice("a\0b\0c\0d\0e\0f\0g\0h\0i\0j" + 2 * i);
	return (struct rl_request){
	    .operation = operation,
	    .name = slice("job"),
	    .also = slice("$7\r\n{other}\r\n"),
	    .line = slice("{other}"),
	    .token = slice("0123abc|me"),
	    .ttl_ms = 29700,
	    .place = slice("0123456789abcdef.7"),
	    .patience_ms = 250,
	    .offered_ns = 1234567890123456789,
	    .next = slice("ab.7 5 9000 t0|x"),
	    .pass = slice("0123:4567"),
	    .fenced = true,
	    .rules[RL_RULE_SLOTS] = 3,
	    .first = 2,
	    .kept = 1,
	    .quiet = true,
	    .record = record,
	};
}

/* RESP written out for one of them. */
TEST(set)
{
	static const char want[] = "*6\r\n$3\r\nSET\r\n$3\r\njob\r\n$10\r\n0123abc|me\r\n$2\r\nNX\r\n$2\r\nPX\r\n"
	                           "$5\r\n29700\r\n";
	struct rl_wire wire = {0};
	struct rl_request request = request_of(REDLOCK_OP_ACQUIRE);
	const struct rl_buffer *bytes = rl_request_bytes(&wire, &request, RL_FORM_PLAIN);
	assert_non_null(bytes);
	assert_int_equal(bytes->size, strlen(want));
	assert_memory_equal(bytes->bytes, want, bytes->size);
	rl_request_free(&wire);
}

/* The unlock script that every Redlock client runs, as redis.io has it. */
TEST(release_is_the_classic_script)
{
	assert_string_equal(rl_scripts[RL_SCRIPT_RELEASE].text,
	                    "if redis.call(\"get\", KEYS[1]) == ARGV[1] then return redis.call(\"del\", KEYS[1]) "
	                    "else return 0 end");
}

TEST(scripts_of_operations)
{
	assert_int_equal(rl_ops[REDLOCK_OP_ACQUIRE].script, RL_SCRIPT_COUNT);
	assert_int_equal(rl_ops[REDLOCK_OP_NONE].script, RL_SCRIPT_COUNT);
	assert_int_equal(rl_ops[REDLOCK_OP_RELEASE].script, RL_SCRIPT_RELEASE);
	assert_int_equal(rl_ops[REDLOCK_OP_EXTEND].script, RL_SCRIPT_EXTEND);
	assert_int_equal(rl_ops[REDLOCK_OP_QUERY].script, RL_SCRIPT_QUERY);
	for (unsigned i = 0; i < RL_SCRIPT_COUNT; i++)
		assert_int_equal(rl_scripts[i].length, strlen(rl_scripts[i].text));
}

static bool has_word(const struct rl_buffer *bytes, const struct rl_request *r, enum rl_form form,
                     enum rl_word_kind kind, struct rl_slice want)
{
	return rl_slice_same(
	    rl_request_word((struct rl_slice){bytes->bytes, bytes->size}, r->operation, form, kind), want);
}

/* The bytes are the expected words, and what is read from them is what was written. */
static void expect_form(const struct rl_request *want, enum rl_form form, const struct words *words)
{
	struct rl_wire wire = {0};
	struct buffer bytes = {0};
	struct rl_request got = {.operation = want->operation};
	const char *parts = expected[want->operation].words[form];
	const struct rl_buffer *written = rl_request_bytes(&wire, want, form);
	resp_write(&bytes, words->at, words->count);
	assert_int_equal(written->size, bytes.length);
	assert_memory_equal(written->bytes, buffer_front(&bytes), bytes.length);
	rl_request_read((struct rl_slice){written->bytes, written->size}, form, &got);
	assert_true(strstr(parts, "NAME") == NULL || rl_slice_same(got.name, want->name));
	assert_true(strstr(parts, "NAMES") == NULL || rl_slice_same(got.also, want->also));
	assert_true(strstr(parts, "LINE") == NULL || rl_slice_same(got.line, want->line));
	assert_true(strstr(parts, "TOKEN") == NULL || rl_slice_same(got.token, want->token));
	assert_true(strstr(parts, "TTL") == NULL || got.ttl_ms == want->ttl_ms);
	assert_true(strstr(parts, "PLACE") == NULL || rl_slice_same(got.place, want->place));
	assert_true(strstr(parts, "PATIENCE") == NULL || got.patience_ms == want->patience_ms);
	assert_true(strstr(parts, "TERMS") == NULL || got.offered_ns == want->offered_ns);
	assert_true(got.fenced == (want->fenced && strstr(parts, "FENCED") != NULL) && !got.timed);
	assert_true(strstr(parts, "SLOTS") == NULL || got.rules[RL_RULE_SLOTS] == want->rules[RL_RULE_SLOTS]);
	assert_true(strstr(parts, "FIRST") == NULL || got.first == want->first);
	assert_true(got.kept == (strstr(parts, "KEPT") != NULL ? want->kept : 0));
	assert_true(strstr(parts, "QUIET") == NULL || got.quiet == want->quiet);
	assert_true(strstr(parts, "NEXT") == NULL || rl_slice_same(got.next, want->next));
	assert_true(strstr(parts, "TOKEN") == NULL || has_word(written, want, form, RL_WORD_TOKEN, want->token));
	assert_true(strstr(parts, "PASS") == NULL || has_word(written, want, form, RL_WORD_PASS, want->pass));
	buffer_free(&bytes);
	rl_request_free(&wire);
}

/* Every operation has the expected forms and no others, with names and tokens of any bytes and lengths. */
TEST(all_forms)
{
	static const size_t sizes[] = {1, 9, 10, 99, 100, 65536};
	static char bytes[65536];
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (char)(i * 7);
	for (unsigned o = 0; o < RL_OP_COUNT; o++)
		for (unsigned s = 0; s < COUNT(sizes) * RL_FORM_WATCH; s++) {
			struct rl_request request = request_of((enum redlock_operation)o);
			enum rl_form form = (enum rl_form)(s % RL_FORM_WATCH);
			size_t size = sizes[s / RL_FORM_WATCH];
			struct words words;
			struct expected_room room;
			request.name = (struct rl_slice){bytes, size};
			request.also.size *= s % 2 && rl_ops[o].several; /* or none */
			request.rules[RL_RULE_SLOTS] = 1 + s % 3;
			request.fenced = s / RL_FORM_WATCH % 2 == 0 || o == RL_OP_RAISE;
			request.number = o == RL_OP_RAISE ? 7 : 0;
			request.token = (struct rl_slice){bytes + 5, size < 512 ? size : 512};
			bool has = expected_words(&request, form, &room, &words);
			assert_int_equal(has, rl_ops[o].words[form] != NULL);
			assert_int_equal(has, (rl_ops[o].forms & RL_FORM_BIT(form)) != 0);
			if (has)
				expect_form(&request, form, &words);
			expected_free(&room);
		}
}

/* The key of the queue is beside the lock's: in one slot of a cluster. */
TEST(queue_keys)
{
	static const char *const keys[][2] = {
	    {"job", "{job}:redlock:queue"},           {"{tag}job", "{tag}job:redlock:queue"},
	    {"a{tag}job", "a{tag}job:redlock:queue"}, {"{}job", "{{}job}:redlock:queue"},
	    {"{job", "{{job}:redlock:queue"},         {"}job{", "{}job{}:redlock:queue"},
	    {"{}{a}", "{{}{a}}:redlock:queue"},       {"a}{b}", "a}{b}:redlock:queue"},
	};
	for (unsigned i = 0; i < COUNT(keys); i++) {
		struct rl_wire wire = {0};
		struct rl_request request = request_of(REDLOCK_OP_RELEASE);
		struct rl_slice words[RL_OP_WORDS];
		request.name = slice(keys[i][0]);
		const struct rl_buffer *bytes = rl_request_bytes(&wire, &request, RL_FORM_QUEUE_SHA);
		assert_int_equal(rl_command_read((struct rl_slice){bytes->bytes, bytes->size}, words), 6);
		assert_true(rl_slice_same(words[4], slice(keys[i][1])));
		rl_request_free(&wire);
	}
}

static const struct rl_slice no_prefix = {"", 0};

/* ---- keys that an operation may write ---- */

enum { NAME_ROOM = 64 };

/* Near the keys that are made of names: pieces of them, with braces in all places. Some are no legal names.
 */
static struct rl_slice random_name(struct rng *rng, char room[NAME_ROOM])
{
	static const char *const pieces[] = {"a",         "{",        "}",      "{}",          "{a}",   "b}",
	                                     ":redlock:", "redlock:", ":queue", "queue",       "fence", "offers",
	                                     "setnx",     "slots",    "slot:",  "slot",        ":",     "7",
	                                     "63",        "set",      "\n",     "{a}:redlock:"};
	size_t size = 0;
	for (uint64_t i = rng_below(rng, 4) + 1; i > 0; i--) {
		const char *piece = pieces[rng_below(rng, COUNT(pieces))];
		memcpy(room + size, piece, strlen(piece));
		size += strlen(piece);
	}
	return (struct rl_slice){room, size};
}

static void serve(struct redis *redis, struct session *session, const struct rl_request *r, enum rl_form form)
{
	struct rl_buffer bytes = {0};
	struct buffer inbox = {0}, answers = {0};
	assert_true(rl_request_write(&bytes, r, form));
	buffer_append(&inbox, bytes.bytes, bytes.size);
	redis_serve(redis, session, &inbox, UINT32_MAX, &answers);
	rl_buffer_free(&bytes);
	buffer_free(&inbox);
	buffer_free(&answers);
}

/* All operations, in an order by chance, of one name and another one: with scripts, and as they can be asked
 * without. */
static void serve_some(struct redis *redis, struct rng *rng, struct rl_slice name, struct rl_slice other)
{
	struct session *session = redis_accept(redis);
	struct rl_buffer also = {0};
	assert_true(rl_names_add(&also, no_prefix, other));
	for (unsigned i = 0; i < 12; i++) {
		struct rl_request r = request_of((enum redlock_operation)(1 + rng_below(rng, RL_OP_COUNT - 1)));
		r.name = name;
		r.also = (struct rl_slice){also.bytes, also.size};
		r.line = other;
		r.token = slice(rng_below(rng, 2) == 0 ? "t1" : "t2");
		r.rules[RL_RULE_SLOTS] = 1 + (unsigned)rng_below(rng, 4);
		r.first = r.kept = 0;
		r.quiet = false;
		for (unsigned form = 0; form < RL_FORM_WATCH; form++)
			if (rl_ops[r.operation].words[form] != NULL && (RL_FORMS_SHA >> form & 1) == 0)
				serve(redis, session, &r, (enum rl_form)form);
	}
	redis_forget(redis, session);
	rl_buffer_free(&also);
}

/* Each key that a server in memory has then is one of both names, or one that no lock may have as its name.
 */
TEST(no_operation_writes_the_key_of_another_name)
{
	enum { ROUNDS = 5000 };
	struct rng rng = {7};
	struct redis redis = {.now_ms = 1000};
	unsigned beside = 0;
	for (unsigned i = 0; i < ROUNDS; i++) {
		char room[NAME_ROOM], other_room[NAME_ROOM];
		struct rl_slice name = random_name(&rng, room), other = random_name(&rng, other_room);
		if (rl_side_is_reserved(no_prefix, name) || rl_side_is_reserved(no_prefix, other))
			continue;
		serve_some(&redis, &rng, name, other);
		for (size_t k = 0; k < redis.keys.count; k++) {
			struct rl_slice key = {redis.keys.keys[k].name.at, redis.keys.keys[k].name.size};
			bool own = rl_slice_same(key, name) || rl_slice_same(key, other);
			beside += !own;
			if (!own && !rl_side_is_reserved(no_prefix, key))
				fail_msg("of '%.*s' and '%.*s' there is '%.*s'", (int)name.size, name.bytes, (int)other.size,
				         other.bytes, (int)key.size, key.bytes);
		}
		keyspace_clear(&redis.keys);
	}
	assert_true(beside > ROUNDS);
	redis_free(&redis);
}

/* Where prefix and name meet does not matter. */
TEST(names_that_are_reserved)
{
	static const struct {
		const char *name;
		bool reserved;
	} names[] = {{"{a}:redlock:queue", true},  {"a:redlock:offers", true},     {"{a}:redlock:fence", true},
	             {"{a}:redlock:setnx", true},  {"{a}:redlock:slots", true},    {"{a}:redlock:last", true},
	             {"{a}:redlock:slot:1", true}, {":redlock:slot:123456", true}, {"redlock:set", true},
	             {"{a}:redlock:slot:", false}, {"{a}:redlock:slot", false},    {"redlock:queue", false},
	             {"a:redlock:set", false},     {"{a}:redlock:queue ", false},  {"{a}:redlock:slot:1x", false},
	             {"redlock:sets", false}};
	for (unsigned i = 0; i < COUNT(names); i++)
		for (size_t cut = 0; cut <= strlen(names[i].name); cut++) {
			struct rl_slice prefix = {names[i].name, cut}, name = slice(names[i].name + cut);
			assert_int_equal(rl_side_is_reserved(prefix, name), names[i].reserved);
		}
}

/* Rules that the table cannot express by itself. */
TEST(rows_fit)
{
	for (unsigned o = REDLOCK_OP_ACQUIRE; o < RL_OP_COUNT; o++) {
		const struct rl_op *op = &rl_ops[o];
		assert_non_null(op->words[op->parked_as]);
		assert_true(op->again || op->several || op->scripted || (op->forms & RL_FORM_BIT(RL_FORM_SHA)) == 0);
		assert_true(op->again || op->claims || (op->forms & RL_FORMS_QUEUE) == 0);
	}
}

/* An operation that makes a key is feared when it may come late, and its undo gives back; one that gives back
 * is feared where its value is used again. */
TEST(late_operations_are_feared)
{
	for (unsigned o = 0; o < RL_OP_COUNT; o++) {
		const struct rl_op *op = &rl_ops[o];
		if (op->claims) {
			assert_int_equal(op->ghost, RL_GHOST_ALWAYS);
			assert_true(rl_ops[op->undo].gives_back);
		}
		if (op->gives_back)
			assert_int_equal(op->ghost, RL_GHOST_OWN);
	}
}

TEST(a_wire_is_used_again)
{
	struct rl_wire wire = {0};
	struct rl_request request = request_of(REDLOCK_OP_RELEASE);
	const struct rl_buffer *first = rl_request_bytes(&wire, &request, RL_FORM_SHA);
	const char *bytes = first->bytes;
	size_t size = first->size;
	request.name = slice("other, which is not looked at");
	assert_ptr_equal(rl_request_bytes(&wire, &request, RL_FORM_SHA)->bytes, bytes);
	assert_int_equal(rl_request_bytes(&wire, &request, RL_FORM_SHA)->size, size);
	wire.made = 0;
	request = request_of(REDLOCK_OP_ACQUIRE);
	request.name = slice("x");
	const struct rl_buffer *second = rl_request_bytes(&wire, &request, RL_FORM_PLAIN);
	assert_memory_equal(second->bytes, "*6\r\n$3\r\nSET\r\n$1\r\nx\r\n", 20);
	rl_request_free(&wire);
	rl_request_free(&wire);
}

/* For each node with its pass, also where that is longer, or more differs. */
TEST(a_wire_for_each_pass)
{
	static const struct {
		unsigned operation;
		const char *pass;
		bool timed;
	} nodes[] = {
	    {REDLOCK_OP_ACQUIRE, "one:1", false},  {REDLOCK_OP_ACQUIRE, "two:1", false},
	    {REDLOCK_OP_ACQUIRE, "three:1", true}, {REDLOCK_OP_ACQUIRE, "fours:1", false},
	    {RL_OP_ENTER, "fives:1", false},       {RL_OP_CLAIM_ALL, "sixth:1", false},
	    {RL_OP_CLAIM_ALL, "seven:1", false},
	};
	struct rl_wire wire = {0};
	for (unsigned i = 0; i < COUNT(nodes); i++) {
		struct rl_wire fresh = {0};
		struct rl_request request = request_of((enum redlock_operation)nodes[i].operation);
		request.pass = slice(nodes[i].pass);
		request.timed = nodes[i].timed;
		rl_request_pass(&wire, &request);
		const struct rl_buffer *got = rl_request_bytes(&wire, &request, RL_FORM_GUARD_SHA),
		                       *want = rl_request_bytes(&fresh, &request, RL_FORM_GUARD_SHA);
		assert_int_equal(got->size, want->size);
		assert_memory_equal(got->bytes, want->bytes, want->size);
		rl_request_free(&fresh);
	}
	rl_request_free(&wire);
}

/* ---- a real server ---- */

TEST(digests_are_what_the_server_says)
{
	for (unsigned i = 0; i < RL_SCRIPT_COUNT; i++) {
		struct raw_reply reply;
		server_ask(&servers.server[0], &reply, "SCRIPT", "LOAD", rl_scripts[i].text, NULL);
		assert_string_equal(reply.text, rl_scripts[i].sha);
	}
}

/* The answers of the inspect script about keys of other clients. */
static void expect_inspect(const char *key, const char *want)
{
	struct raw_reply reply;
	server_ask(&servers.server[0], &reply, "EVAL", rl_scripts[RL_SCRIPT_QUERY].text, "1", key, NULL);
	assert_int_equal(reply.type, '*');
	assert_string_equal(reply.text, want);
}

TEST(inspect)
{
	const struct server *s = &servers.server[0];
	char long_value[2001];
	struct raw_reply reply;
	expect_inspect("none", "none\n-2\n0\n");
	server_must(s, "OK", "SET", "plain", "value", NULL);
	expect_inspect("plain", "string\n-1\n5\nvalue");
	server_must(s, "1", "HSET", "redisson", "8743c9c0:1", "1", NULL);
	expect_inspect("redisson", "hash\n-1\n12\n8743c9c0:1=1");
	server_must(s, "1", "LPUSH", "list", "x", NULL);
	expect_inspect("list", "list\n-1\n0\n");
	memset(long_value, 'v', sizeof long_value - 1);
	long_value[sizeof long_value - 1] = '\0';
	server_must(s, "OK", "SET", "long", long_value, NULL);
	server_ask(s, &reply, "EVAL", rl_scripts[RL_SCRIPT_QUERY].text, "1", "long", NULL);
	assert_int_equal(strlen(reply.text), strlen("string\n-1\n2000\n") + 1024);
}

/* A hash of many fields of which few are left: a scan of it may find nothing in its first steps. */
TEST(inspect_a_sparse_hash)
{
	const struct server *s = &servers.server[0];
	struct raw_reply reply;
	static const char fill[] =
	    "for i = 1, 3000 do redis.call('hset', KEYS[1], KEYS[1] .. i, i) end "
	    "for i = 1, 3000 do if i % 7 ~= 0 then redis.call('hdel', KEYS[1], KEYS[1] .. i) end end "
	    "return redis.call('hlen', KEYS[1])";
	for (unsigned i = 0; i < 20; i++) {
		char key[16];
		snprintf(key, sizeof key, "sparse%u", i);
		server_must(s, "428", "EVAL", fill, "1", key, NULL);
		server_ask(s, &reply, "EVAL", rl_scripts[RL_SCRIPT_QUERY].text, "1", key, NULL);
		if (reply.type != '*' || strstr(reply.text, key) == NULL)
			fail_msg("%s", reply.text);
		server_must(s, "1", "DEL", key, NULL);
	}
}

TEST(extend)
{
	const struct server *s = &servers.server[0];
	const char *script = rl_scripts[RL_SCRIPT_EXTEND].text;
	server_must(s, "0", "EVAL", script, "1", "absent", "token", "10000", NULL);
	assert_false(server_has(s, "absent"));
	server_must(s, "OK", "SET", "mine", "token", "PX", "100000", NULL);
	server_must(s, "0", "EVAL", script, "1", "mine", "other", "900000", NULL);
	assert_true(server_pttl(s, "mine") <= 100000);
	server_must(s, "1", "EVAL", script, "1", "mine", "token", "50000", NULL);
	assert_true(server_pttl(s, "mine") > 50000);
	server_must(s, "1", "EVAL", script, "1", "mine", "token", "200000", NULL);
	assert_true(server_pttl(s, "mine") > 100000);
	server_must(s, "OK", "SET", "forever", "token", NULL); /* without expiry: not shortened either */
	server_must(s, "1", "EVAL", script, "1", "forever", "token", "10000", NULL);
	assert_int_equal(server_pttl(s, "forever"), -1);
}

SERVER_TESTS(1)
