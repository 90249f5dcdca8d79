/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../exit_codes.h"
#include "../guard_move.h"
#include "../message.h"
#include "init.h"

#define FIRST_STEP "1"

/* ---- servers that cannot be guarded ---- */

static bool is_alike(const struct init *in, unsigned i, unsigned k)
{
	const struct guard_record *a = &in->record[i], *b = &in->record[k];
	return a->state != GUARD_SILENT_ && b->state != GUARD_SILENT_ && strcmp(a->run_id, "-") != 0 &&
	       strcmp(a->run_id, b->run_id) == 0;
}

static int check_servers(const struct init *in)
{
	for (unsigned i = 0; i < in->nodes; i++) {
		const struct guard_record *r = &in->record[i];
		for (unsigned k = 0; k < i; k++)
			if (is_alike(in, i, k))
				return init_refuse(in, i, MSG(INIT_SAME), k + 1);
		if (r->state == GUARD_NEWER_)
			return init_refuse(in, i, MSG(INIT_NEWER));
	}
	return EXIT_OK;
}

/* Servers whose forgetting would not be seen, or that copy another one. After the list of nodes was found to
 * be that of the set: what is wrong with the list comes first. */
static int check_histories(const struct init *in)
{
	bool said = settings_source(in->settings, offsetof(struct settings, guard)) != NULL;
	bool strict = !(said && in->settings->guard == REDLOCK_GUARD_AUTO) && !in->settings->plain;
	for (unsigned i = 0; i < in->nodes; i++) {
		const struct guard_record *r = &in->record[i];
		bool used = in->wanted[i] || (int)i == in->joins;
		if (strict && used && r->state != GUARD_SILENT_ && strcmp(r->run_id, "-") == 0)
			return init_refuse(in, i, MSG(INIT_RUN_ID));
		if (strict && used && r->replicas)
			return init_refuse(in, i, MSG(INIT_REPLICAS));
	}
	return EXIT_OK;
}

/* ---- what is there ---- */

static bool is_member(const char *members, const char *member)
{
	size_t size = strlen(member);
	for (const char *at = members; at != NULL; at = strchr(at, ' ')) {
		at += *at == ' ';
		if (strncmp(at, member, size) == 0 && (at[size] == ' ' || at[size] == '\0'))
			return true;
	}
	return false;
}

/* A record of a set that was here before: of a process that was never admitted, where others are, to a set
 * with this member. */
static void disregard_backups(struct init *in)
{
	for (unsigned i = 0; i < in->nodes; i++)
		for (unsigned k = 0; k < in->nodes; k++) {
			struct guard_record *r = &in->record[i];
			const struct guard_record *other = &in->record[k];
			if ((r->state == GUARD_QUARANTINE_ || r->state == GUARD_OVER_) &&
			    other->state == GUARD_ADMITTED_ && guard_record_damage(other) == NULL &&
			    strcmp(r->field[GUARD_SET], other->field[GUARD_SET]) != 0 &&
			    is_member(other->field[GUARD_MEMBERS], in->member[i]))
				r->state = GUARD_BLANK_;
		}
}

static bool is_sound(const struct guard_record *r)
{
	return guard_record_is_of_a_set(r) && guard_record_damage(r) == NULL;
}

/* How many sound records say the same. */
static unsigned count_alike(const struct init *in, const struct guard_record *r)
{
	static const enum guard_field said[] = {GUARD_SET,     GUARD_CONFIG, GUARD_STEP,
	                                        GUARD_MEMBERS, GUARD_QUORUM, GUARD_TTL};
	unsigned count = 0;
	for (unsigned i = 0; i < in->nodes; i++) {
		bool alike = is_sound(&in->record[i]);
		for (size_t f = 0; f < sizeof said / sizeof said[0]; f++)
			alike &= strcmp(in->record[i].field[said[f]], r->field[said[f]]) == 0;
		count += alike;
	}
	return count;
}

