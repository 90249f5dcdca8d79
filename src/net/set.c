/* SPDX-License-Identifier: MIT */
#include "net/set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fence.h"
#include "core/time.h"
#include "net/members.h"

/* ---- who the nodes are ---- */

struct rl_set *rl_set_new(const struct rl_endpoint *const *endpoints, unsigned count, unsigned quorum,
                          bool require)
{
	struct rl_set *set = calloc(1, sizeof *set);
	bool ok = set != NULL;
	for (unsigned i = 0; ok && i < count; i++)
		ok = (set->addresses[i] = rl_members_address(endpoints[i])) != NULL;
	if (ok) {
		set->require = require;
		set->patience_ns = UINT64_MAX;
		set->plain_patience_ns = UINT64_MAX;
		set->count = count;
		set->quorum = quorum;
		snprintf(set->quorum_text, sizeof set->quorum_text, "%u", quorum % 100);
		set->members = rl_members_join(set->addresses, count);
		ok = set->members != NULL;
	}
	if (ok)
		return set;
	rl_set_free(set);
	return NULL;
}

void rl_set_free(struct rl_set *set)
{
	for (unsigned i = 0; set != NULL && i < REDLOCK_MAX_NODES; i++)
		free(set->addresses[i]);
	if (set != NULL)
		free(set->members);
	free(set);
}

/* ---- records ---- */

/* Cuts the next word off `rest`; false if `rest` is empty. */
static bool cut_word(struct rl_slice *rest, struct rl_slice *ret)
{
	const char *space = rest->size > 0 ? memchr(rest->bytes, ' ', rest->size) : NULL;
	size_t size = space != NULL ? (size_t)(space - rest->bytes) : rest->size;
	*ret = (struct rl_slice){rest->bytes, size};
	size += space != NULL;
	rest->bytes += size;
	rest->size -= size;
	return ret->size > 0;
}

static bool is_none(struct rl_slice word)
{
	return word.size == 1 && word.bytes[0] == '-';
}

static bool cut_text(struct rl_slice *rest, char *ret, size_t most)
{
	struct rl_slice word;
	if (!cut_word(rest, &word) || word.size > most)
		return false;
	memcpy(ret, word.bytes, word.size);
	ret[is_none(word) ? 0 : word.size] = '\0';
	return true;
}

static bool read_digits(struct rl_slice word, uint64_t *ret)
{
	uint64_t number = 0;
	if (word.size > 18)
		return false;
	for (size_t i = 0; i < word.size; i++) {
		if (word.bytes[i] < '0' || word.bytes[i] > '9')
			return false;
		number = number * 10 + (uint64_t)(word.bytes[i] - '0');
	}
	*ret = number;
	return true;
}

static bool cut_number(struct rl_slice *rest, uint64_t *ret)
{
	struct rl_slice word;
	*ret = 0;
	return cut_word(rest, &word) && (is_none(word) || read_digits(word, ret));
}

/* Cuts off a counter. A counter that is `-` or damaged costs the node its fencing numbers, and not its vote;
 * a record without the word is no record. */
static bool cut_count(struct rl_slice *rest, uint64_t *ret)
{
	struct rl_slice word;
	bool there = cut_word(rest, &word);
	if (!there || !read_digits(word, ret) || *ret >= RL_FENCE_END)
		*ret = RL_SET_UNKNOWN;
	return there;
}

static bool read_words(struct rl_slice text, const char *address, struct rl_set_record *r)
{
	bool ok = cut_text(&text, r->run_id, RL_SET_RUN_ID) && cut_text(&text, r->set, RL_SET_ID) &&
	          cut_text(&text, r->config, RL_SET_ID) && cut_text(&text, r->old_config, RL_SET_ID) &&
	          cut_number(&text, &r->step) && cut_number(&text, &r->ttl_ms) &&
	          cut_text(&text, r->pass, RL_SET_PASS) && cut_text(&text, r->old_pass, RL_SET_PASS) &&
	          cut_count(&text, &r->floor) && cut_count(&text, &r->most) &&
	          cut_text(&text, r->quarantine, RL_SET_ID) && text.size > 0;
	if (r->most == RL_SET_UNKNOWN || r->floor > r->most) /* one bound alone could be taken for both */
		r->floor = r->most = RL_SET_UNKNOWN;
	r->misnamed = ok && !rl_slice_same(text, rl_slice_of(address)); /* a path may have spaces */
	return ok;
}

