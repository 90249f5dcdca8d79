/* SPDX-License-Identifier: MIT */
/*
 * One node under test, a real poller, and at the other end of a real Unix socket the test itself as the
 * server: it accepts, reads the commands, and answers by hand. Time is the test's. The node's commands are
 * shown as one line each, with scripts by name:
 *     CLIENT ID
 *     SET job token1 NX PX 30000
 *     EVAL release 1 job token1
 * Its answers to the client are shown as "acquire #1 YES", in their order.
 */
#pragma once

#include "net/node.h"
#include "unit.h"

struct scene {
	char dir[64];
	char path[96];
	int listener;
	int peer; /* the accepted connection; -1: none */
	struct rl_poller poller;
	struct rl_node node;
	struct rl_wire wire;
	uint64_t now_ns;
	char heard[262144]; /* bytes from the node that were not shown yet */
	size_t heard_size;
	char text[262144];   /* what scene_heard() made of them */
	unsigned messages;   /* that its listener has heard */
	char answers[65536]; /* of the node, not looked at yet */
	size_t answers_used;
};

#define HELLO "CLIENT ID\nINFO server\nCOMMAND INFO delex delifeq\n"
#define NO_NATIVE "*2\r\n*-1\r\n*-1\r\n" /* to the last of these: it has neither */

/* Listens on a fresh socket and opens a node for it; `before` goes before the path in its URL ("user:pw@"),
 * `after` comes after it ("?db=3"). Nothing connects yet. There is one scene at a time. */
struct scene *scene_open(const char *before, const char *after);
void scene_close(struct scene *s);

/* As scene_open(), with the usual beginning: the node is connected, and greeted with this id of the client.
 */
struct scene *scene_connected(int client_id);

/* Both, and then plays this (scene_play). */
struct scene *scene_begin(const char *before, const char *after, const char *script);
struct scene *scene_begin_connected(int client_id, const char *script);

/* A scene that is closed at the end of its block: own_scene *s = scene_open("", ""). */
#define own_scene __attribute__((cleanup(scene_end))) struct scene
static inline void scene_end(struct scene **s)
{
	scene_close(*s);
}

/* Lets the node do all it can do at this time. */
void scene_turn(struct scene *s);

/* Goes to this time, takes what is due, and lets the node do what it can. */
void scene_at(struct scene *s, uint64_t ms);

/* Accepts the node's connection, and answers its opening commands (CLIENT ID with `client_id`). */
void scene_accept(struct scene *s);
void scene_greet(struct scene *s, int client_id);

/* The peer closes its end. */
void scene_hang_up(struct scene *s);

/* The peer says this; then the node takes a turn. */
void scene_say(struct scene *s, const char *bytes);

/* The node's commands since the last call, as text. A part of a command stays for the next call. */
const char *scene_heard(struct scene *s);

/* Appends the node's bytes to `heard`. */
void scene_listen(struct scene *s);

/* The node's answers since the last call. */
const char *scene_answers(struct scene *s);

/* Asks the node: the name is "job", the token "token" and the slot's number; `seq` 0: nobody waits. Returns
 * what rl_node_submit() returns. No turn is taken. */
enum redlock_vote_code scene_submit(struct scene *s, enum redlock_operation operation, unsigned slot,
                                    uint32_t seq);

/* A release that is owed. */
enum redlock_vote_code scene_owe(struct scene *s, unsigned slot, uint32_t seq);

/* Asks with a name of so many bytes, for slot 1 as #1. */
enum redlock_vote_code scene_large(struct scene *s, enum redlock_operation operation, size_t name_size,
                                   bool owed);

/* The node's socket takes no more than about so many bytes that nobody reads. */
void scene_narrow(struct scene *s, int bytes);

/* Any request. */
enum redlock_vote_code scene_request(struct scene *s, const struct rl_request *request);

/* Plays steps in order: calls of these functions, and of the node by its client, as in "connect; greet 7;
 * acquire 1 #2; owe 1 #0; hear; pass 200; hang up; turn". `hear` and `take` forget the node's commands and
 * answers, `pass` and `now` only set the time, `due` sets it to the node's deadline. A number after # is a
 * request's `seq`. */
void scene_play(struct scene *s, const char *script);

#define expect_heard(s, want) assert_string_equal(scene_heard(s), (want))
#define expect_answers(s, want) assert_string_equal(scene_answers(s), (want))

#define expect_owed(s, owed, without_certainty)                                                              \
	do {                                                                                                     \
		assert_int_equal(rl_node_owed(&(s)->node), owed);                                                    \
		assert_int_equal((s)->node.ledger.lingering, without_certainty);                                     \
	} while (0)
#define expect_failure(s, code, text)                                                                        \
	do {                                                                                                     \
		assert_int_equal((s)->node.link.failure, code);                                                      \
		assert_string_equal((s)->node.link.failure_text, text);                                              \
	} while (0)

/* The node has said this, and gets that reply; it gets this reply, and gives those answers. */
#define scene_reply(s, want_heard, reply)                                                                    \
	do {                                                                                                     \
		expect_heard(s, want_heard);                                                                         \
		scene_say(s, reply);                                                                                 \
	} while (0)
#define scene_vote(s, reply, want_answers)                                                                   \
	do {                                                                                                     \
		scene_say(s, reply);                                                                                 \
		expect_answers(s, want_answers);                                                                     \
	} while (0)
