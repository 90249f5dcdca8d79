/* SPDX-License-Identifier: MIT */
/*
 * The file of `run --metrics-textfile`, for the textfile collector of node_exporter. The supervisor writes it
 * once, after the release: a disk that hangs cannot cost the lock. A failure is one message, and changes
 * nothing else.
 */
#ifndef REDLOCK_TOOL_RUN_METRICS_H
#define REDLOCK_TOOL_RUN_METRICS_H

#include "run.h"

/* Replaces the file, in one step. Series that this run says nothing about keep the value that the file has
 * for the same job and host: a run that found the lock busy changes the time of that alone. */
void metrics_write(const struct run *run, const char *path);

#endif
