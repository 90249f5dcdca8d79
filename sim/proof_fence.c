/* SPDX-License-Identifier: MIT */
/*
 * Fencing numbers, as fence.thm has them, in guarded seeds: claims that draw one, nodes that forget, repairs.
 * A number that is drawn otherwise, by an upgrade or for a client that is gone, is that of a claim that was
 * given up.
 */
#include <stdlib.h>

#include "core/fence.h"
#include "core/policy.h"
#include "proof_all.h"
#include "proof_clients.h"
#include "redis_call.h"
#include "redis_types.h"
#include "theorem.h"

#include "theorem_fence.h"

enum {
	CLAIMS = sizeof((struct fence *)0)->is_Claim,
	REPAIRS = sizeof((struct fence *)0)->is_Repair,
	VALUE_BYTES = 64,
	NONE = -1
};

/* A claim that is over and has a number is looked at until so many others have begun. */
#define ISSUED_KEPT UINT64_C(32)

/* A client that repairs a node. Its ADMIT may arrive long after it was sent, and have an answer that is not
 * the last. */
enum { ANSWERS = 32 };
struct repair {
	uint64_t owner;
	int64_t gmax[SIM_MAX_NODES][ANSWERS]; /* as it was told, in a ring */
	uint64_t told[SIM_MAX_NODES];
};

struct proof_fence {
	struct fence t;
	bool refused;
	struct proof_quorums quorums;
	char tokens[CLAIMS][VALUE_BYTES];
	uint64_t age[CLAIMS], ages;
	struct repair repairs[REPAIRS];
	uint32_t starts[SIM_MAX_NODES]; /* of the process that is known, and */
	bool forgot[SIM_MAX_NODES];     /* whether it has lost its data since */
};

const char *const fence_names[] = {FENCE_NAMES, NULL};

#define TELL(w, admitted, action, ...)                                                                       \
	proof_tells(w, PROOF_FENCE, &(w)->fence->refused, admitted, (w)->fence->t.why, action, __VA_ARGS__)

/* ---- what a node has ---- */

static const struct key *find_key(const struct world *w, unsigned node, struct bytes name)
{
	const struct node *n = &w->nodes[node];
	return keyspace_find(&n->redis.keys, w->plan.database, name, node_now_ms(w, n));
}

/* The number that the text is, or -1 if it is not a whole number. */
static int64_t number_of(struct bytes text)
{
	char digits[24];
	if (text.size == 0 || text.size >= sizeof digits || text.at[0] < '0' || text.at[0] > '9')
		return -1;
	memcpy(digits, text.at, text.size);
	digits[text.size] = '\0';
	return strtoll(digits, NULL, 10);
}

static struct bytes field(const struct world *w, unsigned node, const char *name)
{
	struct bytes value = {NULL, 0};
	const struct key *record = find_key(w, node, text_bytes("redlock:set"));
	if (record != NULL && record->type == KEY_HASH)
		(void)hash_get(record, text_bytes(name), &value);
	return value;
}

static int64_t counter(const struct world *w, unsigned node, unsigned name)
{
	char plain[SIM_MAX_KEY], key[SIM_MAX_KEY + 24];
	struct bytes r = resource_key(&w->plan, name, plain);
	key[0] = '{';
	memcpy(key + 1, r.at, r.size);
	memcpy(key + 1 + r.size, "}:redlock:fence", 15);
	const struct key *is = find_key(w, node, (struct bytes){key, r.size + 16});
	return is != NULL && is->type == KEY_STRING ? number_of(is->value) : -1;
}

static bool has_token(const struct world *w, unsigned node, unsigned name, struct bytes token)
{
	char buffer[SIM_MAX_KEY];
	const struct key *is = find_key(w, node, resource_key(&w->plan, name, buffer));
	return is != NULL && is->type == KEY_STRING && bytes_equal(is->value, token);
}

