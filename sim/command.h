/* SPDX-License-Identifier: MIT */
/* What a modelled server does with the bytes of one session: RESP in, commands executed, RESP out. */
#ifndef SIM_COMMAND_H
#define SIM_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"

struct world;

/* Executes the whole commands in the inbox of `conn`, at most `most`, and appends the answers to `out`. Stops
 * early when the session is killed. */
void command_run_session(struct world *w, uint32_t conn, unsigned most, struct buffer *out);

#endif
