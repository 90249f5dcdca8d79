/* SPDX-License-Identifier: MIT */
/* Lines for the system's log. syslog(3) waits for a log daemon that has stopped; a process that renews a lock
 * must not, so this never does. */
#ifndef REDLOCK_TOOL_SYSLOG_LINE_H
#define REDLOCK_TOOL_SYSLOG_LINE_H

/* Sends "PROGRAM[PID]: IDENTIFIER: TEXT", without the identifier where it is NULL; `priority` as in
 * syslog(3). A line that the daemon does not take at once is lost. */
void syslog_line(int priority, const char *program, const char *identifier, const char *text);

#endif
