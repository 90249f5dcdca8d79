/* SPDX-License-Identifier: MIT */
/* Comma lists of node URLs, as options, variables and files have them. */
#ifndef RL_CONFIG_URL_LIST_H
#define RL_CONFIG_URL_LIST_H

#include <stdbool.h>

/* Takes the next element, without the blanks around it, from a list that begins at `*list`. False: there is
 * none any more. `ret_url` is a copy, which the caller gives to rl_url_list_free(); NULL: out of memory. */
bool rl_url_list_next(const char **list, char **ret_url);

/* True when the two lists have a server in common: host and port, or socket, whatever user, password and
 * database are. For one list given twice: when it has one server twice. */
bool rl_url_list_repeats(const char *list, const char *other);

/* Wipes and frees. NULL is allowed. */
void rl_url_list_free(char *url);

#endif
