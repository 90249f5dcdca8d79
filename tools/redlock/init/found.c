/* SPDX-License-Identifier: MIT */
/*
 * A new set. Two passes over the nodes: first each node notes which set is being made, and the process that
 * noted it; when all have noted the same one, they are admitted. Both begin with the first member in order.
 * So a node with a note never voted in that set, and no node votes before all have the note: any run may go
 * on where another one ended, and a set that not all nodes have noted may be begun anew.
 * docs/decisions/guard.md. plan.c calls it while no node has the record of a set. A node that comes later
 * gets such a note of the configuration in which it comes.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../clock.h"
#include "../exit_codes.h"
#include "../message.h"
#include "../quarantine.h"
#include "init.h"

#define FIRST_STEP "1"
#define FOUNDS "it takes part in the new set"

/* A run that has begun is given so much time to note the set at all nodes. Safety does not depend on it. */
#define PATIENCE_MS UINT64_C(3000)
#define LOOK_MS UINT64_C(100)

/* A client of a plain set looks for a record once a minute of its own clock, and waits for the answer. */
#define UNSEEN_MS UINT64_C(65000)
#define DEFAULT_TTL_MS UINT64_C(30000)

/* ---- numbers ---- */

static uint64_t unix_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Higher than all that is known of: numbers of before, of a set that was here, are not given again. */
uint64_t init_highest(const struct init *in)
{
	uint64_t most = unix_ms();
	for (unsigned i = 0; i < in->nodes; i++) {
		uint64_t number;
		(void)guard_record_counter(&in->record[i], &number); /* what was damaged is not known */
		most = number > most ? number : most;
	}
	return most;
}

/* All would begin there. All such nodes are named at once. */
int init_check_room(const struct init *in)
{
	int code = EXIT_OK;
	for (unsigned i = 0; i < in->nodes; i++) {
		uint64_t number;
		if (guard_record_used_up(&in->record[i], &number))
			code = init_refuse(in, i, MSG(INIT_NUMBERS), (unsigned long long)number);
	}
	return code;
}

/* ---- what is noted ---- */

/* "SET CONFIGURATION TTL QUORUM NUMBER MEMBERS", after the run_id. */
struct note {
	char set[INIT_ID + 1], config[INIT_ID + 1], ttl[24], quorum[4], floor[24];
	const char *members;
};

static bool cut(const char **rest, char *ret, size_t size)
{
	size_t length = strcspn(*rest, " ");
	if (length == 0 || length >= size || (*rest)[length] != ' ')
		return false;
	memcpy(ret, *rest, length);
	ret[length] = '\0';
	*rest += length + 1;
	return true;
}

static bool read_note(const char *text, struct note *ret)
{
	if (text == NULL || !cut(&text, ret->set, sizeof ret->set) ||
	    !cut(&text, ret->config, sizeof ret->config) || !cut(&text, ret->ttl, sizeof ret->ttl) ||
	    !cut(&text, ret->quorum, sizeof ret->quorum) || !cut(&text, ret->floor, sizeof ret->floor))
		return false;
	ret->members = text;
	return true;
}

/* False: out of memory. */
static bool write_note(struct init *in)
{
	static const char form[] = "@ %s %s %s %s %llu %s";
	size_t size = sizeof form + sizeof in->set + sizeof in->config + 64 + strlen(in->target);
	free(in->founding);
	in->founding = malloc(size);
	if (in->founding != NULL)
		snprintf(in->founding, size, form, in->set, in->config, in->ttl, in->target_quorum,
		         (unsigned long long)in->floor, in->target);
	return in->founding != NULL;
}

