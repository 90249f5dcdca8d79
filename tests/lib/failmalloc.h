/* SPDX-License-Identifier: MIT */
/*
 * malloc(3) that fails at the n-th call. Linked into a program it takes the place of the C library's for all
 * that the program calls, hiredis included, also under AddressSanitizer. Not under ThreadSanitizer or
 * valgrind, which have their own.
 */
#pragma once

#include <stdbool.h>

/* False where the allocator cannot be replaced: then the other calls do nothing. */
bool failmalloc_works(void);

/* From now on, count; and fail the n-th allocation (n from 1; 0: none), or the n-th and all later ones. */
void failmalloc_arm(unsigned long n, bool and_all_behind);

/* No further failures; the counting of what is freed goes on. */
void failmalloc_disarm(void);

/* Allocations of this thread are not counted, and do not fail, until it goes on. */
void failmalloc_pause(bool on);

/* Since failmalloc_arm(): how many allocations there were, how many failed, how many are not freed yet. */
unsigned long failmalloc_calls(void);
unsigned long failmalloc_failures(void);
long failmalloc_outstanding(void);
