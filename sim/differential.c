/* SPDX-License-Identifier: MIT */
/*
 * redlock-sim-differential: holds the modelled node against a real redis-server. Both get the same random
 * commands; their answers must be the same, byte for byte, and each key must end at the same millisecond. Of
 * errors of other servers than redis-server 7.0 only the parts that the library reads must be the same.
 *
 * Time. Before and after each command the server is asked for its TIME, all in one send. The model runs the
 * command at the first of the two. Mostly they are the same millisecond, and then nothing is left open, not
 * even at the instant at which a key expires. Where they differ, lives may differ by as much. Where a key
 * expires between the two, the answer is not compared and the key is deleted on both sides: that is counted
 * and must stay rare. Newer servers do not look at the clock for each command: there an end may be a
 * millisecond off what TIME says.
 */
#include "differential.h"
#include "redis_types.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "resp.h"
#include "wait.h"

enum { PHASE_STEPS = 40, AT_MOST = 10, EXIT_DIFFERS = 1, EXIT_USAGE = 64 };

static void differ(struct diff *d, const struct step *step, const char *what)
{
	printf("step %" PRIu64 ", phase %d: %s\n", d->number, (int)d->phase, what);
	step_print(step);
	printf("server: %.*s\n", (int)d->answer.length, buffer_front(&d->answer));
	printf("its PEXPIRETIME: %.*s", (int)d->expiry.length, buffer_front(&d->expiry));
	printf("model:  %.*s\n", (int)d->model.length, buffer_front(&d->model));
	printf("the same commands again (not at the same times): %s --seed %" PRIu64 " --steps %" PRIu64 "\n",
	       d->program, d->seed, d->number);
	servers_stop(&d->servers);
	exit(EXIT_DIFFERS);
}

/* A session that the model has closed is closed by the server too, and no other. */
static void follow_kills(struct diff *d, const struct step *step)
{
	for (int i = 0; i < SESSIONS; i++) {
		struct pair *s = &d->sessions[i];
		char byte;
		bool closed = s->session == NULL;
		ssize_t got = recv(s->raw.fd, &byte, 1, closed ? 0 : MSG_DONTWAIT);
		bool gone = got == 0 || (got < 0 && errno == ECONNRESET);
		if (gone != closed)
			differ(d, step, closed ? "the server did not close a session" : "the server closed a session");
		if (!closed)
			continue;
		d->kills++;
		raw_close(&s->raw);
		open_session(d, s);
	}
}

/* ---- time ---- */

/* From the answer to TIME: milliseconds; 0: it was refused. */
static int64_t server_ms(struct buffer *reply)
{
	long long seconds, micros;
	char text[64];
	size_t size = reply->length < sizeof text - 1 ? reply->length : sizeof text - 1;
	memcpy(text, buffer_front(reply), size);
	text[size] = '\0';
	buffer_drop(reply, reply->length);
	if (sscanf(text, "*2 $%*d %lld $%*d %lld", &seconds, &micros) != 2)
		return 0;
	return seconds * 1000 + micros / 1000;
}

static struct key *model_key_at(struct diff *d, const struct pair *s, const struct step *step, unsigned key)
{
	if (key == 0 || key >= step->count)
		return NULL;
	return keyspace_find(&d->redis.keys, s->session->database, step->words[key], d->redis.now_ms);
}

static struct key *model_key(struct diff *d, const struct pair *s, const struct step *step)
{
	return model_key_at(d, s, step, step->key);
}

/* ---- one command ---- */

static void write_step(struct buffer *out, const struct step *step)
{
	static const struct bytes multi[] = {{"MULTI", 5}}, exec[] = {{"EXEC", 4}};
	if (step->in_multi)
		resp_write(out, multi, 1);
	resp_write(out, step->words, step->count);
	if (step->in_multi)
		resp_write(out, exec, 1);
}

static unsigned commands_of(const struct step *step)
{
	return step->in_multi ? 3 : 1;
}

/* Redis from 7.2 on and Valkey 8 send no reply to a refused AUTH while earlier ones are unsent: so all
 * of those are awaited. */
