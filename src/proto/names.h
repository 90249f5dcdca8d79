/* SPDX-License-Identifier: MIT */
/* A list of names: each as the bulk string that it is in a command, one after the other. */
#ifndef RL_PROTO_NAMES_H
#define RL_PROTO_NAMES_H

#include <stdbool.h>

#include "core/slice.h"
#include "proto/buffer.h"

/* Appends one, made of two parts. False: out of memory. */
bool rl_names_add(struct rl_buffer *list, struct rl_slice prefix, struct rl_slice name);

/* Takes the first one out of `list`. False: there is none. */
bool rl_names_next(struct rl_slice *list, struct rl_slice *ret_name);

#endif
