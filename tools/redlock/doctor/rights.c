/* SPDX-License-Identifier: MIT */
/*
 * Which rights the user lacks. Each is tried with a command that changes nothing, whatever it is answered: on
 * a key that no lock has. NOPERM comes before a command is looked at.
 */
#include <string.h>

#include "../side_key.h"
#include "doctor.h"

#define KEY "KEY"     /* of a lock that nobody has */
#define QUEUE "QUEUE" /* of the waiters for it */
#define TOLD "TOLD"   /* the channel where the server tells what becomes of it */
#define NO_SHA "0000000000000000000000000000000000000000"

enum { WORDS = 7 };

enum {
	LAST = 1,     /* it may leave a connection that is good for nothing else */
	GUARDS = 2,   /* a guarded set needs it, also where nobody waits */
	CLUSTERS = 4, /* a Redis Cluster alone needs it */
	WAITS = 8     /* a node with ?replicas= alone needs it */
};

/* A row for each right of redlock_acl_rights() except select, without which there is no connection, and
 * hmget, which is tried where the record is read. */
static const struct {
	const char *right;
	enum doctor_group group;
	unsigned marks;
	const char *words[WORDS];
} tries[] = {
    {"+set", DOCTOR_NEEDED, 0, {"SET", KEY, "-", "XX", "PX", "10"}},
    {"+get", DOCTOR_NEEDED, 0, {"GET", KEY}},
    {"+pttl", DOCTOR_NEEDED, 0, {"PTTL", KEY}},
    {"+pexpire", DOCTOR_NEEDED, 0, {"PEXPIRE", KEY, "10"}},
    {"+del", DOCTOR_NEEDED, 0, {"DEL", KEY}},
    {"+asking", DOCTOR_NEEDED, CLUSTERS, {"ASKING"}},
    {"+wait", DOCTOR_NEEDED, WAITS, {"WAIT", "0", "0"}},
    {"+eval", DOCTOR_SCRIPTS, GUARDS, {"EVAL", "return 0", "0"}},
    {"+evalsha", DOCTOR_LOOK, 0, {"EVALSHA", NO_SHA, "0"}},
    {"+client|id", DOCTOR_OPENING, 0, {"CLIENT", "ID"}},
    {"+client|kill", DOCTOR_OPENING, 0, {"CLIENT", "KILL", "ID", "0"}},
    {"+info", DOCTOR_OPENING, 0, {"INFO", "server"}},
    {"+command|info", DOCTOR_LOOK, 0, {"COMMAND", "INFO", "get"}},
    {"~{", DOCTOR_QUEUE, 0, {"GET", QUEUE}},
    {"~", DOCTOR_NEEDED, 0, {NULL}},
    {"&redlock:wake:*", DOCTOR_CHANNEL, 0, {NULL}},
    {"+mget", DOCTOR_QUEUE, GUARDS, {"MGET", KEY}},
    {"+time", DOCTOR_QUEUE, GUARDS, {"TIME"}},
    {"+publish", DOCTOR_QUEUE, 0, {"PUBLISH", "redlock:wake:doctor", ""}},
    {"+hget", DOCTOR_QUEUE, GUARDS, {"HGET", KEY, "f"}},
    {"+hset", DOCTOR_QUEUE, GUARDS, {"HSET", KEY, "f", "v", "f"}}, /* one word too few */
    {"+hdel", DOCTOR_QUEUE, GUARDS, {"HDEL", KEY, "f"}},
    {"+hlen", DOCTOR_QUEUE, 0, {"HLEN", KEY}},
    {"+zadd", DOCTOR_SHARED, 0, {"ZADD", KEY, "XX", "0", "m"}},
    {"+zrem", DOCTOR_SHARED, 0, {"ZREM", KEY, "m"}},
    {"+zscore", DOCTOR_SHARED, 0, {"ZSCORE", KEY, "m"}},
    {"+zcount", DOCTOR_SHARED, 0, {"ZCOUNT", KEY, "0", "0"}},
    {"+zrevrange", DOCTOR_SHARED, 0, {"ZREVRANGE", KEY, "0", "0"}},
    {"+zremrangebyscore", DOCTOR_SHARED, 0, {"ZREMRANGEBYSCORE", KEY, "1", "0"}},
    {"+zrevrangebyscore", DOCTOR_LOOK, 0, {"ZREVRANGEBYSCORE", KEY, "0", "1"}},
    {"+incrby", DOCTOR_FENCE, 0, {"INCRBY", KEY, "no number"}},
    {"+pexpireat", DOCTOR_SHARED, 0, {"PEXPIREAT", KEY, "1"}},
    {"+type", DOCTOR_LOOK, 0, {"TYPE", KEY}},
    {"+strlen", DOCTOR_LOOK, 0, {"STRLEN", KEY}},
    {"+getrange", DOCTOR_STEPS, 0, {"GETRANGE", KEY, "0", "0"}},
    {"+getrange", DOCTOR_LOOK, 0, {"GETRANGE", KEY, "0", "0"}},
    {"+hscan", DOCTOR_LOOK, 0, {"HSCAN", KEY, "0"}},
    {"+watch", DOCTOR_STEPS, LAST, {"WATCH", KEY}},
    {"+multi", DOCTOR_STEPS, LAST, {"MULTI"}},
    {"+exec", DOCTOR_STEPS, LAST, {"EXEC"}},
    {"+subscribe", DOCTOR_QUEUE, LAST, {"SUBSCRIBE", "redlock:wake:doctor"}},
    {"&__keyspace@*__:", DOCTOR_TOLD, LAST, {"SUBSCRIBE", TOLD}},
    {"+unsubscribe", DOCTOR_TOLD, LAST, {"UNSUBSCRIBE", "redlock:wake:doctor"}},
};

