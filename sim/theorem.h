/* SPDX-License-Identifier: MIT */
/* The C of all theorems (spec/proof/to_c.py) shares numbers, things that come and go, and words for a
 * refusal.
 */
#ifndef SIM_THEOREM_H
#define SIM_THEOREM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Times are counted in millionths of a nanosecond, so that a millionth of a time is a whole number. */
typedef int64_t real;
#define UNIT INT64_C(1000000)

/* Where there is no room for one more thing. */
#define THEOREM_FULL UINT32_MAX

/* Takes the first of `size` things that is not there, and counts it in; THEOREM_FULL. */
unsigned theorem_room(bool *is, unsigned size, unsigned *most);

/* How many things there are up to the last one, of `most`. */
unsigned theorem_last(const bool *is, unsigned most);

void theorem_refuse(char *why, size_t size, const char *rule);
void theorem_tell(char *why, size_t size, const char *term, int64_t value, bool is_time);

#define refuse(s, rule) theorem_refuse((s)->why, sizeof(s)->why, rule)
#define tell_Bool(s, term, value) theorem_tell((s)->why, sizeof(s)->why, term, value, false)
#define tell_Real(s, term, value) theorem_tell((s)->why, sizeof(s)->why, term, value, true)
#define tell_Int(s, term, value) theorem_tell((s)->why, sizeof(s)->why, term, value, false)
#define tell_thing(s, term, value) theorem_tell((s)->why, sizeof(s)->why, term, value, false)

#endif
