/* SPDX-License-Identifier: MIT */
/* Whether a node that gave no sign of life speaks the other scheme: TLS instead of none, or none instead of
 * TLS. */
#ifndef REDLOCK_TOOL_SCHEME_H
#define REDLOCK_TOOL_SCHEME_H

#include "report.h"

/* Asks such nodes of the report on connections of their own, without a password, and corrects their votes and
 * details. Takes one node timeout at most, and no time without such nodes. */
void scheme_look(struct report *report, const struct session *session);

#endif
