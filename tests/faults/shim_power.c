/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into a redis-server: remembers how much of each file was on the disk for certain. Each fsync(2)
 * of FILE writes FILE's size into FILE.synced. After a SIGKILL, cutting FILE to that size is what a power
 * loss would have left.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The size is taken before the call: what is written meanwhile may or may not be on the disk. */
static void remember(int fd, off_t size)
{
	char link[64], path[512], record[32];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t length = readlink(link, path, sizeof path - sizeof ".synced");
	if (length <= 0)
		return;
	memcpy(path + length, ".synced", sizeof ".synced");
	int out = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (out < 0)
		return;
	int width = snprintf(record, sizeof record, "%020lld\n", (long long)size);
	if (pwrite(out, record, (size_t)width, 0) != width)
		unlink(path); /* nothing is certain then */
	close(out);
}

static int sync_and_remember(int fd, long call)
{
	struct stat before;
	int known = fstat(fd, &before) == 0 && S_ISREG(before.st_mode);
	long result = syscall(call, fd);
	if (result == 0 && known)
		remember(fd, before.st_size);
	return (int)result;
}

int fsync(int fd)
{
	return sync_and_remember(fd, SYS_fsync);
}

int fdatasync(int fd)
{
	return sync_and_remember(fd, SYS_fdatasync);
}
