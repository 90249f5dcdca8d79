/* SPDX-License-Identifier: MIT */
/* The Sentinels of a node's URL: which of them do not name the master that most of them name. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { ANSWER_MS = 1000, SENTINELS = 16 };

struct sentinel {
	const char *address; /* as the URL has it */
	char master[96];     /* the address that it names; "": none */
	char why[96];        /* why it names none */
};

/* Takes the list apart. */
static unsigned split(char *list, struct sentinel *ret)
{
	unsigned count = 0;
	char *rest = NULL;
	for (char *one = strtok_r(list, ",", &rest); one != NULL && count < SENTINELS;
	     one = strtok_r(NULL, ",", &rest))
		ret[count++] = (struct sentinel){.address = one};
	return count;
}

static bool is_address(const struct redlock_reply *r)
{
	return r->kind == REDLOCK_REPLY_ARRAY && r->count == 2 && r->items[0].kind == REDLOCK_REPLY_STRING &&
	       r->items[1].kind == REDLOCK_REPLY_STRING;
}

static void take(struct sentinel *s, const struct redlock_question *q)
{
	const struct redlock_reply *r = q->reply;
	const char *why = r == NULL                        ? q->error
	                  : r->kind == REDLOCK_REPLY_ERROR ? r->text
	                  : r->kind == REDLOCK_REPLY_NIL   ? "knows no master of this name"
	                                                   : "an answer of another kind";
	if (r != NULL && is_address(r))
		snprintf(s->master, sizeof s->master, "%.80s:%.8s", r->items[0].text, r->items[1].text);
	else
		snprintf(s->why, sizeof s->why, "%.*s", (int)strcspn(why, ",\r\n"), why);
}

static unsigned count_of(const struct sentinel *list, unsigned count, const char *master)
{
	unsigned named = 0;
	for (unsigned i = 0; i < count; i++)
		named += strcmp(list[i].master, master) == 0;
	return named;
}

/* The address that most of them name; "": none names any. */
static const char *most_named(const struct sentinel *list, unsigned count)
{
	const char *best = "";
	for (unsigned i = 0; i < count; i++)
		if (list[i].master[0] != '\0' &&
		    (best[0] == '\0' || count_of(list, count, list[i].master) > count_of(list, count, best)))
			best = list[i].master;
	return best;
}

/* Without a master the vote says why, and there is no more to say. */
static void conclude(struct doctor_node *node, const struct sentinel *list, unsigned count)
{
	const char *master = most_named(list, count);
	unsigned named = count_of(list, count, master);
	size_t size = sizeof node->sentinels, used = 0;
	if (master[0] == '\0' || named == count)
		return;
	used = (size_t)snprintf(node->sentinels, size, "%u of its %u Sentinels %s not name the master %s",
	                        count - named, count, count - named == 1 ? "does" : "do", master);
	for (unsigned i = 0, told = 0; i < count && used < size; i++)
		if (strcmp(list[i].master, master) != 0)
			used +=
			    (size_t)snprintf(node->sentinels + used, size - used, "%s%s (%s%s)", told++ > 0 ? ", " : ": ",
			                     list[i].address, list[i].master[0] != '\0' ? "names " : "",
			                     list[i].master[0] != '\0' ? list[i].master : list[i].why);
}

/* False: it cannot go on. */
static bool look(struct doctor *doctor, unsigned index)
{
	struct doctor_node *node = &doctor->node[index];
	const char *const question[] = {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", node->url.master};
	struct sentinel list[SENTINELS];
	struct redlock_question q[SENTINELS];
	const char *addresses[SENTINELS];
	char hosts[sizeof node->url.host];
	redlock_asker *asker = NULL;
	memcpy(hosts, node->url.host, sizeof hosts);
	unsigned count = split(hosts, list);
	for (unsigned i = 0; i < count; i++) {
		addresses[i] = list[i].address;
		q[i] = (struct redlock_question){
		    .size = sizeof q[i], .node = i, .argc = 3, .argv = question, .error = ""};
	}
	doctor->error = redlock_asker_open_servers(doctor->session->client, index, addresses, count, &asker);
	if (doctor->error == 0)
		doctor->error = redlock_ask(asker, q, count, ANSWER_MS);
	for (unsigned i = 0; doctor->error >= 0 && i < count; i++)
		take(&list[i], &q[i]);
	if (doctor->error >= 0)
		conclude(node, list, count);
	redlock_asker_close(asker);
	return doctor->error >= 0;
}

bool doctor_look_at_sentinels(struct doctor *doctor)
{
	bool ok = true;
	for (unsigned i = 0; i < doctor->nodes && ok; i++)
		ok = doctor->node[i].url.master[0] == '\0' || look(doctor, i);
	return ok;
}

DOCTOR_LOOK_AT(doctor_has_odd_sentinels)
{
	UNUSED;
	FIND("%s", node->sentinels);
	return node->sentinels[0] != '\0';
}