static bool accepts(const struct rl_set_record *r, const char *config)
{
	char pass[RL_SET_PASS + 1];
	size_t size = strcspn(r->pass, ":");
	snprintf(pass, sizeof pass, "%.*s:%s", (int)size, r->pass, config);
	return size > 0 && config[0] != '\0' && (strcmp(pass, r->pass) == 0 || strcmp(pass, r->old_pass) == 0);
}

static bool has_flags(const struct rl_set_record *r, unsigned flags)
{
	return (r->flags & flags) == flags;
}

static bool has_record(const struct rl_set_record *r)
{
	return r->met && r->set[0] != '\0' &&
	       (r->verdict == RL_SET_ADMITTED || r->verdict == RL_SET_QUARANTINE || r->verdict == RL_SET_OVER);
}

/* Whether the record says that the change to `config` is finished, so that another one may begin. Clients
 * that write a record anew keep this flag. */
static bool says_done(const struct rl_set_record *r, const char *config)
{
	return has_record(r) && has_flags(r, RL_SET_DONE) && config[0] != '\0' && strcmp(r->config, config) == 0;
}

static unsigned count_accepting(const struct rl_set *set, const char *config)
{
	unsigned count = 0;
	for (unsigned i = 0; i < set->count; i++)
		count += set->records[i].verdict == RL_SET_ADMITTED && has_record(&set->records[i]) &&
		         accepts(&set->records[i], config);
	return count;
}

/* The configuration with our members that most nodes accept; of these the newest. Without a
 * candidate the configuration stays what it was. */
static void choose_config(struct rl_set *set)
{
	unsigned best = 0;
	bool found = false;
	char before[RL_SET_ID + 1], config_before[RL_SET_ID + 1];
	memcpy(before, set->id, sizeof before);
	memcpy(config_before, set->config, sizeof config_before);
	for (unsigned i = 0; i < 2 * set->count; i++) {
		const struct rl_set_record *r = &set->records[i / 2];
		bool old = i % 2 == 1;
		const char *config = old ? r->old_config : r->config;
		unsigned ours = old ? RL_SET_OLD_MEMBERS | RL_SET_OLD_QUORUM : RL_SET_MEMBERS | RL_SET_QUORUM;
		if (!has_record(r) || !has_flags(r, ours) || config[0] == '\0' || r->ttl_ms == 0)
			continue;
		unsigned accepting = count_accepting(set, config);
		uint64_t step = r->step - (old && r->step > 0);
		if (found && (accepting < best || (accepting == best && step <= set->step)))
			continue;
		found = true;
		best = accepting;
		memcpy(set->id, r->set, sizeof set->id);
		memcpy(set->config, config, sizeof set->config);
		set->step = step;
		set->ttl_ms = r->ttl_ms;
	}
	set->done &= strcmp(config_before, set->config) == 0;
	for (unsigned i = 0; i < set->count; i++)
		set->done |= says_done(&set->records[i], set->config);
	if (strcmp(config_before, set->config) != 0)
		set->generation = (uint8_t)(set->generation % UINT8_MAX + 1);
	if (strcmp(before, set->id) != 0) /* a set that was made anew counts its steps anew */
		set->latest = 0;
	for (unsigned i = 0; i < set->count; i++)
		if (has_record(&set->records[i]) && strcmp(set->records[i].set, set->id) == 0 &&
		    set->records[i].step > set->latest) {
			set->latest = set->records[i].step;
			set->latest_reading = set->records[i].reading;
		}
}

/* This user may not read the record, or the server has no scripts. */
static bool is_barred(const struct rl_set_record *r)
{
	return r->met && r->verdict == RL_SET_SILENT &&
	       (r->failure == REDLOCK_VOTE_NOPERM || r->failure == REDLOCK_VOTE_COMMAND);
}

struct rl_set_count rl_set_count(const struct rl_set *set)
{
	struct rl_set_count c = {0};
	for (unsigned i = 0; i < set->count; i++) {
		const struct rl_set_record *r = &set->records[i];
		c.records += has_record(r);
		c.without += r->met && (r->verdict == RL_SET_BARE || r->verdict == RL_SET_PLAIN);
		c.barred += is_barred(r);
	}
	return c;
}