static bool is_later(const struct init *in, const struct guard_record *r, const struct guard_record *best)
{
	uint64_t step = guard_record_number(r, GUARD_STEP), most = guard_record_number(best, GUARD_STEP);
	unsigned alike = count_alike(in, r), others = count_alike(in, best);
	if (step != most || alike != others)
		return step != most ? step > most : alike > others;
	return !best->field[GUARD_PREV][0] && r->field[GUARD_PREV][0];
}

/* Finds the newest of the sound records; of several, the one that most nodes have, and that knows the
 * previous configuration. -1: there is none. */
static int find_latest(const struct init *in)
{
	int found = -1;
	for (unsigned i = 0; i < in->nodes; i++)
		if (is_sound(&in->record[i]) && (found < 0 || is_later(in, &in->record[i], &in->record[found])))
			found = (int)i;
	return found;
}

/* EXIT_OK: none is damaged. */
static int refuse_damaged(const struct init *in, const char *advice)
{
	int code = EXIT_OK;
	for (unsigned i = 0; i < in->nodes; i++) {
		const char *field = guard_record_damage(&in->record[i]);
		if (field != NULL)
			code = init_refuse(in, i, MSG(INIT_DAMAGED), field, advice);
	}
	return code;
}

static int check_sets(const struct init *in, unsigned latest)
{
	const struct guard_record *r = &in->record[latest];
	for (unsigned i = 0; i < in->nodes; i++) {
		const struct guard_record *other = &in->record[i];
		if (!is_sound(other) || strcmp(other->field[GUARD_SET], r->field[GUARD_SET]) == 0)
			continue;
		return init_refuse(in, i, MSG(INIT_OTHER_SET), other->field[GUARD_SET], other->field[GUARD_MEMBERS],
		                   latest + 1, r->field[GUARD_SET]);
	}
	return EXIT_OK;
}

/* A record that clients have repaired does not say it. But the first configuration of a set was no change,
 * and if all nodes answer none knows of a later one. */
static bool is_finished(const struct init *in, const struct guard_record *of)
{
	const char *config = of->field[GUARD_CONFIG];
	bool first = strcmp(of->field[GUARD_STEP], FIRST_STEP) == 0;
	for (unsigned i = 0; i < in->nodes; i++) {
		const struct guard_record *r = &in->record[i];
		first &= r->state != GUARD_SILENT_;
		if (r->state != GUARD_SILENT_ && strcmp(r->field[GUARD_DONE], config) == 0)
			return true;
	}
	return first;
}

static struct init_config config_of(const struct init *in, const struct guard_record *r)
{
	return (struct init_config){
	    .set = r->field[GUARD_SET],
	    .config = r->field[GUARD_CONFIG],
	    .step = r->field[GUARD_STEP],
	    .ttl = r->field[GUARD_TTL],
	    .members = r->field[GUARD_MEMBERS],
	    .quorum = r->field[GUARD_QUORUM],
	    .leaving = r->field[GUARD_LEAVING],
	    .prev_config = "",
	    .prev_members = "",
	    .prev_quorum = "",
	    .finished = is_finished(in, r),
	};
}

/* ---- no set ---- */

/* --add to plain nodes: these become a set first. Later rounds go on with that until it is made. */
static int found_before_change(struct init *in)
{
	if (in->is_listed) {
		complain(MSG(INIT_ADD_LISTED), init_address(in, (unsigned)in->joins));
		return EXIT_CONFIG;
	}
	if (init_complain_silent(in, in->wanted, ": a change needs all nodes") > 0)
		return EXIT_NOQUORUM;
	in->founds = true;
	return init_turn_to(in, true) ? init_found(in) : EXIT_INTERNAL;
}

