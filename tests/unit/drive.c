/* SPDX-License-Identifier: MIT */
#include "drive.h"

#include "core/fence.h"
#include "core/quarantine.h"
#include "core/queue.h"
#include "core/trace.h"

struct rl_rules drive_rules(unsigned node_count)
{
	return (struct rl_rules){
	    .policy = &rl_kinds[RL_KIND_EXCLUSIVE],
	    .node_count = node_count,
	    .quorum = rl_quorum_least(node_count),
	    .ttl_ns = rl_time_ms(30000),
	    .node_timeout_ns = rl_time_ms(200),
	    .drift_ppm = 10000,
	    .drift_base_ns = rl_time_ms(2),
	    .retry_min_ns = rl_time_ms(50),
	    .retry_max_ns = rl_time_ms(150),
	};
}

struct rl_rules drive_waiting_rules(unsigned node_count, uint64_t wait_ms)
{
	struct rl_rules rules = drive_rules(node_count);
	rules.wait_ns = rules.noquorum_wait_ns = rl_time_ms(wait_ms);
	return rules;
}

/* A read past the last node would find these votes and numbers, which must not count. */
static void lay_out_no_nodes(struct drive *d)
{
	for (unsigned i = d->rules.node_count; i < REDLOCK_MAX_NODES; i++) {
		d->votes[i] = (struct rl_ballot){.code = REDLOCK_VOTE_YES, .whose = RL_KEY_OURS};
		d->numbers.of[i] = d->rules.slots > 0 ? 1 : UINT64_MAX; /* slot 0, or above all numbers */
	}
}

void drive_init(struct drive *d, const struct rl_rules *rules)
{
	memset(d, 0, sizeof *d);
	d->rules = *rules;
	rl_lock_init(&d->lock, &d->rules, d->votes);
	d->lock.findings = d->findings;
	d->lock.numbers = &d->numbers;
	lay_out_no_nodes(d);
}

/* Lends the core the memory beside it, also after a copy. */
static void lend(struct drive *d)
{
	d->lock.rules = &d->rules;
	d->lock.votes = d->votes;
	if (d->lock.numbers != NULL)
		d->lock.numbers = &d->numbers;
	if (d->lock.findings != NULL)
		d->lock.findings = d->findings;
}

void drive_at(struct drive *d, uint64_t ms)
{
	d->now_ns = rl_time_ms(ms);
}

__attribute__((format(printf, 2, 3))) static void say(struct drive *d, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = vsnprintf(d->text + d->used, sizeof d->text - d->used, format, args);
	va_end(args);
	assert_true(n >= 0 && (size_t)n < sizeof d->text - d->used);
	d->used += (size_t)n;
}

/* A vote on the line of the one before it, of the same round and moment, which changed nothing else. */
static void say_line(struct drive *d, const char *line, bool is_vote, const char *error)
{
	const char *vote = is_vote ? strstr(line, " node ") + strlen(" node ") : line;
	size_t head = (size_t)(vote - line);
	bool joins = is_vote && d->quiet && strncmp(d->text + d->line, line, head) == 0;
	if (joins)
		d->used = (size_t)(strstr(d->text + d->line, " -> ") - d->text);
	else
		d->line = d->used;
	say(d, "%s%s%s%s\n", joins ? ", " : "", joins ? vote : line, error[0] != '\0' ? " | error " : "", error);
}

void drive_step(struct drive *d, struct rl_event event)
{
	char line[RL_TRACE_MAX];
	enum rl_phase before = d->lock.phase;
	lend(d);
	uint64_t deadline_ns = rl_lock_deadline(&d->lock), until_ns = d->lock.valid_until_ns;
	event.now_ns = d->now_ns;
	event.around.entropy = d->entropy;
	event.around.order = d->order;
	event.around.hears = d->hears;
	event.reply.identified = event.around.ordered = !d->anonymous;
	d->error = rl_lock_step(&d->lock, &event, &d->fx);
	rl_trace_line(line, sizeof line, before, &event, &d->lock, &d->fx);
	say_line(d, line, event.kind == RL_EV_REPLY, d->error != 0 ? redlock_error_name(d->error) : "");
	d->quiet = event.kind == RL_EV_REPLY && d->error == 0 && strchr(line, '|') == NULL &&
	           before == d->lock.phase && deadline_ns == rl_lock_deadline(&d->lock) &&
	           until_ns == d->lock.valid_until_ns;
}

