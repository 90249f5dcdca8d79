/* SPDX-License-Identifier: MIT */
#include "scripts.h"

const struct rl_script_text rl_scripts[RL_SCRIPT_COUNT] = {
#define SCRIPT(NAME, file) {file, RL_LUA_##NAME##_TEXT, sizeof RL_LUA_##NAME##_TEXT - 1, RL_LUA_##NAME##_SHA},
    RL_LUA_MAP(SCRIPT)
#undef SCRIPT
};
