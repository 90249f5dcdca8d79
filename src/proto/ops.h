/* SPDX-License-Identifier: MIT */
/*
 * The table of operations: the words that are sent, how a reply becomes a vote with its values, and what is
 * true of an operation when a server refuses it or its connection breaks. Nothing else in src/net and
 * src/proto knows one operation from another, so that a new one, or another way to do one, is
 * a signature in ops/NAME.lua, of which the build makes a row (ops/README.md).
 *
 *     rl_method_choose()     in which of its forms a node is asked                    method.h
 *     rl_request_write()     the words of that form, as bytes                         request.h
 *     rl_answer_read()       the reply, as a vote                                     answer.h
 *     rl_transaction_*()     the form that takes several steps                        transaction.h
 */
#ifndef RL_PROTO_OPS_H
#define RL_PROTO_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include <redlock/redlock.h>

#include "core/slice.h"
#include "core/state.h"
#include "proto/reply.h"
#include "proto/scripts_generated.h"
#include "proto/words_generated.h"

/* The forms of a request; those that are preferred come first. */
enum rl_form {
	RL_FORM_PLAIN,      /* one command that every server has */
	RL_FORM_QUEUE_SHA,  /* EVALSHA of a script that looks at the queue too */
	RL_FORM_QUEUE_TEXT, /* the same: EVAL */
	RL_FORM_DELEX,      /* the server's own to compare and delete: Redis 8.4 */
	RL_FORM_DELIFEQ,    /* the same: Valkey 9 */
	RL_FORM_SHA,        /* EVALSHA, on a connection that has run the script */
	RL_FORM_TEXT,       /* EVAL */
	RL_FORM_GUARD_SHA, /* EVALSHA of a script that also asks whether the node may vote: in a guarded set it is
	                    * the only form of an operation that has it */
	RL_FORM_GUARD_TEXT, /* the same: EVAL */
	RL_FORM_WATCH,      /* no bytes of its own: asked in several steps */
	RL_FORM_COUNT
};
#define RL_FORM_BIT(form) (UINT32_C(1) << (form))
#define RL_FORMS_NATIVE (RL_FORM_BIT(RL_FORM_DELEX) | RL_FORM_BIT(RL_FORM_DELIFEQ))
#define RL_FORMS_QUEUE (RL_FORM_BIT(RL_FORM_QUEUE_SHA) | RL_FORM_BIT(RL_FORM_QUEUE_TEXT))
#define RL_FORMS_GUARD (RL_FORM_BIT(RL_FORM_GUARD_SHA) | RL_FORM_BIT(RL_FORM_GUARD_TEXT))
#define RL_FORMS_SHA                                                                                         \
	(RL_FORM_BIT(RL_FORM_SHA) | RL_FORM_BIT(RL_FORM_QUEUE_SHA) | RL_FORM_BIT(RL_FORM_GUARD_SHA))
#define RL_FORMS_TEXT                                                                                        \
	(RL_FORM_BIT(RL_FORM_TEXT) | RL_FORM_BIT(RL_FORM_QUEUE_TEXT) | RL_FORM_BIT(RL_FORM_GUARD_TEXT))

/* The Lua scripts that run on the nodes: each file of ops/ that has one, embedded by the build. */
enum rl_script {
#define RL_SCRIPT_ENUM(NAME, file) RL_SCRIPT_##NAME,
	RL_LUA_MAP(RL_SCRIPT_ENUM)
#undef RL_SCRIPT_ENUM
	    RL_SCRIPT_COUNT
};

/* A server refuses a request of more than 10 words before the login. Only guarded forms have so many, and
 * they are sent after it. */
enum { RL_OP_WORDS = 17 };

/* The words that are rules of the lock: `rule_` and the field of struct rl_rules in signatures. */
enum rl_rule_word {
#define RL_RULE_ENUM(NAME, field) RL_RULE_##NAME,
	RL_RULE_MAP(RL_RULE_ENUM)
#undef RL_RULE_ENUM
	    RL_RULE_WORDS
};

/* The words about the node set that a request to a node contains: `record_` and the name in signatures.
 * RL_RECORD_ID is random: of this question, and of the quarantine that it may begin. */
enum rl_record_word {
#define RL_RECORD_ENUM(NAME, name) RL_RECORD_##NAME,
	RL_RECORD_MAP(RL_RECORD_ENUM)
#undef RL_RECORD_ENUM
	    RL_RECORD_WORDS
};

