/* SPDX-License-Identifier: MIT */
/* Interventions are logged: another person has to find out who ended a lock. */
#include "audit.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>
#include <unistd.h>

#include "printable.h"
#include "syslog_line.h"

/* "root (uid 0) for alice", where alice used sudo(8). */
static void write_user(char *text, size_t size)
{
	const struct passwd *entry = getpwuid(getuid());
	const char *behalf = getenv("SUDO_USER");
	snprintf(text, size, "%s (uid %u)%s%s", entry != NULL ? entry->pw_name : "?", (unsigned)getuid(),
	         behalf != NULL && *behalf ? " for " : "", behalf != NULL ? behalf : "");
}

void audit(const char *text, const char *reason)
{
	enum { LINE = 2048 };
	char user[512], line[LINE], shown[LINE];
	write_user(user, sizeof user);
	snprintf(line, sizeof line, "%s, by user %s%s%s", text, user, reason != NULL ? ", reason: " : "",
	         reason != NULL ? reason : "");
	syslog_line(LOG_NOTICE, "redlock", NULL, harmless(line, shown, sizeof shown));
}
