/* SPDX-License-Identifier: MIT */
#pragma once

/* Writes a line to syslog(3): the text, and which user of which host has asked for it, with what reason
 * (NULL: none). */
void audit(const char *text, const char *reason);