/* A word of a command: a part of the request, or the same for all of them. */
enum rl_word_kind {
	RL_WORD_NAME, /* after KEYS: the one of several names that is waited for; likewise for its queue and
	                 offers */
	RL_WORD_TOKEN,
	RL_WORD_TTL,
	RL_WORD_QUEUE,  /* the key of the queue, made from the name, */
	RL_WORD_OFFERS, /* and of what it may hand over to whom */
	RL_WORD_PLACE,
	RL_WORD_PATIENCE,
	RL_WORD_TERMS, /* patience, and the number of the offer */
	RL_WORD_NEXT,
	RL_WORD_BARS,
	RL_WORD_QUIET,  /* nobody is woken */
	RL_WORD_TURNS,  /* a key that was upgraded is shared again: not for who has the token alone */
	RL_WORD_SETNX,  /* the key of what stands beside a time, made from the name */
	RL_WORD_FENCE,  /* the key of the counter, made from the name, whether a number is drawn or not */
	RL_WORD_COUNT,  /* the key that says how many slots the name has, made from it, */
	RL_WORD_SLOTS,  /* and those of the slots after the first one, which is the name itself */
	RL_WORD_FIRST,  /* the one to try first, */
	RL_WORD_KEPT,   /* and the one that is not released, if there is one */
	RL_WORD_PASS,   /* what the node set's record must have */
	RL_WORD_NUMBER, /* what the counter is to go on from */
	RL_WORD_FENCED, /* whether a number is drawn, */
	RL_WORD_TIMED,  /* and the server's time told */
	RL_WORD_KEYS,   /* of several names: how many keys there are, */
	RL_WORD_NAMES,  /* the names, */
	RL_WORD_QUEUES, /* and after them the keys of their queues, */
	RL_WORD_FENCES, /* or of their counters, if a number is drawn or raised; also of one name */
	RL_WORD_RULE,   /* RL_RULE_ words, */
	RL_WORD_RECORD = RL_WORD_RULE + RL_RULE_WORDS, /* and RL_RECORD_ words of the record of the node set */
	RL_WORD_FIXED = RL_WORD_RECORD + RL_RECORD_WORDS,
	RL_WORD_END
};

struct rl_word {
	enum rl_word_kind kind;
	struct rl_slice fixed;
};

/* One kind of reply and the vote that it is. */
struct rl_outcome {
	enum redlock_vote_code vote; /* PENDING: there are no more outcomes */
	enum rl_reply_type type;     /* STATUS: "OK" */
	const char *error;           /* ERROR: how it begins */
	const uint8_t *fields; /* ARRAY: enum rl_field of each element, up to RL_FIELD_END. Numbers and one text
	                        * after them may also come as one string, with spaces between: that costs a script
	                        * a quarter of what a table does */
	int64_t least, most;   /* the limits of the verdict */
};

/* Whether a request that was sent and not answered would do harm if the server executed it after those of the
 * next connection. */
enum rl_ghost_rule {
	RL_GHOST_NEVER,
	RL_GHOST_OWN, /* if its value is the caller's own, which may be used again */
	RL_GHOST_ALWAYS
};

/* The effect of a transaction on a key that has the token. */
enum rl_change {
	RL_CHANGE_NONE, /* it has no such form */
	RL_CHANGE_LOOK, /* reports the key, also that of another holder */
	RL_CHANGE_DELETE,
	RL_CHANGE_LENGTHEN
};

/* Bytes where numbers would do: 128 of them, which a row's address is counted in at each request. */
struct rl_op {
	uint32_t forms;       /* a bit for each that it has */
	uint8_t script;       /* SHA and TEXT: what they run, RL_SCRIPT_ */
	uint8_t queue_script; /* QUEUE_SHA and QUEUE_TEXT */
	uint8_t guard_script; /* GUARD_SHA and GUARD_TEXT */
	uint8_t change;       /* WATCH: enum rl_change */
	uint8_t parked_as; /* enum rl_form, whose bytes stand for a request that waits for its turn: one it has */

	/* If one form is refused, the request is asked in the next form; else the refusal is the vote. Not for a
	 * claim: asked again, it would come after its own release. A script that the server has forgotten counts
	 * as "no". */
	bool again;
	uint8_t
	    plainly;   /* a claim that needs more rights than the vote: what is asked in its place where they are
	                * missing, RL_OP_, unless it is for a place in the queue, or is given back already */
	bool scripted; /* by a script, that looks at the queue where it can: there is no other way */
	bool doubts;   /* its YES is no vote while an older request may still come */
	bool several;  /* of several names or slots */
	bool claims;   /* makes the key, with YES */
	bool relies;   /* its YES is relied on later: the key must stay */
	bool gives_back; /* deletes it: must arrive where it is owed, and is a debt until then */
	uint8_t enters;  /* what is asked in its place of the node where who asks stands in a queue, RL_OP_ */
	uint8_t undo;    /* a claim: what deletes the key, RL_OP_ */
	uint8_t wakes;   /* a release: the RL_OP_ that is asked after an answer that says that somebody waits */
	uint8_t ghost;   /* enum rl_ghost_rule */
	uint16_t
	    lists; /* a bit for each form that has lists: its words are more, or fewer, than those of the row */

	const struct rl_word *words[RL_FORM_WATCH];
	const struct rl_outcome *outcomes;
	const struct rl_outcome *guard_outcomes; /* of those two forms */

	const char *rights;       /* what a user of the server must be allowed, besides EVAL and EVALSHA */
	const char *plain_rights; /* the same without these two; NULL: it needs scripts */
};

/* By number: RL_OP_ of core/state.h. */
extern const struct rl_op rl_ops[];

/* The answers that a form may get. */
static inline const struct rl_outcome *rl_ops_outcomes(const struct rl_op *op, enum rl_form form)
{
	return (RL_FORMS_GUARD >> form & 1) != 0 ? op->guard_outcomes : op->outcomes;
}

/* Which script a form runs. */
static inline enum rl_script rl_ops_script(const struct rl_op *op, enum rl_form form)
{
	if ((RL_FORMS_QUEUE >> form & 1) != 0)
		return op->queue_script;
	return (RL_FORMS_GUARD >> form & 1) != 0 ? op->guard_script : op->script;
}

#endif