static void run_real(struct diff *d, struct pair *s, const struct step *step)
{
	static const struct bytes time_words[] = {{"TIME", 4}};
	buffer_drop(&d->out, d->out.length);
	resp_write(&d->out, time_words, 1);
	bool alone = step_is(step, "AUTH") && send_real(s, &d->out) && receive_real(s, &d->first);
	if (alone)
		buffer_drop(&d->out, d->out.length);
	write_step(&d->out, step);
	if (step->key != 0) {
		struct bytes words[] = {{"PEXPIRETIME", 11}, step->words[step->key]};
		resp_write(&d->out, words, 2);
	}
	resp_write(&d->out, time_words, 1);
	bool ok = send_real(s, &d->out) && (alone || receive_real(s, &d->first));
	for (unsigned i = 0; ok && i < commands_of(step); i++)
		ok = receive_real(s, &d->answer);
	ok = ok && (step->key == 0 || receive_real(s, &d->expiry)) && receive_real(s, &d->last);
	if (!ok)
		differ(d, step, "the server has closed the connection");
}

static void run_model(struct diff *d, struct pair *s, const struct step *step)
{
	write_step(&s->inbox, step);
	redis_serve(&d->redis, s->session, &s->inbox, commands_of(step), &d->model);
}

/* The key's end, on both sides. The model takes over what the server's clock has made of it. */
static bool same_expiry(struct diff *d, const struct pair *s, const struct step *step, int64_t slack_ms)
{
	struct key *key = model_key(d, s, step);
	int64_t real_ms = strtoll(buffer_front(&d->expiry) + 1, NULL, 10);
	int64_t model_ms = key == NULL ? -2 : key->expires_ms == KEY_FOREVER ? -1 : key->expires_ms;
	bool ends = real_ms >= 0 && model_ms >= 0;
	bool same = ends ? real_ms >= model_ms - d->off_ms && real_ms <= model_ms + slack_ms + d->off_ms
	                 : real_ms == model_ms;
	if (ends && same)
		key->expires_ms = real_ms;
	return same;
}

static bool may_write(struct diff *d)
{
	return d->phase == PHASE_NORMAL || d->phase == PHASE_OOM || d->phase == PHASE_PASSWORD;
}

static void drop_replies(struct diff *d)
{
	struct buffer *all[] = {&d->first, &d->answer, &d->expiry, &d->last, &d->model};
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		buffer_drop(all[i], all[i]->length);
}

/* Nobody can say either whether the keys that this session watches were there: it watches nothing now. */
static void forget_watched(struct diff *d, struct pair *s)
{
	struct step nothing = {.count = 1, .in_multi = true, .words = {{"PING", 4}}};
	run_real(d, s, &nothing);
	run_model(d, s, &nothing);
}

/* Nobody can say what the key was when the command came. Where one side had it and the other had not, who
 * watches it is told by one alone. */
static void forget_key(struct diff *d, struct pair *s, const struct step *step, unsigned key)
{
	struct bytes words[] = {{"DEL", 3}, step->words[key]};
	struct step del = {.count = 2, .key = 1};
	d->unclear += key == step->key && key != step->shared;
	if (!may_write(d))
		return; /* it is as it was, and has ended */
	memcpy(del.words, words, sizeof words);
	drop_replies(d);
	run_real(d, s, &del);
	run_model(d, s, &del);
	bool same = d->answer.length == d->model.length &&
	            memcmp(buffer_front(&d->answer), buffer_front(&d->model), d->answer.length) == 0;
	for (int i = 0; !same && i < SESSIONS; i++)
		if (d->sessions[i].session != NULL && d->sessions[i].session->multi != NULL)
			forget_watched(d, &d->sessions[i]);
}

/* Where a command spanned two milliseconds the model takes over the server's: the end of a key, */
static void adopt_end(struct diff *d, struct pair *s, const struct step *step, unsigned key, int64_t slack_ms)
{
	struct step look = {.count = 2, .key = 1, .words = {{"PTTL", 4}, step->words[key]}};
	drop_replies(d);
	run_real(d, s, &look);
	if (!same_expiry(d, s, &look, slack_ms))
		forget_key(d, s, step, key);
}

/* Two lines of an answer: a size, and so many bytes. */
static bool take_bulk(const char **at, struct bytes *ret)
{
	char *end;
	if (**at != '$')
		return false;
	size_t size = strtoull(*at + 1, &end, 10);
	*ret = (struct bytes){end + 2, size};
	*at = end + 2 + size + 2;
	return true;
}

