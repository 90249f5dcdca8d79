/* SPDX-License-Identifier: MIT */
/* Replaces a file in one step: a reader sees the former content or the new one, never a part. */
#ifndef REDLOCK_TOOL_REPLACE_FILE_H
#define REDLOCK_TOOL_REPLACE_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* Has `write` fill a new file beside `path`, mode 0644, and renames it. False, with errno: the path is as it
 * was, EINVAL for one that is no regular file, as /dev/null. */
bool replace_file(const char *path, bool (*write)(FILE *out, const void *content), const void *content);

#endif
