/* SPDX-License-Identifier: MIT */
/* The answers of the program: a look, written as text. Bytes that others have chosen (names, labels, what
 * servers say) are made harmless for each form. */
#ifndef REDLOCK_EXPORTER_SHOW_H
#define REDLOCK_EXPORTER_SHOW_H

#include <stdio.h>

#include "watch.h"

/* /metrics: Prometheus' text format 0.0.4. */
void show_metrics(FILE *out, const struct look *look, const struct list_view *list);

/* /locks.json: one object. A row of the list is as in `redlock ls --json`, without the holder's text. */
void show_json(FILE *out, const struct look *look, const struct list_view *list);

/* /: a page for people. */
void show_page(FILE *out, const struct look *look, const struct moment history[HISTORY_COUNT],
               const struct list_view *list);

/* Parts of the page: text of others, in which what is not seen becomes \xNN, and what HTML reads an entity;
 * and the table of all locks. */
void page_text(FILE *out, const char *text);
void page_list(FILE *out, const struct list_view *list);

#endif
