/* SPDX-License-Identifier: MIT */
#include "guard_record.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <redlock/url.h>

#include "quarantine.h"
#include "values.h"

static const char *const field_names[GUARD_FIELDS] = {
#define FIELD_NAME(name, field) [GUARD_##name] = (field),
    GUARD_FIELD_MAP(FIELD_NAME)
#undef FIELD_NAME
};

static const char *const state_words[] = {
#define STATE_WORD(name, word) (word),
    GUARD_STATE_MAP(STATE_WORD)
#undef STATE_WORD
};

/* The questions for each node, in this order. */
enum { ASK_TIME, ASK_SERVER, ASK_REPLICATION, ASK_RECORD, ASKED };

enum { COUNTER_DIGITS = 18 }; /* more are not read by clients */

uint64_t guard_record_number(const struct guard_record *record, enum guard_field field)
{
	return strtoull(record->field[field], NULL, 10);
}

bool guard_record_is_of_a_set(const struct guard_record *r)
{
	return r->state == GUARD_ADMITTED_ || r->state == GUARD_UNSEEN_ || r->state == GUARD_QUARANTINE_ ||
	       r->state == GUARD_OVER_;
}

uint64_t guard_record_forgetful(const struct guard_record *records, unsigned count, uint64_t *ret_left_ms)
{
	uint64_t nodes = 0;
	*ret_left_ms = 0;
	for (unsigned i = 0; i < count; i++) {
		const struct guard_record *r = &records[i];
		if (r->state != GUARD_QUARANTINE_ && r->state != GUARD_BLANK_)
			continue;
		nodes |= UINT64_C(1) << i;
		*ret_left_ms = r->left_ms > *ret_left_ms ? r->left_ms : *ret_left_ms;
	}
	return nodes;
}

/* ---- damage ---- */

enum { ID_DIGITS = 16, STEP_DIGITS = 15 };

static bool is_id(const char *text)
{
	return strlen(text) == ID_DIGITS && strspn(text, "0123456789abcdef") == ID_DIGITS;
}

/* Scripts count exactly so far. */
static bool is_count(const char *text)
{
	size_t size = strlen(text);
	return size > 0 && size <= STEP_DIGITS && strspn(text, "0123456789") == size && text[0] != '0';
}

/* Whether the text has the form of a pass, of any process. A pass that a client cannot read keeps the node
 * out for ever. */
static bool is_pass(const char *text)
{
	return text[0] == '\0' || (text[0] == '-' ? text[1] == ':' : strchr(text, ':') != NULL);
}

/* Whether the pass is for the record's configuration. A pass of another process may be as old as that, or cut
 * off: then the node goes through a quarantine. */
static bool is_passed_by(const struct guard_record *r)
{
	const char *config = strchr(r->field[GUARD_PASS], ':');
	if (r->state != GUARD_ADMITTED_ && (config == NULL || !is_id(config + 1)))
		return true;
	return config != NULL && strcmp(config + 1, r->field[GUARD_CONFIG]) == 0;
}

const char *guard_record_damage(const struct guard_record *r)
{
	static const struct {
		enum guard_field field;
		bool (*fits)(const char *text);
	} forms[] = {{GUARD_SET, is_id},       {GUARD_CONFIG, is_id}, {GUARD_STEP, is_count},
	             {GUARD_QUORUM, is_count}, {GUARD_TTL, is_count}, {GUARD_PASS, is_pass}};
	if (!guard_record_is_of_a_set(r))
		return NULL;
	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
		if (!forms[i].fits(r->field[forms[i].field]))
			return field_names[forms[i].field];
	return is_passed_by(r) ? NULL : field_names[GUARD_CONFIG];
}

/* ---- numbers ---- */

#define LEAST_ROOM (UINT64_C(1) << 40)

/* 0: it cannot be read. */
static bool read_counter(const char *text, uint64_t *ret)
{
	size_t size = strlen(text);
	uint64_t number = strtoull(text, NULL, 10);
	bool known = size > 0 && size <= COUNTER_DIGITS && strspn(text, "0123456789") == size &&
	             number < GUARD_COUNTER_END;
	*ret = known ? number : 0;
	return known;
}

bool guard_record_counter(const struct guard_record *record, uint64_t *ret)
{
	uint64_t floor, most;
	bool has_floor = read_counter(record->field[GUARD_FLOOR], &floor);
	bool has_most = read_counter(record->field[GUARD_GMAX], &most);
	*ret = most > floor ? most : floor;
	return has_floor && has_most && most >= floor;
}

