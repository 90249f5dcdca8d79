/* SPDX-License-Identifier: MIT */
/*
 * The table of operations: the words that are sent, how a reply becomes a vote with its values, and what is
 * true of an operation when a server refuses it or its connection breaks. Nothing else in src/net and
 * src/proto knows one operation from another, so that a new one, or another way to do one, is a row in ops.c.
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

#include "core/lock.h"
#include "core/slice.h"
#include "proto/reply.h"
#include "proto/scripts_generated.h"

/* The forms of a request; those that are preferred come first. */
enum rl_form {
	RL_FORM_PLAIN,      /* one command that every server has */
	RL_FORM_QUEUE_SHA,  /* EVALSHA of a script that looks at the queue too */
	RL_FORM_QUEUE_TEXT, /* the same: EVAL */
	RL_FORM_DELEX,      /* the server's own to compare and delete: Redis 8.4 */
	RL_FORM_DELIFEQ,    /* the same: Valkey 9 */
	RL_FORM_SHA,        /* EVALSHA, on a connection that has run the script */
	RL_FORM_TEXT,       /* EVAL */
	RL_FORM_WATCH,      /* no bytes of its own: asked in several steps */
	RL_FORM_COUNT
};
#define RL_FORM_BIT(form) (UINT32_C(1) << (form))
#define RL_FORMS_NATIVE (RL_FORM_BIT(RL_FORM_DELEX) | RL_FORM_BIT(RL_FORM_DELIFEQ))
#define RL_FORMS_QUEUE (RL_FORM_BIT(RL_FORM_QUEUE_SHA) | RL_FORM_BIT(RL_FORM_QUEUE_TEXT))
#define RL_FORMS_SHA (RL_FORM_BIT(RL_FORM_SHA) | RL_FORM_BIT(RL_FORM_QUEUE_SHA))
#define RL_FORMS_TEXT (RL_FORM_BIT(RL_FORM_TEXT) | RL_FORM_BIT(RL_FORM_QUEUE_TEXT))

/* The Lua scripts that run on the nodes: each file of scripts/, embedded by the build. */
enum rl_script {
#define RL_SCRIPT_ENUM(NAME, file) RL_SCRIPT_##NAME,
	RL_LUA_MAP(RL_SCRIPT_ENUM)
#undef RL_SCRIPT_ENUM
	    RL_SCRIPT_COUNT
};

enum { RL_OP_WORDS = 10 }; /* more are refused before a login */

/* A word of a command: a part of the request, or the same for all of them. */
enum rl_word_kind {
	RL_WORD_NAME,
	RL_WORD_TOKEN,
	RL_WORD_TTL,
	RL_WORD_QUEUE,  /* the key of the queue, made from the name, */
	RL_WORD_OFFERS, /* and of what it may hand over to whom */
	RL_WORD_PLACE,
	RL_WORD_PATIENCE,
	RL_WORD_TERMS, /* patience, and the number of the offer */
	RL_WORD_NEXT,
	RL_WORD_BARS,
	RL_WORD_FIXED,
	RL_WORD_END
};

struct rl_word {
	enum rl_word_kind kind;
	struct rl_slice fixed;
};

/* One kind of reply and the vote that it is. Its numbers and texts become the vote's, in their order. */
struct rl_outcome {
	enum redlock_vote_code vote; /* PENDING: there are no more outcomes */
	enum rl_reply_type type;     /* STATUS: "OK" */
	const char *items;           /* ARRAY: a letter for each element, `i` a number, `s` a text; ERROR: how it
	                              * begins */
	int64_t least, most;         /* between these is the first number, if there is one */
};

/* Whether a request that was sent and not answered would do harm if the server executed it behind those of
 * the next connection. */
enum rl_ghost_rule {
	RL_GHOST_NEVER,
	RL_GHOST_OWN, /* if its value is the caller's own, which may be used again */
	RL_GHOST_ALWAYS
};

/* What a transaction does with a key that has the token. */
enum rl_change {
	RL_CHANGE_NONE, /* it has no such form */
	RL_CHANGE_LOOK, /* says what there is, whosoever it is */
	RL_CHANGE_DELETE,
	RL_CHANGE_LENGTHEN
};

struct rl_op {
	uint32_t forms; /* a bit for each that it has */
	const struct rl_word *words[RL_FORM_WATCH];
	enum rl_script script;       /* SHA and TEXT: what they run */
	enum rl_script queue_script; /* QUEUE_SHA and QUEUE_TEXT */
	enum rl_change change;       /* WATCH */
	enum rl_form parked_as; /* whose bytes stand for a request that waits for its turn: one that it has */
	const struct rl_outcome *outcomes;

	/* Refused in one form it is asked in the next, else the refusal is the vote. Not for a claim: asked
	 * again, it would come behind its own release. A script that the server has forgotten is its "no". */
	bool again;
	unsigned
	    plainly; /* a claim that needs more rights than the vote: what is asked in its place where they are
	              * missing, RL_OP_, unless it is for a place in the queue, or is given back already */
	bool quotes; /* the first text of an answer is the request's token, or it is one to another question */
	bool claims; /* makes the key, with YES */
	bool gives_back; /* deletes it: must arrive where it is owed, and is a debt until then */
	unsigned undo;   /* a claim: what deletes the key, RL_OP_ */
	unsigned wakes;  /* a release: what is asked behind an answer that says that somebody waits, RL_OP_ */
	enum rl_ghost_rule ghost;

	const char *rights;       /* what a user of the server must be allowed, besides EVAL and EVALSHA */
	const char *watch_rights; /* the same in the form WATCH */
};

/* Whether its YES is relied on later: the key must stay. */
static inline bool rl_ops_relies(const struct rl_op *op)
{
	return op->claims || op->change == RL_CHANGE_LENGTHEN;
}

/* By number: RL_OP_ of core/lock.h. */
extern const struct rl_op rl_ops[];

/* Which script a form runs. */
static inline enum rl_script rl_ops_script(const struct rl_op *op, enum rl_form form)
{
	return (RL_FORMS_QUEUE >> form & 1) != 0 ? op->queue_script : op->script;
}

#endif
