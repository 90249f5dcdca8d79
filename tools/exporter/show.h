/* SPDX-License-Identifier: MIT */
/* The answers of the program: a look, written as text. Bytes that others have chosen (names, labels, what
 * servers say) are made harmless for each form. */
#ifndef REDLOCK_EXPORTER_SHOW_H
#define REDLOCK_EXPORTER_SHOW_H

#include <stdio.h>

#include "watch.h"

/* /metrics: Prometheus' text format 0.0.4. */
void show_metrics(FILE *out, const struct look *look);

/* /locks.json: one object. */
void show_json(FILE *out, const struct look *look);

/* /: a page for people. */
void show_page(FILE *out, const struct look *look, const struct moment history[HISTORY_COUNT]);

#endif