bool guard_record_used_up(const struct guard_record *record, uint64_t *ret)
{
	(void)guard_record_counter(record, ret);
	return *ret > GUARD_COUNTER_END - LEAST_ROOM;
}

static const char *word_of(enum guard_state state)
{
	return state_words[state];
}

bool guard_record_member(const char *text, char *buffer, size_t size)
{
	struct redlock_url url = {.size = sizeof url};
	if (redlock_url_parse(text, NULL, 0, &url) < 0)
		return false;
	bool bare = strchr(url.host, ':') == NULL;
	if (strstr(url.scheme, "+cluster") != NULL)
		snprintf(buffer, size, "cluster:%s/0", url.host);
	else if (url.master[0] != '\0')
		snprintf(buffer, size, "sentinel:%s/%s/%u", url.host, url.master, url.database);
	else if (url.port == 0)
		snprintf(buffer, size, "unix:%s/%u", url.path, url.database);
	else
		snprintf(buffer, size, "%s%s%s:%u/%u", bare ? "" : "[", url.host, bare ? "" : "]", url.port,
		         url.database);
	for (char *at = buffer; url.port != 0 && *at != '\0'; at++)
		*at = (char)tolower((unsigned char)*at);
	return true;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

char *guard_record_join(const char *const *members, size_t count)
{
	const char *sorted[REDLOCK_MAX_NODES + 1] = {NULL};
	size_t size = 1, used = 0;
	for (size_t i = 0; i < count; i++)
		size += strlen(sorted[i] = members[i]) + 1;
	qsort(sorted, count, sizeof sorted[0], compare);
	char *text = malloc(size);
	if (text != NULL)
		text[0] = '\0';
	for (size_t i = 0; i < count && text != NULL; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? " " : "", sorted[i]);
	return text;
}

/* ---- reading ---- */

static bool info_line(const char *info, const char *field, char *buffer, size_t size)
{
	size_t length = strlen(field);
	for (const char *line = info; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, field, length) != 0 || line[length] != ':')
			continue;
		snprintf(buffer, size, "%.*s", (int)strcspn(line + length + 1, "\r\n"), line + length + 1);
		return true;
	}
	return false;
}

/* INFO may be forbidden: then there is no run_id, and nothing is known of replicas. */
static void take_info(struct guard_record *r, const struct redlock_question *q)
{
	const struct redlock_reply *server = q[ASK_SERVER].reply, *replication = q[ASK_REPLICATION].reply;
	char text[64];
	snprintf(r->run_id, sizeof r->run_id, "-");
	r->replicas = false;
	if (server != NULL && server->kind == REDLOCK_REPLY_STRING)
		(void)info_line(server->text, "run_id", r->run_id, sizeof r->run_id);
	if (replication == NULL || replication->kind != REDLOCK_REPLY_STRING)
		return;
	r->replicas = info_line(replication->text, "role", text, sizeof text) && strcmp(text, "master") != 0;
	if (info_line(replication->text, "connected_slaves", text, sizeof text) && strcmp(text, "0") != 0)
		r->replicas = true;
	if (info_line(replication->text, "master_replid2", text, sizeof text) && text[strspn(text, "0")] != '\0')
		r->replicas = true;
}

static void refuse(struct guard_record *r, const struct redlock_question *q)
{
	bool refused = q->reply != NULL && q->reply->kind == REDLOCK_REPLY_ERROR;
	r->state = GUARD_SILENT_;
	r->vote = redlock_question_vote(q);
	snprintf(r->why, sizeof r->why, "%s",
	         refused            ? q->reply->text
	         : q->reply == NULL ? q->error
	                            : "an answer of another kind");
}

static bool take_time(struct guard_record *r, const struct redlock_question *q)
{
	const struct redlock_reply *a = q->reply;
	bool fits = a != NULL && a->kind == REDLOCK_REPLY_ARRAY && a->count == 2 &&
	            a->items[0].kind == REDLOCK_REPLY_STRING && a->items[1].kind == REDLOCK_REPLY_STRING;
	if (fits)
		r->now_ms = strtoull(a->items[0].text, NULL, 10) * 1000 + strtoull(a->items[1].text, NULL, 10) / 1000;
	return fits;
}

static const char *text_at(const struct redlock_reply *reply)
{
	return reply->kind == REDLOCK_REPLY_STRING ? reply->text : "";
}