static bool counts(const struct world *w, unsigned node)
{
	return node_admits(w, &w->nodes[node]) && number_of(field(w, node, "floor")) >= 0;
}

/* ---- begin and end ---- */

void fence_begin(struct world *w)
{
	if (!w->plan.guard || w->plan.changes)
		return;
	struct proof_fence *p = w->fence = buffer_realloc(NULL, sizeof *p);
	memset(p, 0, sizeof *p);
	p->t.most_Node = w->plan.nodes;
	p->t.most_Name = w->plan.resources;
	for (unsigned m = 0; m < w->plan.resources; m++)
		p->t.is_Name[m] = true;
	for (unsigned i = 0; i < w->plan.nodes; i++) {
		p->t.is_Node[i] = true;
		p->t.admitted[i] = counts(w, i);
		p->t.gmax[i] = number_of(field(w, i, "gmax"));
		p->starts[i] = w->nodes[i].starts;
		for (unsigned m = 0; m < w->plan.resources; m++)
			p->t.count[i][m] = p->t.gmax[i];
	}
}

void fence_end(struct world *w)
{
	for (unsigned i = 0; w->fence != NULL && i < FENCE_ACTIONS; i++)
		w->cover->proof[PROOF_FENCE][i] += w->fence->t.times[i];
	free(w->fence);
	w->fence = NULL;
}

/* ---- claims ---- */

static bool is_kept(const struct proof_fence *p, unsigned k)
{
	bool kept = !p->t.decided[k] || (p->t.issued[k] && p->age[k] + ISSUED_KEPT > p->ages);
	for (unsigned n = 0; n < p->t.most_Node; n++)
		for (unsigned m = 0; m < p->t.most_Name; m++)
			kept |= p->t.has[n][m][k];
	return kept;
}

static void tidy(struct proof_fence *p)
{
	struct fence *t = &p->t;
	for (unsigned k = 0; k < t->most_Claim; k++)
		t->is_Claim[k] = t->is_Claim[k] && is_kept(p, k);
	t->most_Claim = theorem_last(t->is_Claim, t->most_Claim);
}

static void clear(struct fence *t, unsigned k)
{
	t->begun[k] = t->chosen[k] = t->decided[k] = t->issued[k] = false;
	t->number[k] = 0;
	for (unsigned m = 0; m < SIM_MAX_RESOURCES; m++)
		t->wants[k][m] = false;
	for (unsigned j = 0; j < CLAIMS; j++)
		t->before[j][k] = t->before[k][j] = false;
	for (unsigned n = 0; n < SIM_MAX_NODES; n++) {
		t->granted[n][k] = t->raised[n][k] = t->remembers[n][k] = false;
		t->told[n][k] = 0;
		for (unsigned m = 0; m < SIM_MAX_RESOURCES; m++)
			t->has[n][m][k] = false;
		for (unsigned j = 0; j < CLAIMS; j++)
			t->first[n][j][k] = t->first[n][k][j] = false;
	}
}

static unsigned add(struct world *w, struct bytes token, uint32_t names)
{
	struct proof_fence *p = w->fence;
	struct fence *t = &p->t;
	tidy(p);
	unsigned k = proof_room(w, "fence", &p->refused, t->is_Claim, CLAIMS, &t->most_Claim);
	if (p->refused)
		return 0;
	clear(t, k);
	memset(p->tokens[k], 0, VALUE_BYTES);
	memcpy(p->tokens[k], token.at, token.size < VALUE_BYTES ? token.size : VALUE_BYTES);
	p->age[k] = ++p->ages;
	for (unsigned m = 0; m < t->most_Name; m++)
		t->wants[k][m] = (names >> m & 1) != 0;
	TELL(w, fence_begin_attempt(t, k), "begin_attempt", "k%u", k);
	return k;
}

