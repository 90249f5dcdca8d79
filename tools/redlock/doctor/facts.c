/* SPDX-License-Identifier: MIT */
/* Conclusions from what a server reports about itself: what it keeps, and the known defects of its version.
 */
#include <string.h>

#include "doctor.h"

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

/* ---- versions ---- */

#define V(major, minor, patch) ((major)*1000000u + (minor)*1000u + (patch))

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
