/* SPDX-License-Identifier: MIT */
#include "net/resp.h"

#include <hiredis/hiredis.h>
#include <string.h>

/* ---- writing ---- */

static size_t put_number(char *at, char mark, size_t number)
{
	char digits[24];
	size_t n = 0;
	do
		digits[n++] = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	size_t used = 0;
	at[used++] = mark;
	while (n > 0)
		at[used++] = digits[--n];
	at[used++] = '\r';
	at[used++] = '\n';
	return used;
}

bool rl_resp_command(struct rl_buffer *out, const struct rl_slice *words, unsigned count)
{
	enum { HEAD = 24, TAIL = 2 };
	size_t most = HEAD;
	for (unsigned i = 0; i < count; i++)
		most += HEAD + words[i].size + TAIL;
	if (!rl_buffer_reserve(out, most))
		return false;
	char *at = out->bytes + out->size;
	at += put_number(at, '*', count);
	for (unsigned i = 0; i < count; i++) {
		at += put_number(at, '$', words[i].size);
		memcpy(at, words[i].bytes, words[i].size);
		at += words[i].size;
		memcpy(at, "\r\n", TAIL);
		at += TAIL;
	}
	out->size = (size_t)(at - out->bytes);
	return true;
}

/* ---- reading: hiredis calls these for each element; everything goes into the one reply of the resp ---- */

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
	*place(task) = value;
	return task->privdata;
}

static void *on_string(const redisReadTask *task, char *text, size_t length)
{
	struct rl_resp *r = task->privdata;
	size_t room = sizeof r->arena - r->arena_used;
	if (room == 0)
		return NULL;
	size_t kept = length < room ? length : room - 1;
	char *copy = r->arena + r->arena_used;
	memcpy(copy, text, kept);
	copy[kept] = '\0';
	r->arena_used += kept + 1;
	return put(task, (struct rl_reply_value){.text = copy, .kept = kept, .length = length});
}

static void *put_array(const redisReadTask *task, unsigned long long count)
{
	struct rl_resp *r = task->privdata;
	if (task->parent != NULL || count > RL_RESP_ITEMS)
		return NULL; /* the reader takes this for out of memory, we for garbage */
	r->reply.count = (unsigned)count;
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
	return true;
}

void rl_resp_close(struct rl_resp *r)
{
	if (r->reader != NULL)
		redisReaderFree(r->reader);
	r->reader = NULL;
}

bool rl_resp_feed(struct rl_resp *r, const char *bytes, size_t size)
{
	return redisReaderFeed(r->reader, bytes, size) == REDIS_OK;
}

int rl_resp_next(struct rl_resp *r, const struct rl_reply **ret_reply)
{
	redisReader *reader = r->reader;
	void *object = NULL;
	if (reader->ridx == -1)
		r->arena_used = 0; /* a new reply begins */
	if (redisReaderGetReply(reader, &object) != REDIS_OK)
		return -1;
	if (object == NULL)
		return reader->len - reader->pos > RL_RESP_UNPARSED ? -1 : 0;
	*ret_reply = &r->reply;
	return 1;
}
