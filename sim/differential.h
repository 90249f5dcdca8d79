/* SPDX-License-Identifier: MIT */
/* The parts of redlock-sim-differential: random commands (differential_steps.c), what the server and the
 * model are like (differential_phases.c), comparing (differential_same.c), and what follows of it
 * (differential.c). */
#ifndef SIM_DIFFERENTIAL_H
#define SIM_DIFFERENTIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "prng.h"
#include "redis.h"
#include "resp.h"
#include "servers.h"

enum { STEP_WORDS = 18, STEP_WORD_SIZE = 128, STEP_IDS = 5 };

struct step {
	struct bytes words[STEP_WORDS];
	unsigned count;
	unsigned key;   /* which word is the key; 0: none */
	unsigned queue; /* which one is that of its queue, and of its offers; 0: none */
	unsigned offers;
	unsigned fence;
	unsigned other;       /* of two names: the second, */
	unsigned other_queue; /* and its queue, */
	unsigned other_fence; /* or its counter */
	unsigned record;      /* of a node set, where what is written depends on the time */
	unsigned setnx;
	unsigned count_key, slots, slot_count; /* the first of so many words that are slots; 0: none */
	bool in_multi;                         /* MULTI goes before it and EXEC after it */
	bool remembers;                        /* the answer depends on a time that was written before */
	bool tells_life;                       /* the answer may have the rest of a key's life in it */
	unsigned shared;                       /* the key, of a lock that may be shared: it has times in it */
	char text[STEP_WORDS][STEP_WORD_SIZE];
};

/* `run_id`: of the server. `ids`: what CLIENT KILL may be asked for. */
void step_draw(struct step *s, struct prng *p, const char *run_id, const uint64_t ids[STEP_IDS]);

bool step_is(const struct step *s, const char *command);

/* The words, for people. */
void step_print(const struct step *s);

/* Counts what came up; and prints what did not: how many kinds that is. */
void step_count(const struct step *s, const struct buffer *answer, enum redis_native native);
int steps_missing(enum redis_native native, bool print);

/* The state of the server and the modelled node for some steps. */
enum phase { PHASE_NORMAL, PHASE_OOM, PHASE_MISCONF, PHASE_READONLY, PHASE_BUSY, PHASE_PASSWORD, PHASES };

enum { SESSIONS = 3 };

/* A session that both have. */
struct pair {
	struct raw raw;          /* to the server */
	struct session *session; /* of the model; NULL: it was closed */
	struct buffer in, inbox;
};

struct diff {
	const char *program;  /* as it was typed */
	char server_name[32]; /* "redis-7.0.15" */
	int64_t off_ms;       /* its clock, of what it says */
	bool modelled;        /* the very server that the model is made after */
	uint64_t seed;
	uint64_t steps;
	struct redis redis;
	struct prng prng;
	struct servers servers;
	struct pair sessions[SESSIONS];
	struct raw control;
	struct raw script; /* runs an endless script while the server is to be busy */
	enum phase phase;
	uint64_t number; /* of the step */
	uint64_t unclear;
	uint64_t kills;
	uint64_t expired;
	struct buffer out, first, answer, expiry, last, model;
};

/* The answers of both to a step. Lives in them may be `slack_ms` less, and what the server's clock is off. */
bool same_answer(struct diff *d, const struct step *step, int64_t slack_ms);

/* differential_phases.c */
void connect_real(struct diff *d, struct raw *ret);
void open_session(struct diff *d, struct pair *s);
void begin_phase(struct diff *d, enum phase phase);
void end_phase(struct diff *d);

/* A command of words on the control connection: the text of the answer, until the next one. */
const char *ask_real(struct raw *raw, const char *const *words);
#define ASK(d, ...) ask_real(&(d)->control, (const char *const[]){__VA_ARGS__, NULL})

/* Sends all of it; receives one reply and appends its bytes, `in` keeps what came after it. False: the
 * connection is gone. */
bool send_real(struct pair *s, const struct buffer *bytes);
bool receive_real(struct pair *s, struct buffer *reply);

#endif