static unsigned count_without(const struct rl_set *set)
{
	struct rl_set_count c = rl_set_count(set);
	return c.without + c.barred;
}

static bool is_taken_back(const struct rl_set *set, unsigned index)
{
	const struct rl_set_record *r = &set->records[index];
	return r->met && r->verdict == RL_SET_PLAIN && set->id[0] != '\0' && strcmp(r->set, set->id) == 0;
}

/* A set that is made again gets another id. So a record that says "taken back" stays true, also in an old
 * backup. */
static void forget_if_taken_back(struct rl_set *set)
{
	unsigned count = 0;
	for (unsigned i = 0; i < set->count; i++)
		count += is_taken_back(set, i);
	if (count < set->quorum)
		return;
	set->told_guarded = false;
	set->id[0] = set->config[0] = '\0';
	set->step = set->ttl_ms = set->latest = 0;
}

void rl_set_assume_guarded(struct rl_set *set, const char *id)
{
	set->told_guarded = true;
	snprintf(set->id, sizeof set->id, "%s", id);
}

bool rl_set_is_guarded(const struct rl_set *set)
{
	return set->config[0] != '\0' || set->told_guarded;
}

static bool is_required(const struct rl_set *set)
{
	return set->require || rl_set_is_guarded(set);
}

void rl_set_forget(struct rl_set *set, unsigned index)
{
	set->records[index].met = false;
}

void rl_set_await(struct rl_set *set, unsigned index, uint64_t now_ns)
{
	uint32_t bit = UINT32_C(1) << index;
	if ((set->begun & bit) != 0)
		return;
	if (set->begun == 0)
		set->begun_ns = now_ns;
	set->begun |= bit;
	set->awaited |= bit;
}

void rl_set_doubt(struct rl_set *set)
{
	for (unsigned i = 0; i < set->count; i++)
		set->records[i].met = false;
	set->is_plain = set->at_rest = false;
}

/* Ends the wait for records early: an eighth of the wait, or two node timeouts if that is more, is left for
 * the votes of the other nodes. */
void rl_set_limit_wait(struct rl_set *set, uint64_t quorum_wait_ns, uint64_t node_timeout_ns)
{
	enum { REST = 8, ATTEMPTS = 2 };
	uint64_t wait_ns = quorum_wait_ns > 0 ? quorum_wait_ns : node_timeout_ns;
	uint64_t least_ns = rl_time_min(wait_ns, node_timeout_ns);
	uint64_t most_ns = rl_time_sub(wait_ns, rl_time_max(wait_ns / REST, ATTEMPTS * node_timeout_ns));
	uint64_t attempt_ns = least_ns - least_ns / REST;
	set->patience_ns = rl_time_min(set->patience_ns, rl_time_max(attempt_ns, most_ns));
	set->plain_patience_ns = rl_time_min(set->plain_patience_ns, attempt_ns);
}

/* Decides whether the set is plain or guarded. A plain set stays plain while nodes come and go, until it is
 * doubted, or a record is seen. */
static void update_is_plain(struct rl_set *set)
{
	bool guarded = rl_set_is_guarded(set);
	set->changed = true;
	set->at_rest = false;
	set->noticed |= guarded && set->was_plain;
	set->was_plain &= !guarded;
	if (set->require || guarded) {
		set->is_plain = false;
	} else if (set->awaited == 0 && count_without(set) > 0) {
		set->was_plain = true;
		set->is_plain |= count_without(set) >= set->quorum;
	}
}

void rl_set_give_up(struct rl_set *set, uint32_t nodes)
{
	bool news = (set->awaited & nodes) != 0;
	set->awaited &= ~nodes;
	if (news)
		update_is_plain(set);
}

/* A plain set must not wait for a node that hangs, and a record that comes a moment later must not be too
 * late. */
#define LEAST_GRACE_NS (5 * RL_NS_PER_MS)
#define MOST_GRACE_NS (20 * RL_NS_PER_MS)