void drive_acquire(struct drive *d)
{
	drive_step(d, (struct rl_event){.kind = RL_EV_ACQUIRE});
}

void drive_extend(struct drive *d, uint64_t ttl_ms)
{
	drive_step(d, (struct rl_event){.kind = RL_EV_EXTEND, .asked.ttl_ns = rl_time_ms(ttl_ms)});
}

void drive_release(struct drive *d)
{
	drive_step(d, (struct rl_event){.kind = RL_EV_RELEASE});
}

void drive_query(struct drive *d)
{
	drive_step(d, (struct rl_event){.kind = RL_EV_QUERY});
}

void drive_probe(struct drive *d)
{
	drive_step(d, (struct rl_event){.kind = RL_EV_QUERY, .asked.probe = true});
}

static void drive_upgrade(struct drive *d)
{
	drive_step(d, (struct rl_event){.kind = RL_EV_TURN, .asked.up = true});
}

static void drive_downgrade(struct drive *d)
{
	drive_step(d, (struct rl_event){.kind = RL_EV_TURN});
}

void drive_cancel(struct drive *d)
{
	drive_step(d, (struct rl_event){.kind = RL_EV_CANCEL, .asked.result = REDLOCK_E_CANCELLED});
}

void drive_tick(struct drive *d)
{
	drive_step(d, (struct rl_event){.kind = RL_EV_TICK});
}

static void drive_leap(struct drive *d, uint64_t ms)
{
	drive_step(d, (struct rl_event){.kind = RL_EV_LEAP, .leap_ns = rl_time_ms(ms)});
}

static void drive_guarded(struct drive *d, uint64_t ttl_ms)
{
	drive_step(d, (struct rl_event){.kind = RL_EV_GUARDED, .permitted_ns = rl_time_ms(ttl_ms)});
}

/* The node permits no more than 10 s, which the rules follow. */
static void drive_shorter(struct drive *d, uint64_t node)
{
	d->rules.ttl_ns = rl_time_ms(10000);
	drive_step(
	    d, (struct rl_event){.kind = RL_EV_SHORTER, .reply.seq = d->lock.round.seq, .node = (unsigned)node});
}

void drive_wake(struct drive *d, uint64_t node)
{
	drive_step(
	    d, (struct rl_event){.kind = RL_EV_WAKE, .node = (unsigned)node, .message.call = d->lock.queue.call});
}

void drive_gate(struct drive *d, enum redlock_vote_code vote, int waiting, int pttl_ms, int place)
{
	struct rl_vote answer = {.code = vote,
	                         .told = RL_TOLD(WAITING) | RL_TOLD(PTTL) | RL_TOLD(PLACE),
	                         .waiting = waiting,
	                         .pttl_ms = pttl_ms,
	                         .number = vote == REDLOCK_VOTE_YES ? pttl_ms : 0,
	                         .place = place};
	drive_step(d, (struct rl_event){.kind = RL_EV_REPLY,
	                                .reply.seq = d->lock.round.seq,
	                                .node = d->lock.queue.gate,
	                                .reply.operation = RL_OP_ENTER,
	                                .reply.vote = answer});
}

void drive_reply_to(struct drive *d, uint32_t seq, unsigned node, enum redlock_vote_code vote)
{
	uint32_t others = (d->twins >> node & 1) != 0 ? d->twins & ~(1u << node) : 0;
	drive_step(d, (struct rl_event){.kind = RL_EV_REPLY,
	                                .reply.seq = seq,
	                                .node = node,
	                                .reply.vote.code = vote,
	                                .reply.twins = others});
}

