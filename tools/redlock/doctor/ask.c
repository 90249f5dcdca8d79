/* SPDX-License-Identifier: MIT */
/* Questions to all nodes at once, and why one has no answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"

enum { ANSWER_MS = 1000 };

bool doctor_asks_add(struct doctor_asks *asks, unsigned node, const char *const *argv)
{
	if (asks->count == asks->room) {
		size_t room = asks->room > 0 ? 2 * asks->room : 64;
		struct redlock_question *list = realloc(asks->list, room * sizeof *list);
		if (list == NULL)
			return false;
		asks->list = list;
		asks->room = room;
	}
	struct redlock_question *q = &asks->list[asks->count++];
	*q = (struct redlock_question){.size = sizeof(struct redlock_question), .node = node, .argv = argv};
	while (argv[q->argc] != NULL)
		q->argc++;
	return true;
}

bool doctor_asks_run(struct doctor *doctor, struct doctor_asks *asks)
{
	doctor->error = redlock_ask(doctor->asker, asks->list, asks->count, ANSWER_MS);
	return doctor->error >= 0;
}

void doctor_asks_free(struct doctor_asks *asks)
{
	free(asks->list);
	*asks = (struct doctor_asks){0};
}

/* Leaves out the part after a comma that servers add, which repeats the request. The first reason stays:
 * later ones only say that the connection has ended. */
void doctor_note_why(struct doctor_node *node, enum doctor_source source, const struct redlock_question *q)
{
	bool refused = q->reply != NULL && q->reply->kind == REDLOCK_REPLY_ERROR;
	const char *why = refused ? q->reply->text : q->reply == NULL ? q->error : "an answer of another kind";
	if (node->why_not[source][0] == '\0')
		snprintf(node->why_not[source], sizeof node->why_not[source], "%.*s", (int)strcspn(why, ",\r\n"),
		         why);
}