enum { TRIES = sizeof tries / sizeof tries[0] };
_Static_assert(TRIES <= 64, "a bit for each");

static uint64_t bit_of(const char *right)
{
	for (unsigned t = 0; t < TRIES; t++)
		if (strcmp(tries[t].right, right) == 0)
			return UINT64_C(1) << t;
	return 0;
}

/* The rights that a refusal shows to be missing: the command, or the keys or channels that it may be used on.
 */
static uint64_t lacking(unsigned t, const struct redlock_question *q)
{
	if (q->reply == NULL || redlock_question_vote(q) != REDLOCK_VOTE_NOPERM)
		return 0;
	bool of_queue = tries[t].right[0] == '~', told = tries[t].right[0] == '&';
	const char *access = strstr(q->reply->text, "permissions to access");
	if (access == NULL)
		return of_queue || told ? 0 : UINT64_C(1) << t;
	if (strstr(access, "channel") != NULL)
		return told ? UINT64_C(1) << t : bit_of("&redlock:wake:*");
	return bit_of(of_queue ? "~{" : "~");
}

bool doctor_try_rights(struct doctor *doctor, bool last)
{
	char queue[sizeof doctor->key + 32], told[sizeof doctor->key + 32];
	const char *argv[TRIES][WORDS + 1] = {{NULL}};
	unsigned asked[TRIES], count = 0;
	struct doctor_asks asks = {0};
	bool ok = true;
	side_key(doctor->key, "queue", queue, sizeof queue);
	snprintf(told, sizeof told, "__keyspace@0__:%s", doctor->key);
	for (unsigned t = 0; t < TRIES; t++) {
		if (((tries[t].marks & LAST) != 0) != last || tries[t].words[0] == NULL)
			continue;
		for (unsigned w = 0; w < WORDS && tries[t].words[w] != NULL; w++) {
			const char *word = tries[t].words[w];
			argv[t][w] = strcmp(word, KEY) == 0     ? doctor->key
			             : strcmp(word, QUEUE) == 0 ? queue
			             : strcmp(word, TOLD) == 0  ? told
			                                        : word;
		}
		asked[count++] = t;
	}
	for (unsigned i = 0; i < doctor->nodes && ok; i++)
		for (unsigned a = 0; a < count && ok && doctor->node[i].answered; a++)
			ok = doctor_asks_add(&asks, i, argv[asked[a]]);
	ok = ok && doctor_asks_run(doctor, &asks);
	for (size_t q = 0; q < asks.count && ok; q++)
		doctor->node[asks.list[q].node].lacks |= lacking(asked[q % count], &asks.list[q]);
	doctor_asks_free(&asks);
	return ok;
}

const char *doctor_rights(const struct doctor *doctor, const struct doctor_node *node,
                          enum doctor_group group, char *buffer, size_t size)
{
	const char *prefix = doctor->session->settings->prefix;
	size_t used = 0;
	buffer[0] = '\0';
	if (group == DOCTOR_GUARDS && !doctor_guard_is_wanted(doctor))
		return buffer;
	for (unsigned t = 0; t < TRIES && used < size; t++) {
		bool is_in = group == DOCTOR_GUARDS ? (tries[t].marks & GUARDS) != 0 : tries[t].group == group;
		bool spared = ((tries[t].marks & CLUSTERS) != 0 && !doctor_is_cluster(node)) ||
		              ((tries[t].marks & WAITS) != 0 && doctor_replicas_wanted(doctor, node) == 0);
		if (!is_in || spared || (node->lacks >> t & 1) == 0)
			continue;
		const char *right = tries[t].right;
		bool of_names = right[0] == '~' || (right[0] == '&' && strchr(right, ':')[1] == '\0');
		used += (size_t)snprintf(buffer + used, size - used, "%s%s%s%s", used > 0 ? " " : "", right,
		                         of_names && prefix != NULL ? prefix : "", of_names ? "*" : "");
	}
	return buffer;
}
