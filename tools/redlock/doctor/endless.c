/* SPDX-License-Identifier: MIT */
/* Locks that nobody can acquire any more, as their keys have no expiry. The walk over all keys, which has not
 * the time for all, finds names on some node; what counts is how many nodes have the key so. */
#include <stdlib.h>
#include <string.h>

#include "../printable.h"
#include "check.h"

static bool is_known(const struct doctor *doctor, const char *key, size_t length)
{
	for (unsigned i = 0; i < doctor->endless_count; i++)
		if (doctor->endless[i].length == length && memcmp(doctor->endless[i].key, key, length) == 0)
			return true;
	return false;
}

void doctor_note_endless(struct doctor *doctor, const char *key, size_t length)
{
	static const char beside[] = ":redlock:"; /* a queue, a slot: not the key of a name */
	if (memmem(key, length, beside, strlen(beside)) != NULL || doctor->endless_count == DOCTOR_ENDLESS_MAX ||
	    is_known(doctor, key, length))
		return;
	struct doctor_endless *one = &doctor->endless[doctor->endless_count];
	one->key = malloc(length + 1);
	if (one->key == NULL)
		return;
	memcpy(one->key, key, length);
	one->length = length;
	one->nodes = 0;
	doctor->endless_count++;
}

bool doctor_count_endless(struct doctor *doctor)
{
	static const char *const command[] = {"PTTL", "", NULL};
	const char *argv[DOCTOR_ENDLESS_MAX][2];
	size_t length[DOCTOR_ENDLESS_MAX][2];
	struct doctor_asks asks = {0};
	bool ok = true;
	for (unsigned k = 0; k < doctor->endless_count; k++) {
		argv[k][0] = "PTTL";
		argv[k][1] = doctor->endless[k].key;
		length[k][0] = strlen("PTTL");
		length[k][1] = doctor->endless[k].length;
		for (unsigned i = 0; i < doctor->nodes && ok; i++) {
			ok = !doctor->node[i].answered || doctor_asks_add(&asks, i, command);
			if (ok && doctor->node[i].answered) {
				asks.list[asks.count - 1].argv = argv[k];
				asks.list[asks.count - 1].argv_len = length[k];
			}
		}
	}
	ok = ok && doctor_asks_run(doctor, &asks);
	for (size_t q = 0; q < asks.count && ok; q++)
		for (unsigned k = 0; k < doctor->endless_count; k++)
			if (asks.list[q].argv == argv[k] && asks.list[q].reply != NULL &&
			    asks.list[q].reply->kind == REDLOCK_REPLY_INTEGER)
				doctor->endless[k].nodes += asks.list[q].reply->integer == -1;
	doctor_asks_free(&asks);
	return ok;
}

/* Names as `redlock status` takes them. */
DOCTOR_LOOK_AT(doctor_is_blocked)
{
	UNUSED;
	enum { SHOWN = 3 };
	const char *given = doctor->session->settings->prefix, *prefix = given != NULL ? given : "";
	unsigned count = 0;
	size_t used = 0;
	for (unsigned i = 0; i < doctor->endless_count; i++) {
		const struct doctor_endless *one = &doctor->endless[i];
		char name[DOCTOR_KEY_SHOWN];
		if (one->nodes <= doctor->nodes - doctor->report.quorum || count++ >= SHOWN)
			continue;
		printable(one->key + strlen(prefix), one->length - strlen(prefix), name, sizeof name);
		used += (size_t)snprintf(found->detail + used, sizeof found->detail - used,
		                         "%s'%s' (without expiry on %u of %u nodes)", used > 0 ? ", " : "", name,
		                         one->nodes, doctor->nodes);
	}
	if (count > SHOWN)
		snprintf(found->detail + used, sizeof found->detail - used, ", and more");
	return count > 0;
}

void doctor_free_endless(struct doctor *doctor)
{
	for (unsigned i = 0; i < doctor->endless_count; i++)
		free(doctor->endless[i].key);
	doctor->endless_count = 0;
}

static bool endless(const struct doctor_node *node, struct found *found)
{
	const struct doctor_keys *keys = &node->keys;
	FIND("%llu of %llu%s, '%s' for one", (unsigned long long)keys->endless, (unsigned long long)keys->seen,
	     keys->whole ? "" : " that were looked at (there was no time for all)", keys->example);
	return keys->endless > 0;
}

static bool has_prefix(const struct doctor *doctor)
{
	return doctor->session->settings->prefix != NULL && doctor->session->settings->prefix[0] != '\0';
}

DOCTOR_LOOK_AT(doctor_has_endless)
{
	UNUSED;
	return has_prefix(doctor) && endless(node, found);
}

DOCTOR_LOOK_AT(doctor_has_endless_anywhere)
{
	UNUSED;
	return !has_prefix(doctor) && endless(node, found);
}
