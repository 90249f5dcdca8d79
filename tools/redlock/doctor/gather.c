/* SPDX-License-Identifier: MIT */
/* Asks the nodes and keeps their answers. A node that does not answer is asked no more. */
#include <stdlib.h>
#include <string.h>

#include "../clock.h"
#include "../exit_codes.h"
#include "../message.h"
#include "../signals.h"
#include "../status.h"
#include "doctor.h"

/* How long clocks are watched: long enough to see that one runs 1 % too fast, over answers within 1 ms. */
enum { WATCH_MS = 300 };

/* Behind the prefix: a name that no lock has. */
static const char no_lock[] = "redlock-doctor-";

/* ---- fields ---- */

bool doctor_info(const struct doctor_node *node, const char *field, char *buffer, size_t size)
{
	size_t length = strlen(field);
	for (const char *line = node->info; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, field, length) != 0 || line[length] != ':')
			continue;
		line += length + 1;
		snprintf(buffer, size, "%.*s", (int)strcspn(line, "\r\n"), line);
		return true;
	}
	return false;
}

int64_t doctor_info_number(const struct doctor_node *node, const char *field)
{
	char text[32];
	return doctor_info(node, field, text, sizeof text) ? strtoll(text, NULL, 10) : 0;
}

/* ---- where a node is ---- */

/* A name that only resolves to this machine does not count: nothing is looked up here. */
static bool is_local(const struct redlock_url *url)
{
	return url->port == 0 || strcmp(url->host, "localhost") == 0 || strcmp(url->host, "::1") == 0 ||
	       (strncmp(url->host, "127.", 4) == 0 && url->host[strspn(url->host, "0123456789.")] == '\0');
}

void doctor_locate(struct doctor_node *node, const char *address)
{
	node->url = (struct redlock_url){.size = sizeof node->url};
	if (redlock_url_parse(address, NULL, 0, &node->url) < 0)
		snprintf(node->url.host, sizeof node->url.host, "%s", address);
	node->local = is_local(&node->url);
}

/* ---- INFO and CONFIG ---- */

/* Whether the answer has the type that a server gives. */
static bool sees(struct doctor_node *node, enum doctor_source source, const struct redlock_question *q,
                 enum redlock_reply_kind kind)
{
	node->sees[source] = q->reply != NULL && q->reply->kind == kind;
	if (!node->sees[source])
		doctor_note_why(node, source, q);
	return node->sees[source];
}

static const char *const setting_names[DOCTOR_SETTINGS] = {
    [DOCTOR_SAVE] = "save",
    [DOCTOR_APPENDONLY] = "appendonly",
    [DOCTOR_APPENDFSYNC] = "appendfsync",
    [DOCTOR_ON_REWRITE] = "no-appendfsync-on-rewrite",
    [DOCTOR_EVENTS] = "notify-keyspace-events",
};

static void keep_setting(struct doctor_node *node, unsigned setting, const struct redlock_reply *reply)
{
	node->settings[setting][0] = '\0';
	if (reply->count == 2 && reply->items[1].kind == REDLOCK_REPLY_STRING)
		snprintf(node->settings[setting], sizeof node->settings[setting], "%s", reply->items[1].text);
}