static int plan_without_set(struct init *in)
{
	int code = refuse_damaged(in, ", and no node that answers has one to follow: run this again when others "
	                              "answer, or, if all are damaged, delete them with DEL " GUARD_RECORD_KEY
	                              " and make the set anew");
	if (code != EXIT_OK)
		return code;
	if (in->settings->plain) {
		in->note = "there is no guarded node set: every client may use these nodes";
		return init_complain_silent(in, in->wanted, "") > 0 ? EXIT_NOQUORUM : EXIT_OK;
	}
	bool founds = !in->settings->new_epoch && !in->settings->finish;
	if (founds && (in->other < 0 || in->founds))
		return init_found(in);
	if (founds && in->is_added && !init_replaces(in) && in->list[0] != '\0')
		return found_before_change(in);
	if (init_complain_silent(in, in->wanted, "") > 0)
		return EXIT_NOQUORUM;
	complain(MSG(INIT_NO_RECORD));
	return EXIT_CONFIG;
}

/* ---- a set that is there ---- */

/* A node that voted on an older one, which is accepted until the change is finished. */
static void follow(struct init *in, unsigned node, const struct init_config *config)
{
	const struct guard_record *r = &in->record[node];
	struct init_config next = *config;
	uint64_t step = guard_record_number(r, GUARD_STEP);
	if (config->finished || step + 1 != strtoull(config->step, NULL, 10)) {
		init_compose(in, node, INIT_QUARANTINE, config,
		             "record written; it was left behind by a change, and votes after a quarantine");
		return;
	}
	init_keep_former(&next, r);
	init_compose(in, node, INIT_ADMIT, &next, "record written, both configurations are accepted");
}

/* Whether the record was damaged except for its pass, which says that this process votes and has forgotten
 * nothing. */
static bool has_pass(const struct guard_record *r, const struct init_config *config)
{
	const char *pass = r->field[GUARD_PASS], *colon = strchr(pass, ':');
	if (colon == NULL || strcmp(colon + 1, config->config) != 0)
		return false;
	size_t size = (size_t)(colon - pass);
	return strncmp(pass, "-:", 2) == 0 || (size == strlen(r->run_id) && strncmp(pass, r->run_id, size) == 0);
}

void init_mend(struct init *in, unsigned node, const struct init_config *config)
{
	const struct guard_record *r = &in->record[node];
	bool same = strcmp(r->field[GUARD_CONFIG], config->config) == 0;
	bool damaged = guard_record_damage(r) != NULL;
	if ((damaged || r->state == GUARD_BLANK_) && has_pass(r, config)) {
		init_compose(in, node, INIT_REPAIR, config, "its record was damaged, and is mended");
	} else if (damaged) {
		init_compose(in, node, INIT_QUARANTINE, config,
		             "its record was damaged, and is written anew; it votes after a quarantine");
	} else if (init_is_noted(in, node, config)) {
		init_admit_noted(in, node, config);
	} else if (!guard_record_is_of_a_set(r)) {
		init_compose(in, node, INIT_QUARANTINE, config,
		             "record written; it may have forgotten locks, and votes after a quarantine");
	} else if (r->state == GUARD_ADMITTED_ && !same) {
		follow(in, node, config);
	} else if (!same) {
		init_compose(in, node, INIT_KEEP, config, "record written, it is in quarantine");
	} else if (r->state == GUARD_ADMITTED_ && strcmp(r->field[GUARD_NODE], in->member[node]) != 0) {
		init_put(in, node, "it has another address now")->text[GUARD_NODE] = in->member[node];
	}
}

/* Whether the node was left out, or taken back, by a later configuration than any node has now. */
static bool is_past(const struct init *in, unsigned node, const struct init_config *config)
{
	const struct guard_record *r = &in->record[node];
	return (r->state == GUARD_REMOVED_ || r->state == GUARD_PLAIN_) &&
	       strcmp(r->field[GUARD_SET], config->set) == 0 &&
	       guard_record_number(r, GUARD_STEP) > strtoull(config->step, NULL, 10);
}

