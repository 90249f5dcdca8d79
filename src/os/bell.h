/* SPDX-License-Identifier: MIT */
/* A descriptor that is readable once it was rung, until it is silenced. See eventfd(2). */
#ifndef RL_OS_BELL_H
#define RL_OS_BELL_H

/* Returns a descriptor, or -1 with errno. It is closed with close(2), here rl_bell_close(). */
int rl_bell_open(void);
void rl_bell_close(int fd);

/* Returns a descriptor that is readable while one of these bells is rung and not silenced, or -1 with errno.
 * It is closed by rl_bell_close(), too. */
int rl_bell_join(const int *bells, unsigned count);

/* Any thread. -1 is allowed: nobody listens. */
void rl_bell_ring(int fd);
void rl_bell_silence(int fd);

#endif