void rl_set_settle(struct rl_set *set, uint64_t now_ns)
{
	bool waits = set->awaited != 0 && !is_required(set) && !set->hears_all;
	set->at_rest = set->is_plain && rl_set_count(set).records == 0;
	if (!waits || set->quorum_heard || count_without(set) < set->quorum)
		return;
	uint64_t took_ns = rl_time_sub(now_ns, set->begun_ns);
	uint64_t grace_ns = rl_time_min(rl_time_max(took_ns, LEAST_GRACE_NS), MOST_GRACE_NS);
	set->quorum_heard = true;
	set->patience_ns = rl_time_min(set->patience_ns, took_ns + grace_ns);
}

uint64_t rl_set_deadline(const struct rl_set *set)
{
	bool patient = is_required(set) || set->hears_all;
	uint64_t patience_ns = patient ? set->patience_ns : rl_time_min(set->patience_ns, set->plain_patience_ns);
	return set->awaited != 0 ? rl_time_add(set->begun_ns, patience_ns) : UINT64_MAX;
}

struct rl_vote rl_set_bare_vote(void)
{
	return (struct rl_vote){.code = REDLOCK_VOTE_YES,
	                        .told = RL_TOLD(VERDICT) | RL_TOLD(WORDS),
	                        .verdict = RL_SET_BARE,
	                        .words = rl_slice_of("- - - - - - - - - - - -")};
}

void rl_set_learn(struct rl_set *set, unsigned index, const struct rl_vote *vote)
{
	struct rl_set_record *r = &set->records[index];
	char before[RL_SET_RUN_ID + 1];
	memcpy(before, r->run_id, sizeof before);
	*r = (struct rl_set_record){
	    .met = true, .verdict = RL_SET_SILENT, .failure = vote->code, .reading = ++set->readings};
	if (vote->code == REDLOCK_VOTE_YES) {
		bool ok = rl_vote_tells(vote, RL_FIELD_WORDS) && vote->verdict < RL_SET_SILENT;
		r->verdict = ok ? (enum rl_set_verdict)vote->verdict : RL_SET_SILENT;
		r->failure = REDLOCK_VOTE_FOREIGN;
		r->left_ms = ok && vote->left_ms > 0 ? (uint64_t)vote->left_ms : 0;
		r->flags = ok ? (unsigned)vote->flags : 0;
		if (!ok || !read_words(vote->words, set->addresses[index], r))
			r->verdict = RL_SET_SILENT;
	}
	if (r->run_id[0] == '\0')
		memcpy(r->run_id, before, sizeof before);
	else if (strcmp(r->run_id, before) != 0) /* another process, maybe elsewhere */
		set->offsets[index] = (struct rl_offset){0};
	choose_config(set);
	forget_if_taken_back(set);
	set->awaited &= ~(UINT32_C(1) << index);
	update_is_plain(set);
}

/* ---- what a node is told ---- */

/* The TTL from which the node counts its quarantine, which lasts at least a quarter longer: the longest of
 * the set, or longer while locks may be there of clients that did not know the set. */
static uint64_t quarantine_ttl_ms(const struct rl_set *set, uint64_t now_ns)
{
	uint64_t unseen_ms = rl_time_sub(set->unseen_until_ns, now_ns) / RL_NS_PER_MS + 1;
	return rl_time_max(set->ttl_ms, unseen_ms - unseen_ms / 5);
}

void rl_set_fill(const struct rl_set *set, unsigned index, unsigned operation, uint64_t now_ns,
                 struct rl_set_words *ret)
{
	bool known = set->config[0] != '\0';
	uint64_t ttl_ms = operation == RL_OP_MEET ? quarantine_ttl_ms(set, now_ns) : set->ttl_ms;
	snprintf(ret->ttl, sizeof ret->ttl, "%llu", (unsigned long long)ttl_ms);
	snprintf(ret->step, sizeof ret->step, "%llu", (unsigned long long)set->step);
	ret->words[RL_RECORD_MEMBERS] = rl_slice_of(set->members);
	ret->words[RL_RECORD_QUORUM] = rl_slice_of(set->quorum_text);
	ret->words[RL_RECORD_TTL] = rl_slice_of(known ? ret->ttl : "");
	ret->words[RL_RECORD_SET] = rl_slice_of(set->id);
	ret->words[RL_RECORD_STEP] = rl_slice_of(ret->step);
	ret->words[RL_RECORD_CONFIG] = rl_slice_of(set->config);
	ret->words[RL_RECORD_MEMBER] = rl_slice_of(set->addresses[index]);
	ret->words[RL_RECORD_DONE] = rl_slice_of(set->done ? set->config : "");
}