void drive_reply(struct drive *d, unsigned node, enum redlock_vote_code vote)
{
	drive_reply_to(d, d->lock.round.seq, node, vote);
}

void drive_hold(struct drive *d, const struct rl_rules *rules)
{
	drive_init(d, rules);
	drive_acquire(d);
	for (unsigned node = 0; node < rules->quorum; node++)
		drive_reply(d, node, REDLOCK_VOTE_YES);
	assert_int_equal(d->lock.phase, RL_HELD);
	drive_forget(d);
}

enum redlock_vote_code drive_vote(char letter)
{
	switch (letter) {
	case 'Y':
		return REDLOCK_VOTE_YES;
	case 'N':
		return REDLOCK_VOTE_NO;
	case 'C':
		return REDLOCK_VOTE_CLOSED;
	case 'D':
		return REDLOCK_VOTE_DOWN;
	case 'O':
		return REDLOCK_VOTE_OOM;
	case 'P':
		return REDLOCK_VOTE_NOPERM;
	case 'G':
		return REDLOCK_VOTE_GARBAGE;
	case '.':
		return REDLOCK_VOTE_PENDING;
	default:
		fail_msg("drive_votes() has no letter %c", letter);
		return REDLOCK_VOTE_PENDING;
	}
}

static struct rl_slice slice_of(const char *text)
{
	return (struct rl_slice){text, strlen(text)};
}

/* Our token is "5": the keys of others are digits, and those from 5 on have a "4" before them. */
static struct rl_vote finding_of_letter(char letter, char *value)
{
	bool before = letter >= '5' && letter <= '9';
	if (letter == '?')
		return (struct rl_vote){.code = REDLOCK_VOTE_NOPERM};
	snprintf(value, 4, "%s", letter == '_' ? "" : letter == '*' ? "5" : before ? "4 " : "6 ");
	if (value[1] == ' ')
		value[1] = letter;
	return (struct rl_vote){.code = REDLOCK_VOTE_YES,
	                        .told = RL_TOLD(TYPE) | RL_TOLD(VALUE),
	                        .pttl_ms = 1000,
	                        .size = (int64_t)strlen(value),
	                        .type = slice_of(letter == '_' ? "none" : "string"),
	                        .value = slice_of(value)};
}

void drive_keys(struct drive *d, const char *keys)
{
	char value[4] = "";
	for (unsigned i = 0; keys[i] != '\0'; i++)
		if (keys[i] != '.')
			drive_step(d, (struct rl_event){.kind = RL_EV_REPLY,
			                                .reply.seq = d->lock.look.seq,
			                                .node = i,
			                                .reply.operation = RL_OP_QUERY,
			                                .reply.vote = finding_of_letter(keys[i], value),
			                                .around.token = slice_of("5")});
}

void drive_votes(struct drive *d, const char *votes)
{
	for (unsigned node = 0; votes[node] != '\0'; node++)
		if (drive_vote(votes[node]) != REDLOCK_VOTE_PENDING)
			drive_reply(d, node, drive_vote(votes[node]));
}

/* The number of a yes, or what is left of a quarantine. */
static void tell(struct drive *d, const char *numbers, enum redlock_vote_code code)
{
	for (unsigned node = 0; *numbers != '\0'; node++) {
		struct rl_vote vote = {.code = code};
		char *end = NULL;
		*(code == REDLOCK_VOTE_YES ? &vote.number : &vote.left_ms) = strtoll(numbers, &end, 10);
		if (end > numbers)
			drive_step(d, (struct rl_event){.kind = RL_EV_REPLY,
			                                .reply.seq = d->lock.round.seq,
			                                .node = node,
			                                .reply.vote = vote});
		numbers += strcspn(numbers, ",");
		numbers += *numbers == ',';
	}
}

