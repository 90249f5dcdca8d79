/* SPDX-License-Identifier: MIT */
/*
 * A change of members. First every node takes the new configuration, and still accepts the one before; two
 * majorities of lists that differ by one member have a node in common. When all have it, and the clients
 * too, the nodes refuse the one before. A maximum TTL later no lock of it is left; the largest fencing number
 * goes to all nodes, and the change is finished. Only then another one may begin.
 *
 * A member is replaced by two changes, of which the first one ends otherwise: clients keep the former list.
 * It gets a new id, which the member that leaves never accepts, so that only members of both lists vote for
 * it.
 */
#include <stdlib.h>
#include <string.h>

#include "../clock.h"
#include "../exit_codes.h"
#include "../message.h"
#include "../quarantine.h"
#include "init.h"

bool init_has(const struct init *in, unsigned node, const struct init_config *config)
{
	return strcmp(in->record[node].field[GUARD_CONFIG], config->config) == 0;
}

bool init_lacks(const struct guard_record *record, uint64_t number)
{
	uint64_t most;
	return !guard_record_counter(record, &most) || guard_record_number(record, GUARD_FLOOR) < number;
}

unsigned init_counting(const struct init *in, const bool *of, const struct init_config *config,
                       uint64_t *ret_largest)
{
	unsigned count = 0;
	*ret_largest = 0;
	for (unsigned i = 0; i < in->nodes; i++) {
		const struct guard_record *r = &in->record[i];
		uint64_t number;
		if (!of[i] || r->state != GUARD_ADMITTED_ || !init_has(in, i, config) ||
		    !guard_record_counter(r, &number))
			continue;
		count++;
		*ret_largest = number > *ret_largest ? number : *ret_largest;
	}
	return count;
}

/* False: fewer than a quorum count. */
static bool largest_number(const struct init *in, const bool *of, const struct init_config *config,
                           uint64_t *ret)
{
	return init_counting(in, of, config, ret) >= strtoul(config->quorum, NULL, 10);
}

/* ---- nodes in quarantine ---- */

/* The numbers are read after the quarantine was seen to be over. */
static void admit(struct init *in, unsigned node, const bool *of, const struct init_config *config)
{
	const struct guard_record *r = &in->record[node];
	uint64_t number;
	if (strcmp(in->over[node], r->field[GUARD_QID]) != 0) {
		snprintf(in->over[node], sizeof in->over[node], "%s", r->field[GUARD_QID]);
		return;
	}
	bool counted = largest_number(in, of, config, &number);
	init_compose(in, node, INIT_ADMIT, config,
	             counted ? "its quarantine is over, it votes"
	                     : "its quarantine is over, it votes, but gives no fencing numbers");
	struct init_change *c = &in->change[node];
	if (counted)
		init_put_floor(in, node, number);
	else
		c->text[GUARD_FLOOR] = "";
	if (!counted) /* by this id a client may bring them later */
		c->text[GUARD_QRID] = c->text[GUARD_QUNTIL] = c->text[GUARD_QID] = NULL;
}

/* False: there are some that are not admitted, and something is to be done or to be waited for. */
static bool all_vote(struct init *in, const bool *of, const struct init_config *config)
{
	bool all = true;
	for (unsigned i = 0; i < in->nodes; i++) {
		const struct guard_record *r = &in->record[i];
		if (!of[i] || r->state == GUARD_ADMITTED_)
			continue;
		all = false;
		if (r->state == GUARD_OVER_) {
			admit(in, i, of, config);
		} else if (strcmp(r->field[GUARD_QRID], r->run_id) != 0 || r->field[GUARD_QID][0] == '\0') {
			init_compose(in, i, INIT_QUARANTINE, config, "it may have forgotten locks: quarantine");
		} else {
			in->wait_ms = r->left_ms > in->wait_ms ? r->left_ms : in->wait_ms;
			in->wait_why = "a node is in quarantine: it may have forgotten locks";
		}
	}
	return all;
}

/* ---- the new configuration ---- */

static bool is_dead(const struct init *in, unsigned node)
{
	return in->settings->dead && (int)node == in->leaves;
}

/* A node that is said to be dead, and answers, would go on accepting the former list. One that has left
 * accepts none, and no client admits it. */
static int check_dead(const struct init *in, const struct init_config *now)
{
	if (!in->settings->dead || in->leaves < 0 || in->record[in->leaves].state == GUARD_SILENT_)
		return EXIT_OK;
	const struct guard_record *r = &in->record[in->leaves];
	if (r->state == GUARD_REMOVED_ && strcmp(r->field[GUARD_SET], now->set) == 0)
		return EXIT_OK;
	return init_refuse(in, (unsigned)in->leaves, MSG(INIT_ALIVE));
}

/* The former list is accepted by the members that stay: where they are too few, a living one must not leave
 * before another one has come. */