bool doctor_look_at_servers(struct doctor *doctor)
{
	static const char *const info[] = {"INFO", NULL};
	const char *config[DOCTOR_SETTINGS][4];
	struct doctor_asks asks = {0};
	bool ok = true;
	for (unsigned s = 0; s < DOCTOR_SETTINGS; s++)
		memcpy(config[s], (const char *[]){"CONFIG", "GET", setting_names[s], NULL}, sizeof config[s]);
	for (unsigned i = 0; i < doctor->nodes && ok; i++) {
		ok = !doctor->node[i].answered || doctor_asks_add(&asks, i, info);
		for (unsigned s = 0; s < DOCTOR_SETTINGS && ok && doctor->node[i].answered; s++)
			ok = doctor_asks_add(&asks, i, config[s]);
	}
	ok = ok && doctor_asks_run(doctor, &asks);
	for (size_t q = 0; q < asks.count && ok; q += 1 + DOCTOR_SETTINGS) {
		struct doctor_node *node = &doctor->node[asks.list[q].node];
		if (sees(node, DOCTOR_INFO, &asks.list[q], REDLOCK_REPLY_STRING))
			ok = (node->info = strdup(asks.list[q].reply->text)) != NULL;
		for (unsigned s = 0; s < DOCTOR_SETTINGS; s++)
			if (sees(node, DOCTOR_CONFIG, &asks.list[q + 1 + s], REDLOCK_REPLY_ARRAY))
				keep_setting(node, s, asks.list[q + 1 + s].reply);
	}
	doctor_asks_free(&asks);
	return ok;
}

/* ---- all of it ---- */

static bool look(struct doctor *doctor)
{
	if (!doctor_look_at_clocks(doctor, true))
		return false;
	uint64_t until_ns = clock_ns() + WATCH_MS * 1000000ull;
	if (!doctor_look_at_servers(doctor) || !doctor_look_at_shards(doctor) ||
	    !doctor_look_at_sentinels(doctor) || !doctor_try_rights(doctor, false) ||
	    !doctor_look_at_records(doctor) || !doctor_look_at_keys(doctor, until_ns) ||
	    !doctor_count_endless(doctor))
		return false;
	status_count_ready(&doctor->report, doctor->record);
	(void)signals_sleep_until(until_ns);
	return doctor_look_at_clocks(doctor, false) && doctor_look_at_rivals(doctor) &&
	       doctor_try_rights(doctor, true);
}

/* The drift that the library allows clocks for the TTL, and for each part of any time: of the longest TTL,
 * beside which the constant part is negligible. */
static void read_allowances(struct doctor *doctor, const struct settings *settings)
{
	struct settings longest = *settings;
	struct redlock_terms terms;
	session_terms(settings, &terms);
	doctor->allowance_ns = terms.drift_ms * 1000000;
	longest.ttl_ms = REDLOCK_MAX_TTL_MS;
	session_terms(&longest, &terms);
	doctor->allowed_rate = (double)terms.drift_ms / (double)terms.ttl_ms;
}

bool doctor_open(struct doctor *doctor, struct session *session, const struct report *report)
{
	const char *prefix = session->settings->prefix;
	doctor->session = session;
	doctor->nodes = report->nodes;
	doctor->report = *report;
	snprintf(doctor->key, sizeof doctor->key, "%s%s%llx", prefix != NULL ? prefix : "", no_lock,
	         (unsigned long long)clock_ns());
	for (unsigned i = 0; i < doctor->nodes; i++)
		doctor_locate(&doctor->node[i], doctor->report.node[i].status.address);
	doctor->error = redlock_asker_open(session->client, &doctor->asker);
	return doctor->error >= 0;
}

int doctor_gather(struct doctor *doctor, struct session *session)
{
	struct report report;
	read_allowances(doctor, session->settings);
	int code = status_ask(session, "doctor", &report);
	if (code != EXIT_OK)
		return code;
	session_remember(session);
	if (doctor_open(doctor, session, &report) && look(doctor))
		return EXIT_OK;
	if (signals_caught())
		return EXIT_SIGNAL + signals_caught();
	complain(MSG(LIBRARY), redlock_strerror(doctor->error < 0 ? doctor->error : REDLOCK_E_NOMEM));
	return EXIT_INTERNAL;
}

static void free_node(struct doctor_node *node)
{
	free(node->info);
	doctor_free_shards(node->shards);
}

void doctor_free(struct doctor *doctor)
{
	redlock_asker_close(doctor->asker);
	guard_record_free(doctor->record, doctor->nodes);
	doctor_free_endless(doctor);
	for (unsigned i = 0; i < doctor->nodes; i++)
		free_node(&doctor->node[i]);
}
