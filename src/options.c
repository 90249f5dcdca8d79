/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <string.h>

#include "core/kinds.h"
#include "core/lock_options.h"
#include "core/sized.h"
#include "core/validity.h"

#define DEFAULT_NODE_TIMEOUT_MS 200
#define DEFAULT_TTL_MS 30000

void redlock_options_init_sized(struct redlock_options *o, size_t size)
{
	static const struct redlock_options defaults = {
	    .drift_ppm = 10000, .drift_ms = 2, .guard = REDLOCK_GUARD_AUTO, .stop_fd = -1};
	rl_sized_fill(o, size, &defaults, sizeof defaults);
}

void redlock_lock_options_init_sized(struct redlock_lock_options *o, size_t size)
{
	static const struct redlock_lock_options defaults = {
	    .ttl_ms = REDLOCK_DEFAULT_TTL,
	    .noquorum_wait_ms = REDLOCK_FOREVER,
	    .retry_min_ms = 50,
	    .retry_max_ms = 150,
	    .danger_ms = REDLOCK_DEFAULT_DANGER,
	};
	rl_sized_fill(o, size, &defaults, sizeof defaults);
}

int rl_options_check_owner(const char *owner)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:@/+-";
	if (owner == NULL)
		return 0;
	size_t size = strlen(owner);
	return size <= REDLOCK_MAX_OWNER && strspn(owner, allowed) == size ? 0 : REDLOCK_E_INVAL;
}

static uint64_t default_to(uint64_t value, uint64_t mark, uint64_t instead)
{
	return value == mark ? instead : value;
}

bool rl_options_may_extend(const struct rl_rules *rules, uint64_t ttl_ms)
{
	return ttl_ms == 0 ||
	       (rl_refusal_has_ttl(ttl_ms) && rl_refusal_leaves_time(rules, rl_time_ms(ttl_ms), 0));
}

static enum rl_kind kind_of(const struct redlock_lock_options *o)
{
	if (o->compat == REDLOCK_COMPAT_SETNX)
		return o->token != NULL ? RL_KIND_SETNX_OWN : RL_KIND_SETNX;
	if (o->compat == REDLOCK_COMPAT_SETNX_SAFE)
		return RL_KIND_NUMBER;
	if (o->mode == REDLOCK_SHARED)
		return o->token != NULL ? RL_KIND_SHARED_OWN : o->fence != 0 ? RL_KIND_SHARED_FENCED : RL_KIND_SHARED;
	if (o->slots != 0)
		return o->token != NULL ? RL_KIND_SLOTS_OWN : RL_KIND_SLOTS;
	if (o->token != NULL)
		return RL_KIND_OWN_VALUE;
	return o->fence != 0 ? RL_KIND_FENCED : RL_KIND_EXCLUSIVE;
}

static struct rl_rules rules_of(const struct redlock_lock_options *o, unsigned node_count, unsigned quorum,
                                uint32_t node_timeout_ms, uint32_t drift_ppm, uint32_t drift_ms)
{
	/* Only felt when no quorum answers; a third of the TTL leaves time for the work. */
	uint64_t by_ttl_ns = rl_time_min(rl_time_ms(DEFAULT_NODE_TIMEOUT_MS), rl_time_ms(o->ttl_ms) / 3);
	struct rl_rules rules = {.node_count = node_count,
	                         .quorum = quorum,
	                         .policy = &rl_kinds[kind_of(o)],
	                         .node_timeout_ns = default_to(rl_time_ms(node_timeout_ms), 0, by_ttl_ns),
	                         .drift_ppm = drift_ppm,
	                         .drift_base_ns = rl_time_ms(drift_ms),
#define TIME(field) .field##_ns = rl_time_ms(o->field##_ms),
#define NUMBER(field) .field = o->field,
#define RULE(unit, field, ...) unit(field)
	                         RL_LOCK_OPTIONS_MAP(RULE)
#undef RULE
#undef NUMBER
#undef TIME
	};
	if (o->noquorum_wait_ms == REDLOCK_FOREVER)
		rules.noquorum_wait_ns = rules.wait_ns;
	if (o->danger_ms == REDLOCK_DEFAULT_DANGER)
		rules.danger_ns = rl_time_ms(o->ttl_ms / 6);
	if (!rules.policy->heirs)
		rules.sticky_ns = 0;
	return rules;
}

