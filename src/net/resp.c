/* SPDX-License-Identifier: MIT */
#include "net/resp.h"

#include <hiredis/hiredis.h>
#include <string.h>

/* ---- reading: hiredis calls these for each element; everything goes into the one reply of the resp ---- */

/* A value inside of an element: it is dropped. */
static bool is_nested(const redisReadTask *task)
{
	return task->parent != NULL && task->parent->parent != NULL;
}

static struct rl_reply_value *place(const redisReadTask *task)
{
	struct rl_resp *r = task->privdata;
	if (task->parent == NULL)
		return &r->reply.value;
	return &r->reply.items[task->idx]; /* in range: on_array() limits the elements and the depth */
}

static const enum rl_reply_type types[] = {
    [REDIS_REPLY_STRING] = RL_REPLY_STRING,   [REDIS_REPLY_ARRAY] = RL_REPLY_ARRAY,
    [REDIS_REPLY_INTEGER] = RL_REPLY_INTEGER, [REDIS_REPLY_NIL] = RL_REPLY_NIL,
    [REDIS_REPLY_STATUS] = RL_REPLY_STATUS,   [REDIS_REPLY_ERROR] = RL_REPLY_ERROR,
};

/* NULL for a type that RESP2 does not have: the reader takes it for out of memory, we for garbage. */
static void *put(const redisReadTask *task, struct rl_reply_value value)
{
	if (task->type < 0 || (size_t)task->type >= sizeof types / sizeof types[0])
		return NULL;
	value.type = types[task->type];
	if (!is_nested(task))
		*place(task) = value;
	return task->privdata;
}

/* Copies a text into the arena, as much of it as there is room for, with a NUL. Returns false if the arena is
 * full. */
/*@ requires \valid(r) && \valid(ret) && \valid_read(text + (0 .. length - 1));
    requires r->arena_used <= RL_RESP_ARENA && \separated(r, ret, text + (0 .. length - 1));
    assigns r->arena_used, r->arena[0 .. RL_RESP_ARENA - 1], *ret;
    ensures r->arena_used <= RL_RESP_ARENA && (\result <==> \old(r->arena_used) < RL_RESP_ARENA);
    ensures \result ==> ret->text == r->arena + \old(r->arena_used) && ret->text[ret->kept] == '\0';
    ensures \result ==> r->arena_used == \old(r->arena_used) + ret->kept + 1;
    ensures \result ==> ret->kept == length || (ret->kept < length && r->arena_used == RL_RESP_ARENA); */
static bool keep_text(struct rl_resp *r, const char *text, size_t length, struct rl_reply_value *ret)
{
	size_t room = sizeof r->arena - r->arena_used;
	if (room == 0)
		return false;
	size_t kept = length < room ? length : room - 1;
	char *copy = r->arena + r->arena_used;
	memcpy(copy, text, kept);
	copy[kept] = '\0';
	r->arena_used += kept + 1;
	*ret = (struct rl_reply_value){.text = copy, .kept = kept, .length = length};
	return true;
}

static void *on_string(const redisReadTask *task, char *text, size_t length)
{
	struct rl_reply_value value;
	if (is_nested(task))
		return task->privdata;
	return keep_text(task->privdata, text, length, &value) ? put(task, value) : NULL;
}

/* Whether an array may have so many elements. The reader takes a refusal for out of memory, we for garbage.
 */
/*@ requires \valid_read(r) && r->nested_values <= RL_RESP_NESTED;
    assigns \nothing;
    ensures \result && !inside ==> count <= RL_REPLY_ITEMS;
    ensures \result && inside ==> r->nested_values + count <= RL_RESP_NESTED; */
static bool admits(const struct rl_resp *r, bool inside, unsigned long long count)
{
	if (inside)
		return r->nested && count <= RL_RESP_NESTED - r->nested_values;
	return count <= RL_REPLY_ITEMS;
}

static void *put_array(const redisReadTask *task, unsigned long long count)
{
	struct rl_resp *r = task->privdata;
	bool inside = task->parent != NULL;
	if (!admits(r, inside, count))
		return NULL;
	if (!inside)
		r->reply.count = (unsigned)count;
	else
		r->nested_values += (unsigned)count;
	return put(task, (struct rl_reply_value){0});
}

#if HIREDIS_MAJOR >= 1
static void *on_array(const redisReadTask *task, size_t count)
{
	return put_array(task, count);
}

static void *on_double(const redisReadTask *task, double value, char *text, size_t length)
{
	(void)task, (void)value, (void)text, (void)length;
	return NULL; /* RESP3, which is never asked for */
}

