/* SPDX-License-Identifier: MIT */
/* The lines of all files of a configuration, for the sections that `quorums` names. */
#ifndef RL_CONFIG_CONFIG_H
#define RL_CONFIG_CONFIG_H

#include "config/lines.h"

const struct rl_lines *rl_config_lines(const redlock_config *config);
/* The section whose `quorums` names the section that was chosen; NULL: none. */
const char *rl_config_whole(const redlock_config *config);

#endif