int init_check_later(const struct init *in, const bool *of, const struct init_config *config)
{
	for (unsigned i = 0; i < in->nodes; i++) {
		const char *step = in->record[i].field[GUARD_STEP];
		if (!of[i] || !is_past(in, i, config))
			continue;
		if (in->record[i].state == GUARD_PLAIN_)
			return init_refuse(in, i, MSG(INIT_TAKEN_BACK), step, config->step);
		bool replaces = init_replaces(in) && (int)i == in->leaves;
		char url[INIT_MEMBER];
		snprintf(url, sizeof url, "%s", init_address(in, i));
		return init_refuse(in, i, MSG(INIT_LEFT), step, config->step, url,
		                   replaces ? init_address(in, (unsigned)in->joins) : "NEW", url);
	}
	return EXIT_OK;
}

/* False: nothing is to be written. A node that leaves has the record as well, until it is told. One that was
 * replaced may come back later. */
static bool mend_all(struct init *in, const struct init_config *config)
{
	for (unsigned i = 0; i < in->nodes; i++) {
		bool leaves = (int)i == in->leaves && !in->is_added && !config->finished;
		bool told = in->record[i].state == GUARD_REMOVED_ || in->settings->dead;
		bool used = in->wanted[i] ? !is_past(in, i, config) : leaves && !told;
		if (in->record[i].state != GUARD_SILENT_ && used)
			init_mend(in, i, config);
		else if ((int)i == in->leaves && in->is_added && guard_record_is_of_a_set(&in->record[i]))
			init_compose(in, i, INIT_TELL, config, "told that it is no member any more");
	}
	return init_has_changes(in);
}

/* Nobody brings what no quorum knows: neither clients nor a later run. */
static int check_numbers(const struct init *in, const struct init_config *config)
{
	uint64_t largest;
	unsigned count = init_counting(in, in->wanted, config, &largest);
	if (count >= strtoul(config->quorum, NULL, 10))
		return EXIT_OK;
	complain(MSG(INIT_NO_NUMBERS), count, in->nodes, config->quorum, config->quorum);
	return EXIT_NOQUORUM;
}

static int check_quorum(const struct init_config *config, const char *quorum)
{
	if (strcmp(config->quorum, quorum) == 0)
		return EXIT_OK;
	complain(MSG(INIT_QUORUM), config->quorum, quorum, config->quorum);
	return EXIT_CONFIG;
}

/* Nothing but an answer ends a change that was begun: the node would accept the former list. An empty server
 * at its address accepts none. */
static const char when_back[] = ": run this again when it is back";
static const char when_back_or_empty[] =
    ": run this again when it is back, or, if it is gone for good, when an empty server has its "
    "address, which votes after a quarantine";

static int go_on(struct init *in, const struct init_config *config)
{
	int code = check_quorum(config, in->target_quorum);
	if (code != EXIT_OK)
		return code;
	if (mend_all(in, config))
		return INIT_MORE;
	code = init_check_later(in, in->wanted, config);
	if (code != EXIT_OK)
		return code;
	if (init_complain_silent(in, in->wanted, config->finished ? when_back : when_back_or_empty) > 0)
		return EXIT_NOQUORUM;
	if (!config->finished && (in->settings->finish || (init_replaces(in) && !in->is_added)))
		return init_finish_change(in, config);
	in->note = config->finished
	               ? "clients of these nodes keep the guard without a setting; an extra: guard = require "
	                 "refuses nodes that "
	                 "have no record"
	               : "both lists of nodes are accepted now: give all clients the new one, then end "
	                 "this with the same command and --finish";
	return check_numbers(in, config);
}

/* ---- back to plain, and a new epoch of the counters ---- */

