/* SPDX-License-Identifier: MIT */
#include "guard_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exit_codes.h"
#include "nodes.h"
#include "values.h"

/* X(NAME, word of JSON, text). In the texts %s is the set. */
#define EFFECT_MAP(X)                                                                                        \
	X(OFF, "off", ": this client ignores records of guarded sets")                                           \
	X(IGNORED, "ignored", ": this client ignores the record of set %s")                                      \
	X(GUARDED, "guarded", " nodes have the record of set %s: this client counts admitted nodes only")        \
	X(OTHER, "other", " nodes have the record of set %s, which does not guard this list of nodes")           \
	X(REMEMBERED, "remembered", "remembered: this list was guarded on this host, as set %s: required")       \
	X(REQUIRED, "required", ": only nodes with a record of this set vote")                                   \
	X(REFUSED, "refused", "no record: no lock can be acquired")                                              \
	X(PLAIN, "plain", "no record: this set is plain")                                                        \
	X(TAKEN_BACK, "plain", "taken back: this set is plain")                                                  \
	X(CLUSTER, "plain", "a node is a Redis Cluster, which has no record: this set is plain")                 \
	X(UNSEEN, "unknown", "too few nodes show whether they have a record")                                    \
	X(UNASKED, "unknown", "not remembered as guarded on this host: the records of the nodes decide")

enum effect {
#define EFFECT_ENUM(name, word, text) EFFECT_##name,
	EFFECT_MAP(EFFECT_ENUM)
#undef EFFECT_ENUM
};

static const char *const words[] = {
#define EFFECT_WORD(name, word, text) (word),
    EFFECT_MAP(EFFECT_WORD)
#undef EFFECT_WORD
};

static const char *const texts[] = {
#define EFFECT_TEXT(name, word, text) (text),
    EFFECT_MAP(EFFECT_TEXT)
#undef EFFECT_TEXT
};

static const char setting_words[] = "off|auto|require";

/* ---- what is seen ---- */

void guard_view_recall(struct guard_view *view, const struct settings *settings)
{
	*view = (struct guard_view){.setting = session_guard(settings)};
	struct text_list urls = {NULL, 0};
	bool found =
	    settings->urls.count > 0 && !nodes_are_local(settings) && nodes_list(settings, &urls) == EXIT_OK;
	char *members = found ? guard_memory_members((const char *const *)urls.items, urls.count) : NULL;
	uint64_t ttl_ms;
	view->remembered = members != NULL && guard_memory_find(members, view->set, &ttl_ms);
	free(members);
	text_list_free(&urls);
}

void guard_view_look(struct guard_view *view, const struct session *session,
                     const struct guard_record *records, unsigned nodes, unsigned quorum)
{
	struct redlock_guard_status client = {.size = sizeof client};
	const char *set = "";
	*view = (struct guard_view){.setting = session_guard(session->settings),
	                            .remembered = session->remembered,
	                            .cluster = session_has_cluster(session),
	                            .nodes = nodes,
	                            .quorum = quorum};
	for (unsigned i = 0; i < nodes; i++) {
		const struct guard_record *r = &records[i];
		if (guard_record_is_of_a_set(r) && !*set)
			set = r->field[GUARD_SET];
		view->records += guard_record_is_of_a_set(r) && strcmp(r->field[GUARD_SET], set) == 0;
		view->taken_back += r->state == GUARD_PLAIN_ &&
		                    (!session->remembered || strcmp(r->field[GUARD_SET], session->guarded_set) == 0);
		view->without += r->state == GUARD_PLAIN_ || r->state == GUARD_BLANK_;
	}
	snprintf(view->set, sizeof view->set, "%s", *set ? set : session->guarded_set);
	view->applies =
	    redlock_guard_status(session->client, &client) == 0 && client.state == REDLOCK_SET_GUARDED;
}

uint64_t guard_view_forgetful(const struct session *session, const struct guard_record *records,
                              uint64_t *ret_left_ms)
{
	struct guard_view guard;
	unsigned count = redlock_node_count(session->client);
	uint64_t nodes = guard_record_forgetful(records, count, ret_left_ms);
	guard_view_look(&guard, session, records, count, redlock_quorum(session->client));
	bool applies = guard.setting != REDLOCK_GUARD_OFF && (guard.applies || guard_view_is_remembered(&guard));
	return applies ? nodes : 0;
}

bool guard_view_is_ignored(const struct guard_view *view)
{
	return view->setting == REDLOCK_GUARD_OFF && view->records > 0;
}

bool guard_view_is_remembered(const struct guard_view *view)
{
	bool taken_back = view->nodes > 0 && view->taken_back >= view->quorum;
	return view->remembered && view->setting != REDLOCK_GUARD_OFF && view->records == 0 && !taken_back;
}

/* ---- what follows from it ---- */

static enum effect effect_of(const struct guard_view *view)
{
	bool require = view->setting == REDLOCK_GUARD_REQUIRE, asked = view->nodes > 0;
	if (view->setting == REDLOCK_GUARD_OFF)
		return view->records > 0 ? EFFECT_IGNORED : EFFECT_OFF;
	if (view->records > 0)
		return view->applies ? EFFECT_GUARDED : EFFECT_OTHER;
	if (guard_view_is_remembered(view))
		return EFFECT_REMEMBERED;
	if (!asked)
		return require ? EFFECT_REQUIRED : EFFECT_UNASKED;
	if (view->cluster && !require)
		return EFFECT_CLUSTER;
	if (view->without < view->quorum)
		return EFFECT_UNSEEN;
	if (require)
		return EFFECT_REFUSED;
	return view->taken_back >= view->quorum ? EFFECT_TAKEN_BACK : EFFECT_PLAIN;
}

const char *guard_view_text(const struct guard_view *view, char *buffer, size_t size)
{
	enum effect effect = effect_of(view);
	const char *text = texts[effect], *mark = strstr(text, "%s");
	const char *set = view->set[0] ? view->set : "(unknown)";
	char setting[32], count[32] = "";
	value_word_at(setting_words, view->setting, setting, sizeof setting);
	if (effect == EFFECT_GUARDED || effect == EFFECT_OTHER)
		snprintf(count, sizeof count, "%u of %u", view->records, view->nodes);
	snprintf(buffer, size, "%s%s%s%.*s%s%s", setting, *text == ':' ? "" : "; ", count,
	         (int)(mark != NULL ? (size_t)(mark - text) : strlen(text)), text, mark != NULL ? set : "",
	         mark != NULL ? mark + 2 : "");
	return buffer;
}

void guard_view_json(const struct guard_view *view, struct json *json)
{
	char setting[32];
	value_word_at(setting_words, view->setting, setting, sizeof setting);
	json_open(json, "guard", '{');
	json_text(json, "setting", setting);
	json_text(json, "applies", words[effect_of(view)]);
	if (view->set[0])
		json_text(json, "set", view->set);
	else
		json_null(json, "set");
	json_bool(json, "remembered", view->remembered);
	json_number_or_null(json, "records", view->nodes > 0, view->records);
	json_close(json, '}');
}