static void *on_bool(const redisReadTask *task, int value)
{
	(void)task, (void)value;
	return NULL;
}
#else
static void *on_array(const redisReadTask *task, int count)
{
	return put_array(task, (unsigned)count);
}
#endif

static void *on_integer(const redisReadTask *task, long long integer)
{
	return put(task, (struct rl_reply_value){.integer = integer});
}

/* The task of a null bulk string says "string": the type is not taken from it. */
static void *on_nil(const redisReadTask *task)
{
	if (!is_nested(task))
		*place(task) = (struct rl_reply_value){.type = RL_REPLY_NIL};
	return task->privdata;
}

static void on_free(void *object)
{
	(void)object;
}

static redisReplyObjectFunctions functions = {
    .createString = on_string,
    .createArray = on_array,
    .createInteger = on_integer,
    .createNil = on_nil,
#if HIREDIS_MAJOR >= 1
    .createDouble = on_double,
    .createBool = on_bool,
#endif
    .freeObject = on_free,
};

bool rl_resp_open(struct rl_resp *r)
{
	redisReader *reader = redisReaderCreateWithFunctions(&functions);
	if (reader == NULL)
		return false;
	reader->privdata = r;
	r->reader = reader;
	r->used = r->received = 0;
	return true;
}

void rl_resp_close(struct rl_resp *r)
{
	if (r->reader != NULL)
		redisReaderFree(r->reader);
	r->reader = NULL;
}

/* ---- reading: short replies are told by their bytes, as long as the reader has nothing to finish ---- */

static const struct {
	const char *bytes;
	size_t size;
	struct rl_reply_value value;
} replies[] = {
    {"+OK\r\n", 5, {.type = RL_REPLY_STATUS, .text = "OK", .kept = 2, .length = 2}},
    {":1\r\n", 4, {.type = RL_REPLY_INTEGER, .integer = 1}},
    {":0\r\n", 4, {.type = RL_REPLY_INTEGER, .integer = 0}},
    {"$-1\r\n", 5, {.type = RL_REPLY_NIL}},
};

size_t rl_resp_short(const char *bytes, size_t size, struct rl_reply_value *ret)
{
	enum { LEAST = 4 }; /* a constant: that is one comparison */
	/*@ loop invariant 0 <= i <= 4;
	    loop assigns i;
	    loop variant 4 - i; */
	for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
		if (size < replies[i].size || memcmp(bytes, replies[i].bytes, LEAST) != 0 ||
		    bytes[replies[i].size - 1] != '\n')
			continue;
		*ret = replies[i].value;
		return replies[i].size;
	}
	return 0;
}

static bool reader_is_idle(const struct rl_resp *r)
{
	const redisReader *reader = r->reader;
	return reader->err == 0 && reader->ridx == -1 && reader->pos == reader->len;
}

static bool give_to_reader(struct rl_resp *r)
{
	size_t size = r->received - r->used;
	const char *bytes = r->room + r->used;
	r->used = r->received;
	return redisReaderFeed(r->reader, bytes, size) == REDIS_OK;
}

char *rl_resp_room(struct rl_resp *r)
{
	return r->used == r->received || give_to_reader(r) ? r->room : NULL;
}

bool rl_resp_received(struct rl_resp *r, size_t size)
{
	r->used = 0;
	r->received = size;
	return reader_is_idle(r) || give_to_reader(r);
}

int rl_resp_next(struct rl_resp *r, const struct rl_reply **ret_reply)
{
	redisReader *reader = r->reader;
	void *object = NULL;
	*ret_reply = &r->reply;
	size_t used = rl_resp_short(r->room + r->used, r->received - r->used, &r->reply.value);
	r->used += used;
	if (used > 0)
		return 1;
	if (r->used < r->received && !give_to_reader(r))
		return -1;
	if (reader_is_idle(r))
		return 0; /* asked without a byte, it would begin a reply */
	if (reader->ridx == -1)
		r->arena_used = r->nested_values = 0; /* a new reply begins */
	if (redisReaderGetReply(reader, &object) != REDIS_OK)
		return -1;
	if (object == NULL)
		return reader->len - reader->pos > RL_RESP_UNPARSED ? -1 : 0;
	return 1;
}

bool rl_resp_take(struct rl_resp *r, struct rl_slice *ret)
{
	*ret = (struct rl_slice){r->room + r->used, r->received - r->used};
	r->used = r->received;
	return reader_is_idle(r);
}