static int find(const struct proof_fence *p, struct bytes token)
{
	int found = NONE;
	size_t size = token.size < VALUE_BYTES ? token.size : VALUE_BYTES;
	for (unsigned k = 0; k < p->t.most_Claim && token.size > 0; k++)
		if (p->t.is_Claim[k] && memcmp(p->tokens[k], token.at, size) == 0 &&
		    (found == NONE || !p->t.decided[k]))
			found = (int)k;
	return found;
}

static unsigned quorum(struct world *w, uint32_t nodes)
{
	struct fence *t = &w->fence->t;
	unsigned before = w->fence->quorums.count, q = proof_quorum_of(&w->fence->quorums, nodes);
	if (q < before)
		return q;
	t->is_Quorum[q] = true;
	t->most_Quorum = w->fence->quorums.count = q + 1;
	proof_quorum_tell(w->fence->quorums.nodes, q, t->in, t->common);
	TELL(w, fence_quorums_meet(t), "quorums_meet", "%x", nodes);
	return q;
}

/* ---- clients ---- */

static bool draws(const struct rl_lock *l)
{
	return l->rules->policy->draws && !l->rules->policy->shares && l->numbers != NULL;
}

static void look_at(struct world *w, const struct proof_client *c, bool relied[CLAIMS])
{
	struct fence *t = &w->fence->t;
	int found = find(w->fence, c->token);
	int64_t number = (int64_t)c->core->numbers->fence;
	uint32_t names = 0;
	for (unsigned m = 0; m < t->most_Name; m++)
		names |= (uint32_t)handle_wants(c->handle, m) << m;
	bool anew = found == NONE || (t->decided[found] && !c->holds);
	unsigned k = anew ? add(w, c->token, names) : (unsigned)found;
	relied[k] = true;
	if (number != 0 && !t->chosen[k])
		TELL(w, fence_choose(t, k, number), "choose", "k%u number %lld", k, (long long)number);
	if (c->holds && !t->issued[k])
		TELL(w, fence_issue(t, k, quorum(w, proof_voted(c))), "issue", "k%u number %lld", k,
		     (long long)number);
	if (number == 0 || number == t->number[k])
		return;
	refuse(t, "another number than was chosen");
	TELL(w, false, "issue", "k%u", k);
}

void fence_look(struct world *w, const struct proof_clients *clients)
{
	struct proof_fence *p = w->fence;
	bool relied[CLAIMS] = {false};
	if (p == NULL || p->refused)
		return;
	for (unsigned i = 0; i < clients->count; i++)
		if (clients->of[i].relies && draws(clients->of[i].core))
			look_at(w, &clients->of[i], relied);
	for (unsigned k = 0; k < p->t.most_Claim; k++)
		if (p->t.is_Claim[k] && !p->t.decided[k] && !relied[k])
			TELL(w, fence_give_up(&p->t, k), "give_up", "k%u", k);
}

/* ---- nodes ---- */

static void forget(struct world *w, unsigned node)
{
	struct fence *t = &w->fence->t;
	static bool keys[SIM_MAX_RESOURCES][CLAIMS];
	int64_t counters[SIM_MAX_RESOURCES], most = number_of(field(w, node, "gmax"));
	for (unsigned m = 0; m < SIM_MAX_RESOURCES; m++) {
		counters[m] = m < t->most_Name ? counter(w, node, m) : 0;
		for (unsigned k = 0; k < CLAIMS; k++)
			keys[m][k] = t->has[node][m][k];
	}
	TELL(w, fence_forget(t, node, keys, counters, most), "forget", "n%u", node);
	w->fence->starts[node] = w->nodes[node].starts;
	w->fence->forgot[node] = false;
}

static void look_at_keys(struct world *w, unsigned node)
{
	struct fence *t = &w->fence->t;
	for (unsigned k = 0; k < t->most_Claim; k++)
		for (unsigned m = 0; m < t->most_Name; m++) {
			struct bytes token = {w->fence->tokens[k], strnlen(w->fence->tokens[k], VALUE_BYTES)};
			if (t->is_Claim[k] && t->has[node][m][k] && !has_token(w, node, m, token))
				TELL(w, fence_key_goes(t, node, m, k), "key_goes", "n%u m%u k%u", node, m, k);
		}
}

