/* SPDX-License-Identifier: MIT */
/*
 * Messages for people: on stderr, each one line that starts with "redlock: ", "rflock: " or the command's
 * name (with --json an object), with --syslog also to the system's log, and lines of stdout. A server, a file
 * or a command line may choose parts of them. No byte of these controls the terminal, and none begins another
 * line: all that is printed for people passes through here, all JSON through json.h.
 */
#ifndef REDLOCK_TOOL_MESSAGE_H
#define REDLOCK_TOOL_MESSAGE_H

#include "options.h"

/* Every message is a row of message_rows.h. say(settings, MSG(RENEWED), name): the row's identifier and
 * format, whose arguments the compiler checks. */
#define SECTION(name, title) SECTION_##name,
#define MESSAGE(id, text, step) MESSAGE_##id,
enum message_id {
#include "message_rows.h"
	MESSAGE_COUNT
};
#undef MESSAGE
#undef SECTION
#define SECTION(name, title)
#define MESSAGE(id, text, step) __attribute__((unused)) static const char FORMAT_##id[] = text;
#include "message_rows.h"
#undef MESSAGE
#undef SECTION
#define MSG(id) MESSAGE_##id, FORMAT_##id

/* No message waits longer than a second for a reader of stderr that has stopped, and a signal ends the wait.
 * The message is dropped then, and counted: the first message that is taken again tells how many were. */

/* Always printed: what is wrong with the command line or the machine. */
void complain(enum message_id id, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Printed unless -q. */
void say(const struct settings *settings, enum message_id id, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As say(), but dropped when stderr cannot take it at once: this process has a lock to renew meanwhile. */
void say_now(const struct settings *settings, enum message_id id, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* From now on messages are written as --json and --syslog of the settings ask. */
void messages_follow(const struct settings *settings);

/* The name that messages begin with from now on: "redlock" at first. Not copied. */
void messages_are_of(const char *name);

/* From now on all messages are dropped that stderr cannot take at once. */
void messages_never_wait(void);

/* Text of several lines on stderr, which nobody else has chosen: how a command is used. */
void put_usage(const char *text);

/* A line of the output, on stdout. */
void put_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