static bool is_same_note(const char *a, const char *b)
{
	return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* Goes on with what was noted. False: it is another set than this run was asked for. */
static bool take_over(struct init *in, const char *begun)
{
	struct note note;
	if (!read_note(begun, &note) || strcmp(note.members, in->target) != 0 ||
	    strcmp(note.quorum, in->target_quorum) != 0 ||
	    (in->settings->max_ttl_ms != 0 && strcmp(note.ttl, in->ttl) != 0))
		return false;
	memcpy(in->set, note.set, sizeof in->set);
	memcpy(in->config, note.config, sizeof in->config);
	memcpy(in->ttl, note.ttl, sizeof in->ttl);
	return true;
}

bool init_is_noted(const struct init *in, unsigned node, const struct init_config *config)
{
	struct note note;
	return read_note(guard_record_founding(&in->record[node]), &note) && strcmp(note.set, config->set) == 0 &&
	       strcmp(note.config, config->config) == 0;
}

/* Until when, from now, a lock may be there that a client took before it saw the record, if it is longer than
 * those of the set: of the default TTL, or of the set that was here before `redlock init --plain`. Servers
 * that never had a lock (--fresh) have no such clients. */
static void put_unseen(struct init *in, unsigned node)
{
	struct init_change *c = &in->change[node];
	const struct guard_record *r = &in->record[node];
	bool was_guarded = strcmp(r->field[GUARD_MODE], "plain") == 0;
	uint64_t former_ms = was_guarded ? guard_record_number(r, GUARD_TTL) : 0;
	uint64_t ttl_ms = strtoull(in->ttl, NULL, 10);
	if (in->settings->fresh && !was_guarded)
		return;
	former_ms = former_ms > DEFAULT_TTL_MS ? former_ms : DEFAULT_TTL_MS;
	uint64_t unseen_ms = UNSEEN_MS + (former_ms > ttl_ms ? quarantine_ms(former_ms) : 0);
	snprintf(c->unseen, sizeof c->unseen, "%llu", (unsigned long long)unseen_ms);
	c->text[GUARD_UNSEEN] = c->unseen;
}

void init_admit_noted(struct init *in, unsigned node, const struct init_config *config)
{
	struct note note;
	(void)read_note(guard_record_founding(&in->record[node]), &note);
	init_compose(in, node, INIT_ADMIT, config, "record written, it votes");
	uint64_t floor = strtoull(note.floor, NULL, 10);
	if (floor > 0)
		init_put_floor(in, node, floor);
	if (strcmp(config->step, FIRST_STEP) == 0)
		put_unseen(in, node);
}

/* ---- what is to be done ---- */

/* How long to wait until all has expired that these processes have forgotten. */
static uint64_t forgetting_ms(struct init *in)
{
	uint64_t whole_ms = quarantine_ms(strtoull(in->ttl, NULL, 10)), now_ns = clock_ns();
	uint64_t left_ms = 0;
	in->seen_ns = in->seen_ns != 0 ? in->seen_ns : now_ns;
	for (unsigned i = 0; i < in->nodes; i++) {
		const struct guard_record *r = &in->record[i];
		if (strcmp(in->run_id[i], r->run_id) != 0)
			in->seen_ns = now_ns;
		snprintf(in->run_id[i], sizeof in->run_id[i], "%s", r->run_id);
		if (r->state == GUARD_BLANK_ && r->left_ms > left_ms)
			left_ms = r->left_ms;
	}
	uint64_t seen_ms = (now_ns - in->seen_ns) / 1000000;
	if (!in->settings->fresh && seen_ms < whole_ms && whole_ms - seen_ms > left_ms)
		left_ms = whole_ms - seen_ms;
	return left_ms;
}

/* All runs begin with the same node: of two, one finds there what the other one has begun. */
static unsigned first_member(const struct init *in)
{
	unsigned first = in->nodes;
	for (unsigned i = 0; i < in->nodes; i++)
		if (in->wanted[i] && (first == in->nodes || strcmp(in->member[i], in->member[first]) < 0))
			first = i;
	return first;
}

static bool all_noted(const struct init *in, const char *begun)
{
	for (unsigned i = 0; i < in->nodes; i++)
		if (in->wanted[i] && !is_same_note(guard_record_founding(&in->record[i]), begun))
			return false;
	return begun != NULL;
}

/* The pass of a former set may be left in the record. The node has no note while it has a pass. */
static void put_note(struct init *in, unsigned node, const char *said)
{
	struct init_change *c = init_put(in, node, said);
	c->text[GUARD_FOUNDING] = in->founding;
	c->text[GUARD_PASS] = "";
}

/* Once only: one that comes late must find the node as it was read. */
static void note_at_others(struct init *in, unsigned first)
{
	for (unsigned i = 0; i < in->nodes; i++)
		if (in->wanted[i] && i != first)
			put_note(in, i, FOUNDS);
	in->noted = true;
}

/* Another run has begun, and may be about to go on. */
static bool is_at_work(struct init *in, const char *begun)
{
	uint64_t now_ns = clock_ns();
	struct note note;
	if (!read_note(begun, &note))
		return false;
	if (strcmp(note.config, in->begun) != 0) {
		snprintf(in->begun, sizeof in->begun, "%s", note.config);
		in->begun_ns = now_ns;
	}
	uint64_t passed_ms = (now_ns - in->begun_ns) / 1000000;
	if (passed_ms >= PATIENCE_MS)
		return false;
	in->wait_ms = PATIENCE_MS - passed_ms;
	in->look_ms = LOOK_MS;
	in->wait_why = "another `redlock init` is at work on these nodes";
	return true;
}

static int begin(struct init *in, unsigned first)
{
	in->wait_ms = forgetting_ms(in);
	in->wait_why =
	    "these nodes may have forgotten locks, which must have expired (if none were ever held here: "
	    "--fresh)";
	if (in->wait_ms > 0)
		return INIT_MORE;
	init_draw(in->set);
	init_draw(in->config);
	in->floor = init_highest(in);
	in->noted = false;
	if (!write_note(in)) {
		complain(MSG(NO_MEMORY));
		return EXIT_INTERNAL;
	}
	put_note(in, first, FOUNDS);
	return INIT_MORE;
}

/* Once: nobody has asked for it. */
static void tell_maximum(struct init *in)
{
	char ttl[32];
	redlock_duration_text(strtoull(in->ttl, NULL, 10), ttl, sizeof ttl);
	if (in->was_set && in->settings->max_ttl_ms == 0)
		say(in->settings, MSG(INIT_FORMER_TTL), ttl,
		    in->former_ms > 0 ? "that of the set which was here"
		                      : "that of the set which was here is not known on this host");
	in->was_set = false;
}

int init_found(struct init *in)
{
	tell_maximum(in);
	unsigned first = first_member(in);
	if (init_check_room(in) != EXIT_OK)
		return EXIT_CONFIG;
	if (init_complain_silent(in, in->wanted, ": a new set needs all its nodes"))
		return EXIT_NOQUORUM;
	const char *begun = guard_record_founding(&in->record[first]);
	if (all_noted(in, begun) && take_over(in, begun)) {
		const struct init_config config = {
		    in->set, in->config, FIRST_STEP, in->ttl, in->target, in->target_quorum, "", "", "", "", true};
		init_admit_noted(in, first, &config);
	} else if (in->founding != NULL && is_same_note(begun, in->founding + 2) && !in->noted) {
		note_at_others(in, first);
	} else if (!is_at_work(in, begun)) {
		return begin(in, first);
	}
	return INIT_MORE;
}

/* ---- a node that comes ---- */

int init_note_newcomer(struct init *in, const char *set)
{
	unsigned node = (unsigned)in->other;
	const char *noted = guard_record_founding(&in->record[node]);
	if (in->founding != NULL && is_same_note(noted, in->founding + 2))
		return EXIT_OK;
	if (is_at_work(in, noted))
		return INIT_MORE;
	snprintf(in->set, sizeof in->set, "%s", set);
	init_draw(in->config);
	if (guard_record_is_of_a_set(&in->record[node]))
		return EXIT_OK;
	if (!write_note(in)) {
		complain(MSG(NO_MEMORY));
		return EXIT_INTERNAL;
	}
	put_note(in, node, "it takes part in the change");
	return INIT_MORE;
}
