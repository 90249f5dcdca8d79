/* SPDX-License-Identifier: MIT */
/* Every exit code of the command, in one table: the code, the help text and the man page agree. */
#ifndef REDLOCK_TOOL_EXIT_CODES_H
#define REDLOCK_TOOL_EXIT_CODES_H

#include <errno.h>

/* X(name, code, sentence) */
#define EXIT_CODE_MAP(X)                                                                                     \
	X(OK, 0, "yes, done")                                                                                    \
	X(NO, 1,                                                                                                 \
	  "extend, release, check: not held by this token; last, elect --is-leader: no; doctor: warnings")       \
	X(ERRORS, 2, "doctor: errors")                                                                           \
	X(USAGE, 64, "usage: an unknown option, a value out of its range")                                       \
	X(NOQUORUM, 69, "fewer than a quorum of the nodes answered")                                             \
	X(BUSY, 75, "somebody else holds the lock (-E sets another code, but not for a key without expiry)")     \
	X(REFUSED, 76, "a server refuses: replica, cluster node, missing permission or command")                 \
	X(AUTH, 77, "a server refuses the user or password, or TLS fails")                                       \
	X(CONFIG, 78, "configuration: no nodes, a wrong URL or file, one server listed twice")                   \
	X(LOST, 79, "run: the lock was lost before the command had ended")                                       \
	X(MAX_HOLD, 124, "run: --max-hold was reached, the command was stopped")                                 \
	X(INTERNAL, 125, "redlock itself failed: memory, descriptors, output")                                   \
	X(CANNOT_EXECUTE, 126, "run: the command cannot be executed")                                            \
	X(NOT_FOUND, 127, "run: the command was not found")                                                      \
	X(SIGNAL, 128, "128+N: signal N ended it before it had finished; nothing is left locked")

enum exit_code {
#define EXIT_CODE_ENUM(name, code, text) EXIT_##name = (code),
	EXIT_CODE_MAP(EXIT_CODE_ENUM)
#undef EXIT_CODE_ENUM
};

/* For a file or directory of the configuration: a process without descriptors or memory finds nothing, which
 * does not make the configuration a wrong one. */
static inline int exit_code_of_errno(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM ? EXIT_INTERNAL : EXIT_CONFIG;
}

#endif