int rl_options_make_rules(struct rl_rules *ret, const struct rl_wish *wish, char *why, size_t size)
{
	struct redlock_lock_options o = *wish->options;
	struct rl_wish w = *wish;
	o.ttl_ms = default_to(o.ttl_ms, REDLOCK_DEFAULT_TTL, DEFAULT_TTL_MS);
	w.options = &o;
	*ret = rules_of(&o, w.node_count, w.quorum, w.node_timeout_ms, w.drift_ppm, w.drift_ms);
	ret->follows = wish->options->ttl_ms == REDLOCK_DEFAULT_TTL;
	if (rl_refusal_of(&w, ret, why, size))
		return REDLOCK_E_INVAL;
	if (w.several) {
		ret->policy = ret->policy->many;
		ret->sticky_ns = 0;
	}
	return 0;
}

bool rl_options_follow(struct rl_rules *r, uint64_t maximum_ms)
{
	struct rl_rules s;
	memcpy(&s, r, sizeof s);
	s.ttl_ns = rl_time_ms(maximum_ms);
	if (!r->follows || !rl_refusal_has_ttl(maximum_ms) || s.ttl_ns >= r->ttl_ns)
		return false;
	s.node_timeout_ns = rl_time_min(s.node_timeout_ns, s.ttl_ns / 3);
	if (s.danger_ns == r->ttl_ns / 6)
		s.danger_ns = s.ttl_ns / 6;
	if (s.renew_ns == r->ttl_ns / 3 || !rl_refusal_leaves_time(&s, s.ttl_ns, s.renew_ns))
		s.renew_ns = s.ttl_ns / 3;
	if (!rl_refusal_fits(&s))
		return false;
	memcpy(r, &s, sizeof s);
	return true;
}

/* ---- terms ---- */

int rl_options_terms_of_rules(const struct rl_rules *r, struct redlock_terms *ret)
{
	uint64_t drift_ns = rl_validity_drift(r->ttl_ns, r->drift_ppm, r->drift_base_ns);
	bool forever = r->noquorum_wait_ns == UINT64_MAX;
	const struct redlock_terms terms = {
	    .ttl_ms = r->ttl_ns / RL_NS_PER_MS,
	    .node_timeout_ms = r->node_timeout_ns / RL_NS_PER_MS,
	    .drift_ms = rl_time_add(drift_ns, RL_NS_PER_MS - 1) / RL_NS_PER_MS,
	    .validity_ms = rl_time_sub(r->ttl_ns, drift_ns) / RL_NS_PER_MS,
	    .noquorum_wait_ms = forever ? REDLOCK_FOREVER : r->noquorum_wait_ns / RL_NS_PER_MS,
	    .renew_ms = r->renew_ns / RL_NS_PER_MS,
	    .danger_ms = r->danger_ns / RL_NS_PER_MS,
	};
	return rl_sized_return(ret, &terms, sizeof terms);
}

int rl_options_terms(const struct redlock_lock_options *options, uint32_t node_timeout_ms, uint32_t drift_ppm,
                     uint32_t drift_ms, struct redlock_terms *ret)
{
	struct redlock_lock_options o;
	redlock_lock_options_init(&o);
	if (options != NULL && rl_sized_copy(&o, sizeof o, options) < 0)
		return REDLOCK_E_INVAL;
	o.ttl_ms = default_to(o.ttl_ms, REDLOCK_DEFAULT_TTL, DEFAULT_TTL_MS);
	if (ret == NULL || !rl_refusal_has_ttl(o.ttl_ms))
		return REDLOCK_E_INVAL;
	struct rl_rules rules = rules_of(&o, 1, 1, node_timeout_ms, drift_ppm, drift_ms);
	return rl_options_terms_of_rules(&rules, ret);
}

int redlock_terms(const struct redlock_options *options, const struct redlock_lock_options *lock_options,
                  struct redlock_terms *ret)
{
	struct redlock_options o;
	redlock_options_init(&o);
	if (options != NULL && rl_sized_copy(&o, sizeof o, options) < 0)
		return REDLOCK_E_INVAL;
	return rl_options_terms(lock_options, o.node_timeout_ms, o.drift_ppm, o.drift_ms, ret);
}