/* False: not such an answer, or no memory. */
static bool take_fields(struct guard_record *r, const struct redlock_question *q)
{
	const struct redlock_reply *a = q->reply;
	size_t size = 1;
	if (a == NULL || a->kind != REDLOCK_REPLY_ARRAY || a->count != GUARD_FIELDS)
		return false;
	for (unsigned f = 0; f < GUARD_FIELDS; f++)
		size += strlen(text_at(&a->items[f])) + 1;
	char *at = r->texts = malloc(size);
	for (unsigned f = 0; f < GUARD_FIELDS && at != NULL; f++) {
		r->field[f] = at;
		at = stpcpy(at, text_at(&a->items[f])) + 1;
	}
	return at != NULL;
}

/* Only the process that the record names never voted since. */
static const char *founding_of(const struct guard_record *r)
{
	size_t id = strlen(r->run_id);
	const char *text = r->field[GUARD_FOUNDING];
	bool own = strncmp(text, r->run_id, id) == 0 && text[id] == ' ';
	return own && r->field[GUARD_PASS][0] == '\0' ? text + id + 1 : NULL;
}

const char *guard_record_founding(const struct guard_record *r)
{
	return r->state == GUARD_FOUNDING_ ? founding_of(r) : NULL;
}

static enum guard_state state_of(struct guard_record *r)
{
	const char *mode = r->field[GUARD_MODE];
	bool is_plain = strcmp(mode, "plain") == 0, is_removed = strcmp(mode, "removed") == 0;
	size_t id = strlen(r->run_id);
	const char *pass = r->field[GUARD_PASS];
	bool own = strncmp(pass, r->run_id, id) == 0 && pass[id] == ':';
	bool begun = strcmp(r->field[GUARD_QRID], r->run_id) == 0 && r->field[GUARD_QID][0] != '\0';
	uint64_t until_ms = guard_record_number(r, GUARD_QUNTIL);
	uint64_t ttl_ms = guard_record_number(r, GUARD_TTL);
	r->left_ms = !begun ? quarantine_ms(ttl_ms) : until_ms > r->now_ms ? until_ms - r->now_ms : 0;
	bool is_blank = r->field[GUARD_VERSION][0] == '\0';
	if (is_blank && !begun)
		r->left_ms = 0;
	if (!is_blank && strcmp(r->field[GUARD_VERSION], "1") != 0)
		return GUARD_NEWER_;
	if ((is_blank || is_plain || is_removed) && founding_of(r) != NULL)
		return GUARD_FOUNDING_;
	if (is_blank || is_plain || is_removed)
		return is_blank ? GUARD_BLANK_ : is_plain ? GUARD_PLAIN_ : GUARD_REMOVED_;
	if (own || strncmp(pass, "-:", 2) == 0)
		return GUARD_ADMITTED_;
	if (strcmp(r->run_id, "-") == 0 && pass[0] != '\0' && !begun)
		return GUARD_UNSEEN_;
	return r->left_ms > 0 ? GUARD_QUARANTINE_ : GUARD_OVER_;
}

static void take(struct guard_record *r, const struct redlock_question *q)
{
	bool fields = take_fields(r, &q[ASK_RECORD]);
	if (!take_time(r, &q[ASK_TIME])) {
		refuse(r, &q[ASK_TIME]);
	} else if (!fields) {
		refuse(r, &q[ASK_RECORD]);
	} else {
		take_info(r, q);
		r->state = state_of(r);
	}
}

int guard_record_read(redlock_asker *asker, struct guard_record *records, unsigned count, uint64_t nodes,
                      uint64_t timeout_ms)
{
	static const char *const time[] = {"TIME"}, *const server[] = {"INFO", "server"},
	                         *const replication[] = {"INFO", "replication"};
	const char *hmget[2 + GUARD_FIELDS] = {"HMGET", GUARD_RECORD_KEY};
	struct redlock_question *list = calloc((size_t)count * ASKED + 1, sizeof *list), *q = list;
	memcpy(hmget + 2, field_names, sizeof field_names);
	guard_record_free(records, count);
	if (list == NULL)
		return REDLOCK_E_NOMEM;
	for (unsigned i = 0; i < count; i++) {
		if ((nodes >> i & 1) == 0)
			continue;
		q[ASK_TIME] = (struct redlock_question){
		    .size = sizeof(struct redlock_question), .node = i, .argc = 1, .argv = time};
		q[ASK_SERVER] = (struct redlock_question){
		    .size = sizeof(struct redlock_question), .node = i, .argc = 2, .argv = server};
		q[ASK_REPLICATION] = (struct redlock_question){
		    .size = sizeof(struct redlock_question), .node = i, .argc = 2, .argv = replication};
		q[ASK_RECORD] = (struct redlock_question){
		    .size = sizeof(struct redlock_question), .node = i, .argc = 2 + GUARD_FIELDS, .argv = hmget};
		q += ASKED;
	}
	int result = redlock_ask(asker, list, (size_t)(q - list), timeout_ms);
	for (const struct redlock_question *at = list; at < q; at += ASKED)
		take(&records[at->node], at);
	free(list);
	return result;
}

