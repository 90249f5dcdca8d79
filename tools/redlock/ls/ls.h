/* SPDX-License-Identifier: MIT */
/*
 * redlock ls: finds the locks of a node set, and tells what each is.
 *
 *     names.c    the names that were found, and which name a key is of
 *     pace.c     the part of a server's time that the command may take
 *     nodes.c    questions to the nodes that answer, and why others do not
 *     scan.c     finds names: SCAN on all nodes at once
 *     gather.c   all of it: a scan, a look, and rows in the order of their names
 *     look.c     asks for the keys of each name, some names at a time
 *     row.c      what these keys mean together: a row of the table
 *     rivals.c   a second look at locks that another client has a key of, beside the holder
 *     sort.c     the order of rows
 *     text.c     values of a row as text
 *     table.c    rows as text, in the width of the terminal
 *     json.c     rows for programs
 *     follow.c   rows again and again, and what has changed
 *
 * All but table.c and follow.c are an engine that redlock-exporter has, too: it prints nothing, and knows
 * neither the command's options nor its signals. struct ls_program is its seam.
 */
#ifndef REDLOCK_TOOL_LS_H
#define REDLOCK_TOOL_LS_H

#include <redlock/ask.h>

#include "../report.h"
#include "../standing.h"

/* ---- names ---- */

/* X(NAME, word): the keys beside a lock's own, `{NAME}:redlock:WORD`. */
#define LS_SIDE_MAP(X)                                                                                       \
	X(QUEUE, "queue")                                                                                        \
	X(OFFERS, "offers")                                                                                      \
	X(FENCE, "fence")                                                                                        \
	X(SETNX, "setnx")                                                                                        \
	X(LAST, "last")                                                                                          \
	X(SLOTS, "slots")

enum ls_side {
#define LS_SIDE_ENUM(name, word) LS_##name,
	LS_SIDE_MAP(LS_SIDE_ENUM)
#undef LS_SIDE_ENUM
	    LS_SIDES
};
extern const char *const ls_side_words[LS_SIDES];

/* A lock that there may be. */
struct ls_name {
	unsigned slot;  /* 0: the name itself */
	unsigned sides; /* a bit for each side key that some node has */
	bool is_asked;  /* the user has named it */
	char text[];    /* with the prefix */
};

struct ls_names {
	void *tree; /* of tsearch(3) */
	struct ls_name **list;
	size_t count, room;
};

/* The name that a key is of. `side` is -1 for the key of the lock or slot itself. */
struct ls_key {
	const char *name;
	size_t length;
	unsigned slot;
	int side;
};

void ls_key_read(struct ls_key *ret, const char *key, size_t length);

/* The entry of a name, made if it is not there. NULL: out of memory. */
struct ls_name *ls_names_add(struct ls_names *names, const char *bytes, size_t length, unsigned slot);
void ls_names_free(struct ls_names *names);

/* ---- nodes ---- */

/* The time that a server has worked on the questions. */
struct ls_pace {
	uint64_t begin_ns;
	double share; /* of the server's time, at most */
	double used_ns[REDLOCK_MAX_NODES];
};

void ls_pace_begin(struct ls_pace *pace, double share);
/* A node was asked for its TIME, then other questions, then for its TIME again. */
void ls_pace_note(struct ls_pace *pace, const struct redlock_question *before,
                  const struct redlock_question *after);
/* When the next question may be asked. */
uint64_t ls_pace_due_ns(const struct ls_pace *pace);

struct guard_record;
struct rivals;
struct ls_nodes;

/* The program that the engine works for. */
struct ls_program {
	unsigned share; /* percent of a server's time, at most */
	uint64_t timeout_ms;
	/* Not 0: the work is to end. Asked every 50 ms at least, while no question is under way. */
	int (*stopped)(void);
	/* After each step of a scan, with the keys that were looked at on one node. */
	void (*progress)(const struct ls_nodes *nodes, uint64_t keys);
	/* The mask of nodes in quarantine, which may have forgotten a lock, and the time until the last of them
	 * votes again. 0 where the guard does not apply. */
	uint64_t (*forgetful)(struct ls_nodes *nodes, const struct guard_record *records, uint64_t *ret_left_ms);
	struct session *session; /* of the command; NULL in another program */
};

struct ls_nodes {
	redlock_client *client;
	const struct ls_program *program;
	redlock_asker *asker;
	struct report report;  /* which nodes answer, and why others do not */
	uint64_t asked;        /* nodes that answer: a bit for each */
	uint64_t scanned;      /* of these, nodes that have listed their keys */
	uint64_t keys;         /* on the node that has the most */
	uint64_t barred;       /* keys that the user may not read, on the node that has the most of them */
	uint64_t forgetful;    /* nodes in quarantine */
	uint64_t forgetful_ms; /* until the last of them votes again */
	struct ls_pace pace;
	uint64_t timeout_ms;
	uint64_t patience_ms; /* with the next answer */
	int error;            /* negative: why it cannot go on */
};

