/* SPDX-License-Identifier: MIT */
/*
 * redlock init: writes the records of a guarded node set, and changes its members. All nodes are read, then
 * what is there says what to do next, until nothing is left to do: a run goes on wherever another one ended.
 * docs/decisions/guard.md has the reasons.
 *
 *     nodes.c      which nodes, and what they are called in records
 *     refuse.c     what is said of a node with which it cannot go on
 *     plan.c       what is to be done now: a set that is there
 *     found.c      the same, of a new set
 *     stages.c     the same, of a change of members
 *     change.c     what is written to a node, if it is still as it was read
 */
#ifndef REDLOCK_TOOL_INIT_H
#define REDLOCK_TOOL_INIT_H

#include <redlock/ask.h>

#include "../guard_record.h"
#include "../message.h"
#include "../session.h"

enum { INIT_MEMBER = 320, INIT_ID = 16 };

/* A change of a node's record; a text that is "" deletes the field. */
struct init_change {
	const char *said;               /* what was done, for people; NULL: nothing is to be written */
	const char *text[GUARD_FIELDS]; /* NULL: stays */
	char pass[INIT_ID + 3], prev[INIT_ID + 3], whole[24], unseen[24], quarantine[INIT_ID + 1], floor[24];
	uint64_t until_ms; /* the node refuses it after this, by its own clock */
};

/* A configuration of the set. Texts of records. */
struct init_config {
	const char *set, *config, *step, *ttl, *members, *quorum;
	const char *prev_config, *prev_members, *prev_quorum; /* "": it is accepted alone */
	const char *leaving;
	bool finished; /* none but it was accepted for a maximum TTL, and the counters are carried */
};

struct init {
	const struct settings *settings;
	struct settings own; /* with the URLs of all nodes */
	struct session session;
	redlock_asker *asker;
	unsigned nodes;
	int leaves, joins; /* the members that a change is about; -1: none. Both: one replaces the other, */
	bool is_added;     /* in two moves. In this move: `joins` comes */
	bool is_listed;    /* `joins` was in the list of nodes that was given */
	bool founds;       /* the listed nodes are plain: they become a set, and then `joins` comes */
	int other;         /* the member that this move is about */
	char member[REDLOCK_MAX_NODES + 1][INIT_MEMBER];
	bool listed[REDLOCK_MAX_NODES + 1], wanted[REDLOCK_MAX_NODES + 1]; /* before the change, and after it */
	char *list, *target;                                               /* these as records have them */
	char target_quorum[4], list_quorum[4], ttl[24];
	bool was_set;       /* this host remembers the list as a guarded set, */
	uint64_t former_ms; /* with this maximum TTL; 0: not known */
	struct guard_record record[REDLOCK_MAX_NODES + 1];
	struct init_change change[REDLOCK_MAX_NODES + 1];

	/* State of this run only. */
	char run_id[REDLOCK_MAX_NODES + 1][41]; /* of a new set: the processes, and since when they are seen */
	uint64_t seen_ns;
	char *founding;                                       /* what it notes of a new set; NULL: nothing yet */
	bool noted;                                           /* it was sent to all but the first node, */
	char begun[INIT_ID + 1];                              /* the configuration that another run makes, */
	uint64_t begun_ns;                                    /* seen since */
	char set[INIT_ID + 1], config[INIT_ID + 1], step[24]; /* drawn for a configuration that it begins */
	char over[REDLOCK_MAX_NODES + 1][INIT_ID + 1];        /* id of a quarantine that was seen to be over */
	uint64_t floor; /* of the counters of a node that comes; 0: not known */
	uint64_t epoch;
	uint64_t carried;  /* largest number of the former configuration; 0: not known, */
	bool uncarried;    /* which was said */
	uint64_t alone_ns; /* since then all nodes refuse the configuration before */
	bool knows_leaver; /* it was a member when this run began; a finished change has no word of it */
	unsigned rounds;   /* of writing */

	/* The plan's result. */
	uint64_t wait_ms, look_ms; /* `look_ms`: look again so soon; 0: when the wait is over */
	const char *wait_why;
	const char *note; /* at the end */
};