/* and the times that were written into a set. */
static void adopt_set(struct diff *d, struct pair *s, const struct step *step)
{
	struct step look = {.count = 5, .key = 1};
	const struct bytes words[] = {
	    {"ZRANGE", 6}, step->words[step->shared], {"0", 1}, {"-1", 2}, {"WITHSCORES", 10}};
	struct key *key = model_key_at(d, s, step, step->shared);
	struct bytes member, ends;
	struct buffer set = {0};
	if (key == NULL || key->type != KEY_ZSET)
		return; /* no times are in it */
	memcpy(look.words, words, sizeof words);
	drop_replies(d);
	run_real(d, s, &look);
	buffer_append(&d->answer, "", 1);
	const char *at = strchr(buffer_front(&d->answer), '\n');
	at = at != NULL ? at + 1 : buffer_front(&d->answer);
	while (take_bulk(&at, &member) && take_bulk(&at, &ends)) {
		zset_append(&set, word_number(ends), member);
	}
	if (set.length > 0 && same_expiry(d, s, &look, INT64_MAX / 2))
		keyspace_set_value(model_key_at(d, s, step, step->shared),
		                   (struct bytes){buffer_front(&set), set.length});
	else
		forget_key(d, s, step, step->shared);
	buffer_free(&set);
}

/* At the last instant too: PEXPIRE looks at the clock twice, and deletes a key that has ended meanwhile. */
static bool ends_within(const struct key *key, int64_t from_ms, int64_t to_ms)
{
	return key != NULL && from_ms != to_ms && key->expires_ms >= from_ms && key->expires_ms <= to_ms;
}

/* Whether any key ends then. */
static bool some_end_within(struct diff *d, int64_t from_ms, int64_t to_ms)
{
	bool found = false;
	for (size_t i = 0; i < d->redis.keys.count; i++)
		found |= ends_within(&d->redis.keys.keys[i], from_ms, to_ms);
	return found;
}

/* The lives of the keys that a command names. A command of slots looks at other slots of the name too, where
 * their number was different. */
static bool named_end_within(struct diff *d, const struct pair *s, const struct step *step, int64_t from_ms,
                             int64_t to_ms)
{
	bool found = (step->slots > 0 || step->count_key > 0) && some_end_within(d, from_ms, to_ms);
	for (unsigned i = 1; i < step->count; i++)
		found |= ends_within(model_key_at(d, s, step, i), from_ms, to_ms);
	return found;
}

/* A transaction depends on all keys that are watched. */
static bool depends_on_end_within(struct diff *d, const struct pair *s, const struct step *step,
                                  int64_t from_ms, int64_t to_ms)
{
	bool watches = step_is(step, "WATCH") || step_is(step, "EXEC") || step->in_multi;
	return watches ? some_end_within(d, from_ms, to_ms) : named_end_within(d, s, step, from_ms, to_ms);
}

/* A script may lengthen an expiry, or see that it need not: where nothing may be written, or no more, the
 * answer tells which, and that may have changed between the two. */
static bool weighs_life(struct diff *d, const struct step *step)
{
	bool refuses = !may_write(d) || d->phase == PHASE_OOM;
	return refuses && (step_is(step, "EVAL") || step_is(step, "EVALSHA"));
}

/* Deletes the counters and the record beside them, where a number may have been noted. */
static void forget_counters(struct diff *d, struct pair *s, const struct step *step)
{
	unsigned last = step->other_fence != 0 ? step->other_fence : step->fence;
	forget_key(d, s, step, step->fence);
	if (step->other_fence != 0)
		forget_key(d, s, step, step->other_fence);
	forget_key(d, s, step, word_is(step->words[last + 1], "redlock:set") ? last + 1 : step->fence - 1);
}

