/* SPDX-License-Identifier: MIT */
/* What can be told from the text of node URLs without opening them. */
#ifndef REDLOCK_TOOL_ENDPOINT_H
#define REDLOCK_TOOL_ENDPOINT_H

#include <stdbool.h>

/* True when the two comma lists have a server in common: host and port, or socket, whatever user, password
 * and database are. For one list given twice: when it has one server twice. */
bool endpoint_repeats(const char *list, const char *other);

bool endpoint_has_password(const char *list);

/* Whether a URL of the list names a user; maybe also of a path that has an @ in it. */
bool endpoint_has_user(const char *list);

#endif
