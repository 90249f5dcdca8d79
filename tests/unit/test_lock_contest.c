/* SPDX-License-Identifier: MIT */
/*
 * Contenders that try a free lock at the same moment, each at its own distance from each node: the cores of k
 * clients, the keys of N nodes, and bytes that take time, in virtual time. Exactly one of them wins.
 * `unit_lock_contest ROUNDS` plays more rounds.
 */
#include "core/finding.h"
#include "drive.h"
#include "wait.h"

enum { CLIENTS_MAX = 8, NODES_MAX = 5, MESSAGES_MAX = 4096, NOBODY = -1, TEXT_SIZE = 16 };

/* A request on its way, then its answer. Tokens are (client, number of the attempt). */
struct message {
	uint64_t at_ns;
	bool up;
	unsigned client, node;
	enum redlock_operation operation;
	uint32_t seq;
	int token;
	enum redlock_vote_code vote;
	int key; /* a query: what there was */
};

struct contest {
	struct rng rng;
	unsigned clients, nodes;
	uint64_t distance_ns, jitter_ns; /* one way, at most */
	bool denied;                     /* nobody may query */
	bool disagree;                   /* on the order of nodes */
	struct rl_lock lock[CLIENTS_MAX];
	struct rl_ballot ballots[CLIENTS_MAX][NODES_MAX];
	struct redlock_finding findings[CLIENTS_MAX][NODES_MAX];
	int token[CLIENTS_MAX], tokens;
	int result[CLIENTS_MAX]; /* 1: none yet */
	uint64_t start_ns[CLIENTS_MAX], end_ns[CLIENTS_MAX];
	int key[NODES_MAX];
	uint8_t order[CLIENTS_MAX][NODES_MAX]; /* contenders number the nodes as they like */
	uint8_t real[CLIENTS_MAX][NODES_MAX];
	uint64_t way_ns[CLIENTS_MAX][NODES_MAX];
	uint64_t last_ns[2][CLIENTS_MAX][NODES_MAX]; /* bytes of a connection do not overtake each other */
	struct message messages[MESSAGES_MAX];
	unsigned count;
	uint64_t now_ns;
};

static uint64_t below_ns(struct contest *c, uint64_t most)
{
	return most == 0 ? 0 : (rng_next(&c->rng) >> 11) % (most + 1);
}

static void send_message(struct contest *c, struct message m)
{
	uint64_t *last = &c->last_ns[m.up][m.client][m.node];
	m.at_ns = rl_time_max(*last, c->now_ns + c->way_ns[m.client][m.node] + below_ns(c, c->jitter_ns));
	*last = m.at_ns;
	assert_true(c->count < MESSAGES_MAX);
	c->messages[c->count++] = m;
}

static void step(struct contest *c, unsigned client, struct rl_event event)
{
	struct rl_effects fx;
	event.now_ns = c->now_ns;
	event.around.entropy = rng_next(&c->rng);
	event.around.order = c->order[client];
	event.reply.identified = true;
	assert_int_equal(rl_lock_step(&c->lock[client], &event, &fx), 0);
	if (fx.send.operation == REDLOCK_OP_ACQUIRE && !fx.send.again)
		c->token[client] = c->tokens++ * CLIENTS_MAX + (int)client;
	for (unsigned i = 0; i < c->nodes && fx.send.operation != REDLOCK_OP_NONE; i++)
		if ((fx.send.nodes >> i & 1) != 0)
			send_message(c, (struct message){.up = true,
			                                 .client = client,
			                                 .node = c->real[client][i],
			                                 .operation = fx.send.operation,
			                                 .seq = fx.send.seq,
			                                 .token = c->token[client]});
	if (fx.done.operation == REDLOCK_OP_ACQUIRE) {
		c->result[client] = fx.done.result;
		c->end_ns[client] = c->now_ns;
	}
}

