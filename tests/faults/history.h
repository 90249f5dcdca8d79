/* SPDX-License-Identifier: MIT */
/*
 * The history that a client writes while it works: one line per event,
 *
 *     <CLOCK_BOOTTIME ns> <word> [key=value]...
 *
 * Each line is one write(2), so that a client that is killed leaves whole lines. README.md, section "A
 * history", explains the words.
 */
#pragma once

#include <stdint.h>

/* Appends to this file, which is made when it does not exist. Ends the process when that fails. */
void history_open(const char *path);

uint64_t history_now_ns(void);

/* Writes one line that happened at `at_ns`. `format` makes the words after the time. */
void history_line(uint64_t at_ns, const char *format, ...) __attribute__((format(printf, 2, 3)));