/* Returns 0 or a REDLOCK_E_ code. */
int ls_nodes_open(struct ls_nodes *nodes, redlock_client *client, const struct ls_program *program);
/* Begins a round: finds out which nodes answer now. False: it cannot go on. */
bool ls_nodes_begin(struct ls_nodes *nodes);

/* Whether so many nodes are in quarantine that they may have forgotten a lock together: one of a quorum of
 * nodes that fewer have forgotten shows on another node. */
bool ls_nodes_forgot(const struct ls_nodes *nodes);
void ls_nodes_close(struct ls_nodes *nodes);

/* Asks, and leaves out for the future nodes that do not answer. The answers stay until it is called again.
 * False: it cannot go on: no memory, or the program has stopped. */
bool ls_nodes_ask(struct ls_nodes *nodes, struct redlock_question *list, size_t count);

/* A node refuses a question. Only the first reason is kept. */
void ls_nodes_refused(struct ls_nodes *nodes, unsigned node, const struct redlock_question *question);

/* Sleeps as long as the pace demands. False: the program has stopped. */
bool ls_nodes_rest(const struct ls_nodes *nodes);
/* Sleeps until then. False: the program has stopped. */
bool ls_nodes_rest_until(const struct ls_nodes *nodes, uint64_t until_ns);

/* ---- finding names ---- */

/* Which keys count as locks. */
struct ls_scope {
	const char *prefix;  /* "": a key counts if its value looks like a lock's */
	const char *pattern; /* NULL: all names; one without * ? [ and backslash is a name */
	size_t most;         /* after so many names the search ends; 0: all are wanted */
};

/* Whether the pattern is one name, which is found without a search. */
bool ls_scope_is_name(const struct ls_scope *scope);

bool ls_scan(struct ls_nodes *nodes, const struct ls_scope *scope, struct ls_names *names);

/* Whether a value, of which there are 41 bytes or all, looks like the token of a lock. */
bool ls_is_token(const char *text, size_t length);

/* ---- what they are ---- */

/* X(NAME, word, sentence, next step) */
#define LS_ODD_MAP(X)                                                                                        \
	X(NO_EXPIRY, "no-expiry", "a key of it has no expiry: it stays until somebody deletes it",               \
	  "see whether its holder is gone: then `redlock break NAME`, which also deletes such side keys")        \
	X(SPLIT, "split", "several holders, none of them on a quorum",                                           \
	  "wait: clients that try again resolve it, or the TTL; if it stays, some client has another list of "   \
	  "nodes")                                                                                               \
	X(BELOW, "below-quorum", "its key is on fewer nodes than a quorum: nobody holds it",                     \
	  "wait for its TTL, or `redlock break NAME`; if it comes back, see `redlock doctor`: nodes lose keys")  \
	X(TYPE, "foreign-type", "its key has a type that no lock has",                                           \
	  "find the program that uses this name for something else, and give locks a prefix of their own; if "   \
	  "nobody needs the key: `redlock break NAME`")                                                          \
	X(RIVAL, "rival", "another client keeps its key on some nodes, by another list of nodes maybe",          \
	  "give all clients the same list of nodes: `redlock config show` prints it on each host")               \
	X(ORPHAN, "orphan", "side keys of a lock that nobody holds",                                             \
	  "wait: they end by themselves; if no-expiry stands there too: `redlock break NAME`")                   \
	X(DOUBT, "in-doubt", "nodes in quarantine may have forgotten its holder",                                \
	  "wait for the end of the quarantine, which `redlock status` tells")

enum ls_odd {
#define LS_ODD_ENUM(name, word, text, step) LS_##name,
	LS_ODD_MAP(LS_ODD_ENUM)
#undef LS_ODD_ENUM
	    LS_ODDS
};
extern const char *const ls_odd_words[LS_ODDS];

/* A side key, over all nodes. */
struct ls_found_side {
	unsigned nodes;  /* that have it */
	int64_t pttl_ms; /* the longest life; -1: no expiry */
};

