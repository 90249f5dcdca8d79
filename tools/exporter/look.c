/* SPDX-License-Identifier: MIT */
/* Asks the nodes, and puts their answers together. */
#include "look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../redlock/guard_record.h"
#include "look_lock.h"

/* Under this name the nodes are asked whether they would grant a lock; nothing is written. */
#define PROBE_NAME "redlock-exporter-"
/* No lock has it: it has blanks. */
#define PROBE_TOKEN "no token"

/* Each of the four steps of a look is waited for so long at most: a look ends within a second. */
enum { STEP_MS = 200 };

/* The TTL of the renewal of a lock that nobody holds: not above the maximum of a guarded set. */
enum { RENEWAL_MS = 1000 };

struct looker {
	redlock_client *client;
	redlock_asker *asker;
	redlock_lock *probe, *renewal;
	struct look_locks locks;
};

/* ---- life ---- */

static int open_renewal(struct looker *l)
{
	struct redlock_lock_options own;
	redlock_lock_options_init(&own);
	own.token = PROBE_TOKEN;
	own.token_len = strlen(PROBE_TOKEN);
	return redlock_lock_new(l->client, PROBE_NAME, &own, &l->renewal);
}

struct looker *looker_open(const struct redlock_options *options, const char *const *locks, unsigned count,
                           char *why, size_t size)
{
	struct redlock_options own = *options;
	struct looker *l = calloc(1, sizeof *l);
	if (l == NULL)
		return NULL;
	own.error_text = why;
	own.error_text_size = size;
	if (own.node_timeout_ms == 0 || own.node_timeout_ms > STEP_MS)
		own.node_timeout_ms = STEP_MS;
	int error = redlock_open(&own, &l->client);
	if (error == 0 && (error = redlock_lock_new(l->client, PROBE_NAME, NULL, &l->probe)) < 0)
		(void)redlock_client_last_error(l->client, why, size);
	if (error == 0)
		error = open_renewal(l);
	if (error == 0)
		error = redlock_asker_open(l->client, &l->asker);
	if (error == 0)
		error = redlock_keeper_start(l->client); /* connects again between looks */
	if (error == 0 && !look_locks_open(&l->locks, l->client, options->prefix, locks, count, why, size))
		error = REDLOCK_E_INVAL;
	if (error == 0)
		return l;
	if (why[0] == '\0')
		snprintf(why, size, "%s", redlock_strerror(error));
	looker_close(l);
	return NULL;
}

void looker_close(struct looker *l)
{
	if (l == NULL)
		return;
	look_locks_close(&l->locks);
	redlock_lock_free(l->probe);
	redlock_lock_free(l->renewal);
	redlock_asker_close(l->asker);
	redlock_close(l->client);
	free(l);
}

redlock_client *looker_client(const struct looker *l)
{
	return l->client;
}

/* ---- votes ---- */

static void take_votes(struct looker *l, struct look *look)
{
	int result = redlock_probe(l->probe);
	for (unsigned i = 0; i < look->count; i++) {
		struct look_node *n = &look->node[i];
		struct redlock_node_status status = {.size = sizeof status};
		struct redlock_node_stats stats = {.size = sizeof stats};
		struct redlock_vote vote = {.size = sizeof vote, .code = REDLOCK_VOTE_UNSENT};
		(void)!redlock_node_status(l->client, i, &status);
		(void)!redlock_node_stats(l->client, i, &stats);
		if (result == 0 || result == REDLOCK_E_NOQUORUM)
			(void)!redlock_lock_vote(l->probe, i, &vote);
		snprintf(n->address, sizeof n->address, "%s", status.address);
		n->vote = vote.code == REDLOCK_VOTE_PENDING ? REDLOCK_VOTE_TIMEOUT : vote.code;
		n->up = vote.code == REDLOCK_VOTE_YES;
		n->round_trip_s = (double)vote.rtt_ns / 1e9;
		n->connected = status.connected != 0;
		n->connects = stats.connects;
		n->lost_connections = stats.lost_connections;
		n->quarantined = vote.code == REDLOCK_VOTE_QUARANTINE;
		look->up += n->up;
	}
}

