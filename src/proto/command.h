/* SPDX-License-Identifier: MIT */
/* Commands as bytes: arrays of bulk strings. The contract is proved (spec/proof/contracts). */
#ifndef RL_PROTO_COMMAND_H
#define RL_PROTO_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/slice.h"
#include "proto/buffer.h"

/* Appends one command. False: out of memory, nothing appended. */
bool rl_command_write(struct rl_buffer *out, const struct rl_slice *words, unsigned count);

/* The words of a command that was written above, whole; `words` has room for them. Returns how many. */
unsigned rl_command_read(struct rl_slice bytes, struct rl_slice *words);

/* A word of a command, by its index: the command has more words. */
struct rl_slice rl_command_word(struct rl_slice bytes, unsigned index);

/* Appends the digits of a number; returns how many. */
/*@ requires \valid(at + (0 .. 19));
    assigns at[0 .. 19];
    ensures 1 <= \result <= 20 && \forall integer i; 0 <= i < \result ==> '0' <= at[i] <= '9'; */
size_t rl_command_digits(char *at, uint64_t number);

#endif
