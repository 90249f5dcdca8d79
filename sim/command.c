/* SPDX-License-Identifier: MIT */
/*
 * The commands of a modelled server: those that the library uses, as redis-server 7.0 answers them, with the
 * errors of servers that load, are full, cannot persist, are replicas or run a script. What the library must
 * never send (broken RESP, unknown commands, wrong numbers of words) is a violation.
 */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "world.h"

#define MAX_WORDS 16

/* One command under execution. */
struct call {
	struct world *w;
	struct node *node;
	struct conn *conn;
	uint32_t conn_number;
	struct buffer *out;
	struct bytes words[MAX_WORDS];
	unsigned count;
};

/* ---- replies ---- */

static void reply(struct call *c, const char *line)
{
	buffer_append(c->out, line, strlen(line));
	buffer_append(c->out, "\r\n", 2);
}

static void reply_number(struct call *c, int64_t number)
{
	char line[32];
	snprintf(line, sizeof line, ":%lld", (long long)number);
	reply(c, line);
}

static void reply_bulk(struct call *c, struct bytes b)
{
	char line[32];
	snprintf(line, sizeof line, "$%zu", b.size);
	reply(c, line);
	buffer_append(c->out, b.at, b.size);
	buffer_append(c->out, "\r\n", 2);
}

static struct bytes text_bytes(const char *text)
{
	return (struct bytes){text, strlen(text)};
}

/* ---- helpers ---- */

static bool word_is(struct bytes word, const char *text)
{
	return word.size == strlen(text) && strncasecmp(word.at, text, word.size) == 0;
}

/* A decimal number; -1 if it is none. */
static int64_t number_of(struct bytes word)
{
	int64_t number = 0;
	if (word.size == 0 || word.size > 18)
		return -1;
	for (size_t i = 0; i < word.size; i++) {
		if (word.at[i] < '0' || word.at[i] > '9')
			return -1;
		number = number * 10 + (word.at[i] - '0');
	}
	return number;
}

static struct key *find(struct call *c, struct bytes name)
{
	return keyspace_find(&c->node->keys, c->conn->session.database, name, node_now_ms(c->w, c->node));
}

static int64_t life_of(struct call *c, const struct key *key)
{
	if (key == NULL)
		return -2;
	return key->expires_ms == SIM_NO_EXPIRY ? -1 : key->expires_ms - node_now_ms(c->w, c->node);
}

static struct bytes value_of(const struct key *key)
{
	return (struct bytes){key->value, key->value_size};
}

/* What a write is answered now; NULL: it may go ahead. */
static const char *write_refused(const struct call *c)
{
	if (c->node->mode == MODE_MISCONF)
		return "-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to "
		       "disk.";
	if (c->node->mode == MODE_READONLY)
		return "-READONLY You can't write against a read only replica.";
	return NULL;
}

static void delete_key(struct call *c, struct key *key)
{
	struct bytes name = {key->name, key->name_size};
	char *copy = memcpy(sim_realloc(NULL, name.size), name.at, name.size);
	check_deleted(c->w, value_of(key));
	keyspace_remove(&c->node->keys, key);
	check_key(c->w, (struct bytes){copy, name.size});
	free(copy);
}

static const char wrongtype[] = "-WRONGTYPE Operation against a key holding the wrong kind of value";

/* ---- commands on connections ---- */

static void run_ping(struct call *c)
{
	reply(c, "+PONG");
}

static void run_auth(struct call *c)
{
	const struct plan *plan = &c->w->plan;
	struct bytes user = c->count == 3 ? c->words[1] : text_bytes("default");
	struct bytes password = c->words[c->count - 1];
	if (plan->password == NULL) {
		reply(c, "-ERR AUTH <password> called without any password configured for the default user.");
	} else if (word_is(user, plan->user != NULL ? plan->user : "default") &&
	           bytes_equal(password, text_bytes(plan->password)) && !c->node->other_password) {
		c->conn->session.greeted = true;
		reply(c, "+OK");
	} else {
		reply(c, "-WRONGPASS invalid username-password pair or user is disabled.");
	}
}

static void run_select(struct call *c)
{
	int64_t number = number_of(c->words[1]);
	if (number < 0 || number > 15 || c->node->no_database) {
		reply(c, "-ERR DB index is out of range");
		return;
	}
	c->conn->session.database = (unsigned)number;
	reply(c, "+OK");
}