static void run_step(struct diff *d)
{
	enum { BEFORE_LOGIN = 10 };
	struct pair *s = &d->sessions[prng_below(&d->prng, SESSIONS)];
	uint64_t ids[STEP_IDS] = {1000000000};
	struct step step;
	for (int i = 0; i < SESSIONS; i++)
		ids[1 + i] = d->sessions[i].session->id;
	do
		step_draw(&step, &d->prng, d->redis.run_id, ids);
	while (step.count > BEFORE_LOGIN && !s->session->greeted); /* it would close the connection */
	ids[1 + SESSIONS] = ids[1];
	if (prng_chance(&d->prng, 10))
		wait_ms(prng_between(&d->prng, 1, 4)); /* some keys end */
	drop_replies(d);
	run_real(d, s, &step);
	int64_t from_ms = server_ms(&d->first), to_ms = server_ms(&d->last);
	bool timed = from_ms != 0 && to_ms != 0;
	if (timed)
		d->redis.now_ms = from_ms;
	/* A clock that is off may have seen another key than the model. */
	bool nearby =
	    timed && d->off_ms > 0 && depends_on_end_within(d, s, &step, from_ms - d->off_ms, to_ms + d->off_ms);
	redis_expire(&d->redis);
	bool unclear = timed && named_end_within(d, s, &step, from_ms, to_ms);
	run_model(d, s, &step);
	step_count(&step, &d->answer, d->redis.native);
	unclear |= timed &&
	           ends_within(model_key(d, s, &step), from_ms, to_ms); /* it may have been set to end at once */
	unclear |= timed && from_ms != to_ms && (weighs_life(d, &step) || step.queue != 0);
	unclear |= timed && from_ms / 1000 != to_ms / 1000 && step.setnx != 0; /* it writes seconds */
	unclear |= timed && step.shared != 0 && zset_ends_within(model_key(d, s, &step), from_ms, to_ms);
	bool watches = step_is(&step, "WATCH") || step.in_multi;
	unclear |= step.in_multi && step.key != 0 && from_ms != to_ms;
	bool looked_at = !unclear && (!watches || from_ms == to_ms);
	bool same = !looked_at || (same_answer(d, &step, to_ms - from_ms) &&
	                           (!timed || step.key == 0 || same_expiry(d, s, &step, to_ms - from_ms)));
	if (!same && !nearby)
		differ(d, &step, "the answers, or the ends of the key, differ");
	if (unclear || (!same && step.key != 0))
		forget_key(d, s, &step, step.key);
	bool doubt = unclear || !same || nearby; /* one answer may stand for more than one outcome */
	if (step.queue != 0 && doubt)
		forget_key(d, s, &step, step.queue);
	if (step.other_queue != 0 && doubt)
		forget_key(d, s, &step, step.other_queue);
	if (step.other != 0 && doubt)
		forget_key(d, s, &step, step.other);
	else if (step.other != 0 && from_ms != to_ms) /* its end was not compared */
		adopt_end(d, s, &step, step.other, to_ms - from_ms);
	for (unsigned i = 0; i < step.slot_count && (doubt || from_ms != to_ms); i++)
		forget_key(d, s, &step, step.slots + i);
	if (step.count_key != 0 && (doubt || from_ms != to_ms))
		forget_key(d, s, &step, step.count_key);
	if (step.offers != 0 && doubt)
		forget_key(d, s, &step, step.offers);
	if (step.setnx != 0 && (doubt || from_ms != to_ms)) /* it says when it was written */
		forget_key(d, s, &step, step.setnx);
	if (step.shared != 0 && doubt)
		forget_key(d, s, &step, step.shared);
	else if (step.shared != 0 && from_ms != to_ms)
		adopt_set(d, s, &step);
	if (step.record != 0 && (doubt || from_ms != to_ms)) /* an end that it has may have passed in between */
		forget_key(d, s, &step, step.record);
	if (step.fence != 0 && doubt)
		forget_counters(d, s, &step);
	if (watches && (from_ms != to_ms || nearby || !timed)) /* a busy server watches, and tells no time */
		forget_watched(d, s);
	follow_kills(d, &step);
}

/* ---- all of them ---- */

/* Which server it is. */
static void meet_server(struct diff *d)
{
	const char *info = ASK(d, "INFO", "server");
	const char *valkey = strstr(info, "\nvalkey_version:"), *redis = strstr(info, "\nredis_version:");
	const char *version = valkey != NULL ? valkey + 16 : redis != NULL ? redis + 15 : "";
	snprintf(d->server_name, sizeof d->server_name, "%s-%.*s", valkey != NULL ? "valkey" : "redis",
	         (int)strcspn(version, "\r"), version);
	d->modelled = strncmp(d->server_name, "redis-7.0.", 10) == 0;
	const char *commands = ASK(d, "COMMAND", "INFO", "delex", "delifeq");
	d->off_ms = d->modelled ? 0 : 1;
	d->redis.queues_when_full = !d->modelled;
	d->redis.native = strstr(commands, "delex") != NULL     ? NATIVE_DELEX
	                  : strstr(commands, "delifeq") != NULL ? NATIVE_DELIFEQ
	                                                        : NATIVE_NONE;
	d->redis.is_valkey_9 = d->redis.native == NATIVE_DELIFEQ;
}

