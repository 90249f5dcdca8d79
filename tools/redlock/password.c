/* SPDX-License-Identifier: MIT */
/* Where passwords come from. */
#include "password.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "message.h"
#include "signals.h"

enum { MAX_PASSWORD = 4096 };

/* Returns what is wrong with it, or NULL. */
static const char *check_text(char *text, size_t length)
{
	if (length > MAX_PASSWORD)
		return "longer than 4096 bytes: not a password";
	if (length > 0 && text[length - 1] == '\n')
		length--;
	if (length > 0 && text[length - 1] == '\r')
		length--;
	text[length] = '\0';
	if (length == 0)
		return "is empty";
	return memchr(text, '\0', length) != NULL ? "has a NUL byte in it" : NULL;
}

/* A FIFO may have no writer yet. A signal ends the wait for one. Returns NULL, or what is wrong. */
static const char *read_all(int fd, char *text, size_t *ret_length)
{
	size_t length = 0;
	ssize_t got;
	do {
		if (!signals_await_fd(fd, POLLIN, -1))
			return "a signal ended the wait for it";
		while ((got = read(fd, text + length, MAX_PASSWORD + 1 - length)) > 0)
			length += (size_t)got;
	} while (got < 0 && (errno == EAGAIN || errno == EINTR));
	*ret_length = length;
	return got < 0 ? strerror(errno) : NULL;
}

static char *read_text(int fd, const char **ret_problem)
{
	char *text = malloc(MAX_PASSWORD + 1);
	size_t length = 0;
	*ret_problem = "out of memory";
	if (text == NULL)
		return NULL;
	*ret_problem = read_all(fd, text, &length);
	if (*ret_problem == NULL)
		*ret_problem = check_text(text, length);
	if (*ret_problem == NULL)
		return text;
	explicit_bzero(text, MAX_PASSWORD + 1);
	free(text);
	return NULL;
}

char *password_load(const char *path, const char **ret_problem)
{
	/* Else a FIFO without a writer would keep this process here, whatever signal comes. */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) {
		*ret_problem = strerror(errno);
		return NULL;
	}
	char *text = read_text(fd, ret_problem);
	close(fd);
	return text;
}

char *password_read(const char *path, const char *where)
{
	const char *problem;
	char *text = password_load(path, &problem);
	if (text == NULL)
		complain("%s%s%s: %s", where, *where == '-' ? " " : ": ", path, problem);
	return text;
}

/* Echo is off only as long as this takes; a signal ends the read, not the program. */
static char *read_unseen(int terminal)
{
	struct termios shown, unseen;
	char *text = malloc(MAX_PASSWORD + 1);
	ssize_t length = -1;
	if (text != NULL && tcgetattr(terminal, &shown) == 0) {
		unseen = shown;
		unseen.c_lflag &= ~(tcflag_t)ECHO;
		(void)tcsetattr(terminal, TCSAFLUSH, &unseen);
		(void)dprintf(terminal, "Password: ");
		length = read(terminal, text, MAX_PASSWORD);
		(void)tcsetattr(terminal, TCSAFLUSH, &shown);
		(void)dprintf(terminal, "\n");
	}
	if (text != NULL && length > 1 && text[length - 1] == '\n') {
		text[length - 1] = '\0';
		return text;
	}
	complain("--askpass: no password was given");
	if (text != NULL)
		explicit_bzero(text, MAX_PASSWORD + 1);
	free(text);
	return NULL;
}

char *password_ask(void)
{
	int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (terminal < 0) {
		complain("--askpass: there is no terminal; give --password-file");
		return NULL;
	}
	char *text = read_unseen(terminal);
	close(terminal);
	return text;
}

char *password_of_environment(void)
{
	static const char *const names[] = {"REDLOCK_AUTH", "REDISCLI_AUTH", "VALKEYCLI_AUTH"};
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		const char *value = getenv(names[i]);
		if (value != NULL && *value)
			return strdup(value);
	}
	return NULL;
}
