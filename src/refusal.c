/* SPDX-License-Identifier: MIT */
/* Why options of a lock are refused. Three tables: what they must hold, the ranges of numbers, and which
 * exclude each other (REDLOCK_CONFLICT_MAP). options.c asks when it makes rules of them, changes a TTL or
 * computes the terms of a lock. */
#include "refusal.h"

#include <stdio.h>

#include "core/lock_options.h"
#include "core/validity.h"

bool rl_refusal_has_ttl(uint64_t ttl_ms)
{
	return ttl_ms >= REDLOCK_MIN_TTL_MS && ttl_ms <= REDLOCK_MAX_TTL_MS;
}

bool rl_refusal_leaves_time(const struct rl_rules *r, uint64_t ttl_ns, uint64_t other_ns)
{
	uint64_t drift = rl_validity_drift(ttl_ns, r->drift_ppm, r->drift_base_ns);
	return rl_time_add(rl_time_add(r->node_timeout_ns, drift), other_ns) < ttl_ns;
}

/* ---- demands ---- */

struct check {
	const struct redlock_lock_options *o;
	const struct rl_rules *r;
	int guard;
};

static bool is_ttl_valid(const struct check *a)
{
	return rl_refusal_has_ttl(a->o->ttl_ms);
}

static bool has_time_for_answers(const struct check *a)
{
	return rl_refusal_leaves_time(a->r, a->r->ttl_ns, 0);
}

static bool has_time_to_renew(const struct check *a)
{
	return rl_refusal_leaves_time(a->r, a->r->ttl_ns, a->r->renew_ns);
}

static bool can_be_valid(const struct check *a)
{
	uint64_t drift = rl_validity_drift(a->r->ttl_ns, a->r->drift_ppm, a->r->drift_base_ns);
	return rl_time_add(a->r->min_validity_ns, drift) < a->r->ttl_ns;
}

static bool is_danger_valid(const struct check *a)
{
	return a->r->danger_ns < a->r->ttl_ns;
}

bool rl_refusal_fits(const struct rl_rules *r)
{
	const struct check check = {.r = r};
	return has_time_to_renew(&check) && can_be_valid(&check) && is_danger_valid(&check);
}

static bool is_delay_valid(const struct check *a)
{
	return a->o->retry_min_ms <= a->o->retry_max_ms && a->o->retry_max_ms <= REDLOCK_MAX_TTL_MS;
}

static bool is_max_hold_valid(const struct check *a)
{
	return a->o->max_hold_ms == 0 || a->r->max_hold_ns >= a->r->ttl_ns;
}

static bool is_token_valid(const struct check *a)
{
	size_t length = a->o->token_len;
	return a->o->token == NULL ? length == 0 : length >= 1 && length <= REDLOCK_MAX_TOKEN;
}

static bool is_reentrant_valid(const struct check *a)
{
	return a->o->reentrant == 0 || a->o->reentrant == 1;
}

static bool is_fence_valid(const struct check *a)
{
	return a->o->fence == 0 || a->o->fence == 1;
}

static bool is_compat_valid(const struct check *a)
{
	return a->o->compat >= REDLOCK_COMPAT_OFF && a->o->compat <= REDLOCK_COMPAT_SETNX_SAFE;
}

static bool is_mode_valid(const struct check *a)
{
	return a->o->mode == REDLOCK_EXCLUSIVE || a->o->mode == REDLOCK_SHARED;
}

/* Only a caller's own token may name its slot: the slot of a fresh one is found out by asking. */
static bool is_slot_valid(const struct check *a)
{
	return a->o->slot == 0 || (a->o->slot < a->o->slots && a->o->token != NULL);
}

static bool is_guard_valid(const struct check *a)
{
	return a->o->fence == 0 || a->guard != REDLOCK_GUARD_OFF;
}

static const struct {
	bool (*holds)(const struct check *check);
	const char *sentence;
	bool tells_times;
} demands[] = {
    {is_ttl_valid, "ttl must be from 10 ms to 30 days", false},
    {has_time_for_answers, "node timeout + drift must be less than ttl", true},
    {has_time_to_renew, "renew + node timeout + drift must be less than ttl", true},
    {can_be_valid, "min-validity + drift must be less than ttl", true},
    {is_danger_valid, "danger must be less than ttl", true},
    {is_delay_valid, "retry-min must not be more than retry-max, and retry-max not more than 30 days", false},
    {is_max_hold_valid, "max-hold must not be less than ttl: give a shorter ttl", true},
    {is_token_valid, "a token has 1 to 512 bytes; without a token its length must be 0", false},
    {is_reentrant_valid, "reentrant must be 0 or 1", false},
    {is_fence_valid, "fence must be 0 or 1", false},
    {is_compat_valid, "compat must be REDLOCK_COMPAT_OFF, _SETNX or _SETNX_SAFE", false},
    {is_mode_valid, "mode must be REDLOCK_EXCLUSIVE or REDLOCK_SHARED", false},
    {is_slot_valid, "slot is for a token, and must be less than slots", false},
    {is_guard_valid, "fence needs a guarded set, and this client has no guard", false},
};