static void run_client(struct call *c)
{
	if (word_is(c->words[1], "ID") && c->count == 2) {
		reply_number(c, (int64_t)c->conn->session.id);
	} else if (word_is(c->words[1], "KILL") && c->count == 4 && word_is(c->words[2], "ID")) {
		uint64_t id = (uint64_t)number_of(c->words[3]);
		if (c->node->kill_denied)
			reply(c, "-NOPERM this user has no permissions to run the 'client|kill' command");
		else if (id == c->conn->session.id) /* SKIPME is the default */
			reply_number(c, 0);
		else
			reply_number(c, node_kill_session(c->w, c->conn->node, id) ? 1 : 0);
	} else {
		check_fail(c->w, VIOLATION_PROTOCOL, "CLIENT with unknown words");
	}
}

static void run_info(struct call *c)
{
	char text[256];
	if (c->node->info_denied) {
		reply(c, "-NOPERM this user has no permissions to run the 'info' command");
		return;
	}
	snprintf(text, sizeof text,
	         "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:%s\r\ntcp_port:6379\r\n",
	         c->node->run_id);
	reply_bulk(c, text_bytes(text));
}

/* ---- commands on keys ---- */

static void run_set(struct call *c)
{
	if (c->count != 6 || !word_is(c->words[3], "NX") || !word_is(c->words[4], "PX")) {
		check_fail(c->w, VIOLATION_PROTOCOL, "SET without NX PX");
		return;
	}
	int64_t ttl_ms = number_of(c->words[5]);
	if (ttl_ms <= 0)
		check_fail(c->w, VIOLATION_PROTOCOL, "SET with a TTL of %lld", (long long)ttl_ms);
	if (c->conn->session.database != c->w->plan.database)
		check_fail(c->w, VIOLATION_PROTOCOL, "SET in database %u", c->conn->session.database);
	check_set(c->w, c->conn->node, c->conn->actor, c->conn->life, c->words[2]);
	const char *refused = write_refused(c);
	if (c->node->mode == MODE_OOM)
		refused = "-OOM command not allowed when used memory > 'maxmemory'.";
	if (refused != NULL) {
		reply(c, refused);
		return;
	}
	if (c->conn->aborted)
		world_hit(c->w, COVER_LATE_EXECUTION);
	if (find(c, c->words[1]) != NULL) {
		reply(c, "$-1");
		return;
	}
	keyspace_expire(&c->node->keys, node_now_ms(c->w, c->node));
	struct key *key = keyspace_add(&c->node->keys, c->conn->session.database, c->words[1], c->words[2]);
	key->expires_ms = node_now_ms(c->w, c->node) + ttl_ms;
	key->actor = c->conn->actor;
	key->life = c->conn->life;
	reply(c, "+OK");
}

static void run_get(struct call *c)
{
	const struct key *key = find(c, c->words[1]);
	if (key == NULL)
		reply(c, "$-1");
	else if (key->type != KEY_STRING)
		reply(c, wrongtype);
	else
		reply_bulk(c, value_of(key));
}

static void run_del(struct call *c)
{
	struct key *key = find(c, c->words[1]);
	const char *refused = write_refused(c);
	if (refused != NULL) {
		reply(c, refused);
		return;
	}
	if (key != NULL)
		delete_key(c, key);
	reply_number(c, key != NULL ? 1 : 0);
}

static void run_pexpire(struct call *c)
{
	struct key *key = find(c, c->words[1]);
	const char *refused = write_refused(c);
	if (refused != NULL) {
		reply(c, refused);
		return;
	}
	if (key != NULL)
		key->expires_ms = node_now_ms(c->w, c->node) + number_of(c->words[2]);
	check_key(c->w, c->words[1]);
	reply_number(c, key != NULL ? 1 : 0);
}

static void run_pttl(struct call *c)
{
	reply_number(c, life_of(c, find(c, c->words[1])));
}

static void run_type(struct call *c)
{
	const struct key *key = find(c, c->words[1]);
	reply(c, key == NULL ? "+none" : key->type == KEY_STRING ? "+string" : "+hash");
}

/* ---- scripts: EVALSHA sha 1 key [argument ...], the source of each is in scripts/ ---- */

enum { SCRIPT_KEY = 3, SCRIPT_TOKEN, SCRIPT_TTL };

/* The first line of release and extend: 1 ours, 0 not; -1: an answer was given. */
static int ours(struct call *c, const struct key *key)
{
	if (key != NULL && key->type != KEY_STRING) {
		world_hit(c->w, COVER_WRONGTYPE);
		reply(c, wrongtype);
		return -1;
	}
	return key != NULL && bytes_equal(value_of(key), c->words[SCRIPT_TOKEN]) ? 1 : 0;
}