static bool may_draw(const struct call *call)
{
	const struct rl_op *op = call->asked.op;
	return op != NULL && (op->claims || op == &rl_ops[RL_OP_ENTER] || op == &rl_ops[RL_OP_ENTER_ALL] ||
	                      op == &rl_ops[RL_OP_RAISE]);
}

/* The claim whose token the command has drawn a number for, or raised one; NONE: it is not known. An attempt
 * for which there were no random bytes has the token of the one before, whose key may be there still. */
static void look_at_claim(struct world *w, unsigned node, const struct call *call)
{
	struct fence *t = &w->fence->t;
	if (!may_draw(call))
		return;
	struct bytes token = call->asked.op != NULL ? call->asked.parts[RL_WORD_TOKEN] : text_bytes("");
	int found = find(w->fence, token);
	if (found == NONE)
		return;
	unsigned k = (unsigned)found;
	int64_t least = INT64_MAX;
	for (unsigned m = 0; m < t->most_Name; m++) {
		if (t->wants[k][m] && !has_token(w, node, m, token))
			return;
		if (t->wants[k][m] && counter(w, node, m) < least)
			least = counter(w, node, m);
	}
	if (!t->granted[node][k])
		TELL(w, fence_claim_arrives(t, node, k, least, true), "claim_arrives", "n%u k%u number %lld", node, k,
		     (long long)least);
	else if (call->asked.op == &rl_ops[RL_OP_RAISE] && t->chosen[k] && least >= t->number[k] &&
	         t->told[node][k] < t->number[k] && !t->raised[node][k])
		TELL(w, fence_raise_arrives(t, node, k), "raise_arrives", "n%u k%u", node, k);
}

/* Numbers that were drawn otherwise; and counters that are gone. */
static void look_at_counters(struct world *w, unsigned node)
{
	struct fence *t = &w->fence->t;
	int64_t floor = number_of(field(w, node, "floor")), most = number_of(field(w, node, "gmax"));
	for (unsigned m = 0; m < t->most_Name; m++) {
		int64_t is = counter(w, node, m);
		bool gone = is <= floor || is > most;
		if (gone && t->count[node][m] < t->gmax[node])
			TELL(w, fence_counter_goes(t, node, m), "counter_goes", "n%u m%u", node, m);
		if (gone || is <= t->count[node][m])
			continue;
		unsigned k = add(w, text_bytes("?"), UINT32_C(1) << m);
		TELL(w, fence_claim_arrives(t, node, k, is, false), "claim_arrives", "n%u k%u number %lld", node, k,
		     (long long)is);
		TELL(w, fence_give_up(t, k), "give_up", "k%u", k);
		TELL(w, fence_key_goes(t, node, m, k), "key_goes", "n%u m%u k%u", node, m, k);
	}
	if (most == t->gmax[node])
		return;
	refuse(t, "gmax is another one");
	tell_Int(t, "its record", most);
	tell_Int(t, "(gmax n)", t->gmax[node]);
	TELL(w, false, "gmax", "n%u", node);
}

/* ---- repairs ---- */

static int repair_of(const struct proof_fence *p, uint64_t owner, unsigned node)
{
	for (unsigned r = 0; r < p->t.most_Repair; r++)
		if (p->t.is_Repair[r] && p->repairs[r].owner == owner && p->t.patient[r] == node)
			return (int)r;
	return NONE;
}

