/* SPDX-License-Identifier: MIT */
#include "syslog_line.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

void syslog_line(int priority, const char *program, const char *identifier, const char *text)
{
	enum { LONGEST = 2048 }; /* as long as daemons read */
	static const struct sockaddr_un daemon = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
	char line[LONGEST], stamp[32] = "";
	time_t now = time(NULL);
	struct tm local;
	if (localtime_r(&now, &local) != NULL)
		strftime(stamp, sizeof stamp, "%b %e %T", &local); /* English: this program sets no locale */
	int length =
	    snprintf(line, sizeof line, "<%d>%s %s[%ld]: %s%s%s", LOG_USER | priority, stamp, program,
	             (long)getpid(), identifier != NULL ? identifier : "", identifier != NULL ? ": " : "", text);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	size_t size = (size_t)length < sizeof line ? (size_t)length : sizeof line - 1;
	(void)sendto(fd, line, size, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&daemon,
	             sizeof daemon);
	close(fd);
}