static void serve(struct contest *c, struct message m)
{
	int *key = &c->key[m.node];
	m.up = false;
	m.vote = REDLOCK_VOTE_NO;
	if (m.operation == REDLOCK_OP_ACQUIRE && *key == NOBODY) {
		*key = m.token;
		m.vote = REDLOCK_VOTE_YES;
	} else if (m.operation == REDLOCK_OP_RELEASE && *key == m.token) {
		*key = NOBODY;
	} else if (m.operation == REDLOCK_OP_QUERY) {
		m.vote = c->denied ? REDLOCK_VOTE_NOPERM : REDLOCK_VOTE_YES;
		m.key = *key;
	}
	if (m.seq != 0)
		send_message(c, m);
}

/* Tokens as bytes, in the order of their numbers. */
static struct rl_slice text_of(char *text, int token)
{
	snprintf(text, TEXT_SIZE, "%08d", token);
	return (struct rl_slice){text, token == NOBODY ? 0 : strlen(text)};
}

static void deliver(struct contest *c, struct message m)
{
	unsigned i = 0;
	if (m.up) {
		serve(c, m);
		return;
	}
	while (c->real[m.client][i] != m.node)
		i++;
	char key[TEXT_SIZE], ours[TEXT_SIZE];
	struct rl_event event = {.kind = RL_EV_REPLY,
	                         .reply.seq = m.seq,
	                         .node = i,
	                         .reply.operation = m.operation,
	                         .reply.vote.code = m.vote};
	event.around.token = text_of(ours, c->token[m.client]);
	if (m.operation == REDLOCK_OP_QUERY && m.vote == REDLOCK_VOTE_YES) {
		event.reply.vote.told = RL_TOLD(TYPE) | RL_TOLD(VALUE);
		event.reply.vote.type =
		    m.key == NOBODY ? (struct rl_slice){"none", 4} : (struct rl_slice){"string", 6};
		event.reply.vote.value = text_of(key, m.key);
		event.reply.vote.size = (int64_t)event.reply.vote.value.size;
	}
	step(c, m.client, event);
}

/* The next thing that happens: a message arrives, a client begins, or its time has come. */
static bool next(struct contest *c)
{
	unsigned first = UINT32_MAX, client = UINT32_MAX;
	uint64_t at = UINT64_MAX;
	for (unsigned i = 0; i < c->count; i++)
		if (c->messages[i].at_ns < at) {
			at = c->messages[i].at_ns;
			first = i;
		}
	for (unsigned i = 0; i < c->clients; i++) {
		uint64_t due = c->result[i] != 1          ? UINT64_MAX
		               : c->lock[i].last_seq == 0 ? c->start_ns[i]
		                                          : rl_lock_deadline(&c->lock[i]);
		if (due < at) {
			at = due;
			client = i;
		}
	}
	if (at == UINT64_MAX)
		return false;
	c->now_ns = rl_time_max(c->now_ns, at);
	if (client != UINT32_MAX) {
		bool begins = c->lock[client].last_seq == 0;
		step(c, client, (struct rl_event){.kind = begins ? RL_EV_ACQUIRE : RL_EV_TICK});
		return true;
	}
	struct message m = c->messages[first];
	memmove(&c->messages[first], &c->messages[first + 1], (--c->count - first) * sizeof m);
	deliver(c, m);
	return true;
}

static void shuffle(struct contest *c, unsigned client)
{
	for (unsigned i = 0; i < c->nodes; i++) {
		unsigned at = rng_below(&c->rng, i + 1);
		c->real[client][i] = c->real[client][at];
		c->real[client][at] = (uint8_t)i;
	}
	for (unsigned i = 0; i < c->nodes; i++)
		c->order[client][c->disagree ? i : c->real[client][i]] = (uint8_t)i;
}

