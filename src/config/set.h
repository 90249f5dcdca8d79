/* SPDX-License-Identifier: MIT */
/* Where the options of a client come from. */
#ifndef RL_CONFIG_SET_H
#define RL_CONFIG_SET_H

#include <redlock/redlock.h>

/* The file and line, or the variable, whose value an option has, by the name that `error_option` gives; valid
 * as long as the options. NULL: the configuration has no such option, or the options were not loaded. */
const char *rl_set_place(const struct redlock_options *options, const char *option);

#endif
