/* SPDX-License-Identifier: MIT */
/*
 * Tells systemd what the service is doing: one datagram to $NOTIFY_SOCKET, as sd_notify(3) specifies it.
 * libsystemd is not linked: it and what it needs would be loaded at every start of the command.
 */
#ifndef REDLOCK_TOOL_RUN_NOTIFY_H
#define REDLOCK_TOOL_RUN_NOTIFY_H

/* Sends `state`, "READY=1" or "", and a line of status. Nothing happens when nobody listens. */
void notify_status(const char *state, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
