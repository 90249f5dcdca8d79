/* SPDX-License-Identifier: MIT */
/*
 * `redlock run --reentrant`: a run under one that holds the names. Its command is simply executed: the run
 * above renews the lock, stops what it has started, this included, when the lock ends, and gives it back.
 */
#ifndef REDLOCK_TOOL_RUN_REENTER_H
#define REDLOCK_TOOL_RUN_REENTER_H

#include "run.h"

/* Executes the command if a run above this process holds all of the names, by what the nodes say; then it
 * does not return. True: no run above has them, and they are to be acquired. False: `ret_code` is the exit
 * code, and what is wrong was said: the lock above is lost, or nobody knows. */
bool reenter(const struct settings *settings, const struct run_order *order, int *ret_code);

#endif
