/* SPDX-License-Identifier: MIT */
/* The hash slots of a cluster, and what its servers say of them. The servers: integration_cluster. */
#include "net/redirect.h"
#include "proto/hashslot.h"
#include "proto/side.h"

#include "group.h"

TEST(hash_slots)
{
	static const struct {
		const char *key;
		unsigned slot;
	} cases[] = {
	    {"", 0},          {"123456789", 0x31c3}, /* of the Redis Cluster specification */
	    {"foo", 12182},                          /* these of CLUSTER KEYSLOT */
	    {"{foo}", 12182}, {"a{foo}b{bar}", 12182}, {"{}foo", 9500}, {"{foo", 13308},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_int_equal(rl_hashslot_of(rl_slice_of(cases[i].key)), cases[i].slot);
}

/* All keys of a lock are in one slot, unless its name has a } without a tag: such a name is refused. */
TEST(keys_beside_a_lock_are_in_its_slot)
{
	static const char *const names[] = {"job", "{job}", "a{job}b", "{job", "{{b}}"};
	char room[64];
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		for (unsigned side = 0; side < RL_SIDE_KINDS; side++) {
			struct rl_slice name = rl_slice_of(names[i]);
			assert_int_equal(rl_hashslot_of(rl_side_key(room, name, (enum rl_side)side)),
			                 rl_hashslot_of(name));
		}
}

TEST(redirects)
{
	static const struct {
		const char *error;
		enum rl_redirect_kind kind;
		unsigned slot;
		const char *host;
		unsigned port;
	} cases[] = {
	    {"MOVED 3999 127.0.0.1:6381", RL_REDIRECT_MOVED, 3999, "127.0.0.1", 6381},
	    {"MOVED 0 ::1:6381", RL_REDIRECT_MOVED, 0, "::1", 6381},
	    {"MOVED 16383 a.example:1", RL_REDIRECT_MOVED, 16383, "a.example", 1},
	    {"MOVED 1 :6381", RL_REDIRECT_MOVED, 1, "", 6381},
	    {"MOVED 1 ?:6381", RL_REDIRECT_MOVED, 1, "", 6381},
	    {"ASK 3999 127.0.0.1:6381", RL_REDIRECT_ASK, 3999, "127.0.0.1", 6381},
	    {"TRYAGAIN Multiple keys request during rehashing of slot", RL_REDIRECT_SPLIT, 0, "", 0},
	    {"CLUSTERDOWN Hash slot not served", RL_REDIRECT_LATE, 0, "", 0},
	    {"CROSSSLOT Keys in request don't hash to the same slot", RL_REDIRECT_NONE, 0, "", 0},
	    {"MOVED 16384 a:1", RL_REDIRECT_NONE, 0, "", 0},
	    {"MOVED 1 a:0", RL_REDIRECT_NONE, 0, "", 0},
	    {"MOVED 1 a:65536", RL_REDIRECT_NONE, 0, "", 0},
	    {"MOVED 1 a", RL_REDIRECT_NONE, 0, "", 0},
	    {"MOVED x a:1", RL_REDIRECT_NONE, 0, "", 0},
	    {"MOVED 1", RL_REDIRECT_NONE, 0, "", 0},
	    {"MOVED 1 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:1",
	     RL_REDIRECT_NONE, 0, "", 0},
	};
	struct rl_outbox asked = {0};
	const struct rl_entry entry = {.operation = RL_OP_ACQUIRE};
	assert_true(rl_outbox_push(&asked, &entry, rl_slice_of("what was asked")));
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct rl_redirect r = {0};
		assert_int_equal(rl_redirect_take(&r, &asked, cases[i].error), cases[i].kind != RL_REDIRECT_NONE);
		assert_int_equal(r.kind, cases[i].kind);
		if (r.kind != RL_REDIRECT_NONE)
			assert_memory_equal(r.bytes.bytes, "what was asked", r.bytes.size);
		if (cases[i].port > 0) {
			assert_int_equal(r.slot, cases[i].slot);
			assert_string_equal(r.host, cases[i].host);
			assert_int_equal(r.port, cases[i].port);
		}
		rl_buffer_free(&r.bytes);
	}
	rl_outbox_free(&asked);
}

TESTS()
