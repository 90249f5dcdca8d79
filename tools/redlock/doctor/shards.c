/* SPDX-License-Identifier: MIT */
/* The masters of a Redis Cluster: each is looked at as a node is, and what is wrong with it is told of the
 * node. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { ANSWER_MS = 1000 };

struct doctor_shards {
	struct shards of;
	struct doctor doctor; /* its nodes are these masters */
};

/* ---- looking ---- */

void doctor_free_shards(struct doctor_shards *shards)
{
	if (shards == NULL)
		return;
	redlock_asker_close(shards->doctor.asker);
	for (unsigned i = 0; i < shards->doctor.nodes; i++)
		free(shards->doctor.node[i].info);
	free(shards);
}

static void take(struct doctor_shards *s, const struct doctor_node *node, unsigned replicas)
{
	for (unsigned i = 0; i < s->of.count; i++) {
		struct doctor_node *master = &s->doctor.node[i];
		char url[128];
		snprintf(url, sizeof url, "redis://%s", s->of.list[i].address);
		doctor_locate(master, url);
		master->url.scheme = node->url.scheme;
		s->doctor.report.node[i].status.replicas = replicas;
		master->answered = true;
	}
}

static void conclude(struct doctor_shards *s)
{
	for (unsigned i = 0; i < s->of.count; i++) {
		struct doctor_node *master = &s->doctor.node[i];
		char role[16] = "";
		struct shard *shard = &s->of.list[i];
		shard->up = master->sees[DOCTOR_INFO];
		(void)doctor_info(master, "role", role, sizeof role);
		shard->replica = strcmp(role, "slave") == 0;
		shard->replicas = (int)doctor_info_number(master, "connected_slaves");
		if (!shard->up)
			snprintf(shard->why, sizeof shard->why, "%s", master->why_not[DOCTOR_INFO]);
	}
}

/* False: it cannot go on. */
static bool look(struct doctor *doctor, unsigned node)
{
	struct doctor_node *n = &doctor->node[node];
	struct doctor_shards *s = calloc(1, sizeof *s);
	if (s == NULL)
		return false;
	shards_list(doctor->asker, node, ANSWER_MS, &s->of);
	bool listed =
	    s->of.count > 0 && shards_open(doctor->session->client, node, &s->of, &s->doctor.asker) == 0;
	if (!listed) {
		snprintf(n->unlisted, sizeof n->unlisted, "%s", s->of.why);
		doctor_free_shards(s);
		return true;
	}
	s->doctor.session = doctor->session;
	s->doctor.allowance_ns = doctor->allowance_ns;
	s->doctor.nodes = s->of.count;
	n->shards = s;
	take(s, n, doctor_replicas_wanted(doctor, n));
	bool ok = doctor_look_at_servers(&s->doctor);
	doctor->error = s->doctor.error;
	conclude(s);
	return ok;
}

bool doctor_look_at_shards(struct doctor *doctor)
{
	bool ok = true;
	for (unsigned i = 0; i < doctor->nodes && ok; i++)
		ok = !doctor->node[i].answered || !doctor_is_cluster(&doctor->node[i]) || look(doctor, i);
	return ok;
}

/* ---- the cluster ---- */

static const char *const keeps[] = {
    [DOCTOR_KEEPS_UNKNOWN] = "persistence unknown",
    [DOCTOR_KEEPS_NOTHING] = "keeps nothing on disk",
    [DOCTOR_KEEPS_SNAPSHOTS] = "snapshots only",
    [DOCTOR_KEEPS_UNSYNCED] = "appendfsync no",
    [DOCTOR_KEEPS_SECOND] = "appendfsync everysec",
    [DOCTOR_KEEPS_UNLESS_REWRITE] = "appendfsync always but for rewrites",
    [DOCTOR_KEEPS_ALL] = "appendfsync always",
};

