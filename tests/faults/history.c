/* SPDX-License-Identifier: MIT */
/* The history that a client writes while it works. See history.h. */
#include "history.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int log_fd = -1;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

void history_open(const char *path)
{
	log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (log_fd < 0)
		die(path);
}

uint64_t history_now_ns(void)
{
	struct timespec now;
	if (clock_gettime(CLOCK_BOOTTIME, &now) != 0)
		die("clock_gettime");
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void history_line(uint64_t at_ns, const char *format, ...)
{
	char line[1024];
	va_list arguments;
	int length = snprintf(line, sizeof line, "%" PRIu64 " ", at_ns);
	va_start(arguments, format);
	length += vsnprintf(line + length, sizeof line - (size_t)length, format, arguments);
	va_end(arguments);
	if ((size_t)length >= sizeof line - 1)
		die("a line of the history is too long");
	line[length++] = '\n';
	if (write(log_fd, line, (size_t)length) != length)
		die("the history");
}
