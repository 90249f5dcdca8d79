/* SPDX-License-Identifier: MIT */
/* Reads locks of flock(2) from /proc. */
#include "flocks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { INFO_SIZE = 4096 };

/* "lock:	1: FLOCK  ADVISORY  WRITE 359 00:13:11691 0 EOF": a description has at most one of this kind. */
static bool parse(const char *info, struct flocks_lock *ret)
{
	char mode[8], file[40];
	long pid;
	const char *at = strstr(info, ": FLOCK ");
	if (at == NULL || sscanf(at, ": FLOCK %*s %7s %ld %39s", mode, &pid, file) != 3)
		return false;
	ret->locker = (pid_t)pid;
	snprintf(ret->what, sizeof ret->what, "%s %s", mode, file);
	return true;
}

static bool read_lock(int directory, const char *name, struct flocks_lock *ret)
{
	char info[INFO_SIZE];
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t length = read(fd, info, sizeof info - 1);
	close(fd);
	info[length > 0 ? length : 0] = '\0';
	return parse(info, ret);
}

bool flocks_read(int fd, struct flocks_lock *ret)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
	return read_lock(AT_FDCWD, path, ret);
}

pid_t flocks_locker(int fd, bool *ret_shared)
{
	struct flocks_lock lock;
	if (!flocks_read(fd, &lock))
		return 0;
	*ret_shared = strncmp(lock.what, "READ ", 5) == 0;
	return lock.locker;
}

static bool is_same(const struct flocks_lock *shown, const struct flocks_lock *lock)
{
	bool has_ended = shown->locker == 0 && kill(lock->locker, 0) < 0 && errno == ESRCH;
	return (shown->locker == lock->locker || has_ended) && strcmp(shown->what, lock->what) == 0;
}

bool flocks_has_copy(int proc, pid_t pid, const struct flocks_lock *lock)
{
	char path[64];
	snprintf(path, sizeof path, "%ld/fdinfo", (long)pid);
	int fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
	if (directory == NULL) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	bool found = false;
	struct flocks_lock shown;
	for (const struct dirent *entry; !found && (entry = readdir(directory)) != NULL;)
		found = entry->d_name[0] != '.' && read_lock(fd, entry->d_name, &shown) && is_same(&shown, lock);
	closedir(directory);
	return found;
}
