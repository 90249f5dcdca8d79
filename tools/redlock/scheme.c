/* SPDX-License-Identifier: MIT */
/* A server with TLS ends a plain connection, mostly without a word; a server without TLS waits for the end of
 * a line that the TLS handshake does not have, and looks like one that hangs. Only another connection tells.
 */
#include "scheme.h"

#include <stdio.h>
#include <string.h>

#include <redlock/ask.h>
#include <redlock/url.h>

struct suspect {
	unsigned node;
	bool tls;   /* its URL says so */
	bool other; /* it speaks the other scheme */
	char url[320];
};

static const char closed[] = "closed without a word";

/* Whether it looks like a node with the other scheme. */
static bool is_suspect(const struct node_report *node, bool tls)
{
	enum redlock_vote_code vote = node->vote.code;
	if (tls)
		return vote == REDLOCK_VOTE_TIMEOUT || vote == REDLOCK_VOTE_UNSENT;
	return !report_is_definite(node) && strncmp(node->status.last_error, closed, sizeof closed - 1) == 0;
}

static unsigned find_suspects(const struct report *report, struct suspect *ret)
{
	unsigned count = 0;
	for (unsigned i = 0; i < report->nodes; i++) {
		struct redlock_url url = {.size = sizeof url};
		bool found = redlock_url_parse(report->node[i].status.address, NULL, 0, &url) == 0 && url.port != 0 &&
		             is_suspect(&report->node[i], url.tls);
		bool v6 = strchr(url.host, ':') != NULL;
		if (!found)
			continue;
		ret[count] = (struct suspect){.node = i, .tls = url.tls};
		snprintf(ret[count].url, sizeof ret[count].url, "%s://%s%s%s:%u", url.tls ? "redis" : "rediss",
		         v6 ? "[" : "", url.host, v6 ? "]" : "", url.port);
		count++;
	}
	return count;
}

/* Any reply of a server will do, and from a server with TLS a complaint about certificates as well. */
static void ask(struct suspect *suspects, unsigned count, const struct session *session)
{
	static const char *const ping[] = {"PING"};
	const char *urls[REDLOCK_MAX_NODES];
	struct redlock_question questions[REDLOCK_MAX_NODES];
	struct redlock_options options;
	redlock_client *client = NULL;
	redlock_asker *asker = NULL;
	redlock_options_init(&options);
	options.urls = urls;
	options.url_count = count;
	options.tls_insecure = 1; /* nothing secret is sent, and no answer is used */
	options.interruptible = session->settings->interruptible;
	for (unsigned i = 0; i < count; i++) {
		urls[i] = suspects[i].url;
		questions[i] =
		    (struct redlock_question){.size = sizeof questions[i], .node = i, .argc = 1, .argv = ping};
	}
	bool asked = redlock_open(&options, &client) == 0 && redlock_asker_open(client, &asker) == 0 &&
	             redlock_ask(asker, questions, count, session->node_timeout_ms) >= 0;
	for (unsigned i = 0; asked && i < count; i++)
		suspects[i].other =
		    questions[i].reply != NULL || (!suspects[i].tls && questions[i].missing == REDLOCK_VOTE_TLS);
	redlock_asker_close(asker);
	redlock_close(client);
}

void scheme_look(struct report *report, const struct session *session)
{
	struct suspect suspects[REDLOCK_MAX_NODES];
	unsigned count = find_suspects(report, suspects);
	if (count > 0)
		ask(suspects, count, session);
	for (unsigned i = 0; i < count; i++) {
		const struct suspect *s = &suspects[i];
		struct node_report *node = &report->node[s->node];
		if (s->other)
			node->vote.code = REDLOCK_VOTE_SERVICE;
		const char *why = !s->other ? closed
		                  : s->tls  ? "does not speak TLS: use redis:// for it"
		                            : "speaks TLS: use rediss:// for it";
		if (s->other || !s->tls)
			snprintf(node->detail, sizeof node->detail, "%s: %s", redlock_vote_text(node->vote.code), why);
	}
}
