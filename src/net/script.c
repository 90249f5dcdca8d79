/* SPDX-License-Identifier: MIT */
#include "net/script.h"

#include "net/scripts_generated.h"

#define SCRIPT(name) RL_LUA_##name##_TEXT, sizeof RL_LUA_##name##_TEXT - 1, RL_LUA_##name##_SHA

const struct rl_script_text rl_scripts[RL_SCRIPT_COUNT] = {
    [RL_SCRIPT_RELEASE] = {SCRIPT(RELEASE)},
    [RL_SCRIPT_EXTEND] = {SCRIPT(EXTEND)},
    [RL_SCRIPT_INSPECT] = {SCRIPT(INSPECT)},
};
