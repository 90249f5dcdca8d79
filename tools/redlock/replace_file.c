/* SPDX-License-Identifier: MIT */
#include "replace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool may_replace(const char *path)
{
	struct stat info;
	if (lstat(path, &info) < 0)
		return errno == ENOENT;
	errno = EINVAL;
	return S_ISREG(info.st_mode);
}

bool replace_file(const char *path, bool (*write)(FILE *out, const void *content), const void *content)
{
	char new[PATH_MAX];
	if (snprintf(new, sizeof new, "%s.XXXXXX", path) >= (int)sizeof new) {
		errno = ENAMETOOLONG;
		return false;
	}
	int fd = may_replace(path) ? mkostemp(new, O_CLOEXEC) : -1;
	FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
	bool written = out != NULL && write(out, content) && fflush(out) == 0 && fchmod(fd, 0644) == 0;
	written = out != NULL && fclose(out) == 0 && written && rename(new, path) == 0;
	int error = errno;
	if (!written && fd >= 0)
		(void)unlink(new);
	errno = error;
	return written;
}
