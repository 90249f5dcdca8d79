/* SPDX-License-Identifier: MIT */
/* Directories that no other user can read, write, move or replace. */
#include "safe_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "message.h"

enum { DIR_FLAGS = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, OTHERS = 077, OTHERS_WRITE = 022 };

/* Root, or the owner of "/" where a user namespace hides root. */
static bool is_system(uid_t user)
{
	struct stat top;
	return user == 0 || (stat("/", &top) == 0 && user == top.st_uid);
}

static const char set_another[] = "; set XDG_RUNTIME_DIR or TMPDIR to a directory of yours";

/* The reason why a directory is not safe, with its errno, or NULL. On the way to ours the sticky bit is
 * enough: others make entries of their own there, and cannot touch ours. */
static const char *problem_of(int fd, bool own)
{
	struct stat info;
	if (fd < 0 || fstat(fd, &info) < 0)
		return strerror(errno);
	errno = EPERM;
	if (info.st_uid != getuid() && (own || !is_system(info.st_uid)))
		return "belongs to another user";
	if ((info.st_mode & OTHERS_WRITE) && (own || !(info.st_mode & S_ISVTX)))
		return "can be written to by other users";
	return NULL;
}

static int open_part(int at, const char *name, size_t length)
{
	char part[NAME_MAX + 1];
	snprintf(part, sizeof part, "%.*s", (int)length, name);
	int fd = openat(at, part, DIR_FLAGS);
	int error = errno;
	close(at);
	errno = error;
	return fd;
}

int safe_dir_open(const char *path, bool own, char ret_real[PATH_MAX])
{
	const char *rest = ret_real + 1;
	if (realpath(path, ret_real) == NULL) {
		int error = errno;
		complain(MSG(DIR), (int)strlen(path), path, strerror(error), "");
		errno = error;
		return -1;
	}
	/* From "/" down. A real name has no links; what is one by now was put there in this moment. */
	int fd = open("/", DIR_FLAGS);
	const char *problem;
	while ((problem = problem_of(fd, own && !*rest)) == NULL && fd >= 0 && *rest) {
		size_t length = strcspn(rest, "/");
		fd = open_part(fd, rest, length);
		rest += length + strspn(rest + length, "/");
	}
	if (problem == NULL)
		return fd;
	int error = errno;
	while (rest > ret_real + 1 && rest[-1] == '/')
		rest--;
	complain(MSG(DIR), (int)(rest - ret_real), ret_real, problem, error == EPERM ? set_another : "");
	if (fd >= 0)
		close(fd);
	errno = error;
	return -1;
}

int safe_dir_private(int at, const char *name, const char *path)
{
	int fd = openat(at, name, DIR_FLAGS);
	const char *problem = NULL, *advice = "";
	if (fd < 0 && errno == ENOENT)
		return -1;
	struct stat info;
	int error = EPERM;
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		problem = "is not a directory; remove it";
	else if (fd < 0 || fstat(fd, &info) < 0)
		problem = strerror(error = errno);
	else if (info.st_uid != getuid()) {
		problem = "belongs to another user";
		advice = set_another;
	} else if (info.st_mode & OTHERS)
		problem = "is open to other users; check its contents, then chmod 700 it";
	if (problem == NULL)
		return fd;
	complain(MSG(DIR), (int)strlen(path), path, problem, advice);
	if (fd >= 0)
		close(fd);
	errno = error;
	return -1;
}

FILE *safe_file(int at, const char *name, int flags)
{
	int fd = openat(at, name, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
	FILE *file = fd >= 0 ? fdopen(fd, (flags & O_ACCMODE) == O_RDONLY ? "r" : "w") : NULL;
	if (fd >= 0 && file == NULL)
		close(fd);
	return file;
}
