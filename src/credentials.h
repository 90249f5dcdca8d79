/* SPDX-License-Identifier: MIT */
/* User and password, of the options and new ones. */
#ifndef RL_CREDENTIALS_H
#define RL_CREDENTIALS_H

#include "net/url.h"

/* Gives the endpoint what its URL does not say. False: out of memory. */
bool rl_credentials_lend(struct rl_endpoint *endpoint, const char *user, const char *password);

#endif
