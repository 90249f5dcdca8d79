/* SPDX-License-Identifier: MIT */
/* For LD_PRELOAD: the kernel has no memory for the message by which the guard is told to execute the command.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

enum { LINK_LAUNCH = 1, MESSAGE_SIZE = 8 }; /* tools/redlock/run/share.h */

ssize_t send(int fd, const void *bytes, size_t size, int flags)
{
	static ssize_t (*next)(int, const void *, size_t, int);
	int32_t kind = 0;

	if (size == MESSAGE_SIZE)
		memcpy(&kind, bytes, sizeof(kind));
	if (kind == LINK_LAUNCH) {
		errno = ENOBUFS;
		return -1;
	}
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "send");
	return next(fd, bytes, size, flags);
}
