/* SPDX-License-Identifier: MIT */
/*
 * By which commands a node compares and deletes, extends or looks. To delete where somebody may wait: a
 * script that looks at the queue too. Else the server's own command to delete, where it says that it has one
 * (DELEX of Redis 8.4, DELIFEQ of Valkey 9), else the scripts, by EVALSHA then by EVAL, else a transaction
 * under WATCH (transaction.h). Never by version: the server is asked once for each connection (COMMAND INFO),
 * and what it refuses in use is not tried again until it is another process, or until nothing is left to try.
 *
 * A queue may be out of reach for this user: its key, its channels, MGET. That is told by the words of the
 * refusal alone, and says nothing of the lock's own key: the next form does.
 *
 * A refusal moves the request to the next form, and is no vote. An error about the key, the memory or the
 * state of the server is one.
 */
#ifndef RL_PROTO_METHOD_H
#define RL_PROTO_METHOD_H

#include <stdbool.h>

#include "proto/request.h"

struct rl_methods {
	uint32_t has;         /* bits of native forms: the server says so */
	uint32_t refused;     /* bits of forms, by use */
	uint64_t knows;       /* bit per script that this connection has run: EVALSHA will find it */
	uint32_t guarded;     /* bits of the forms for a guarded set, if this is a node of one */
	struct rl_slice pass; /* what it must have in its record then; lent */
};

/* A connection begins: what it has run is unknown. */
void rl_method_connect(struct rl_methods *methods);

/* The server has said who it is, or does not: what another one refused does not count. */
void rl_method_meet(struct rl_methods *methods, bool same_server);

/* The server's answer to COMMAND INFO delex delifeq. */
void rl_method_probed(struct rl_methods *methods, const struct rl_reply *reply);

/* Whether queues are within reach, as far as is known. */
static inline bool rl_method_may_queue(const struct rl_methods *m)
{
	return (m->refused & RL_FORM_BIT(RL_FORM_QUEUE_TEXT)) == 0;
}

static inline enum rl_form rl_method_guard(const struct rl_methods *m, const struct rl_request *r)
{
	bool known = (m->knows >> rl_ops[r->operation].guard_script & 1) != 0;
	bool refused = (m->refused & RL_FORM_BIT(RL_FORM_GUARD_SHA)) != 0;
	return known && !refused && !r->own_value ? RL_FORM_GUARD_SHA : RL_FORM_GUARD_TEXT;
}

/* The forms in which a request that no guard changes may be asked, as far as is known. A script that must not
 * be run by its text is not tried by its digest either. */
static inline uint32_t rl_method_forms(const struct rl_methods *m, const struct rl_request *r)
{
	const struct rl_op *op = &rl_ops[r->operation];
	uint32_t forms = op->forms & (m->has | ~(RL_FORMS_NATIVE | RL_FORMS_GUARD)) & ~m->refused;
	if (r->own_value)
		forms &= ~RL_FORMS_SHA;
	if (r->unqueued ||
	    (r->own_value && op->wakes != RL_OP_NONE)) /* a wake-up that follows has the token, too */
		forms &= ~RL_FORMS_QUEUE;
	if ((m->knows >> op->queue_script & 1) == 0 || !rl_method_may_queue(m))
		forms &= ~RL_FORM_BIT(RL_FORM_QUEUE_SHA);
	if ((m->knows >> op->script & 1) == 0 || (m->refused & RL_FORM_BIT(RL_FORM_TEXT)) != 0)
		forms &= ~RL_FORM_BIT(RL_FORM_SHA);
	return forms;
}

/* The form in which a request is to be asked. */
static inline enum rl_form rl_method_choose(const struct rl_methods *m, const struct rl_request *r)
{
	const struct rl_op *op = &rl_ops[r->operation];
	if ((op->forms & m->guarded) != 0)
		return rl_method_guard(m, r);
	if ((op->forms & RL_FORM_BIT(RL_FORM_PLAIN)) != 0)
		return RL_FORM_PLAIN;
	uint32_t forms = rl_method_forms(m, r);
	return (enum rl_form)__builtin_ctz(forms != 0 ? forms : op->forms); /* the refusal is the vote then */
}

/* Whether this error says that the form is not available here, instead of answering the request; if so the
 * form is not chosen again. */
bool rl_method_refuse(struct rl_methods *methods, enum rl_form form, const char *error);

/* Whether this error says that the server has forgotten the script: then it is asked for by its text. */
bool rl_method_forget(struct rl_methods *methods, const struct rl_op *op, enum rl_form form,
                      const char *error);

/* Learns from the answer to a script, or to another request; `error`: NULL if it is not an error. */
void rl_method_learn_error(struct rl_methods *methods, const struct rl_op *op, enum rl_form form,
                           const char *error);
static inline void rl_method_learn(struct rl_methods *m, const struct rl_op *op, enum rl_form form,
                                   const char *error)
{
	if ((((RL_FORMS_SHA | RL_FORMS_TEXT) & ~RL_FORMS_GUARD) >> form & 1) == 0)
		return;
	if (error == NULL) /* of guarded forms the admission learns */
		m->knows |= UINT64_C(1) << ((RL_FORMS_QUEUE >> form & 1) != 0 ? op->queue_script : op->script);
	else
		rl_method_learn_error(m, op, form, error);
}

/* Nothing is left: the next request begins anew, because somebody may change the server's rules. */
void rl_method_forgive(struct rl_methods *methods);

#endif