/* The node timeout has room for the way there and back, twice for the client that connects first. */
static void prepare(struct contest *c, const struct rl_rules *rules)
{
	c->now_ns = c->count = 0;
	c->tokens = 1;
	memset(c->last_ns, 0, sizeof c->last_ns);
	for (unsigned n = 0; n < NODES_MAX; n++)
		c->key[n] = NOBODY;
	for (unsigned i = 0; i < c->clients; i++) {
		rl_lock_init(&c->lock[i], rules, c->ballots[i]);
		c->lock[i].findings = c->findings[i];
		shuffle(c, i);
		c->result[i] = 1;
		c->start_ns[i] = below_ns(c, rl_time_ms(rng_below(&c->rng, 4) == 0 ? 20 : 1));
		bool connects = c->distance_ns < rl_time_ms(50) && rng_below(&c->rng, 2) == 0;
		for (unsigned n = 0; n < c->nodes; n++) {
			c->way_ns[i][n] = below_ns(c, c->distance_ns);
			c->last_ns[true][i][n] = connects ? c->start_ns[i] + 3 * c->way_ns[i][n] : 0;
		}
	}
}

/* How many of the contenders won. */
static unsigned play(struct contest *c, const struct rl_rules *rules)
{
	unsigned winners = 0;
	prepare(c, rules);
	while (next(c)) {
	}
	for (unsigned i = 0; i < c->clients; i++) {
		assert_true(c->result[i] == 0 || c->result[i] == REDLOCK_E_BUSY);
		winners += c->result[i] == 0;
		uint64_t took = c->end_ns[i] - c->start_ns[i];
		assert_true(took <= 6 * rules->node_timeout_ns);
	}
	return winners;
}

static unsigned rounds;

enum how { NORMAL, DENIED, DISAGREE };

static unsigned rounds_without_a_winner(struct rl_rules (*make)(unsigned nodes), enum how how)
{
	static const unsigned clients[] = {2, 3, 5, 8}, distance_ms[] = {0, 1, 10, 50}, jitter_ms[] = {0, 2, 10};
	static struct contest c;
	unsigned without = 0;
	c.rng.state = 42;
	c.denied = how == DENIED;
	c.disagree = how == DISAGREE;
	for (unsigned r = 0; r < rounds; r++) {
		c.nodes = 3 + r % 3;
		c.clients = clients[r / 3 % COUNT(clients)];
		c.distance_ns = rl_time_ms(distance_ms[r / 12 % COUNT(distance_ms)]);
		c.jitter_ns = rl_time_ms(jitter_ms[r / 48 % COUNT(jitter_ms)]);
		struct rl_rules rules = make(c.nodes);
		unsigned winners = play(&c, &rules);
		if (winners > 1)
			fail_msg("round %u: %u winners", r, winners);
		without += winners == 0;
	}
	return without;
}

/* A single try, as before splits were told from holders, and as with the caller's own value. */
static struct rl_rules one_attempt(unsigned nodes)
{
	struct rl_rules rules = drive_rules(nodes);
	rules.policy = &rl_kinds[RL_KIND_OWN_VALUE];
	return rules;
}

TEST(exactly_one_wins)
{
	assert_int_equal(rounds_without_a_winner(drive_rules, NORMAL), 0);
}

/* So it is without the permission to query: votes tell who leads. */
TEST(exactly_one_wins_without_queries)
{
	assert_int_equal(rounds_without_a_winner(drive_rules, DENIED), 0);
}

/* Exactly one wins also where contenders do not agree on which node is the first. */
TEST(exactly_one_wins_in_any_order)
{
	assert_int_equal(rounds_without_a_winner(drive_rules, DISAGREE), 0);
}

/* The contests are such that without looks nobody would win many of them. */
TEST(single_attempts_split_the_votes)
{
	assert_true(rounds_without_a_winner(one_attempt, NORMAL) > rounds / 10);
}

static void start(void)
{
	rounds = group.argument != NULL ? (unsigned)strtoul(group.argument, NULL, 10)
	         : wait_is_slow()       ? 960
	                                : 9600;
}

TESTS(.start = start)
