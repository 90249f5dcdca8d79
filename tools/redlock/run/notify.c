/* SPDX-License-Identifier: MIT */
/* Tells systemd what the service is doing. */
#include "notify.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../printable.h"

static void notify(const char *path, const char *state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (!*path || strlen(path) >= sizeof address.sun_path)
		return;
	memcpy(address.sun_path, path, strlen(path));
	socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	if (path[0] == '@')
		address.sun_path[0] = '\0'; /* an abstract address */
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address, length);
	close(fd);
}

/* By itself, as its frame takes two pages. */
__attribute__((noinline, format(printf, 3, 0))) static void compose(const char *path, const char *state,
                                                                    const char *format, va_list arguments)
{
	char text[1024];
	vsnprintf(text, sizeof text, format, arguments);
	char shown[2 * sizeof text];
	char told[sizeof shown + 64];
	/* A line end in it would begin another assignment, as MAINPID=. */
	snprintf(told, sizeof told, "%s%sSTATUS=%s", state, *state ? "\n" : "",
	         harmless(text, shown, sizeof shown));
	notify(path, told);
}

void notify_status(const char *state, const char *format, ...)
{
	const char *path = getenv("NOTIFY_SOCKET");
	if (path == NULL)
		return;
	va_list arguments;
	va_start(arguments, format);
	compose(path, state, format, arguments);
	va_end(arguments);
}
