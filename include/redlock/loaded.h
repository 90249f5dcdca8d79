/* SPDX-License-Identifier: MIT */
/*
 * Whether the library that is loaded fits the header that a program was compiled with: bindings to other
 * languages ask when they are loaded. The function is inline and calls only what each version of the library
 * has, so that it also works with an older one. redlock.h does not include it.
 */
#ifndef REDLOCK_LOADED_H
#define REDLOCK_LOADED_H

#include <stdio.h>
#include <string.h>

#include "redlock.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Whether the library that is loaded fits the header that the binding was compiled with: the same version up
 * to the second point, and structs that are not smaller. Returns 0, or SYSTEM with a sentence that names both
 * versions and says what to do; 256 bytes suffice. Any thread.
 */
static inline int redlock_check_loaded(char *error_text, size_t error_text_size)
{
	const char *loaded = redlock_version(), *compiled = REDLOCK_VERSION;
	const size_t compared = (size_t)(strrchr(compiled, '.') - compiled) + 1;
	const int is_older =
	    redlock_constant("sizeof redlock_options") < sizeof(struct redlock_options) ||
	    redlock_constant("sizeof redlock_lock_options") < sizeof(struct redlock_lock_options) ||
	    redlock_constant("sizeof redlock_event") < sizeof(struct redlock_event) ||
	    redlock_constant("sizeof redlock_vote") < sizeof(struct redlock_vote);
	if (!is_older && strncmp(loaded, compiled, compared) == 0)
		return 0;
	snprintf(error_text, error_text_size,
	         "compiled for redlock %s, but %slibredlock %s is loaded: install that version, or compile again",
	         compiled, is_older ? "an older build of " : "", loaded);
	return REDLOCK_E_SYSTEM;
}

#ifdef __cplusplus
}
#endif

#endif