static void count_expired(struct redis *r, const struct key *key, bool deleted)
{
	((struct diff *)r->world)->expired += !deleted;
}

static void kill_session(struct redis *r, struct session *s)
{
	struct diff *d = r->world;
	for (int i = 0; i < SESSIONS; i++)
		if (d->sessions[i].session == s)
			d->sessions[i].session = NULL;
	redis_forget(r, s);
}

static void begin(struct diff *d)
{
	static const char *const extra[] = {
	    "--logfile", "/dev/null", "--busy-reply-threshold", "1", "--databases", "16", NULL};
	static const struct redis_ears ears = {.goes = count_expired, .killed = kill_session};
	prng_seed(&d->prng, d->seed, 1);
	servers_start(&d->servers, 1, extra);
	d->redis = (struct redis){.ears = &ears, .world = d};
	connect_real(d, &d->control);
	connect_real(d, &d->script);
	for (int i = 0; i < SESSIONS; i++)
		open_session(d, &d->sessions[i]);
	const char *identity = strstr(ASK(d, "INFO", "server"), "run_id:");
	if (identity != NULL)
		memcpy(d->redis.run_id, identity + 7, 40);
	meet_server(d);
}

static void end(struct diff *d)
{
	struct buffer *all[] = {&d->out, &d->first, &d->answer, &d->expiry, &d->last, &d->model};
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		buffer_free(all[i]);
	for (int i = 0; i < SESSIONS; i++) {
		raw_close(&d->sessions[i].raw);
		buffer_free(&d->sessions[i].in);
		buffer_free(&d->sessions[i].inbox);
	}
	raw_close(&d->control);
	raw_close(&d->script);
	redis_free(&d->redis);
	servers_stop(&d->servers);
}

/* Steps whose answers were left open may be three in a hundred: a machine on which more are proves nothing.
 */
static int report(struct diff *d)
{
	printf("%s: %" PRIu64 " commands, %" PRIu64 " keys expired, %" PRIu64 " sessions killed, %" PRIu64
	       " answers left open\n",
	       d->server_name, d->number, d->expired, d->kills, d->unclear);
	int missing = steps_missing(d->redis.native, true);
	bool rare = d->unclear * 100 <= 3 * d->number;
	if (!rare)
		printf("too many answers were left open\n");
	return missing == 0 && rare && d->expired > 0 && d->kills > 0 ? 0 : EXIT_DIFFERS;
}

/* The random commands' effects depend on when keys expire, and so on the speed of the machine: the run
 * continues until nothing is missing. */
static bool is_enough(const struct diff *d)
{
	bool asked = d->number >= d->steps && d->number % PHASE_STEPS == 0;
	return asked && (d->number >= AT_MOST * d->steps || steps_missing(d->redis.native, false) == 0);
}

static int compare(struct diff *d)
{
	begin(d);
	while (!is_enough(d)) {
		d->number++;
		if (d->number % PHASE_STEPS == 0) {
			end_phase(d);
			begin_phase(d,
			            prng_chance(&d->prng, 600) ? PHASE_NORMAL : (enum phase)prng_below(&d->prng, PHASES));
		}
		run_step(d);
	}
	end_phase(d);
	int status = report(d);
	end(d);
	return status;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
	    {"seed", required_argument, NULL, 's'},
	    {"steps", required_argument, NULL, 'n'},
	    {NULL, 0, NULL, 0},
	};
	static struct diff d = {.seed = 1, .steps = 100000};
	int option;
	d.program = argv[0];
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 's')
			d.seed = strtoull(optarg, NULL, 10);
		else if (option == 'n')
			d.steps = strtoull(optarg, NULL, 10);
		else
			return EXIT_USAGE;
	}
	if (optind < argc) {
		fputs("usage: redlock-sim-differential [--seed N] [--steps N]\n", stderr);
		return EXIT_USAGE;
	}
	return compare(&d);
}