/* A set with a maximum below RENEWAL_MS refuses this TTL, not a renewal. */
static bool is_refusal(enum redlock_vote_code code)
{
	return code != REDLOCK_VOTE_PENDING && code != REDLOCK_VOTE_YES && code != REDLOCK_VOTE_NO &&
	       code != REDLOCK_VOTE_LONG_TTL;
}

/* Asks for the renewal of a lock that nobody holds. With it the nodes of a guarded set tell their time, as
 * with any renewal, so that the client sees a clock that goes wrong; and a node may refuse a renewal alone.
 */
static void take_refusals(struct looker *l, struct look *look)
{
	int result = redlock_extend(l->renewal, RENEWAL_MS);
	for (unsigned i = 0; i < look->count && (result == REDLOCK_E_GONE || result == REDLOCK_E_NOQUORUM); i++) {
		struct look_node *n = &look->node[i];
		struct redlock_vote vote = {.size = sizeof vote, .code = REDLOCK_VOTE_PENDING};
		(void)!redlock_lock_vote(l->renewal, i, &vote);
		if (!n->up || !is_refusal(vote.code))
			continue;
		n->up = false;
		n->vote = vote.code;
		n->quarantined = vote.code == REDLOCK_VOTE_QUARANTINE;
		look->up--;
	}
}

/* ---- what each says of itself ---- */

enum { ASK_TIME, ASK_INFO, ASK_POLICY, ASKS };

/* The value of a line "FIELD:VALUE" of INFO. */
static bool info_line(const char *info, const char *field, char *ret, size_t size)
{
	size_t length = strlen(field);
	for (const char *at = info; at != NULL && *at != '\0'; at = strchr(at, '\n'), at += at != NULL) {
		if (strncmp(at, field, length) != 0 || at[length] != ':')
			continue;
		snprintf(ret, size, "%.*s", (int)strcspn(at + length + 1, "\r\n"), at + length + 1);
		return true;
	}
	return false;
}

static void take_time(struct look_node *n, const struct redlock_question *q)
{
	const struct redlock_reply *r = q->reply;
	if (r == NULL || r->kind != REDLOCK_REPLY_ARRAY || r->count != 2)
		return;
	struct timespec wall, boot;
	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_REALTIME, &wall);
	double now_s = (double)wall.tv_sec + (double)wall.tv_nsec / 1e9;
	double passed_s = (double)boot.tv_sec + (double)boot.tv_nsec / 1e9 -
	                  ((double)q->sent_ns / 2 + (double)q->answered_ns / 2) / 1e9;
	n->answered = true;
	n->ahead_s = strtod(r->items[0].text, NULL) + strtod(r->items[1].text, NULL) / 1e6 - (now_s - passed_s);
	if (!n->up)
		n->round_trip_s = (double)(q->answered_ns - q->sent_ns) / 1e9;
}

static void take_info(struct look_node *n, const struct redlock_reply *r)
{
	static const struct {
		const char *field, *word;
	} servers[] = {{"valkey_version", "valkey"}, {"redis_version", "redis"}};
	char version[32];
	for (unsigned i = 0; r != NULL && r->kind == REDLOCK_REPLY_STRING && i < 2 && n->version[0] == '\0'; i++)
		if (info_line(r->text, servers[i].field, version, sizeof version))
			snprintf(n->version, sizeof n->version, "%s %s", servers[i].word, version);
}

/* Policies that remove keys are all but `noeviction`. A user for locks may not ask for it. */
static void take_policy(struct look_node *n, const struct redlock_reply *r)
{
	n->evicting = -1;
	if (r != NULL && r->kind == REDLOCK_REPLY_ARRAY && r->count == 2)
		n->evicting = strcmp(r->items[1].text, "noeviction") != 0;
}

