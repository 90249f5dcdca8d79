/* SPDX-License-Identifier: MIT */
/*
 * redlock-sim-replay: reads the record of a run on real servers (real.h) and has the checkers of the theorems
 * compare it. The commands that the servers ran are given to modelled nodes, so the checkers see keys; the
 * cores are shown as they were.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/kinds.h"
#include "proof.h"
#include "real.h"
#include "theorem.h"
#include "world.h"

#include "theorem_guard.h"
#include "theorem_lock.h"

enum { SESSIONS = 2 }; /* of each node: one for all commands, and one that listens */

static struct {
	struct world world;
	struct cover cover;
	struct session *sessions[REAL_NODES][SESSIONS];
	struct real_lock locks[REAL_CLIENTS]; /* as they are shown */
	uint64_t base_ns, steps, commands;
	bool begun;
	bool deaf; /* node 0's commands are left out: the theorems must refuse votes that it gave */
} replay;

static _Noreturn void end(const char *why)
{
	fprintf(stderr, "redlock-sim-replay: %s\n", why);
	exit(EXIT_FAILURE);
}

/* ---- locks ---- */

static redlock_lock *handle_of(unsigned client)
{
	return (redlock_lock *)(void *)replay.locks[client].block;
}

/* Shows the lock as it was. Its pointers are those of another process. */
static void show(unsigned client, const struct real_lock *lock)
{
	struct world *w = &replay.world;
	struct real_lock *shown = &replay.locks[client];
	redlock_lock *handle = handle_of(client);
	bool is_new = shown->size == 0;
	const struct rl_policy *kind = w->plan.guard ? &rl_kinds[RL_KIND_FENCED] : &rl_kinds[RL_KIND_EXCLUSIVE];
	*shown = *lock;
	shown->rules.policy = kind;
	handle->core.rules = &shown->rules;
	handle->core.policy = kind;
	handle->core.votes = handle->votes;
	handle->core.findings = NULL;
	handle->core.numbers = lock->has_numbers ? (struct rl_numbers *)(void *)shown->numbers : NULL;
	w->current = &w->actors[client];
	w->current->handles[0].lock = handle;
	if (is_new)
		proof_new(w, &handle->core);
}

static void take_step(unsigned client, const struct real_step *step)
{
	struct world *w = &replay.world;
	show(client, &step->before);
	const struct rl_lock *core = &handle_of(client)->core;
	struct proof_before before = proof_before(w, core, &step->event);
	show(client, &step->after);
	proof_step(w, core, &before, &step->event, &step->effects);
	show(client, &step->ready);
	proof_settle(w);
	replay.steps++;
}

/* ---- commands ---- */

static void answered(const struct call *c, const char *name, size_t from)
{
	struct world *w = &replay.world;
	for (unsigned i = 0; i < REAL_NODES; i++)
		if (replay.begun && c->redis == &w->nodes[i].redis)
			proof_command(w, i, c, text_bytes(""));
	(void)name, (void)from;
}

static void said(struct redis *r, struct session *s, struct bytes message)
{
	(void)r, (void)s, (void)message;
}

static const struct redis_ears ears = {.answered = answered, .said = said};

static unsigned hex(char c)
{
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a' + 10);
}

/* One byte of a word, which may be escaped as C does it. */
static char unescape(const char **at)
{
	static const char letters[] = "nrtab\\\"", meant[] = "\n\r\t\a\b\\\"";
	const char *p = *at;
	if (*p != '\\') {
		*at = p + 1;
		return *p;
	}
	const char *letter = strchr(letters, p[1]);
	*at = p[1] == 'x' ? p + 4 : p + 2;
	return p[1] == 'x' ? (char)(hex(p[2]) << 4 | hex(p[3])) : letter != NULL ? meant[letter - letters] : p[1];
}

/* Whether a word ends here. Valkey 8.1 does not escape quotes: a script ends before its number of keys. */
static bool ends(const char *at, bool is_script)
{
	if (*at != '"' || !is_script)
		return *at == '"' || *at == '\0';
	size_t digits = strncmp(at, "\" \"", 3) == 0 ? strspn(at + 3, "0123456789") : 0;
	return digits > 0 && at[3 + digits] == '"';
}

/* "set" "name" "value", as MONITOR writes them. */
static unsigned read_words(const char *text, char *room, struct bytes *words)
{
	unsigned count = 0;
	while (*text == '"' && count < REAL_WORDS) {
		bool is_script = count == 1 && word_is(words[0], "eval");
		words[count].at = room;
		for (text++; !ends(text, is_script);)
			*room++ = unescape(&text);
		words[count].size = (size_t)(room - words[count].at);
		count++;
		text += *text == '"';
		text += *text == ' ';
	}
	return count;
}

/* Tokens end with the label of their client: "client-3". */
static uint64_t owner_of(const struct bytes *words, unsigned count)
{
	static const char label[] = "|client-";
	for (unsigned i = 0; i < count; i++) {
		const char *at = memmem(words[i].at, words[i].size, label, sizeof label - 1);
		if (at != NULL)
			return KEY_OWNER((uint64_t)(at[sizeof label - 1] - '0'), 1);
	}
	return KEY_NOBODY;
}