void guard_record_free(struct guard_record *records, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		free(records[i].texts);
		records[i] = (struct guard_record){.state = GUARD_SILENT_};
		for (unsigned f = 0; f < GUARD_FIELDS; f++)
			records[i].field[f] = "";
	}
}

/* ---- showing ---- */

static const char *counter_words(const struct guard_record *r)
{
	uint64_t number;
	return guard_record_used_up(r, &number)   ? ", fencing numbers used up"
	       : r->state != GUARD_ADMITTED_      ? ""
	       : guard_record_counter(r, &number) ? ", fencing known"
	                                          : ", fencing not known";
}

const char *guard_record_text(const struct guard_record *r, char *buffer, size_t size)
{
	char state[96];
	snprintf(state, sizeof state, "%s", word_of(r->state));
	if (r->state == GUARD_SILENT_)
		return snprintf(buffer, size, "no answer: %s", r->why), buffer;
	if (r->state == GUARD_BLANK_)
		snprintf(state, sizeof state, ", in quarantine for another %.1f s", (double)r->left_ms / 1000);
	if (r->state == GUARD_BLANK_)
		return snprintf(buffer, size, "no record%s", r->left_ms > 0 ? state : ""), buffer;
	if (r->state == GUARD_FOUNDING_)
		return snprintf(buffer, size, "`redlock init` has begun to make a set, and has not ended"), buffer;
	if (r->state == GUARD_QUARANTINE_)
		snprintf(state, sizeof state, "in quarantine for another %.1f s", (double)r->left_ms / 1000);
	if (r->state == GUARD_UNSEEN_)
		snprintf(state, sizeof state, "not seen whether it votes: the user lacks +info");
	if (r->state == GUARD_OVER_)
		snprintf(state, sizeof state, "quarantine over, the next guarded client admits it");
	snprintf(buffer, size, "set %s, configuration %s%s, %s%s%s", r->field[GUARD_SET], r->field[GUARD_STEP],
	         r->field[GUARD_PREV][0] ? " and the one before" : "", state,
	         strncmp(r->field[GUARD_PASS], "-:", 2) == 0 ? " without a run_id" : "", counter_words(r));
	return buffer;
}

void guard_record_json(const struct guard_record *r, struct json *json)
{
	static const enum guard_field shown[] = {GUARD_SET,  GUARD_CONFIG,      GUARD_MEMBERS, GUARD_NODE,
	                                         GUARD_DONE, GUARD_PREV_CONFIG, GUARD_LEAVING};
	static const enum guard_field numbers[] = {GUARD_STEP, GUARD_QUORUM, GUARD_TTL};
	static const enum guard_field counters[] = {GUARD_FLOOR, GUARD_GMAX};
	if (r->state == GUARD_SILENT_) {
		json_null(json, "guard");
		return;
	}
	json_open(json, "guard", '{');
	json_text(json, "state", word_of(r->state));
	json_number(json, "quarantine_ms",
	            r->state == GUARD_QUARANTINE_ || r->state == GUARD_BLANK_ ? (int64_t)r->left_ms : 0);
	for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
		if (r->field[shown[i]][0] != '\0')
			json_bytes(json, field_names[shown[i]], r->field[shown[i]], strlen(r->field[shown[i]]));
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		json_number_or_null(json, field_names[numbers[i]], r->field[numbers[i]][0] != '\0',
		                    (int64_t)guard_record_number(r, numbers[i]));
	for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
		uint64_t number;
		bool known = read_counter(r->field[counters[i]], &number);
		json_number_or_null(json, field_names[counters[i]], known, (int64_t)number);
	}
	json_close(json, '}');
}