/* ---- what follows ---- */

static void refuse(struct rl_set_opinion *ret, enum redlock_vote_code vote, const char *why)
{
	ret->kind = RL_SET_REFUSE;
	ret->vote = vote;
	ret->why = why;
}

/* A client that knows the set has begun the quarantine of a node without a record, and will admit it. */
static bool is_being_readmitted(const struct rl_set *set, const struct rl_set_record *r)
{
	bool quarantined = r->verdict == RL_SET_QUARANTINE || r->verdict == RL_SET_OVER;
	return r->met && quarantined && r->set[0] == '\0' && set->config[0] == '\0';
}

static bool is_any_being_readmitted(const struct rl_set *set)
{
	for (unsigned i = 0; i < set->count; i++)
		if (is_being_readmitted(set, &set->records[i]))
			return true;
	return false;
}

/* Whether the member list of a node's record differs: this list is wrong, or older than a change. */
static bool is_any_foreign(const struct rl_set *set)
{
	enum { OURS = RL_SET_MEMBERS | RL_SET_OLD_MEMBERS };
	for (unsigned i = 0; i < set->count; i++)
		if (has_record(&set->records[i]) && (set->records[i].flags & OURS) == 0)
			return true;
	return false;
}

/* The nodes that do not answer may have their records. */
static void refuse_until_told(struct rl_set_opinion *ret)
{
	refuse(ret, REDLOCK_VOTE_QUARANTINE,
	       "it has no record of the guarded node set and waits for a node that has one");
	ret->has_no_end = true;
}

/* Judges a node without a record. It is refused where the set is known to be guarded. Else its vote waits
 * while another node may still report a record, and then counts as plain, unless a guard is required. */
static void judge_bare(const struct rl_set *set, struct rl_set_opinion *ret)
{
	if (set->config[0] != '\0' || is_any_being_readmitted(set))
		refuse(ret, REDLOCK_VOTE_QUARANTINE, NULL);
	else if (is_any_foreign(set))
		refuse(ret, REDLOCK_VOTE_FOREIGN,
		       "another node of this list is a member of a guarded set of other nodes");
	else if (set->is_plain || (set->awaited == 0 && !is_required(set)))
		ret->kind = RL_SET_ASK;
	else if (set->awaited != 0)
		ret->kind = RL_SET_HOLD;
	else if (count_without(set) < set->quorum)
		refuse_until_told(ret);
	else if (set->told_guarded)
		refuse(ret, REDLOCK_VOTE_UNGUARDED,
		       "its record of the guarded node set is gone: `redlock init` writes it anew");
	else
		refuse(ret, REDLOCK_VOTE_UNGUARDED, RL_SET_NO_RECORD);
}

/* Judges a record that says "plain". If it is of another set, or if fewer nodes than a quorum have such a
 * record, it proves nothing about a set that is known to be guarded. The first nodes with a plain record of
 * this set are asked again: `init --plain` writes to the others, or has to be run again. */
static void judge_plain(const struct rl_set *set, unsigned index, struct rl_set_opinion *ret)
{
	if (is_taken_back(set, index))
		refuse(ret, REDLOCK_VOTE_QUARANTINE,
		       "its record says that the node set was taken back to plain, but fewer nodes than a quorum "
		       "say so; if `init --plain` is over, run it again");
	else if (rl_set_is_guarded(set))
		refuse(ret, REDLOCK_VOTE_FOREIGN, "its record says that the node set is plain, others say guarded");
	else if (set->require)
		refuse(ret, REDLOCK_VOTE_UNGUARDED, "its node set was taken back to plain");
	else
		judge_bare(set, ret);
}

static const char record_rights[] =
    "NOPERM: to read the record of the guarded node set it needs ~redlock:set +eval "
    "+hmget +hget +hset +mget +time +info";

/* A user who may not read the record is a plain client, as long as nothing else says that the set is guarded.
 */
static void judge_silent(const struct rl_set *set, const struct rl_set_record *r, struct rl_set_opinion *ret)
{
	if (is_barred(r) && !is_required(set))
		judge_bare(set, ret);
	else
		refuse(ret, r->failure, is_barred(r) && r->failure == REDLOCK_VOTE_NOPERM ? record_rights : NULL);
}