static int check_rest(const struct init *in, const struct init_config *now)
{
	unsigned rest = 0;
	for (unsigned i = 0; i < in->nodes; i++)
		rest += in->wanted[i];
	if (!init_replaces(in) || in->is_added || in->settings->dead || rest >= strtoul(now->quorum, NULL, 10))
		return EXIT_OK;
	complain(MSG(INIT_FEW), in->member[in->leaves], rest, now->quorum);
	return EXIT_CONFIG;
}

/* INIT_MORE: nodes that lack the configuration of now get it first. */
static int check_begin(struct init *in, const struct init_config *now)
{
	unsigned other = (unsigned)in->other;
	int code = check_dead(in, now);
	if (code == EXIT_OK)
		code = check_rest(in, now);
	if (code != EXIT_OK)
		return code;
	bool needed[REDLOCK_MAX_NODES + 1] = {false};
	for (unsigned i = 0; i < in->nodes; i++)
		needed[i] = (in->listed[i] || (int)i == in->joins) && !is_dead(in, i);
	if (!now->finished && !(init_replaces(in) && in->is_added)) {
		complain(MSG(INIT_BEGUN));
		return EXIT_CONFIG;
	}
	if (init_complain_silent(in, needed,
	                         in->is_added || in->record[other].state != GUARD_SILENT_
	                             ? ": a change needs all nodes"
	                             : ": a change needs all nodes; if this one is gone for good: --dead") > 0)
		return EXIT_NOQUORUM;
	code = init_check_later(in, needed, now);
	for (unsigned i = 0; i < in->nodes && code == EXIT_OK; i++)
		if (in->listed[i] && needed[i] && !init_has(in, i, now))
			init_mend(in, i, now);
	return code == EXIT_OK && init_has_changes(in) ? INIT_MORE : code;
}

/* The one of which all runs write first, so that of two changes at a time only one begins. */
static unsigned first_of(const struct init *in)
{
	unsigned first = in->nodes;
	for (unsigned i = 0; i < in->nodes; i++) {
		if (in->listed[i] && !is_dead(in, i) &&
		    (first == in->nodes || strcmp(in->member[i], in->member[first]) < 0))
			first = i;
	}
	return first;
}

int init_begin_change(struct init *in, const struct init_config *now)
{
	int code = check_begin(in, now);
	if (code != EXIT_OK)
		return code;
	in->wait_ms = init_unseen_ms(in);
	if (in->wait_ms > 0) {
		in->wait_why = "clients that were connected before the set was made look for its record once a "
		               "minute, and their "
		               "locks must have expired";
		return INIT_MORE;
	}
	bool voting[REDLOCK_MAX_NODES + 1] = {false};
	for (unsigned i = 0; i < in->nodes; i++)
		voting[i] = in->listed[i] && !is_dead(in, i);
	if (!all_vote(in, voting, now))
		return INIT_MORE;
	const struct guard_record *other = &in->record[in->other];
	bool is_new = other->state == GUARD_BLANK_ || other->state == GUARD_FOUNDING_;
	if (in->is_added && is_new && other->left_ms > 0) {
		in->wait_ms = other->left_ms;
		in->wait_why = "the new node is in quarantine";
		return INIT_MORE;
	}
	if (!largest_number(in, voting, now, &in->floor))
		in->floor = 0;
	code = in->is_added ? init_note_newcomer(in, now->set) : EXIT_OK;
	if (code != EXIT_OK)
		return code;
	if (!in->is_added)
		init_draw(in->config);
	snprintf(in->step, sizeof in->step, "%llu", strtoull(now->step, NULL, 10) + 1);
	struct init_config next = *now;
	next.config = in->config;
	next.step = in->step;
	next.members = in->target;
	next.quorum = in->target_quorum;
	next.leaving = in->is_added ? "" : in->member[in->other];
	next.finished = false;
	unsigned first = first_of(in);
	init_keep_former(&next, &in->record[first]);
	init_compose(in, first, INIT_ADMIT, &next, "record written, both configurations are accepted");
	in->alone_ns = in->carried = 0;
	return INIT_MORE;
}

/* ---- the list of a member that is replaced ---- */

/* The id that a former list has beside the configuration without the member that leaves: any run finds the
 * same one. */
static void rename_former(const char *config, char ret[INIT_ID + 1])
{
	static const char digits[] = "0123456789abcdef", others[] = "fedcba9876543210";
	snprintf(ret, INIT_ID + 1, "%s", config);
	for (char *at = ret; *at != '\0'; at++)
		*at = strchr(digits, *at) != NULL ? others[strchr(digits, *at) - digits] : *at;
}

static bool accepts_former(const struct guard_record *r, const char *config)
{
	const char *colon = strchr(r->field[GUARD_PREV], ':');
	return strcmp(colon != NULL ? colon + 1 : "", config) == 0;
}

void init_keep_former(struct init_config *next, const struct guard_record *r)
{
	char renamed[INIT_ID + 1];
	rename_former(r->field[GUARD_CONFIG], renamed);
	bool keeps = accepts_former(r, renamed);
	next->prev_config = r->field[keeps ? GUARD_PREV_CONFIG : GUARD_CONFIG];
	next->prev_members = r->field[keeps ? GUARD_PREV_MEMBERS : GUARD_MEMBERS];
	next->prev_quorum = r->field[keeps ? GUARD_PREV_QUORUM : GUARD_QUORUM];
}