static void ask_nodes(struct looker *l, struct look *look)
{
	static const char *const time[] = {"TIME"}, *const info[] = {"INFO", "server"},
	                         *const policy[] = {"CONFIG", "GET", "maxmemory-policy"};
	static const struct {
		const char *const *argv;
		size_t argc;
	} asks[ASKS] = {[ASK_TIME] = {time, 1}, [ASK_INFO] = {info, 2}, [ASK_POLICY] = {policy, 3}};
	struct redlock_question q[REDLOCK_MAX_NODES * ASKS];
	for (unsigned i = 0; i < look->count * ASKS; i++)
		q[i] = (struct redlock_question){
		    .size = sizeof q[i], .node = i / ASKS, .argc = asks[i % ASKS].argc, .argv = asks[i % ASKS].argv};
	if (redlock_ask(l->asker, q, (size_t)look->count * ASKS, STEP_MS) < 0)
		return;
	for (unsigned i = 0; i < look->count; i++) {
		take_time(&look->node[i], &q[i * ASKS + ASK_TIME]);
		take_info(&look->node[i], q[i * ASKS + ASK_INFO].reply);
		take_policy(&look->node[i], q[i * ASKS + ASK_POLICY].reply);
	}
}

/* ---- guard ---- */

/* A node of a guarded set that has lost its record, or has another process, has no vote before its quarantine
 * is over, also if nobody has asked it for one yet. */
static void take_records(struct look *look, const struct guard_record *records)
{
	unsigned of_a_set = 0;
	for (unsigned i = 0; i < look->count; i++)
		of_a_set += guard_record_is_of_a_set(&records[i]);
	for (unsigned i = 0; i < look->count; i++) {
		struct look_node *n = &look->node[i];
		const struct guard_record *r = &records[i];
		bool forgot = r->state == GUARD_QUARANTINE_ || r->state == GUARD_BLANK_;
		n->guarded = guard_record_is_of_a_set(r);
		n->quarantined |= n->answered && forgot && of_a_set >= look->quorum;
		if (n->quarantined) {
			n->quarantine_s = (double)r->left_ms / 1000;
			look->up -= n->up;
			n->up = false;
			n->vote = REDLOCK_VOTE_QUARANTINE;
		}
	}
}

/* A node without a vote is not counted either way: it may be given its numbers, or bring them. Of nodes that
 * vote, so many may know none that no quorum does, and then only `redlock init --new-epoch` helps. */
static void count_numbers(struct look *look, const struct guard_record *records)
{
	unsigned guarded = 0, uncounted = 0;
	for (unsigned i = 0; i < look->count; i++) {
		struct look_node *n = &look->node[i];
		uint64_t number;
		n->numbered = n->guarded && guard_record_counter(&records[i], &number);
		guarded += n->guarded;
		uncounted += records[i].state == GUARD_ADMITTED_ && !n->numbered;
	}
	look->fencing = guarded < look->quorum ? -1 : uncounted + look->quorum <= look->count;
}

static void read_records(struct looker *l, struct look *look)
{
	struct guard_record records[REDLOCK_MAX_NODES] = {0};
	uint64_t answering = 0;
	for (unsigned i = 0; i < look->count; i++)
		answering |= (uint64_t)look->node[i].answered << i;
	if (answering != 0 && guard_record_read(l->asker, records, look->count, answering, STEP_MS) >= 0) {
		take_records(look, records);
		count_numbers(look, records);
	}
	guard_record_free(records, look->count);
}

bool looker_look(struct looker *l, struct look *ret)
{
	struct timespec begin, end;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	*ret = (struct look){
	    .count = redlock_node_count(l->client), .quorum = redlock_quorum(l->client), .fencing = -1};
	take_votes(l, ret);
	take_refusals(l, ret);
	ask_nodes(l, ret);
	read_records(l, ret);
	look_locks_read(&l->locks, l->asker, ret, STEP_MS);
	clock_gettime(CLOCK_MONOTONIC, &end);
	ret->at_s = (uint64_t)time(NULL);
	ret->at_ns = (uint64_t)end.tv_sec * 1000000000u + (uint64_t)end.tv_nsec;
	ret->took_s = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
	return ret->count > 0;
}
