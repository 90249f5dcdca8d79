/* SPDX-License-Identifier: MIT */
#include "guard_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guard_record.h"
#include "safe_dir.h"

/* ---- where ---- */

/* Systemd gives several, divided by colons: the first one. */
static bool join(char path[PATH_MAX], const char *base, size_t size, const char *rest)
{
	if (base == NULL || base[0] != '/')
		return false;
	return snprintf(path, PATH_MAX, "%.*s%s", (int)size, base, rest) < PATH_MAX;
}

static bool find_path(char path[PATH_MAX])
{
	const char *given = getenv("STATE_DIRECTORY"), *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	if (given != NULL && *given)
		return join(path, given, strcspn(given, ":"), "/redlock");
	if (geteuid() == 0)
		return join(path, "/var/lib/redlock", PATH_MAX, "");
	if (state != NULL && *state)
		return join(path, state, PATH_MAX, "/redlock");
	const struct passwd *user = home == NULL || !*home ? getpwuid(geteuid()) : NULL;
	return join(path, user != NULL ? user->pw_dir : home, PATH_MAX, "/.local/state/redlock");
}

const char *guard_memory_path(char ret[PATH_MAX])
{
	if (!find_path(ret))
		snprintf(ret, PATH_MAX, "(none: HOME is not an absolute path)");
	return ret;
}

const char *guard_memory_problem(int error)
{
	return error == EPERM ? "it belongs to another user, or others can write to it" : strerror(error);
}

/* With all that is missing above it. */
static void make_dirs(char *path)
{
	for (char *at = strchr(path + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
		*at = '\0';
		(void)mkdir(path, 0700);
		*at = '/';
	}
	(void)mkdir(path, 0700);
}

/* -1 with an errno. A directory that others can write to says nothing. */
static int open_dir(bool make)
{
	char path[PATH_MAX];
	struct stat info;
	if (!find_path(path)) {
		errno = ENOENT;
		return -1;
	}
	if (make)
		make_dirs(path);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &info) < 0)
		return fd;
	if (info.st_uid == geteuid() && (info.st_mode & 022) == 0)
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

/* ---- which ---- */

char *guard_memory_members(const char *const *urls, size_t count)
{
	char names[REDLOCK_MAX_NODES][320];
	const char *members[REDLOCK_MAX_NODES];
	if (count > REDLOCK_MAX_NODES)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		if (!guard_record_member(urls[i], names[i], sizeof names[i]))
			return NULL;
		members[i] = names[i];
	}
	return guard_record_join(members, count);
}

/* FNV-1a, 64 bits: two lists that share a name share a file, which tells the last one. */
void guard_memory_fingerprint(const char *members, char ret[GUARD_MEMORY_ID])
{
	uint64_t hash = 14695981039346656037u;
	for (; *members; members++)
		hash = (hash ^ (unsigned char)*members) * 1099511628211u;
	snprintf(ret, GUARD_MEMORY_ID, "%016llx", (unsigned long long)hash);
}

static void name_of(const char *members, char ret[32])
{
	char fingerprint[GUARD_MEMORY_ID];
	guard_memory_fingerprint(members, fingerprint);
	snprintf(ret, 32, "guarded-%s", fingerprint);
}

/* ---- the file: the id of the set, its members, and its maximum TTL, which older files lack ---- */

static bool read_file(FILE *file, const char *members, char ret_id[GUARD_MEMORY_ID], uint64_t *ret_ttl_ms)
{
	char line[64];
	ret_id[0] = '\0';
	if (fgets(line, sizeof line, file) == NULL || strcspn(line, "\n") >= GUARD_MEMORY_ID)
		return true; /* damaged: something was there */
	line[strcspn(line, "\n")] = '\0';
	for (const char *at = members; *at; at++)
		if (fgetc(file) != (unsigned char)*at)
			return feof(file); /* another list */
	memcpy(ret_id, line, strlen(line) + 1);
	if (fgetc(file) == '\n' && fgets(line, sizeof line, file) != NULL)
		*ret_ttl_ms = strtoull(line, NULL, 10);
	return true;
}

bool guard_memory_find(const char *members, char ret_id[GUARD_MEMORY_ID], uint64_t *ret_ttl_ms)
{
	char name[32];
	int dir = open_dir(false);
	bool found = false;
	*ret_ttl_ms = 0;
	if (dir >= 0) {
		name_of(members, name);
		FILE *file = safe_file(dir, name, O_RDONLY | O_NONBLOCK);
		found = file != NULL && read_file(file, members, ret_id, ret_ttl_ms);
		if (file != NULL)
			fclose(file);
		close(dir);
	}
	return found;
}

/* Under its name it is there as a whole. */
static bool write_file(int dir, const char *name, const char *id, const char *members, uint64_t ttl_ms)
{
	char fresh[64];
	snprintf(fresh, sizeof fresh, "%s.%ld", name, (long)getpid());
	FILE *file = safe_file(dir, fresh, O_WRONLY | O_CREAT | O_TRUNC);
	if (file == NULL)
		return false;
	bool written = fprintf(file, "%s\n%s\n%llu\n", id, members, (unsigned long long)ttl_ms) > 0;
	written &= fflush(file) == 0 && fsync(fileno(file)) == 0;
	written &= fclose(file) == 0;
	written = written && renameat(dir, fresh, dir, name) == 0;
	int error = errno;
	if (!written)
		unlinkat(dir, fresh, 0);
	errno = error;
	return written;
}

bool guard_memory_keep(const char *members, const char *id, uint64_t ttl_ms)
{
	char name[32];
	int dir = open_dir(true), error = errno;
	bool kept = false;
	if (dir >= 0) {
		name_of(members, name);
		kept = write_file(dir, name, id, members, ttl_ms);
		error = errno;
		close(dir);
	}
	errno = error;
	return kept;
}

void guard_memory_drop(const char *members)
{
	char name[32];
	int dir = open_dir(false);
	if (dir >= 0) {
		name_of(members, name);
		unlinkat(dir, name, 0);
		close(dir);
	}
}