static int plan_plain(struct init *in, const struct init_config *config)
{
	for (unsigned i = 0; i < in->nodes; i++) {
		const struct guard_record *r = &in->record[i];
		if (r->state == GUARD_PLAIN_ || r->state == GUARD_SILENT_)
			continue;
		if (r->state == GUARD_QUARANTINE_ && r->field[GUARD_QID][0] != '\0') {
			in->wait_ms = r->left_ms > in->wait_ms ? r->left_ms : in->wait_ms;
			in->wait_why = "a node is in quarantine: it may have forgotten locks";
		} else if (r->state != GUARD_ADMITTED_ && r->state != GUARD_OVER_ && r->state != GUARD_FOUNDING_) {
			init_compose(in, i, INIT_QUARANTINE, config, "it may have forgotten locks: quarantine");
		} else {
			struct init_change *c = init_put(in, i, "taken back to plain");
			c->text[GUARD_MODE] = "plain";
			c->text[GUARD_PASS] = c->text[GUARD_PREV] = c->text[GUARD_FLOOR] = "";
			c->text[GUARD_QID] = c->text[GUARD_QRID] = c->text[GUARD_QUNTIL] = c->text[GUARD_FOUNDING] = "";
		}
	}
	if (init_has_changes(in) || in->wait_ms > 0)
		return INIT_MORE;
	return init_complain_silent(in, in->wanted, when_back) > 0 ? EXIT_NOQUORUM : EXIT_OK;
}

static int plan_epoch(struct init *in, const struct init_config *config)
{
	unsigned votes = 0;
	for (unsigned i = 0; i < in->nodes; i++)
		votes += in->record[i].state == GUARD_ADMITTED_ && init_has(in, i, config);
	if (votes < strtoul(config->quorum, NULL, 10)) {
		complain(MSG(INIT_ADMITTED), votes, in->nodes, config->quorum);
		return EXIT_NOQUORUM;
	}
	if (init_check_room(in) != EXIT_OK)
		return EXIT_CONFIG;
	in->epoch = in->epoch != 0 ? in->epoch : init_highest(in);
	for (unsigned i = 0; i < in->nodes; i++)
		if (in->record[i].state == GUARD_ADMITTED_ && init_has(in, i, config) &&
		    init_lacks(&in->record[i], in->epoch)) {
			(void)init_put(in, i, "fencing numbers begin anew, above all that were known");
			init_put_floor(in, i, in->epoch);
		}
	in->note = "nodes that are not admitted, or were not reached, learn it from the others";
	return init_has_changes(in) ? INIT_MORE : EXIT_OK;
}

/* ---- all of it ---- */

static int refuse_members(const struct init *in, unsigned node, const struct init_config *now)
{
	if (now->leaving[0] != '\0')
		return init_refuse(in, node, MSG(INIT_LEAVING), now->set, now->leaving, now->members);
	const char *urls[REDLOCK_MAX_NODES];
	char move[GUARD_MOVE_MAX], addresses[REDLOCK_MAX_NODES][INIT_MEMBER];
	unsigned count = 0;
	while (count < in->nodes && in->listed[count]) {
		snprintf(addresses[count], INIT_MEMBER, "%s", init_address(in, count));
		urls[count] = addresses[count];
		count++;
	}
	bool is_told = guard_move_text(in->record, urls, count, move, sizeof move);
	if (!is_told)
		snprintf(move, sizeof move,
		         "%s; this list is the former one, which a change replaces: give these members",
		         now->members);
	return init_refuse(in, node, MSG(INIT_MEMBERS), now->set, move);
}

/* The old member leaves first, then the new one joins. */
static int find_move(struct init *in, const struct init_config *now)
{
	if (!init_replaces(in))
		return EXIT_OK;
	if (!init_turn_to(in, true))
		return EXIT_INTERNAL;
	if (strcmp(now->members, in->target) == 0)
		return EXIT_OK;
	if (!init_turn_to(in, false))
		return EXIT_INTERNAL;
	if (strcmp(now->members, in->list) == 0)
		return check_quorum(now, in->list_quorum);
	if (strcmp(now->members, in->target) != 0 || !now->finished)
		return EXIT_OK;
	complain(MSG(INIT_FORMER), in->member[in->leaves]);
	return EXIT_CONFIG;
}

/* The members are what the change makes of them: was this node one of them before? A node that does not
 * answer may have been replaced. */
