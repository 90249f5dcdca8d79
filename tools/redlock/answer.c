/* SPDX-License-Identifier: MIT */
#include "answer.h"

#include <stdio.h>
#include <string.h>

#include "printable.h"

void answer_begin(struct report *report, const char *verb, redlock_client *client)
{
	*report =
	    (struct report){.verb = verb, .nodes = redlock_node_count(client), .quorum = redlock_quorum(client)};
	for (unsigned i = 0; i < report->nodes; i++) {
		struct node_report *node = &report->node[i];
		node->vote.size = sizeof node->vote;
		node->status.size = sizeof node->status;
		if (redlock_node_status(client, i, &node->status) < 0)
			node->status.address[0] = '?';
	}
}

/* A reply of another kind than the question has is not one of a server. */
static enum redlock_vote_code vote_of(const struct redlock_question *q)
{
	enum redlock_vote_code code = redlock_question_vote(q);
	if (code == REDLOCK_VOTE_YES)
		return REDLOCK_VOTE_GARBAGE;
	return code == REDLOCK_VOTE_NO ? REDLOCK_VOTE_SERVER : code;
}

/* Leaves out the part after a comma that servers add, which repeats the request. The first sentence of a
 * MISCONF has its cause after a comma. */
void answer_refused(struct node_report *node, const struct redlock_question *q)
{
	char shown[160];
	if (node->detail[0])
		return;
	node->vote.code = vote_of(q);
	const char *text = redlock_vote_text(node->vote.code);
	bool is_error = q->reply != NULL && q->reply->kind == REDLOCK_REPLY_ERROR;
	const char *why = is_error ? q->reply->text : q->reply == NULL ? q->error : "";
	bool says_more = *why && strcmp(why, text) != 0;
	const char *end = node->vote.code == REDLOCK_VOTE_MISCONF ? "." : ",";
	harmless(why, shown, sizeof shown);
	snprintf(node->detail, sizeof node->detail, "%s%s%.*s", text, says_more ? ": " : "",
	         says_more ? (int)strcspn(shown, end) : 0, shown);
}
