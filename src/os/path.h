/* SPDX-License-Identifier: MIT */
/* Checks of files before another library reads them. */
#ifndef RL_OS_PATH_H
#define RL_OS_PATH_H

#include <stdbool.h>

/* Why a path cannot be read as a file, or as a directory; NULL: it can. */
const char *rl_path_problem(const char *path, bool directory);

/* Whether a directory has a file under a hashed name, as openssl-rehash(1) makes them: HHHHHHHH.N */
bool rl_path_has_hashed_names(const char *path);

#endif
