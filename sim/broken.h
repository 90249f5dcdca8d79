/* SPDX-License-Identifier: MIT */
/* The negative controls that break a rule of the scripts: by other text in them. */
#ifndef SIM_BROKEN_H
#define SIM_BROKEN_H

#include "plan.h"
#include "redis.h"

/* NULL: the scripts stay as they are. */
const struct script_edit *broken_scripts(enum sim_break broken);

#endif