static void run(unsigned node, const char *text)
{
	struct world *w = &replay.world;
	struct node *n = &w->nodes[node];
	char room[REAL_TEXT];
	struct bytes words[REAL_WORDS];
	struct buffer inbox = {0}, out = {0};
	if (strlen(text) >= sizeof room)
		end("a command is too long");
	unsigned count = read_words(text, room, words);
	bool listens = count > 0 && (word_is(words[0], "subscribe") || word_is(words[0], "unsubscribe"));
	struct session *s = replay.sessions[node][listens];
	if (count > 0 && word_is(words[0], "delex"))
		n->redis.native = NATIVE_DELEX;
	if (count > 0 && word_is(words[0], "delifeq"))
		n->redis.native = NATIVE_DELIFEQ;
	s->owner = owner_of(words, count);
	resp_write(&inbox, words, count);
	n->redis.now_ms = node_now_ms(w, n);
	redis_expire(&n->redis);
	redis_serve(&n->redis, s, &inbox, 1, &out);
	TRACE(w, "n%u of client %d: %.*s -> %.*s", node, (int)(int32_t)(s->owner >> 32), (int)words[0].size,
	      words[0].at, (int)strcspn(buffer_front(&out), "\r"), (const char *)buffer_front(&out));
	buffer_free(&inbox);
	buffer_free(&out);
	replay.commands++;
}

/* ---- the record ---- */

static void begin(const struct real_step *first)
{
	struct world *w = &replay.world;
	for (unsigned i = 0; i < REAL_CLIENTS; i++) {
		struct actor *a = &w->actors[i];
		a->index = i;
		a->life = 1;
		a->alive = true;
		a->clock = (struct drift){.base_world_ns = w->now_ns, .base_local_ns = first->boot_ns};
		a->node_count = REAL_NODES;
		for (unsigned k = 0; k < REAL_NODES; k++)
			a->order[k] = k;
	}
	replay.begun = true;
	proof_begin(w);
}

static void read_record(const struct real_head *head, const void *bytes)
{
	struct world *w = &replay.world;
	if (head->kind == REAL_RUN_ID) {
		memcpy(w->nodes[head->who].redis.run_id, bytes, 40);
		return;
	}
	if (replay.base_ns == 0) {
		replay.base_ns = head->at_ns - w->now_ns;
		for (unsigned i = 0; i < REAL_NODES; i++)
			w->nodes[i].clock = (struct drift){.base_world_ns = w->now_ns, .base_local_ns = head->at_ns};
	}
	w->now_ns = head->at_ns - replay.base_ns;
	if (head->kind == REAL_COMMAND) {
		if (!replay.deaf || head->who != 0)
			run(head->who, bytes);
		return;
	}
	if (!replay.begun)
		begin(bytes);
	take_step(head->who, bytes);
}

int main(int argc, char **argv)
{
	struct world *w = &replay.world;
	struct plan plan = {.nodes = REAL_NODES, .actors = REAL_CLIENTS, .resources = 1};
	static _Alignas(max_align_t) char bytes[sizeof(struct real_step) + REAL_TEXT];
	struct real_head head;
	const char *how = argc > 2 ? argv[2] : "";
	bool trace = strcmp(how, "trace") == 0;
	if (argc < 2 || argc > 3)
		end("usage: redlock-sim-replay plain|fenced [trace|deaf] <RECORD");
	plan.guard = strcmp(argv[1], "fenced") == 0;
	replay.deaf = strcmp(how, "deaf") == 0;
	world_init(w, &plan, &replay.cover, trace, trace);
	for (unsigned i = 0; i < REAL_NODES; i++) {
		w->nodes[i].redis = (struct redis){.ears = &ears, .world = w};
		w->nodes[i].up = true;
		w->nodes[i].starts = 1;
		for (unsigned k = 0; k < SESSIONS; k++)
			replay.sessions[i][k] = redis_accept(&w->nodes[i].redis);
	}
	while (!w->check.failed && fread(&head, sizeof head, 1, stdin) == 1) {
		if (head.size > sizeof bytes || fread(bytes, 1, head.size, stdin) != head.size)
			end("a record is cut off, or too long");
		read_record(&head, bytes);
	}
	proof_end(w);
	unsigned theorem = plan.guard ? PROOF_GUARD : PROOF_LOCK, grants = plan.guard ? GUARD_COUNT : LOCK_GRANT;
	printf("%" PRIu64 " steps of %d clients, %" PRIu64 " of which grant, and %" PRIu64
	       " commands of %d servers are compared\n",
	       replay.steps, REAL_CLIENTS, replay.cover.proof[theorem][grants], replay.commands, REAL_NODES);
	if (w->check.failed)
		printf("refused: %s\n", w->check.first);
	if (trace)
		proof_print(&replay.cover);
	return w->check.failed || replay.cover.proof[theorem][grants] == 0;
}