static void script_release(struct call *c)
{
	struct key *key = find(c, c->words[SCRIPT_KEY]);
	int mine = ours(c, key);
	if (mine < 0)
		return;
	if (mine == 1 && write_refused(c) != NULL) {
		reply(c, write_refused(c));
		return;
	}
	if (mine == 1)
		delete_key(c, key);
	reply_number(c, mine);
}

static void script_extend(struct call *c)
{
	struct key *key = find(c, c->words[SCRIPT_KEY]);
	int mine = ours(c, key);
	if (mine < 0)
		return;
	int64_t left = life_of(c, key), wanted = number_of(c->words[SCRIPT_TTL]);
	if (mine == 1 && left >= 0 && left < wanted) {
		if (write_refused(c) != NULL) {
			reply(c, write_refused(c));
			return;
		}
		key->expires_ms += wanted - left;
	}
	reply_number(c, mine);
}

static void script_inspect(struct call *c)
{
	const struct key *key = find(c, c->words[SCRIPT_KEY]);
	struct bytes value = key != NULL ? value_of(key) : (struct bytes){"", 0};
	reply(c, "*4");
	reply_bulk(c, text_bytes(key == NULL ? "none" : key->type == KEY_STRING ? "string" : "hash"));
	reply_number(c, life_of(c, key));
	reply_number(c, (int64_t)value.size);
	reply_bulk(c, (struct bytes){value.at, value.size < 1024 ? value.size : 1024});
}

static void run_script(struct call *c, enum rl_script script)
{
	static const struct {
		unsigned words;
		void (*run)(struct call *c);
	} scripts[RL_SCRIPT_COUNT] = {
	    [RL_SCRIPT_RELEASE] = {5, script_release},
	    [RL_SCRIPT_EXTEND] = {6, script_extend},
	    [RL_SCRIPT_INSPECT] = {4, script_inspect},
	};
	if (c->count != scripts[script].words || number_of(c->words[2]) != 1)
		check_fail(c->w, VIOLATION_PROTOCOL, "script %d with %u words", (int)script, c->count);
	else
		scripts[script].run(c);
}

static void run_eval(struct call *c)
{
	for (int i = 0; i < RL_SCRIPT_COUNT; i++) {
		if (!bytes_equal(c->words[1], (struct bytes){rl_scripts[i].text, rl_scripts[i].length}))
			continue;
		c->node->cached[i] = true;
		run_script(c, (enum rl_script)i);
		return;
	}
	check_fail(c->w, VIOLATION_PROTOCOL, "EVAL of an unknown script");
}

static void run_evalsha(struct call *c)
{
	for (int i = 0; i < RL_SCRIPT_COUNT; i++) {
		if (!c->node->cached[i] || !word_is(c->words[1], rl_scripts[i].sha))
			continue;
		run_script(c, (enum rl_script)i);
		return;
	}
	world_hit(c->w, COVER_NOSCRIPT);
	reply(c, "-NOSCRIPT No matching script. Please use EVAL.");
}

/* ---- the table ---- */

enum { ANYBODY = 1, WHILE_LOADING = 2, WHILE_BUSY = 4 };

static const struct command {
	const char *name;
	unsigned words_min;
	unsigned words_max;
	unsigned allowed;
	void (*run)(struct call *c);
} commands[] = {
    {"SET", 6, 6, 0, run_set},
    {"EVALSHA", 4, 6, 0, run_evalsha},
    {"EVAL", 4, 6, 0, run_eval},
    {"PING", 1, 1, 0, run_ping},
    {"CLIENT", 2, 4, WHILE_LOADING, run_client},
    {"INFO", 1, 2, WHILE_LOADING, run_info},
    {"AUTH", 2, 3, ANYBODY | WHILE_LOADING | WHILE_BUSY, run_auth},
    {"SELECT", 2, 2, WHILE_LOADING, run_select},
    {"GET", 2, 2, 0, run_get},
    {"DEL", 2, 2, 0, run_del},
    {"PEXPIRE", 3, 3, 0, run_pexpire},
    {"PTTL", 2, 2, 0, run_pttl},
    {"TYPE", 2, 2, 0, run_type},
};