struct ls_row {
	char *key;            /* the name with the prefix */
	const char *name;     /* without it, in `key` */
	unsigned slot, slots; /* slots 0: it has none */
	enum standing_state state;
	const char *kind;
	char *holder;      /* as it may be shown; NULL: nobody */
	char *owner;       /* the label in the token, any bytes; NULL: none is known */
	uint64_t identity; /* changes with the holder */
	unsigned votes, known, nodes, quorum;
	int64_t pttl_ms; /* the least; -1: no expiry, -2: no key */
	uint64_t waiting;
	uint64_t fence;     /* 0: none is known */
	uint64_t held_ms;   /* 0: unknown */
	bool held_is_exact; /* else it is held for so long at least */
	bool is_any_hash;   /* it looks like a token and like 160 bits of anything else */
	unsigned odd;       /* bits of enum ls_odd */
	struct ls_found_side side[LS_SIDES];
	uint64_t rival_nodes;     /* that another client keeps its key on: a bit for each */
	struct rivals *rivals;    /* while the round lasts: what may be such keys; NULL: none */
	struct ls_name *found_as; /* while the round lasts */
	uint64_t read_ns;         /* when its keys were read */
	uint64_t seen_ns;         /* when this holder was first seen, if rounds are compared */
};

struct ls_rows {
	struct ls_row *list;
	size_t count, room;
	bool is_cut; /* the search has ended at the scope's limit */
};

/* The answers of all nodes about one name. */
struct ls_look {
	struct ls_name *name;
	struct standing standing;
	uint64_t time_ms[REDLOCK_MAX_NODES]; /* the node's clock */
	int64_t pttl_ms[REDLOCK_MAX_NODES][LS_SIDES];
	uint64_t size[REDLOCK_MAX_NODES][LS_SIDES];
	char text[REDLOCK_MAX_NODES][LS_SIDES][257];
};

/* Asks the nodes about all names, and appends a row for each that there is. */
bool ls_look_at_names(struct ls_nodes *nodes, const struct ls_names *names, size_t prefix_length,
                      struct ls_rows *rows);

/* Looks again, after a pause, at rows in which another client than the holder has a key, and finds those in
 * which it keeps it. Without such rows nothing is asked. False: it cannot go on. */
bool ls_find_rivals(struct ls_nodes *nodes, size_t prefix_length, struct ls_rows *rows);

/* Fills in the row. False: out of memory. */
bool ls_row_make(struct ls_row *row, struct ls_look *look, const struct ls_nodes *nodes,
                 size_t prefix_length);
/* Whether there is anything under the name. */
bool ls_row_is_there(const struct ls_row *row);
/* Whether nobody has the lock, and side keys of it are there. */
bool ls_row_is_remainder(const struct ls_row *row);
/* Whether a list without options shows it: remainders that are kept on purpose are left out. */
bool ls_row_is_of_interest(const struct ls_row *row);
void ls_row_clear(struct ls_row *row);
void ls_rows_free(struct ls_rows *rows);

/* One round: reads all locks, rows in the order of their names. False: it cannot go on. */
bool ls_gather(struct ls_nodes *nodes, const struct ls_scope *scope, struct ls_rows *rows);
/* Both in the order of names: a holder that was there before is held for so long at least. */
void ls_rows_carry(const struct ls_rows *before, struct ls_rows *after);

/* ---- showing ---- */

#define LS_SORT_WORDS "name|kind|holder|held|votes|ttl|waiters|fence|odd"

void ls_sort(struct ls_rows *rows, uint64_t key);
/* The order of rows by name. */
int ls_compare_names(const struct ls_row *a, const struct ls_row *b);

/* Writes the table; `width` 0: as wide as it is, with all columns. At most `lines` rows; `end` ends a line.
 */
void ls_table(const struct ls_rows *rows, size_t width, size_t lines, const char *end);
/* A row as one line: "lock job, held by web-1:42, 3/3, ttl 29.1s". Returns `buffer`. */
const char *ls_line(const struct ls_row *row, char *buffer, size_t size);
enum { LS_LINE_MAX = 2048 };
/* The columns and lines of standard output; 0: it is no terminal. */
void ls_screen(size_t *ret_width, size_t *ret_lines);
/* "12.5s", "3m20s". Returns `buffer`. */
const char *ls_time_text(uint64_t ms, char *buffer, size_t size);
/* "split,no-expiry"; "": nothing is odd. Returns `buffer`. */
const char *ls_odd_text(const struct ls_row *row, char *buffer, size_t size);

struct json;
/* The members of a row. `tells_holder` false: without the text of a holder that has no label, which is a
 * token or the value of a key. */
void ls_json_members(struct json *json, const struct ls_row *row, bool tells_holder);
/* One object in a line of stdout. `change` NULL: none is told. */
void ls_json(const struct ls_row *row, const char *change);

/* ---- rounds ---- */

/* ls_gather(), and concludes whether the nodes that answered are enough. */
bool ls_read(struct ls_nodes *nodes, const struct ls_scope *scope, struct ls_rows *rows);

/* Whether the settings ask for this row. */
bool ls_is_wanted(const struct ls_row *row, const struct settings *settings);

/* Shows the locks again and again, until a signal comes. Returns an exit code. */
int ls_follow(struct ls_nodes *nodes, const struct ls_scope *scope);

#endif
