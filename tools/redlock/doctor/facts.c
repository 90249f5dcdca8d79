/* SPDX-License-Identifier: MIT */
/* Conclusions from what a server reports about itself: what it keeps, what it is, and the known defects of
 * its version. */
#include <string.h>

#include "check.h"

/* ---- what it keeps when it ends without notice ---- */

enum doctor_persistence doctor_persistence(const struct doctor_node *node)
{
	static const struct {
		const char *fsync;
		enum doctor_persistence keeps;
	} kinds[] = {
	    {"no", DOCTOR_KEEPS_UNSYNCED}, {"everysec", DOCTOR_KEEPS_SECOND}, {"always", DOCTOR_KEEPS_ALL}};
	const char *fsync = node->settings[DOCTOR_APPENDFSYNC];
	if (strcmp(node->settings[DOCTOR_APPENDONLY], "yes") != 0)
		return node->settings[DOCTOR_SAVE][0] ? DOCTOR_KEEPS_SNAPSHOTS : DOCTOR_KEEPS_NOTHING;
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(fsync, kinds[i].fsync) == 0)
			return kinds[i].keeps == DOCTOR_KEEPS_ALL && strcmp(node->settings[DOCTOR_ON_REWRITE], "yes") == 0
			           ? DOCTOR_KEEPS_UNLESS_REWRITE
			           : kinds[i].keeps;
	return DOCTOR_KEEPS_UNKNOWN;
}

/* ---- clusters ---- */

bool doctor_is_cluster(const struct doctor_node *node)
{
	return strstr(node->url.scheme, "+cluster") != NULL;
}

DOCTOR_LOOK_AT(doctor_is_in_cluster)
{
	UNUSED;
	char mode[16] = "";
	if (!doctor_info(node, "server_mode", mode, sizeof mode)) /* Valkey 8 */
		(void)doctor_info(node, "redis_mode", mode, sizeof mode);
	return strcmp(mode, "cluster") == 0 && !doctor_is_cluster(node);
}

/* ---- what a vote is worth ---- */

unsigned doctor_replicas_wanted(const struct doctor *doctor, const struct doctor_node *node)
{
	return doctor->report.node[node - doctor->node].status.replicas;
}

DOCTOR_LOOK_AT(doctor_has_too_few_replicas)
{
	UNUSED;
	unsigned wanted = doctor_replicas_wanted(doctor, node);
	int64_t there = doctor_info_number(node, "connected_slaves");
	FIND("%lld of the %u replicas are connected", (long long)there, wanted);
	return there < (int64_t)wanted;
}

/* Says how much a crash of the server or its machine leaves of a vote. */
static const char *after_crash(const struct doctor_node *node)
{
	static const char *const texts[] = {
	    [DOCTOR_KEEPS_UNKNOWN] = "what a crash leaves of it is not seen",
	    [DOCTOR_KEEPS_NOTHING] = "a crash forgets it",
	    [DOCTOR_KEEPS_SNAPSHOTS] = "a crash forgets it, unless a snapshot has it",
	    [DOCTOR_KEEPS_UNSYNCED] = "a crash of the machine forgets those of half a minute",
	    [DOCTOR_KEEPS_SECOND] = "a crash of the machine forgets those of two seconds",
	    [DOCTOR_KEEPS_UNLESS_REWRITE] = "a crash of the machine may forget those of a rewrite",
	    [DOCTOR_KEEPS_ALL] = "a crash forgets nothing",
	};
	return texts[node->sees[DOCTOR_CONFIG] ? doctor_persistence(node) : DOCTOR_KEEPS_UNKNOWN];
}

DOCTOR_LOOK_AT(doctor_is_worth)
{
	UNUSED;
	unsigned wanted = doctor_replicas_wanted(doctor, node);
	int64_t there = doctor_info_number(node, "connected_slaves");
	bool fails_over = node->url.master[0] != '\0' || doctor_is_cluster(node);
	const char *failover = there == 0   ? "no replica can take over"
	                       : wanted > 0 ? "a replica that takes over may be one that did not acknowledge it"
	                                    : "a replica that takes over may lack it";
	char waits[64] = "";
	if (wanted > 0)
		snprintf(waits, sizeof waits, ", of which it waits for %u", wanted);
	FIND("%s; %lld replica%s%s: %s%s%s", after_crash(node), (long long)there, there == 1 ? "" : "s", waits,
	     failover, fails_over && there > 0 ? ", and does so by itself" : "",
	     there > 0 && !doctor_is_cluster(node) ? "; it gives no fencing token" : "");
	return true;
}

/* ---- which service or fork it is ---- */

/* By a field of INFO that the others do not have, or by what is in it. */
static const struct {
	const char *field, *begin, *name;
} services[] = {
    {"os", "Amazon ElastiCache", "Amazon ElastiCache"},
    {"os", "Amazon MemoryDB", "Amazon MemoryDB"},
    {"upstash_version", "", "Upstash"},
    {"dragonfly_version", "", "Dragonfly"},
    {"garnet_version", "", "Garnet"},
    {"mvcc_depth", "", "KeyDB"},
};

