/* SPDX-License-Identifier: MIT */
#include "proto/answer.h"

#include <stddef.h>
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

/* Where a field is kept. */
static const struct {
	uint8_t offset, size;
} places[RL_FIELD_COUNT] = {
#define PLACE(NAME, name)                                                                                    \
	[RL_FIELD_##NAME] = {offsetof(struct rl_vote, name), sizeof((struct rl_vote *)0)->name},
    RL_FIELD_NUMBERS(PLACE) RL_FIELD_TEXTS(PLACE)
#undef PLACE
};

static bool is_text(enum rl_field field)
{
	return field == RL_FIELD_SKIPPED_TEXT || field >= RL_FIELD_TOKEN;
}

static void keep(struct rl_vote *vote, enum rl_field field, const void *value)
{
	if (field == RL_FIELD_SKIPPED || field == RL_FIELD_SKIPPED_TEXT)
		return;
	memcpy((char *)vote + places[field].offset, value, places[field].size);
	vote->told |= UINT32_C(1) << field;
}

static int32_t saturated(int64_t number)
{
	return (int32_t)(number < INT32_MIN ? INT32_MIN : number > INT32_MAX ? INT32_MAX : number);
}

/* False: this verdict is not of the outcome. */
static bool keep_number(const struct rl_outcome *o, struct rl_vote *vote, enum rl_field field, int64_t number)
{
	int32_t small = saturated(number);
	keep(vote, field, places[field].size == sizeof small ? (const void *)&small : &number);
	return field != RL_FIELD_VERDICT || within(o, number);
}

static bool take_item(const struct rl_outcome *o, enum rl_field field, const struct rl_reply_value *v,
                      struct rl_vote *vote)
{
	if (!is_text(field))
		return v->type == RL_REPLY_INTEGER && keep_number(o, vote, field, v->integer);
	if (v->type != RL_REPLY_STRING)
		return false;
	keep(vote, field, &(struct rl_slice){v->text, v->kept});
	return true;
}

static bool take_items(const struct rl_outcome *o, const struct rl_reply *r, struct rl_vote *vote)
{
	const uint8_t *field = o->fields;
	for (unsigned i = 0; i < r->count; i++, field++)
		if (*field == RL_FIELD_END || !take_item(o, *field, &r->items[i], vote))
			return false;
	return *field == RL_FIELD_END;
}

/* Reads digits, with a sign; a number that is too large becomes the largest one. Returns the position after
 * them; NULL: there are no digits. */
static const char *take_number(const char *at, int64_t *ret)
{
	enum { MOST_DIGITS = 19 };
	bool negative = *at == '-';
	const char *first = at + negative;
	unsigned digits = 0;
	uint64_t number = 0;
	/*@ loop invariant digits <= MOST_DIGITS && number < ten_to(digits);
	    loop invariant \forall integer i; 0 <= i < digits + (at[0] == '-' ? 1 : 0) ==> at[i] != '\0';
	    loop assigns digits, number;
	    loop variant MOST_DIGITS - digits; */
	for (; digits < MOST_DIGITS && first[digits] >= '0' && first[digits] <= '9'; digits++)
		number = number * 10 + (uint64_t)(first[digits] - '0');
	int64_t bounded = number < INT64_MAX ? (int64_t)number : INT64_MAX;
	*ret = negative ? -bounded : bounded;
	return digits > 0 ? first + digits : NULL;
}

/* Reads an answer that is one text: the numbers, and after the last space the bytes of the text, whatever
 * they are. */
static bool take_words(const struct rl_outcome *o, const struct rl_reply_value *v, struct rl_vote *vote)
{
	const uint8_t *field = o->fields;
	const char *at = v->text;
	for (int64_t number; !is_text(*field) && *field != RL_FIELD_END; field++) {
		at = take_number(at, &number);
		if (at == NULL || *at++ != ' ' || !keep_number(o, vote, *field, number))
			return false;
	}
	if (field == o->fields || !is_text(field[0]) || field[1] != RL_FIELD_END)
		return false;
	keep(vote, *field, &(struct rl_slice){at, v->kept - (size_t)(at - v->text)});
	return true;
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
	case RL_REPLY_INTEGER: /* nearly all answers to an extend or a release */
		vote->told = RL_TOLD(VERDICT);
		vote->verdict = saturated(r->value.integer);
		return within(o, r->value.integer);
	case RL_REPLY_ARRAY:
		return take_items(o, r, vote);
	case RL_REPLY_ERROR:
		return begins(r->value.text, o->error);
	default:
		return true;
	}
}

/* Field by field: compilers make of that some stores, and of an empty struct this large a loop. */
static void clear(struct rl_vote *vote)
{
	vote->told = 0;
#define CLEAR(NAME, name) vote->name = 0;
	RL_FIELD_NUMBERS(CLEAR)
#undef CLEAR
	vote->token = vote->value = (struct rl_slice){NULL, 0};
}

void rl_answer_read(const struct rl_outcome *o, const struct rl_reply *reply, struct rl_vote *vote)
{
	for (clear(vote); o->vote != REDLOCK_VOTE_PENDING; clear(vote), o++)
		if (fits(o, reply, vote)) {
			vote->code = o->vote;
			return;
		}
	vote->code =
	    reply->value.type == RL_REPLY_ERROR ? rl_answer_of_error(reply->value.text) : REDLOCK_VOTE_GARBAGE;
}
