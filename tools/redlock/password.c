/* SPDX-License-Identifier: MIT */
/* Where passwords come from. */
#include "password.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "message.h"
#include "signals.h"

enum { MAX_PASSWORD = 4096 };

bool password_load(const char *path, struct redlock_options *options)
{
	options->stop_fd = signals_fd();
	sigset_t mask = signals_permit();
	int error = redlock_options_set(options, "password-file", path);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return error == 0;
}

const char *password_problem(const struct redlock_options *options)
{
	static const char name[] = "password-file: ";
	const char *text = options->error_text;
	return strncmp(text, name, strlen(name)) == 0 ? text + strlen(name) : text;
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
	complain(MSG(ASKPASS_EMPTY));
	if (text != NULL)
		explicit_bzero(text, MAX_PASSWORD + 1);
	free(text);
	return NULL;
}

char *password_ask(void)
{
	int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (terminal < 0) {
		complain(MSG(ASKPASS));
		return NULL;
	}
	char *text = read_unseen(terminal);
	close(terminal);
	return text;
}
