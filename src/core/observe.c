/* SPDX-License-Identifier: MIT */
#include "core/observe.h"

#include <stddef.h>

#define WORDS(name, words, event) words,
#define EVENT(name, words, event) event,

const char *const rl_observe_words[RL_OBSERVE_COUNT] = {RL_OBSERVE_MAP(WORDS)};
const enum redlock_event_kind rl_observe_events[RL_OBSERVE_COUNT] = {RL_OBSERVE_MAP(EVENT)};
