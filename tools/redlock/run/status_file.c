/* SPDX-License-Identifier: MIT */
#include "status_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../clock.h"
#include "../printable.h"
#include "../replace_file.h"
#include "family.h"

static const char *const states[] = {
    [NEWS_FOLLOWER] = "follower", [NEWS_LEADER] = "leader", [NEWS_STEPPING_DOWN] = "stepping-down"};

/* A name is one component of the path: `/` becomes %2F, and so does each byte that is not a plain one. */
bool status_file_path(const char *name, char path[PATH_MAX])
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:@+-";
	const char *given = getenv("RUNTIME_DIRECTORY"), *user = getenv("XDG_RUNTIME_DIR");
	const char *dir = given != NULL && *given ? given : user != NULL && *user ? user : "/run";
	size_t used = (size_t)snprintf(path, PATH_MAX, "%.*s/redlock-elect-", (int)strcspn(dir, ":"), dir);
	for (const unsigned char *at = (const unsigned char *)name; *at != '\0' && used + 4 < PATH_MAX; at++)
		used +=
		    (size_t)snprintf(path + used, PATH_MAX - used, strchr(plain, *at) != NULL ? "%c" : "%%%02X", *at);
	return used + 4 < PATH_MAX;
}

static int64_t wall_ms(uint64_t when_ns)
{
	return ((int64_t)when_ns + clock_ahead_ns()) / 1000000;
}

static bool write_status(FILE *out, const void *content)
{
	const struct elect_status *s = content;
	char name[PRINTABLE_MAX], leader[PRINTABLE_MAX];
	printable(s->name, strlen(s->name), name, sizeof name);
	printable(s->leader, strlen(s->leader), leader, sizeof leader);
	fprintf(out, "state=%s\nname=%s\nleader=%s\nsince_ms=%" PRIu64 "\nfence=%" PRIu64 "\n", states[s->state],
	        name, leader, s->since_ms, s->fence);
	fprintf(out, "valid_boot_ns=%" PRIu64 "\nvalid_wall_ms=%" PRId64 "\npid=%ld\n", s->valid_ns,
	        wall_ms(s->valid_ns), (long)getpid());
	return !ferror(out);
}

bool status_file_write(const char *path, const struct elect_status *status)
{
	return replace_file(path, write_status, status);
}

static void take_line(struct elect_status *status, int64_t *wall, const char *line)
{
	for (unsigned i = 0; i < sizeof states / sizeof states[0]; i++)
		if (strncmp(line, "state=", 6) == 0 && strcmp(line + 6, states[i]) == 0)
			status->state = (enum news_state)i;
	if (strncmp(line, "leader=", 7) == 0)
		snprintf(status->leader, sizeof status->leader, "%.*s", (int)sizeof status->leader - 1, line + 7);
	else if (strncmp(line, "since_ms=", 9) == 0)
		status->since_ms = strtoull(line + 9, NULL, 10);
	else if (strncmp(line, "fence=", 6) == 0)
		status->fence = strtoull(line + 6, NULL, 10);
	else if (strncmp(line, "pid=", 4) == 0)
		status->pid = strtol(line + 4, NULL, 10);
	else if (strncmp(line, "valid_boot_ns=", 14) == 0)
		status->valid_ns = strtoull(line + 14, NULL, 10);
	else if (strncmp(line, "valid_wall_ms=", 14) == 0)
		*wall = (int64_t)strtoll(line + 14, NULL, 10);
}

bool status_file_read(const char *path, struct elect_status *ret)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	FILE *in = fd >= 0 ? fdopen(fd, "r") : NULL;
	char line[NEWS_LEADER_MAX + 64];
	int64_t wall = 0;
	*ret = (struct elect_status){.state = NEWS_FOLLOWER};
	while (in != NULL && fgets(line, sizeof line, in) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		take_line(ret, &wall, line);
	}
	if (in != NULL)
		fclose(in);
	else if (fd >= 0)
		close(fd);
	uint64_t now_ns = clock_ns();
	return now_ns < ret->valid_ns && wall_ms(now_ns) < wall;
}

/* A process id may belong to another program by now, hence the comparison. */
long status_file_rival(const char *path)
{
	struct elect_status status;
	char own[32], other[32];
	if (!status_file_read(path, &status) || status.pid <= 0 || status.pid == getpid())
		return 0;
	bool is = family_name(getpid(), own, sizeof own) && family_name((pid_t)status.pid, other, sizeof other) &&
	          strcmp(own, other) == 0;
	return is ? status.pid : 0;
}