/* A client that learns the new id sees with it that a later step has begun: it admits no node for it. */
static void rename_at_all(struct init *in, const struct init_config *now)
{
	char renamed[INIT_ID + 1];
	rename_former(now->config, renamed);
	for (unsigned i = 0; i < in->nodes; i++) {
		if (!in->wanted[i] || accepts_former(&in->record[i], renamed))
			continue;
		struct init_change *c = init_put(in, i, "it accepts the former list without the node that leaves");
		snprintf(c->prev, sizeof c->prev, "@:%s", renamed);
		c->text[GUARD_PREV] = c->prev;
		c->text[GUARD_PREV_CONFIG] = c->prev + 2;
		c->text[GUARD_PREV_MEMBERS] = in->list;
		c->text[GUARD_PREV_QUORUM] = in->list_quorum;
	}
}

/* ---- none but the new one ---- */

/* A node that leaves the set must refuse the former list as well, or be gone. */
static int tell(struct init *in, const struct init_config *now)
{
	unsigned other = (unsigned)in->leaves;
	if (now->leaving[0] == '\0' || in->settings->dead)
		return check_dead(in, now);
	if (in->leaves < 0 || strcmp(in->member[other], now->leaving) != 0) {
		complain(MSG(INIT_LEAVES), now->leaving);
		return EXIT_CONFIG;
	}
	if (in->record[other].state == GUARD_SILENT_) {
		(void)init_refuse(in, other, MSG(INIT_UNTOLD), in->record[other].why);
		return EXIT_NOQUORUM;
	}
	if (in->record[other].state != GUARD_REMOVED_ || !init_has(in, other, now))
		init_compose(in, other, INIT_TELL, now, "told that it is no member any more");
	return EXIT_OK;
}

static void refuse_former(struct init *in)
{
	for (unsigned i = 0; i < in->nodes; i++) {
		if (!in->wanted[i] || in->record[i].field[GUARD_PREV][0] == '\0')
			continue;
		struct init_change *c = init_put(in, i, "it refuses the former list of nodes");
		c->text[GUARD_PREV] = c->text[GUARD_PREV_CONFIG] = c->text[GUARD_PREV_MEMBERS] =
		    c->text[GUARD_PREV_QUORUM] = "";
	}
}

/* The numbers first, to all nodes: a run that finds one node that says `done` carries none. */
static void carry(struct init *in, const struct init_config *now)
{
	uint64_t number;
	if (in->carried == 0 && largest_number(in, in->wanted, now, &number))
		in->carried = number;
	for (unsigned i = 0; i < in->nodes; i++) {
		if (!in->wanted[i] || in->carried == 0 || !init_lacks(&in->record[i], in->carried))
			continue;
		(void)init_put(in, i, "it has the largest fencing number");
		init_put_floor(in, i, in->carried);
	}
}

static void conclude(struct init *in, const struct init_config *now)
{
	carry(in, now);
	if (init_has_changes(in))
		return;
	if (in->carried == 0 && !in->uncarried)
		complain(MSG(INIT_UNCARRIED));
	in->uncarried = in->carried == 0;
	for (unsigned i = 0; i < in->nodes; i++) {
		if (!in->wanted[i])
			continue;
		struct init_change *c = init_put(in, i, "the change is finished");
		c->text[GUARD_DONE] = now->config;
		c->text[GUARD_LEAVING] = "";
	}
}

/* The second change of two. */
static int join_instead(struct init *in, const struct init_config *now)
{
	carry(in, now);
	if (init_has_changes(in))
		return INIT_MORE;
	return init_turn_to(in, true) ? init_begin_change(in, now) : EXIT_INTERNAL;
}

int init_finish_change(struct init *in, const struct init_config *now)
{
	int code = tell(in, now);
	if (code != EXIT_OK)
		return code;
	if (init_has_changes(in) || !all_vote(in, in->wanted, now))
		return INIT_MORE;
	bool is_replaced = init_replaces(in) && !in->is_added;
	if (is_replaced)
		rename_at_all(in, now);
	else
		refuse_former(in);
	if (init_has_changes(in)) {
		in->alone_ns = 0;
		return INIT_MORE;
	}
	uint64_t now_ns = clock_ns();
	uint64_t whole_ms = quarantine_ms(strtoull(now->ttl, NULL, 10));
	in->alone_ns = in->alone_ns != 0 ? in->alone_ns : now_ns;
	if (now_ns - in->alone_ns < whole_ms * 1000000) {
		in->wait_ms = whole_ms - (now_ns - in->alone_ns) / 1000000;
		in->wait_why = is_replaced ? "locks that need the node which leaves must have expired"
		                           : "locks of the former list of nodes must have expired";
		return INIT_MORE;
	}
	if (is_replaced)
		return join_instead(in, now);
	conclude(in, now);
	return INIT_MORE;
}