/* Exit codes are 0 and up. */
enum { INIT_MORE = -1 };

/* ---- nodes.c ---- */

/* Returns an exit code; unless it is EXIT_OK, what is wrong was said. */
int init_open(struct init *in, const struct settings *settings);
void init_close(struct init *in);
/* The members before and after this move: one comes, or one leaves. False: out of memory. */
bool init_turn_to(struct init *in, bool is_added);
bool init_replaces(const struct init *in);
/* As people see it. */
const char *init_address(const struct init *in, unsigned node);

/* ---- refuse.c ---- */

/* Complains, in front of that with the node's name. Returns EXIT_CONFIG. */
int init_refuse(const struct init *in, unsigned node, enum message_id id, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Complains of each node that did not answer. Returns how many. */
unsigned init_complain_silent(const struct init *in, const bool *of, const char *why);
/* Complains of each wanted node that refuses the password or the certificate. Returns EXIT_OK or EXIT_AUTH.
 */
int init_check_logins(const struct init *in);

/* ---- plan.c ---- */

/* INIT_MORE: do what it says, read again. Else it has ended; what is wrong was said. */
int init_plan(struct init *in);
/* Mends a node that should have a record and lacks it, or has that of another process or configuration. */
void init_mend(struct init *in, unsigned node, const struct init_config *config);
/* Complains of one of these nodes that was left out, or taken back to plain, by a later configuration than
 * this one, which is the newest that the others have: they came back with older data. Returns an exit code.
 */
int init_check_later(const struct init *in, const bool *of, const struct init_config *config);

/* ---- found.c ---- */

/* As init_plan(), where no node has the record of a set. */
int init_found(struct init *in);
/* Whether a run has noted at the node that it is about to vote in this configuration, in which it never did;
 * then the node is admitted by its own note. */
bool init_is_noted(const struct init *in, unsigned node, const struct init_config *config);
void init_admit_noted(struct init *in, unsigned node, const struct init_config *config);
/* Draws the configuration in which a node comes, and notes it there, before any member has it. EXIT_OK: it is
 * noted, or the node has the record of a set already. */
int init_note_newcomer(struct init *in, const char *set);
/* Above all fencing numbers that are known of. */
uint64_t init_highest(const struct init *in);
/* Complains of each node whose numbers are used up. */
int init_check_room(const struct init *in);

/* ---- stages.c ---- */

/* Begins a change of members, with `now` as the configuration that is there. */
int init_begin_change(struct init *in, const struct init_config *now);
/* All wanted nodes have `now`; from then on they must accept nothing else. */
int init_finish_change(struct init *in, const struct init_config *now);
/* Whether this number is to be written as the floor of its counters. */
bool init_lacks(const struct guard_record *record, uint64_t number);
/* How many of these nodes vote and know their fencing numbers; the largest of these. */
unsigned init_counting(const struct init *in, const bool *of, const struct init_config *config,
                       uint64_t *ret_largest);
bool init_has(const struct init *in, unsigned node, const struct init_config *config);
/* Sets the configuration that a node with this record goes on accepting beside the next one: its own, or the
 * list of a member that is being replaced. */
void init_keep_former(struct init_config *next, const struct guard_record *record);

/* ---- change.c ---- */

void init_draw(char id[INIT_ID + 1]);

enum init_kind {
	INIT_ADMIT, /* it votes at once */
	INIT_QUARANTINE,
	INIT_KEEP,   /* in its quarantine */
	INIT_REPAIR, /* it votes, as its pass says, which stays */
	INIT_TELL    /* it is no member any more */
};

/* How long there may still be clients that were connected before the set was made, or longer locks of theirs.
 */
uint64_t init_unseen_ms(const struct init *in);

/* The record of a configuration for a node. */
void init_compose(struct init *in, unsigned node, enum init_kind kind, const struct init_config *config,
                  const char *said);
struct init_change *init_put(struct init *in, unsigned node, const char *said);
void init_put_floor(struct init *in, unsigned node, uint64_t floor);

bool init_has_changes(const struct init *in);
/* Writes all of them, and says what was written. Returns an exit code, or INIT_MORE. */
int init_write(struct init *in);

#endif