void drive_yes(struct drive *d, const char *numbers)
{
	tell(d, numbers, REDLOCK_VOTE_YES);
}

void drive_left(struct drive *d, const char *ms)
{
	tell(d, ms, REDLOCK_VOTE_QUARANTINE);
}

uint64_t drive_deadline_ns(struct drive *d)
{
	lend(d);
	return rl_lock_deadline(&d->lock);
}

uint64_t drive_deadline_ms(struct drive *d)
{
	uint64_t deadline = drive_deadline_ns(d);
	return deadline == UINT64_MAX ? UINT64_MAX : deadline / RL_NS_PER_MS;
}

void drive_ticks_until(struct drive *d, uint64_t ms)
{
	uint64_t due;
	lend(d);
	for (unsigned ticks = 0; (due = rl_lock_deadline(&d->lock)) <= rl_time_ms(ms); ticks++) {
		if (ticks > 1000)
			fail_msg("%u ticks until %llu ms: time stands still", ticks, (unsigned long long)ms);
		d->now_ns = rl_time_max(d->now_ns, due);
		drive_tick(d);
	}
	drive_at(d, ms);
}

void drive_forget(struct drive *d)
{
	d->used = 0;
	d->quiet = false;
	d->text[0] = '\0';
}

void drive_expect_(struct drive *d, const char *text, const char *file, int line)
{
	if (strcmp(d->text, text) != 0)
		fprintf(stderr, "%s:%d: the trace is\n%s", file, line, d->text); /* cmocka cuts it */
	_assert_string_equal(d->text, text, file, line);
	drive_forget(d);
}

struct drive drive_idle(struct rl_rules rules)
{
	struct drive d;
	drive_init(&d, &rules);
	return d;
}

struct drive drive_held(struct rl_rules rules)
{
	struct drive d;
	drive_hold(&d, &rules);
	return d;
}

static const struct word {
	const char *name;
	void (*plain)(struct drive *d);
	void (*number)(struct drive *d, uint64_t number);
	void (*letters)(struct drive *d, const char *letters);
} words[] = {
    {"acquire", .plain = drive_acquire},  {"release", .plain = drive_release},
    {"query", .plain = drive_query},      {"cancel", .plain = drive_cancel},
    {"tick", .plain = drive_tick},        {"forget", .plain = drive_forget},
    {"at", .number = drive_at},           {"wake", .number = drive_wake},
    {"extend", .number = drive_extend},   {"until", .number = drive_ticks_until},
    {"votes", .letters = drive_votes},    {"keys", .letters = drive_keys},
    {"leap", .number = drive_leap},       {"guarded", .number = drive_guarded},
    {"yes", .letters = drive_yes},        {"left", .letters = drive_left},
    {"upgrade", .plain = drive_upgrade},  {"downgrade", .plain = drive_downgrade},
    {"shorter", .number = drive_shorter},
};

void drive_play(struct drive *d, const char *script)
{
	char line[256], *rest = NULL;
	assert_true((size_t)snprintf(line, sizeof line, "%s", script) < sizeof line);
	for (char *step = strtok_r(line, ";", &rest); step != NULL; step = strtok_r(NULL, ";", &rest)) {
		char name[16] = "", argument[32] = "";
		sscanf(step, "%15s %31s", name, argument);
		const struct word *word = words;
		while (strcmp(word->name, name) != 0)
			assert_true(++word < words + COUNT(words));
		if (word->plain != NULL)
			word->plain(d);
		else if (word->number != NULL)
			word->number(d, strtoull(argument, NULL, 10));
		else
			word->letters(d, argument);
	}
}

struct drive drive_begin(struct rl_rules rules, const char *script)
{
	struct drive d = drive_idle(rules);
	drive_play(&d, script);
	return d;
}

struct drive drive_begin_held(struct rl_rules rules, const char *script)
{
	struct drive d = drive_held(rules);
	drive_play(&d, script);
	return d;
}