static bool was_member(const struct init *in, const struct guard_record *latest, unsigned node)
{
	const struct guard_record *r = &in->record[node];
	const char *member = in->member[node];
	bool same = strcmp(r->field[GUARD_SET], latest->field[GUARD_SET]) == 0;
	bool own = same && (r->state == GUARD_REMOVED_ || strcmp(r->field[GUARD_NODE], member) == 0);
	return own || strcmp(latest->field[GUARD_LEAVING], member) == 0 ||
	       is_member(latest->field[GUARD_PREV_MEMBERS], member) ||
	       (init_replaces(in) && r->state == GUARD_SILENT_);
}

static int check_leaver(struct init *in, const struct guard_record *latest)
{
	in->knows_leaver |= in->leaves >= 0 && was_member(in, latest, (unsigned)in->leaves);
	if (in->leaves < 0 || in->knows_leaver)
		return EXIT_OK;
	complain(MSG(INIT_NO_MEMBER), in->member[in->leaves], latest->field[GUARD_MEMBERS],
	         init_replaces(in) ? ": --replace takes the member first, and then the node that comes" : "");
	return EXIT_CONFIG;
}

/* Nothing else begins before what was damaged is mended. */
static int refuse_mendable(const struct init *in, const struct init_config *now)
{
	int code = refuse_damaged(in, "; first run: redlock init");
	for (unsigned i = 0; i < in->nodes; i++)
		if (in->record[i].state == GUARD_BLANK_ && has_pass(&in->record[i], now))
			code = init_refuse(in, i, MSG(INIT_DAMAGED), "version", "; first run: redlock init");
	return code;
}

static int plan_set(struct init *in, unsigned latest)
{
	const struct init_config now = config_of(in, &in->record[latest]);
	int code = check_sets(in, latest);
	in->seen_ns = 0; /* should all be blank again, they may have forgotten locks of this set */
	if (code == EXIT_OK)
		code = find_move(in, &now);
	if (code != EXIT_OK)
		return code;
	bool is_list = strcmp(now.members, in->list) == 0, is_target = strcmp(now.members, in->target) == 0;
	if (!is_list && !is_target)
		return refuse_members(in, latest, &now);
	code = is_target ? check_leaver(in, &in->record[latest]) : EXIT_OK;
	if (code == EXIT_OK)
		code = check_histories(in);
	if (code != EXIT_OK)
		return code;
	if (in->settings->max_ttl_ms > 0 && strcmp(now.ttl, in->ttl) != 0) {
		complain(MSG(INIT_MAXIMUM), now.ttl);
		return EXIT_CONFIG;
	}
	snprintf(in->ttl, sizeof in->ttl, "%s", now.ttl);
	if (in->settings->plain || in->settings->new_epoch || !is_target)
		code = refuse_mendable(in, &now);
	if (code != EXIT_OK)
		return code;
	if ((in->settings->plain || in->settings->new_epoch) && !now.finished) {
		complain(MSG(INIT_BEGUN));
		return EXIT_CONFIG;
	}
	if (in->settings->plain)
		return plan_plain(in, &now);
	if (in->settings->new_epoch)
		return plan_epoch(in, &now);
	if (!is_target)
		return init_begin_change(in, &now);
	code = go_on(in, &now);
	if (code != EXIT_OK || !in->founds)
		return code;
	in->founds = false;
	return init_turn_to(in, true) ? INIT_MORE : EXIT_INTERNAL;
}

int init_plan(struct init *in)
{
	memset(in->change, 0, sizeof in->change);
	in->wait_ms = in->look_ms = 0;
	in->note = NULL;
	disregard_backups(in);
	int latest = find_latest(in), code = init_check_logins(in);
	if (code == EXIT_OK)
		code = check_servers(in);
	if (code != EXIT_OK)
		return code;
	if (latest >= 0)
		return plan_set(in, (unsigned)latest);
	code = check_histories(in);
	return code == EXIT_OK ? plan_without_set(in) : code;
}
