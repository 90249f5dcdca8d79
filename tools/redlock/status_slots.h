/* SPDX-License-Identifier: MIT */
/* The slots of a name, for `redlock status NAME`. */
#ifndef REDLOCK_TOOL_STATUS_SLOTS_H
#define REDLOCK_TOOL_STATUS_SLOTS_H

#include <redlock/ask.h>

#include "session.h"
#include "standing.h"

struct status_slots {
	char *name; /* with the prefix */
	redlock_asker *asker;
	unsigned nodes, quorum;
	uint64_t timeout_ms;
	unsigned count; /* 0: the name has none */
	bool told;      /* the slots after the first one are known */
	char *keys[REDLOCK_MAX_SLOTS];
	struct redlock_question *list; /* for each slot after the first one, and each node */
	struct standing standing;      /* of one after the other */
};

/* Asks the nodes. Then status_slots_end() is due. */
void status_slots_read(struct status_slots *slots, const struct session *session,
                       const struct settings *settings, const char *name);
void status_slots_end(struct status_slots *slots);

/* The slot that has this value on some node. -1: none of those after the first one. */
int status_slots_find(struct status_slots *slots, const char *value);

/* The keys of a slot after the first one; NULL: they are not known. Valid until the next call. */
const struct standing *status_slots_at(struct status_slots *slots, unsigned slot);

/* A line for each. */
void status_slots_print(struct status_slots *slots);

/* A member: a list of what standing_json_token() says of each, which is empty where there are none. */
void status_slots_json(struct status_slots *slots, const struct standing *first, struct json *json);

#endif
