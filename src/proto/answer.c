/* SPDX-License-Identifier: MIT */
#include "proto/answer.h"

#include <stdlib.h>
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

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

enum redlock_vote_code rl_answer_of_error(const char *text)
{
	for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
		if (begins(text, errors[i].prefix))
			return errors[i].vote;
	/* Before Redis 7 a script's error carries the command's error inside. */
	if (strstr(text, "The user executing the script can't") != NULL)
		return REDLOCK_VOTE_NOPERM;
	return strstr(text, "WRONGTYPE") != NULL ? REDLOCK_VOTE_NO : REDLOCK_VOTE_SERVER;
}

static bool within(const struct rl_outcome *o, int64_t number)
{
	return o->least <= number && number <= o->most;
}

static bool take_item(char letter, const struct rl_reply_value *v, struct rl_vote *vote)
{
	if (letter == 'i' && v->type == RL_REPLY_INTEGER) {
		vote->numbers[vote->number_count++] = v->integer;
		return true;
	}
	if (letter != 's' || v->type != RL_REPLY_STRING)
		return false;
	vote->texts[vote->text_count++] = (struct rl_slice){v->text, v->kept};
	return true;
}

static bool take_items(const struct rl_outcome *o, const struct rl_reply *r, struct rl_vote *vote)
{
	vote->number_count = vote->text_count = 0;
	for (unsigned i = 0; i < r->count; i++)
		if (!take_item(o->items[i], &r->items[i], vote))
			return false;
	return o->items[r->count] == '\0' && (vote->number_count == 0 || within(o, vote->numbers[0]));
}

/* Reads digits, with a sign; a number that is too large becomes the largest one. Returns the position after
 * them; NULL: there are no digits. */
static const char *take_number(const char *at, int64_t *ret)
{
	enum { MOST_DIGITS = 19 };
	bool negative = *at == '-';
	const char *first = at + negative;
	uint64_t number = 0;
	for (at = first; *at >= '0' && *at <= '9' && at < first + MOST_DIGITS; at++)
		number = number * 10 + (uint64_t)(*at - '0');
	int64_t bounded = number < INT64_MAX ? (int64_t)number : INT64_MAX;
	*ret = negative ? -bounded : bounded;
	return at > first ? at : NULL;
}

/* Reads an answer that is one text: the numbers, and after the last space the bytes of the text, whatever
 * they are. */
static bool take_words(const struct rl_outcome *o, const struct rl_reply_value *v, struct rl_vote *vote)
{
	const char *item = o->items, *at = v->text;
	vote->number_count = vote->text_count = 0;
	for (; *item == 'i'; item++) {
		at = take_number(at, &vote->numbers[vote->number_count++]);
		if (at == NULL || *at++ != ' ')
			return false;
	}
	vote->texts[vote->text_count++] = (struct rl_slice){at, v->kept - (size_t)(at - v->text)};
	return vote->number_count > 0 && strcmp(item, "s") == 0 && within(o, vote->numbers[0]);
}

static bool fits(const struct rl_outcome *o, const struct rl_reply *r, struct rl_vote *vote)
{
	if (o->type == RL_REPLY_ARRAY && r->value.type == RL_REPLY_STRING)
		return take_words(o, &r->value, vote);
	if (r->value.type != o->type)
		return false;
	switch (o->type) {
	case RL_REPLY_STATUS:
		return strcmp(r->value.text, "OK") == 0;
	case RL_REPLY_INTEGER:
		vote->numbers[0] = r->value.integer;
		vote->number_count = 1;
		return within(o, r->value.integer);
	case RL_REPLY_ARRAY:
		return take_items(o, r, vote);
	case RL_REPLY_ERROR:
		return begins(r->value.text, o->items);
	default:
		return true;
	}
}

void rl_answer_read(const struct rl_outcome *o, const struct rl_reply *reply, struct rl_vote *vote)
{
	vote->number_count = vote->text_count = 0;
	while (o->vote != REDLOCK_VOTE_PENDING && !fits(o, reply, vote))
		o++;
	if (o->vote != REDLOCK_VOTE_PENDING)
		vote->code = o->vote;
	else if (reply->value.type == RL_REPLY_ERROR)
		vote->code = rl_answer_of_error(reply->value.text);
	else
		vote->code = REDLOCK_VOTE_GARBAGE;
}
