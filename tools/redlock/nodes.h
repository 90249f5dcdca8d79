/* SPDX-License-Identifier: MIT */
/* Which nodes: what the settings say, with `local` expanded. */
#ifndef REDLOCK_TOOL_NODES_H
#define REDLOCK_TOOL_NODES_H

#include "options.h"

/* Appends the URLs of the nodes to `ret` (text_list_free() it, also after an error). Returns an exit code;
 * unless it is EXIT_OK, what is wrong was said on stderr. */
int nodes_find(const struct settings *settings, struct text_list *ret);

/* As nodes_find(), but as written, with `local` as a word and without hints. */
int nodes_list(const struct settings *settings, struct text_list *ret);

/* Whether these are the nodes of the local cluster, by its word. */
bool nodes_are_local(const struct settings *settings);

/* Where the node with this index is named: a file and its line, a variable or an option. NULL: unknown. */
const char *nodes_source(const struct settings *settings, unsigned node);

/* The user that all nodes are logged in as: that of their URLs, else `user`, else the default user. "": not
 * the same one everywhere, or not readable as it is. */
void nodes_user(const struct text_list *urls, const char *user, char *buffer, size_t size);

/* Whether one of the URLs names a user. */
bool nodes_have_user(const struct text_list *urls);

#endif
