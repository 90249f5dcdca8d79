/* SPDX-License-Identifier: MIT */
/*
 * Waiting in tests: poll a condition with a generous deadline, never sleep a fixed time and hope.
 * Points in time are CLOCK_BOOTTIME, as in the library.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How long a thing that must happen may take on a busy machine under valgrind. TTLs of locks whose keys must
 * go by a release are longer than this, so that an expiry is not taken for one. */
#define WAIT_SOON_MS 30000
#define WAIT_LONG_TTL_MS INT64_C(300000)

static inline uint64_t wait_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t wait_elapsed_ms(uint64_t since_ns)
{
	return (wait_now_ns() - since_ns) / 1000000u;
}

static inline void wait_ms(uint64_t ms)
{
	struct timespec left = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
	while (nanosleep(&left, &left) != 0) {
	}
}

/* Fails the cmocka test when `condition` does not become true within `limit_ms`. */
#define assert_within(limit_ms, condition)                                                                   \
	do {                                                                                                     \
		uint64_t start_ns_ = wait_now_ns();                                                                  \
		while (!(condition)) {                                                                               \
			if (wait_elapsed_ms(start_ns_) > (limit_ms))                                                     \
				fail_msg("not within %d ms: %s", (int)(limit_ms), #condition);                               \
			wait_ms(2);                                                                                      \
		}                                                                                                    \
	} while (0)

#define assert_soon(condition) assert_within(WAIT_SOON_MS, condition)

/* True when the program runs many times slower than it would alone: sanitizers and valgrind. Tests do fewer
 * rounds then, and do not judge memory. */
static inline bool wait_is_slow(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
	return true;
#endif
#endif
	const char *preload = getenv("LD_PRELOAD"); /* valgrind loads its own helpers into what it runs */
	return preload != NULL && strstr(preload, "vgpreload") != NULL;
}
