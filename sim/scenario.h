/* SPDX-License-Identifier: MIT */
/* One seed from the first connection to the last check. */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

#include "check.h"
#include "cover.h"
#include "plan.h"

struct outcome {
	bool failed;
	uint64_t found[VIOLATION_COUNT];
	char first[540];
	char refused[PROOF_THEOREMS][480]; /* the first step that each theorem refuses */
	uint64_t trace_hash;
	uint64_t trace_lines;
};

/* Lives through a seed. `trace`: makes the trace, for its hash; `print`: and prints it. */
void scenario_run(uint64_t seed, enum sim_break broken, bool trace, bool print, struct cover *cover,
                  struct outcome *ret);

#endif