/* A command that is refused before it is looked at; NULL: it may run. */
static const char *refusal(const struct call *c, const struct command *command)
{
	if (!c->conn->session.greeted && (command->allowed & ANYBODY) == 0)
		return "-NOAUTH Authentication required.";
	if (c->node->mode == MODE_LOADING && (command->allowed & WHILE_LOADING) == 0)
		return "-LOADING Redis is loading the dataset in memory";
	if (c->node->mode == MODE_BUSY && (command->allowed & WHILE_BUSY) == 0)
		return "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";
	return NULL;
}

/* For the trace: the command's name and its key or other first word, and what was answered. */
static void trace_call(struct call *c, const char *name, size_t replied_from)
{
	char answer[48];
	size_t size = c->out->length - replied_from;
	if (size > sizeof answer - 1)
		size = sizeof answer - 1;
	memcpy(answer, buffer_front(c->out) + replied_from, size);
	answer[size] = '\0';
	answer[strcspn(answer, "\r\n")] = '\0';
	struct bytes token = {"", 0};
	if (strcmp(name, "SET") == 0)
		token = c->words[2];
	else if (strncmp(name, "EVAL", 4) == 0 && c->count > SCRIPT_TOKEN)
		token = c->words[SCRIPT_TOKEN];
	TRACE(c->w, "n%u conn %u of c%u: %s%s %.8s -> %s", c->conn->node, c->conn_number, c->conn->actor, name,
	      c->count > SCRIPT_TTL && strncmp(name, "EVAL", 4) == 0 ? " (extend)" : "",
	      token.size >= 8 ? token.at : "-", answer);
}

static void execute(struct call *c)
{
	for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
		const struct command *command = &commands[i];
		if (!word_is(c->words[0], command->name))
			continue;
		if (c->count < command->words_min || c->count > command->words_max)
			break;
		size_t replied_from = c->out->length;
		const char *refused = refusal(c, command);
		if (refused != NULL)
			reply(c, refused);
		else
			command->run(c);
		c->w->cover->commands++;
		if (c->w->trace.on)
			trace_call(c, command->name, replied_from);
		return;
	}
	check_fail(c->w, VIOLATION_PROTOCOL, "command '%.*s' with %u words", (int)c->words[0].size,
	           c->words[0].at, c->count);
}

/* ---- RESP ---- */

/* Reads a line that begins with `mark` and a number. Its end; 0: not all there; -1 in *ret_number: not RESP.
 */
static size_t read_number(struct bytes in, size_t at, char mark, int64_t *ret_number)
{
	const char *end = at < in.size ? memchr(in.at + at, '\n', in.size - at) : NULL;
	if (end == NULL)
		return 0;
	size_t stop = (size_t)(end - in.at);
	*ret_number = -1;
	if (in.at[at] == mark && stop >= at + 3 && in.at[stop - 1] == '\r')
		*ret_number = number_of((struct bytes){in.at + at + 1, stop - at - 2});
	return stop + 1;
}

/* Reads one command. Its size in bytes; 0: not all there; SIZE_MAX: not RESP. */
static size_t read_command(struct call *c, struct bytes in)
{
	int64_t number;
	size_t at = read_number(in, 0, '*', &number);
	if (at == 0)
		return 0;
	if (number < 1 || number > MAX_WORDS)
		return SIZE_MAX;
	c->count = (unsigned)number;
	for (unsigned i = 0; i < c->count; i++) {
		at = read_number(in, at, '$', &number);
		if (at == 0)
			return 0;
		if (number < 0)
			return SIZE_MAX;
		size_t size = (size_t)number;
		if (in.size - at < size + 2)
			return 0;
		if (memcmp(in.at + at + size, "\r\n", 2) != 0)
			return SIZE_MAX;
		c->words[i] = (struct bytes){in.at + at, size};
		at += size + 2;
	}
	return at;
}

void command_run_session(struct world *w, uint32_t conn, unsigned most, struct buffer *out)
{
	struct conn *co = &w->links.conns[conn];
	struct buffer *in = &co->pipe[TO_NODE].inbox;
	struct call call = {.w = w, .node = &w->nodes[co->node], .conn = co, .conn_number = conn, .out = out};
	while (most-- > 0 && co->session.open && in->length > 0) {
		size_t size = read_command(&call, (struct bytes){buffer_front(in), in->length});
		if (size == 0)
			return;
		if (size == SIZE_MAX) {
			check_fail(w, VIOLATION_PROTOCOL, "conn %u: not RESP: '%.*s'", conn,
			           in->length < 300 ? (int)in->length : 300, buffer_front(in));
			co->session.stray = true;
			return;
		}
		execute(&call);
		buffer_drop(in, size);
	}
}