DOCTOR_LOOK_AT(doctor_is_service)
{
	UNUSED;
	char text[64];
	for (size_t i = 0; i < sizeof services / sizeof services[0]; i++)
		if (doctor_info(node, services[i].field, text, sizeof text) &&
		    strncmp(text, services[i].begin, strlen(services[i].begin)) == 0) {
			FIND("%s", services[i].name);
			return true;
		}
	return false;
}

/* ---- where the servers are ---- */

/* Whether a node of these numbers is on the host of node `i`. */
static bool is_shared(const struct doctor *doctor, unsigned i, unsigned first, unsigned end)
{
	for (unsigned k = first; k < end; k++)
		if (strcasecmp(doctor->node[k].url.host, doctor->node[i].url.host) == 0)
			return true;
	return false;
}

DOCTOR_LOOK_AT(doctor_shares_hosts)
{
	UNUSED;
	char *const text = found->detail;
	size_t size = sizeof found->detail;
	size_t used = 0;
	for (unsigned i = 0; i < doctor->nodes; i++) {
		if (doctor->node[i].local || is_shared(doctor, i, 0, i) ||
		    !is_shared(doctor, i, i + 1, doctor->nodes))
			continue;
		const char *before = used > 0 ? "; nodes " : "nodes ";
		for (unsigned k = i; k < doctor->nodes && used < size; k++)
			if (is_shared(doctor, i, k, k + 1)) {
				used += (size_t)snprintf(text + used, size - used, "%s%u", before, k + 1);
				before = ", ";
			}
		if (used < size)
			used += (size_t)snprintf(text + used, size - used, " are on %s", doctor->node[i].url.host);
	}
	return used > 0;
}

/* ---- versions ---- */

#define V(major, minor, patch) (1000000u * (major) + 1000u * (minor) + (patch))

/* The defects that were found with servers of these versions: docs/decisions/connections.md.
 */
static const struct {
	const char *family;
	unsigned from, below;
	bool old; /* too old */
	const char *text;
} defects[] = {
    {"Redis", 0, V(6, 2, 0), true,
     "is older than any server that redlock is for: users cannot be given the rights of `redlock help acl`"},
    {"Redis", V(7, 0, 0), V(7, 1, 0), false,
     "answers twice to a client that CLIENT UNBLOCK wakes from CLIENT PAUSE: redlock ends such a connection"},
    {"Redis", V(6, 2, 0), V(8, 1, 0), false,
     "crashes at CLIENT UNBLOCK ... TIMEOUT of a client that waits for the end of CLIENT PAUSE"},
    {"Valkey", V(8, 0, 0), V(9, 0, 0), false,
     "crashes at CLIENT UNBLOCK ... TIMEOUT of a client that waits for the end of CLIENT PAUSE"},
    {"Redis", V(7, 2, 0), V(8, 7, 0), false,
     "may leave an AUTH that it refuses without an answer: redlock waits for that, other clients may not"},
    {"Valkey", V(8, 0, 0), V(9, 0, 0), false,
     "may leave an AUTH that it refuses without an answer: redlock waits for that, other clients may not"},
};

static bool read_version(const struct doctor_node *node, const char **ret_family, char *text, size_t size,
                         unsigned *ret)
{
	unsigned major = 0, minor = 0, patch = 0;
	bool valkey = doctor_info(node, "valkey_version", text, size);
	*ret_family = valkey ? "Valkey" : "Redis";
	if (!valkey && !doctor_info(node, "redis_version", text, size))
		return false;
	if (sscanf(text, "%3u.%3u.%3u", &major, &minor, &patch) < 2)
		return false;
	*ret = V(major, minor, patch);
	return true;
}

const char *doctor_version(const struct doctor_node *node, char *buffer, size_t size)
{
	const char *family;
	unsigned version;
	char text[64];
	buffer[0] = '\0';
	if (read_version(node, &family, text, sizeof text, &version))
		snprintf(buffer, size, "%s %s", family, text);
	return buffer;
}

int64_t doctor_uptime_s(const struct doctor_node *node)
{
	enum { LONGEST_S = 2000000000 }; /* a server that says more is not believed */
	char text[32];
	if (!doctor_info(node, "uptime_in_seconds", text, sizeof text))
		return -1;
	int64_t uptime_s = doctor_info_number(node, "uptime_in_seconds");
	return uptime_s >= 0 && uptime_s <= LONGEST_S ? uptime_s : -1;
}

const char *doctor_defects(const struct doctor_node *node, bool old, char *buffer, size_t size)
{
	const char *family;
	unsigned version;
	char text[64];
	size_t used = 0;
	buffer[0] = '\0';
	if (!read_version(node, &family, text, sizeof text, &version))
		return buffer;
	for (size_t d = 0; d < sizeof defects / sizeof defects[0] && used < size; d++)
		if (defects[d].old == old && strcmp(defects[d].family, family) == 0 && version >= defects[d].from &&
		    version < defects[d].below)
			used += (size_t)snprintf(buffer + used, size - used, "%s%s", used > 0 ? "; it " : "",
			                         defects[d].text);
	return buffer;
}