/* While members change, all nodes get the new configuration id within about a round trip. */
static const char not_yet_elsewhere[] = "its record is of a configuration that too few other nodes have: if "
                                        "`redlock init` is over, run it again";

/* A record that was read before the newer one of another node: it may be as new by now. */
static const char read_again[] =
    "its record was of the configuration before that of another node: it is read again";

/* The reason not to trust a record: its node set, configuration or members differ. Only an admitted
 * record written for the running process is trusted; the record of another process may be as old as a backup.
 */
static const char *reason_to_distrust(const struct rl_set *set, const struct rl_set_record *r)
{
	if (set->id[0] != '\0' && r->set[0] != '\0' && strcmp(set->id, r->set) != 0)
		return "its record is of another node set";
	if (r->verdict != RL_SET_ADMITTED && set->config[0] != '\0')
		return NULL;
	if (!has_flags(r, RL_SET_MEMBERS) && !has_flags(r, RL_SET_OLD_MEMBERS))
		return "its node set has other members than are configured here";
	if (!has_flags(r, RL_SET_MEMBERS | RL_SET_QUORUM) &&
	    !has_flags(r, RL_SET_OLD_MEMBERS | RL_SET_OLD_QUORUM))
		return "its node set has another quorum than is configured here";
	if (r->verdict != RL_SET_ADMITTED)
		return NULL;
	if (r->misnamed)
		return "it is another member of the node set than its address says";
	if (accepts(r, set->config))
		return NULL;
	if (r->step >= set->latest)
		return not_yet_elsewhere;
	return r->reading < set->latest_reading
	           ? read_again
	           : "its record is of another configuration: `redlock init` mends that, or says why not";
}

static const char nameless[] = "it does not report its run_id: permit +info";

/* Without +info it is also not known whether the server is a replica, so that is said first. */
static const char *objection(const struct rl_set_record *r, bool require)
{
	bool marker = r->pass[0] == '-';
	if ((r->flags & RL_SET_NAMELESS) != 0 && (require || (r->pass[0] != '\0' && !marker)))
		return nameless;
	if (require && (r->flags & (RL_SET_REPLICAS | RL_SET_PROMOTED)) != 0)
		return "it has or had replicas or was one";
	return require && marker ? "its record has no run_id, so that restarts are not seen" : NULL;
}

void rl_set_judge(const struct rl_set *set, unsigned index, struct rl_set_opinion *ret)
{
	const struct rl_set_record *r = &set->records[index];
	const char *why = NULL;
	*ret = (struct rl_set_opinion){.kind = RL_SET_HOLD};
	if (!r->met)
		return;
	switch (r->verdict) {
	case RL_SET_SILENT:
		judge_silent(set, r, ret);
		return;
	case RL_SET_BARE:
		judge_bare(set, ret);
		return;
	case RL_SET_PLAIN:
		judge_plain(set, index, ret);
		return;
	case RL_SET_NEWER:
		why = "its record was written by a newer version";
		break;
	case RL_SET_REMOVED:
		why = "it was removed from the node set";
		break;
	default:
		why = objection(r, set->require);
		why = why == NULL && !is_being_readmitted(set, r) ? reason_to_distrust(set, r) : why;
	}
	if (why != NULL) {
		bool may_pass = why == not_yet_elsewhere || why == read_again;
		refuse(ret,
		       may_pass          ? REDLOCK_VOTE_QUARANTINE
		       : why == nameless ? REDLOCK_VOTE_NOPERM
		                         : REDLOCK_VOTE_FOREIGN,
		       why);
	} else if (r->verdict != RL_SET_ADMITTED) {
		refuse(ret, REDLOCK_VOTE_QUARANTINE, NULL);
	} else if (set->offsets[index].out_until_ns != 0) {
		refuse(ret, REDLOCK_VOTE_CLOCK, NULL);
	} else {
		ret->kind = RL_SET_PASSES;
		ret->objection = objection(r, true);
		snprintf(ret->pass, sizeof ret->pass, "%.*s:%s", (int)strcspn(r->pass, ":"), r->pass, set->config);
	}
}
