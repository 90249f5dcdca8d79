/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <string.h>

#define DEFAULT_NODE_TIMEOUT_MS 200

void redlock_options_init(struct redlock_options *o)
{
	if (o != NULL)
		*o = (struct redlock_options){.size = sizeof *o, .drift_ppm = 10000, .drift_ms = 2};
}

void redlock_lock_options_init(struct redlock_lock_options *o)
{
	if (o == NULL)
		return;
	*o = (struct redlock_lock_options){
	    .size = sizeof *o,
	    .ttl_ms = 30000,
	    .noquorum_wait_ms = REDLOCK_FOREVER,
	    .retry_min_ms = 50,
	    .retry_max_ms = 150,
	    .danger_ms = REDLOCK_DEFAULT_DANGER,
	};
}

int rl_options_copy(void *to, size_t to_size, const void *from)
{
	size_t size;
	memcpy(&size, from, sizeof size);
	if (size < sizeof size)
		return REDLOCK_E_INVAL;
	for (size_t i = to_size; i < size; i++)
		if (((const unsigned char *)from)[i] != 0)
			return REDLOCK_E_INVAL;
	memcpy(to, from, size < to_size ? size : to_size);
	memcpy(to, &to_size, sizeof to_size);
	return 0;
}

int rl_owner_check(const char *owner)
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

/* node timeout + drift < ttl: an answer at the last moment must still leave some validity. */
static bool ttl_suffices(const struct rl_rules *r, uint64_t ttl_ns, uint64_t other_ns)
{
	uint64_t drift = rl_drift(ttl_ns, r->drift_ppm, r->drift_base_ns);
	return rl_time_add(rl_time_add(r->node_timeout_ns, drift), other_ns) < ttl_ns;
}

static int check(const struct redlock_lock_options *o, const struct rl_rules *r)
{
	bool ttl_ok = ttl_suffices(r, r->ttl_ns, r->renew_ns);
	bool token_ok = o->token == NULL || (o->token_len >= 1 && o->token_len <= REDLOCK_MAX_TOKEN);
	bool retry_ok = o->retry_min_ms <= o->retry_max_ms && o->retry_max_ms <= REDLOCK_MAX_TTL_MS;
	bool danger_ok = r->danger_ns < r->ttl_ns;
	uint64_t drift = rl_drift(r->ttl_ns, r->drift_ppm, r->drift_base_ns);
	bool validity_ok = rl_time_add(r->min_validity_ns, drift) < r->ttl_ns;
	return ttl_ok && token_ok && retry_ok && danger_ok && validity_ok ? 0 : REDLOCK_E_INVAL;
}

uint64_t rl_extend_ttl(const struct rl_rules *rules, uint64_t ttl_ms)
{
	if (ttl_ms == 0)
		return rules->ttl_ns;
	bool in_range = ttl_ms >= REDLOCK_MIN_TTL_MS && ttl_ms <= REDLOCK_MAX_TTL_MS;
	return in_range && ttl_suffices(rules, rl_ms(ttl_ms), 0) ? rl_ms(ttl_ms) : 0;
}

int rl_rules_make(struct rl_rules *ret, const struct redlock_lock_options *o, unsigned node_count,
                  unsigned quorum, uint32_t node_timeout_ms, uint32_t drift_ppm, uint32_t drift_ms)
{
	if (o->ttl_ms < REDLOCK_MIN_TTL_MS || o->ttl_ms > REDLOCK_MAX_TTL_MS)
		return REDLOCK_E_INVAL;
	/* Only felt when no quorum answers; a third of the TTL leaves time for the work. */
	uint64_t by_ttl_ns = rl_time_min(rl_ms(DEFAULT_NODE_TIMEOUT_MS), rl_ms(o->ttl_ms) / 3);
	struct rl_rules rules = {
	    .node_count = node_count,
	    .quorum = quorum,
	    .own_token = o->token != NULL,
	    .ttl_ns = rl_ms(o->ttl_ms),
	    .node_timeout_ns = default_to(rl_ms(node_timeout_ms), 0, by_ttl_ns),
	    .drift_ppm = drift_ppm,
	    .drift_base_ns = rl_ms(drift_ms),
	    .min_validity_ns = rl_ms(o->min_validity_ms),
	    .wait_ns = rl_ms(o->wait_ms),
	    .noquorum_wait_ns = rl_ms(default_to(o->noquorum_wait_ms, REDLOCK_FOREVER, o->wait_ms)),
	    .retry_min_ns = rl_ms(o->retry_min_ms),
	    .retry_max_ns = rl_ms(o->retry_max_ms),
	    .renew_ns = rl_ms(o->renew_ms),
	    .danger_ns = rl_ms(default_to(o->danger_ms, REDLOCK_DEFAULT_DANGER, o->ttl_ms / 6)),
	    .max_hold_ns = rl_ms(o->max_hold_ms),
	    .max_extends = o->max_extends,
	};
	*ret = rules;
	return check(o, &rules);
}