DOCTOR_LOOK_AT(doctor_is_whole_cluster)
{
	UNUSED;
	const struct doctor_shards *s = node->shards;
	char *text = found->detail, one[320], version[80];
	if (s == NULL) {
		FIND("whose masters cannot be listed (%s)", node->unlisted);
		found->advice = "permit +cluster|nodes there, or look at each server with -r redis://HOST:PORT";
		return doctor_is_cluster(node) && node->answered;
	}
	size_t size = sizeof found->detail,
	       used = (size_t)snprintf(text, size, "of %u master%s", s->of.count + s->of.more,
	                               s->of.count + s->of.more == 1 ? "" : "s");
	for (unsigned i = 0; i < s->of.count && used < size; i++) {
		const struct doctor_node *master = &s->doctor.node[i];
		used += (size_t)snprintf(text + used, size - used, "%s%s", i == 0 ? " (" : "; ",
		                         shard_text(&s->of.list[i], one, sizeof one));
		if (used < size && s->of.list[i].up)
			used += (size_t)snprintf(
			    text + used, size - used, ", %s, %s", doctor_version(master, version, sizeof version),
			    keeps[master->sees[DOCTOR_CONFIG] ? doctor_persistence(master) : DOCTOR_KEEPS_UNKNOWN]);
	}
	if (used < size)
		snprintf(text + used, size - used, ")");
	return true;
}

DOCTOR_LOOK_AT(doctor_lacks_shards)
{
	UNUSED;
	const struct doctor_shards *s = node->shards;
	unsigned lacks = s != NULL ? SHARD_SLOTS - s->of.slots : 0;
	char down[768] = "";
	size_t used = 0;
	for (unsigned i = 0; s != NULL && i < s->of.count; i++) {
		const struct shard *shard = &s->of.list[i];
		if (shard->up && !shard->replica)
			continue;
		lacks += shard->slots;
		if (used < sizeof down)
			used += (size_t)snprintf(down + used, sizeof down - used, "%s%s (%s)", used > 0 ? ", " : ": ",
			                         shard->address, shard->up ? "a replica by now" : shard->why);
	}
	FIND("%u of %u slots have no master that answers%s", lacks, SHARD_SLOTS, down);
	return lacks > 0;
}

/* ---- checks of each master ---- */

/* The masters for which a check finds the same, and what. */
struct common {
	struct doctor_finding finding;
	char who[512];
	unsigned count;
};

static bool find(const struct doctor_shards *s, unsigned at, const struct check *check,
                 struct doctor_finding *ret)
{
	const struct doctor_node *master = &s->doctor.node[at];
	struct found found = {"", NULL};
	if (!master->sees[check->needs] || !check->look(&s->doctor, master, check, &found))
		return false;
	*ret = (struct doctor_finding){.check = check->name,
	                               .level = master->local ? check->local_level : check->level};
	doctor_expand(check->text, found.detail, ret->text, sizeof ret->text);
	doctor_expand(found.advice != NULL ? found.advice : check->advice, found.detail, ret->advice,
	              sizeof ret->advice);
	return true;
}

static void add(struct common *all, const char *address)
{
	size_t used = strlen(all->who);
	snprintf(all->who + used, sizeof all->who - used, "%s%s", all->count++ > 0 ? ", " : "", address);
}

static void tell(const struct doctor_shards *s, const struct common *one,
                 void (*visit)(void *user, const struct doctor_finding *finding), void *user)
{
	struct doctor_finding finding = one->finding;
	bool all = one->count == s->of.count && one->count > 1;
	snprintf(finding.text, sizeof finding.text, "%s: %.500s", all ? "each master" : one->who,
	         one->finding.text);
	visit(user, &finding);
}

bool doctor_check_shards(const struct doctor_node *node, const struct check *check,
                         void (*visit)(void *user, const struct doctor_finding *finding), void *user)
{
	const struct doctor_shards *s = node->shards;
	if (s == NULL || (check->needs != DOCTOR_INFO && check->needs != DOCTOR_CONFIG))
		return false;
	bool done[REDLOCK_MAX_NODES] = {false};
	for (unsigned i = 0; i < s->of.count; i++) {
		struct common one = {.count = 0};
		struct doctor_finding other;
		if (done[i] || !find(s, i, check, &one.finding))
			continue;
		for (unsigned k = i; k < s->of.count; k++) {
			bool same = !done[k] && find(s, k, check, &other) && other.level == one.finding.level &&
			            strcmp(other.text, one.finding.text) == 0;
			done[k] |= same;
			if (same)
				add(&one, s->of.list[k].address);
		}
		tell(s, &one, visit, user);
	}
	return true;
}
