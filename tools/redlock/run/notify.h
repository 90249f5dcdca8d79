/* SPDX-License-Identifier: MIT */
/*
 * Tells systemd what the service is doing: one datagram to $NOTIFY_SOCKET, as sd_notify(3) specifies it.
 * Does not link libsystemd, because that would load it and its dependencies at every start of redlock.
 */
#ifndef REDLOCK_TOOL_RUN_NOTIFY_H
#define REDLOCK_TOOL_RUN_NOTIFY_H

/* Sends `state` ("READY=1", "STOPPING=1" or "") and a STATUS= line. Does nothing without $NOTIFY_SOCKET, and
 * ignores errors. */
void notify_status(const char *state, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