static void learn(struct world *w, uint64_t owner, unsigned node)
{
	struct fence *t = &w->fence->t;
	int found = repair_of(w->fence, owner, node);
	if (found != NONE && t->learned[found] && t->quoted[found] == t->id[node])
		return;
	unsigned r = 0;
	while (found == NONE && r < REPAIRS - 1 && t->is_Repair[r] && t->quoted[r] == t->id[t->patient[r]])
		r++; /* else one of a quarantine that is over makes room */
	r = found != NONE ? (unsigned)found : r;
	t->is_Repair[r] = true;
	t->most_Repair = r >= t->most_Repair ? r + 1 : t->most_Repair;
	t->patient[r] = node;
	t->learned[r] = false;
	memset(&w->fence->repairs[r], 0, sizeof w->fence->repairs[r]);
	w->fence->repairs[r].owner = owner;
	TELL(w, fence_learn(t, r), "learn", "r%u n%u", r, node);
}

static void meets(struct world *w, unsigned node, uint64_t owner)
{
	struct fence *t = &w->fence->t;
	const struct node *n = &w->nodes[node];
	int64_t until_ms = number_of(field(w, node, "quntil"));
	bool begun = bytes_equal(field(w, node, "qrid"), text_bytes(n->redis.run_id)); /* by this process */
	if (!t->admitted[node] && begun && until_ms >= 0 && until_ms <= node_now_ms(w, n))
		learn(w, owner, node);
	for (unsigned r = 0; t->admitted[node] && r < t->most_Repair; r++) {
		if (!t->is_Repair[r] || w->fence->repairs[r].owner != owner || !t->learned[r])
			continue;
		TELL(w, fence_read_gmax(t, r, node), "read_gmax", "r%u n%u", r, node);
		struct repair *of = &w->fence->repairs[r];
		of->gmax[node][of->told[node]++ % ANSWERS] = t->gmax[node];
	}
}

/* The last answer of the node that the client can have used. NONE: the client can have used no answer. */
static int64_t last_answer(const struct repair *r, unsigned node, int64_t floor)
{
	for (uint64_t back = 1; back <= ANSWERS && back <= r->told[node]; back++) {
		int64_t told = r->gmax[node][(r->told[node] - back) % ANSWERS];
		if (told <= floor)
			return told;
	}
	return NONE;
}

/* The client has used those answers that it had by then: none is above the floor that it sends. */
static uint32_t use_answers(struct proof_fence *p, unsigned r, int64_t floor)
{
	uint32_t nodes = 0;
	p->t.found[r] = 0;
	for (unsigned n = 0; n < p->t.most_Node; n++) {
		int64_t told = last_answer(&p->repairs[r], n, floor);
		p->t.read[r][n] = p->t.read[r][n] && told != NONE;
		if (!p->t.read[r][n])
			continue;
		nodes |= UINT32_C(1) << n;
		p->t.found[r] = told > p->t.found[r] ? told : p->t.found[r];
	}
	return nodes;
}

static void admits(struct world *w, unsigned node, uint64_t owner, int64_t floor)
{
	struct fence *t = &w->fence->t;
	int r = repair_of(w->fence, owner, node);
	if (r == NONE) {
		refuse(t, "admit: the client has not asked");
		TELL(w, false, "admit", "n%u", node);
		return;
	}
	t->reads[r] = quorum(w, use_answers(w->fence, (unsigned)r, floor));
	TELL(w, fence_admit(t, (unsigned)r), "admit", "r%d n%u", r, node);
}

void fence_command(struct world *w, uint32_t node, const struct call *call)
{
	struct proof_fence *p = w->fence;
	if (p == NULL || p->refused)
		return;
	if (p->forgot[node] || p->starts[node] != w->nodes[node].starts)
		forget(w, node);
	if (p->t.admitted[node]) {
		look_at_keys(w, node);
		look_at_claim(w, node, call);
		look_at_counters(w, node);
	} else if (counts(w, node)) {
		admits(w, node, call->session->owner, number_of(field(w, node, "floor")));
	}
	if (call->asked.op == &rl_ops[RL_OP_MEET] && !p->refused)
		meets(w, node, call->session->owner);
}

void fence_forgets(struct world *w, uint32_t node)
{
	if (w->fence != NULL)
		w->fence->forgot[node] = true;
}
