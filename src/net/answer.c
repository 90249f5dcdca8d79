/* SPDX-License-Identifier: MIT */
#include "net/answer.h"

#include <string.h>

/* First words of error replies. Sources: server.c, script.c and replication.c of Redis 6 to 8 and Valkey;
 * the error texts of running servers. A key of another type is somebody else's lock, not a broken node. */
static const struct {
	const char *prefix;
	enum redlock_vote_code vote;
} errors[] = {
    {"WRONGTYPE", REDLOCK_VOTE_NO},
    {"ERR Key should be of string type", REDLOCK_VOTE_NO}, /* DELEX */
    {"LOADING", REDLOCK_VOTE_LOADING},
    {"BUSY ", REDLOCK_VOTE_BLOCKED},
    {"MASTERDOWN", REDLOCK_VOTE_BLOCKED},
    {"TRYAGAIN", REDLOCK_VOTE_BLOCKED},
    {"OOM", REDLOCK_VOTE_OOM},
    {"MISCONF", REDLOCK_VOTE_MISCONF},
    {"NOREPLICAS", REDLOCK_VOTE_REPLICAS},
    {"READONLY", REDLOCK_VOTE_READONLY},
    {"CLUSTERDOWN", REDLOCK_VOTE_CLUSTER},
    {"MOVED", REDLOCK_VOTE_CLUSTER},
    {"ASK ", REDLOCK_VOTE_CLUSTER},
    {"CROSSSLOT", REDLOCK_VOTE_CLUSTER},
    {"ERR SELECT is not allowed in cluster mode", REDLOCK_VOTE_CLUSTER},
    {"NOAUTH", REDLOCK_VOTE_AUTH},
    {"WRONGPASS", REDLOCK_VOTE_AUTH},
    {"ERR invalid password", REDLOCK_VOTE_AUTH},
    {"ERR AUTH", REDLOCK_VOTE_AUTH},
    {"ERR Client sent AUTH", REDLOCK_VOTE_AUTH},
    {"DENIED", REDLOCK_VOTE_AUTH},
    {"NOPERM", REDLOCK_VOTE_NOPERM},
    {"ERR The user executing the script can't run", REDLOCK_VOTE_NOPERM}, /* Redis 7.0 */
    {"ERR ACL failure in script", REDLOCK_VOTE_NOPERM},                   /* Redis 7.2, Valkey */
    {"ERR unknown command", REDLOCK_VOTE_COMMAND},
    {"ERR DB index", REDLOCK_VOTE_DATABASE},
    {"ERR invalid DB index", REDLOCK_VOTE_DATABASE},
};

enum redlock_vote_code rl_vote_of_error(const char *text)
{
	for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
		if (strncmp(text, errors[i].prefix, strlen(errors[i].prefix)) == 0)
			return errors[i].vote;
	/* Before Redis 7 a script's error carries the command's error inside. */
	return strstr(text, "WRONGTYPE") != NULL ? REDLOCK_VOTE_NO : REDLOCK_VOTE_SERVER;
}

static enum redlock_vote_code vote_of_set(const struct rl_reply_value *v)
{
	if (v->type == RL_REPLY_NIL)
		return REDLOCK_VOTE_NO;
	if (v->type == RL_REPLY_STATUS && strcmp(v->text, "OK") == 0)
		return REDLOCK_VOTE_YES;
	return REDLOCK_VOTE_GARBAGE;
}

/* SET ... XX of a key that nobody has. */
static enum redlock_vote_code vote_of_probe(const struct rl_reply_value *v)
{
	return v->type == RL_REPLY_NIL ? REDLOCK_VOTE_YES : REDLOCK_VOTE_GARBAGE;
}

static enum redlock_vote_code vote_of_compare(const struct rl_reply_value *v)
{
	if (v->type != RL_REPLY_INTEGER || v->integer < 0 || v->integer > 1)
		return REDLOCK_VOTE_GARBAGE;
	return v->integer == 1 ? REDLOCK_VOTE_YES : REDLOCK_VOTE_NO;
}

static enum redlock_vote_code vote_of_inspect(const struct rl_reply *r)
{
	static const enum rl_reply_type shape[] = {RL_REPLY_STRING, RL_REPLY_INTEGER, RL_REPLY_INTEGER,
	                                           RL_REPLY_STRING};
	if (r->value.type != RL_REPLY_ARRAY || r->count != 4)
		return REDLOCK_VOTE_GARBAGE;
	for (unsigned i = 0; i < 4; i++)
		if (r->items[i].type != shape[i])
			return REDLOCK_VOTE_GARBAGE;
	return REDLOCK_VOTE_YES;
}

enum redlock_vote_code rl_vote_of_reply(enum redlock_operation operation, const struct rl_reply *reply)
{
	if (reply->value.type == RL_REPLY_ERROR)
		return rl_vote_of_error(reply->value.text);
	if (operation == REDLOCK_OP_ACQUIRE)
		return vote_of_set(&reply->value);
	if (operation == REDLOCK_OP_PROBE)
		return vote_of_probe(&reply->value);
	if (operation == REDLOCK_OP_QUERY)
		return vote_of_inspect(reply);
	return vote_of_compare(&reply->value);
}
