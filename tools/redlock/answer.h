/* SPDX-License-Identifier: MIT */
/* Plain questions to the nodes, in a report: what a node that does not answer one has said, as a vote. */
#ifndef REDLOCK_TOOL_ANSWER_H
#define REDLOCK_TOOL_ANSWER_H

#include <redlock/ask.h>

#include "report.h"

/* Begins a report of the nodes of a client, whose votes are all PENDING. */
void answer_begin(struct report *report, const char *verb, redlock_client *client);

/* Notes that a node did not answer, or not as it was to. Only the first reason is kept. */
void answer_refused(struct node_report *node, const struct redlock_question *question);

#endif
