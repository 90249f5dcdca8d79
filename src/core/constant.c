/* SPDX-License-Identifier: MIT */
/* The limits and marks of the public header, and the sizes of its structs, by their names: for languages that
 * do not read C headers. */
#include <string.h>

#include <redlock/redlock.h>

static const struct {
	const char *name;
	uint64_t value;
} constants[] = {
#define CONSTANT(name)                                                                                       \
	{                                                                                                        \
#name, REDLOCK_##name                                                                                \
	}
#define SIZE(name)                                                                                           \
	{                                                                                                        \
		"sizeof redlock_" #name, sizeof(struct redlock_##name)                                               \
	}
    CONSTANT(MAX_NODES),
    CONSTANT(MAX_NAME),
    CONSTANT(MAX_NAMES),
    CONSTANT(MAX_SLOTS),
    CONSTANT(MAX_TOKEN),
    CONSTANT(MAX_OWNER),
    CONSTANT(MIN_TTL_MS),
    CONSTANT(MAX_TTL_MS),
    CONSTANT(FOREVER),
    CONSTANT(NEVER_NS),
    CONSTANT(DEFAULT_DANGER),
    SIZE(options),
    SIZE(lock_options),
    SIZE(event),
    SIZE(vote),
    SIZE(terms),
    SIZE(finding),
    SIZE(wait),
    SIZE(node_status),
    SIZE(guard_status),
    SIZE(setting),
#undef SIZE
#undef CONSTANT
};

uint64_t redlock_constant(const char *name)
{
	for (size_t i = 0; name != NULL && i < sizeof constants / sizeof constants[0]; i++)
		if (strcmp(constants[i].name, name) == 0)
			return constants[i].value;
	return 0;
}
