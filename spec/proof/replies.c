/* SPDX-License-Identifier: MIT */
/* For the proof of the contracts in resp.h and resp.c. hiredis reads the lengths of replies. */
#include <string.h>

#include "net/resp.h"

/* Instead of memcmp() and memcpy(): Frama-C's own contracts ask which bytes were written, of which WP knows
 * nothing. */
/*@ requires \valid_read(a + (0 .. size - 1)) && \valid_read(b + (0 .. size - 1));
    assigns \nothing;
    ensures \result == 0 <==> \forall integer i; 0 <= i < size ==> a[i] == b[i]; */
int compared(const char *a, const char *b, size_t size);

/*@ requires \valid_read(from + (0 .. size - 1)) && \valid(to + (0 .. size - 1));
    assigns to[0 .. size - 1]; */
char *copied(char *to, const char *from, size_t size);

#define memcmp compared
#define memcpy copied
#include "../../src/net/resp.c"
