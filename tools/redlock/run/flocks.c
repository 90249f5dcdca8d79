/* SPDX-License-Identifier: MIT */
/* Reads locks of flock(2) from /proc. */
#include "flocks.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { INFO_SIZE = 4096 };

/* "lock:	1: FLOCK  ADVISORY  WRITE 359 00:13:11691 0 EOF": a description has at most one of this kind. */
static pid_t parse(const char *info, bool *ret_shared)
{
	char mode[8];
	long pid;
	const char *at = strstr(info, ": FLOCK ");
	if (at == NULL || sscanf(at, ": FLOCK %*s %7s %ld", mode, &pid) != 2)
		return 0;
	*ret_shared = strcmp(mode, "READ") == 0;
	return (pid_t)pid;
}

static pid_t read_locker(int directory, const char *name, bool *ret_shared)
{
	char info[INFO_SIZE];
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t length = read(fd, info, sizeof info - 1);
	close(fd);
	info[length > 0 ? length : 0] = '\0';
	return parse(info, ret_shared);
}

pid_t flocks_locker(int fd, bool *ret_shared)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
	return read_locker(AT_FDCWD, path, ret_shared);
}

bool flocks_has_copy(int proc, pid_t pid, pid_t locker)
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
	bool found = false, shared;
	for (const struct dirent *entry; !found && (entry = readdir(directory)) != NULL;)
		found = entry->d_name[0] != '.' && read_locker(fd, entry->d_name, &shared) == locker;
	closedir(directory);
	return found;
}
