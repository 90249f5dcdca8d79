/* SPDX-License-Identifier: MIT */
/* The macros and enums of the public header, and the sizes of its structs, by their names: for languages that
 * do not read C headers. */
#include <stddef.h>
#include <string.h>

#include <redlock/ask.h>
#include <redlock/redlock.h>
#include <redlock/url.h>

static const struct {
	const char *name;
	uint64_t value;
} constants[] = {
#define CONSTANT(name) {#name, (uint64_t)REDLOCK_##name},
#define SIZE(name) {"sizeof redlock_" #name, sizeof(struct redlock_##name)},
#define OFFSET(name, field) {"offset redlock_" #name "." #field, offsetof(struct redlock_##name, field)},
#define ERROR(name, value, text) {"E_" #name, (uint64_t)(value)},
#define VOTE(name, value, kind, text) {"VOTE_" #name, (value)},
    /* clang-format off */
    CONSTANT(MAX_NODES) CONSTANT(MAX_SETS) CONSTANT(MAX_NAME) CONSTANT(MAX_NAMES) CONSTANT(MAX_SLOTS) CONSTANT(MAX_TOKEN)
    CONSTANT(MAX_OWNER) CONSTANT(MIN_TTL_MS) CONSTANT(MAX_TTL_MS) CONSTANT(FOREVER) CONSTANT(NEVER_NS)
    CONSTANT(DEFAULT_TTL) CONSTANT(DEFAULT_DANGER) CONSTANT(VERSION_MAJOR) CONSTANT(VERSION_MINOR) CONSTANT(VERSION_PATCH)
    REDLOCK_ERROR_MAP(ERROR) CONSTANT(OK)
    REDLOCK_VOTE_MAP(VOTE) CONSTANT(VOTE_COUNT)
    CONSTANT(KIND_PENDING) CONSTANT(KIND_YES) CONSTANT(KIND_NO) CONSTANT(KIND_MISSING) CONSTANT(KIND_FATAL)
    CONSTANT(OP_NONE) CONSTANT(OP_ACQUIRE) CONSTANT(OP_EXTEND) CONSTANT(OP_RELEASE) CONSTANT(OP_QUERY)
    CONSTANT(OP_PROBE) CONSTANT(OP_UPGRADE) CONSTANT(OP_DOWNGRADE)
    CONSTANT(EVENT_DONE) CONSTANT(EVENT_DANGER) CONSTANT(EVENT_LOST)
    CONSTANT(GUARD_OFF) CONSTANT(GUARD_AUTO) CONSTANT(GUARD_REQUIRE)
    CONSTANT(SET_UNKNOWN) CONSTANT(SET_PLAIN) CONSTANT(SET_GUARDED)
    CONSTANT(EXCLUSIVE) CONSTANT(SHARED)
    CONSTANT(COMPAT_OFF) CONSTANT(COMPAT_SETNX) CONSTANT(COMPAT_SETNX_SAFE)
    CONSTANT(REPLY_STATUS) CONSTANT(REPLY_ERROR) CONSTANT(REPLY_INTEGER) CONSTANT(REPLY_STRING)
    CONSTANT(REPLY_NIL) CONSTANT(REPLY_ARRAY)
    SIZE(options) SIZE(lock_options) SIZE(event) SIZE(vote) SIZE(terms) SIZE(finding) SIZE(wait) SIZE(name)
    SIZE(node_status) SIZE(guard_status) SIZE(setting) SIZE(url) SIZE(question) SIZE(reply)
    SIZE(stats) SIZE(node_stats) SIZE(node_set) SIZE(histogram)
    OFFSET(lock_options, token) OFFSET(lock_options, token_len) OFFSET(lock_options, user)
    OFFSET(event, kind) OFFSET(event, operation) OFFSET(event, result) OFFSET(event, user)
    OFFSET(vote, code) OFFSET(vote, rtt_ns) OFFSET(name, bytes) OFFSET(name, len) OFFSET(node_status, address)
    OFFSET(wait, node) OFFSET(wait, place) OFFSET(wait, waiting) OFFSET(wait, told_ns) OFFSET(wait, since_ns)
    OFFSET(wait, until_ns) OFFSET(wait, holder_len) OFFSET(wait, holder) OFFSET(wait, quarantine_ns)
    OFFSET(finding, known) OFFSET(finding, type) OFFSET(finding, pttl_ms) OFFSET(finding, value_len)
    OFFSET(finding, value) OFFSET(finding, value_kept)
    OFFSET(terms, ttl_ms) OFFSET(terms, node_timeout_ms) OFFSET(terms, drift_ms) OFFSET(terms, validity_ms)
    OFFSET(terms, noquorum_wait_ms) OFFSET(terms, renew_ms) OFFSET(terms, danger_ms)
    CONSTANT(HISTOGRAM_BUCKETS) CONSTANT(STATS_RESULTS) CONSTANT(STATS_VOTES) CONSTANT(STATS_LOSSES)
    CONSTANT(LOSS_EXPIRED) CONSTANT(LOSS_GONE) CONSTANT(LOSS_LEAP) CONSTANT(LOSS_COUNT)
    /* clang-format on */
};

int redlock_constant_find(const char *name, uint64_t *ret)
{
	for (size_t i = 0; name != NULL && ret != NULL && i < sizeof constants / sizeof constants[0]; i++)
		if (strcmp(constants[i].name, name) == 0) {
			*ret = constants[i].value;
			return 0;
		}
	return REDLOCK_E_INVAL;
}

uint64_t redlock_constant(const char *name)
{
	uint64_t value = 0;
	return redlock_constant_find(name, &value) == 0 ? value : 0;
}