static unsigned long long ms(uint64_t ns)
{
	return ns / RL_NS_PER_MS;
}

static bool meets_demands(const struct rl_wish *w, const struct rl_rules *r, char *why, size_t size)
{
	const struct check check = {w->options, r, w->guard};
	for (size_t i = 0; i < sizeof demands / sizeof demands[0]; i++) {
		if (demands[i].holds(&check))
			continue;
		int used = snprintf(why, size, "%s", demands[i].sentence);
		uint64_t drift_ns = rl_validity_drift(r->ttl_ns, r->drift_ppm, r->drift_base_ns);
		if (demands[i].tells_times && (size_t)used < size)
			snprintf(why + used, size - (size_t)used,
			         " (ttl %llu ms, node timeout %llu ms, drift %llu ms, renew %llu ms)", ms(r->ttl_ns),
			         ms(r->node_timeout_ns), ms(rl_time_add(drift_ns, RL_NS_PER_MS - 1)),
			         (unsigned long long)w->options->renew_ms);
		return false;
	}
	return true;
}

/* ---- numbers ---- */

static bool has_numbers(const struct redlock_lock_options *o, char *why, size_t size)
{
	const struct {
		const char *name;
		uint64_t value, least, most;
	} numbers[] = {
#define TIME(field, name, least, most)
#define NUMBER(field, name, least, most) {name, o->field, least, most},
#define RANGE(unit, field, name, least, most, ...) unit(field, name, least, most)
	    RL_LOCK_OPTIONS_MAP(RANGE)
#undef RANGE
#undef NUMBER
#undef TIME
	};
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
		if (numbers[i].value >= numbers[i].least && numbers[i].value <= numbers[i].most)
			continue;
		snprintf(why, size, "%s must be from %llu to %llu", numbers[i].name,
		         (unsigned long long)numbers[i].least, (unsigned long long)numbers[i].most);
		return false;
	}
	return true;
}

/* ---- conflicts ---- */

enum trait { COMPAT, FENCE, GUARD, NAMES, SETNX, SETNX_SAFE, SHARED, SLOTS, TOKEN, TRAITS };

static const char *const traits[TRAITS] = {
    [COMPAT] = "compat",       [FENCE] = "fence",        [GUARD] = "REDLOCK_GUARD_REQUIRE of the client",
    [NAMES] = "several names", [SETNX] = "compat setnx", [SETNX_SAFE] = "compat setnx-safe",
    [SHARED] = "mode shared",  [SLOTS] = "slots",        [TOKEN] = "token",
};

static const struct {
	enum trait one, other;
	const char *why;
} conflicts[] = {
#define PAIR(one, other, why) {one, other, why},
    REDLOCK_CONFLICT_MAP(PAIR)
#undef PAIR
};

static bool has_no_conflict(const struct rl_wish *w, char *why, size_t size)
{
	const struct redlock_lock_options *o = w->options;
	const bool has[TRAITS] = {
	    [COMPAT] = o->compat != REDLOCK_COMPAT_OFF,
	    [FENCE] = o->fence != 0,
	    [GUARD] = w->guard == REDLOCK_GUARD_REQUIRE,
	    [NAMES] = w->several,
	    [SETNX] = o->compat == REDLOCK_COMPAT_SETNX,
	    [SETNX_SAFE] = o->compat == REDLOCK_COMPAT_SETNX_SAFE,
	    [SHARED] = o->mode == REDLOCK_SHARED,
	    [SLOTS] = o->slots != 0,
	    [TOKEN] = o->token != NULL,
	};
	for (size_t i = 0; i < sizeof conflicts / sizeof conflicts[0]; i++) {
		if (!has[conflicts[i].one] || !has[conflicts[i].other])
			continue;
		snprintf(why, size, "%s and %s exclude each other: %s", traits[conflicts[i].one],
		         traits[conflicts[i].other], conflicts[i].why);
		return false;
	}
	return true;
}

bool rl_refusal_of(const struct rl_wish *w, const struct rl_rules *r, char *why, size_t size)
{
	return !has_numbers(w->options, why, size) || !meets_demands(w, r, why, size) ||
	       !has_no_conflict(w, why, size);
}
