/* SPDX-License-Identifier: MIT */
#include "reenter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../exit_codes.h"
#include "../message.h"
#include "../outcome.h"
#include "../secret.h"
#include "../signals.h"
#include "../standing.h"
#include "family.h"

bool reenter_is_above(const char *name)
{
	const char *first = getenv("REDLOCK_NAME"), *also = getenv("REDLOCK_ALSO");
	if (first != NULL && strcmp(first, name) == 0)
		return true;
	const size_t size = strlen(name);
	while (also != NULL && *also != '\0') {
		const size_t line = strcspn(also, "\n");
		if (line == size && memcmp(also, name, size) == 0)
			return true;
		also += line + (also[line] == '\n');
	}
	return false;
}

/* What is inherited by a process that no run above this one could stop, as through a queue or ssh, is no
 * proof that the lock stays. */
static bool is_below_all(const struct settings *settings, const char *name)
{
	bool all = getenv("REDLOCK_TOKEN") != NULL && reenter_is_above(name);
	for (size_t i = 0; i < settings->also.count; i++)
		all = all && reenter_is_above(settings->also.items[i]);
	const int proc = all ? family_open() : -1;
	all = proc >= 0 && family_is_below(proc, GUARD_PROCESS);
	if (proc >= 0)
		close(proc);
	return all;
}

/* The run above holds something else of that name: what it is was said. */
static bool is_of_another_kind(const struct session *session, const struct standing *standing,
                               const char *shown)
{
	const char *slot = getenv("REDLOCK_SLOT");
	const bool shares = standing_count_sharing(standing, getenv("REDLOCK_TOKEN")) > 0;
	if (shares)
		say(session->settings,
		    "--reentrant: the run above this one shares '%s' with others; give --shared here too, or not "
		    "there",
		    shown);
	else if (slot != NULL)
		say(session->settings,
		    "--reentrant: the run above this one holds slot %s of '%s', not the name itself", slot, shown);
	return shares || slot != NULL;
}

/* Whether a quorum of nodes has the token under the name: an exit code, which is LOST if they do not. */
static int ask(struct session *session, const char *name)
{
	char shown[PRINTABLE_MAX];
	redlock_lock *lock;
	int code = session_lock(session, name, getenv("REDLOCK_TOKEN"), &lock);
	if (code != EXIT_OK)
		return code;
	const int result = session_run(session, lock, REDLOCK_OP_QUERY);
	struct standing standing;
	standing_read(&standing, session, lock);
	redlock_lock_free(lock);
	if (result == 0)
		return EXIT_OK;
	printable(name, strlen(name), shown, sizeof shown);
	if (result == REDLOCK_E_GONE && is_of_another_kind(session, &standing, shown))
		return EXIT_USAGE;
	if (result == REDLOCK_E_GONE)
		say(session->settings, "--reentrant: the run above this one does not hold '%s' any more", shown);
	else if (!signals_caught())
		say(session->settings, "--reentrant: whether the run above this one holds '%s' is unknown: %s", shown,
		    redlock_strerror(result));
	return result == REDLOCK_E_GONE ? EXIT_LOST : outcome_of_error(result);
}

static int ask_all(const struct settings *settings, const char *name)
{
	struct session session;
	struct settings plain = *settings;
	plain.fence = false; /* the token is that of the run above */
	int code = session_open(&session, &plain);
	if (code == EXIT_OK)
		code = ask(&session, name);
	for (size_t i = 0; code == EXIT_OK && i < settings->also.count; i++)
		code = ask(&session, settings->also.items[i]);
	session_close(&session);
	return code;
}

/* By a child: what opens a session wipes passwords out of the environment, which is the command's. */
static int ask_in_child(const struct settings *settings, const char *name)
{
	int status;
	const pid_t pid = fork();
	if (pid == 0)
		_exit(ask_all(settings, name));
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return EXIT_INTERNAL;
	return signals_caught() ? EXIT_SIGNAL + signals_caught() : WEXITSTATUS(status);
}

bool reenter(const struct settings *settings, const struct run_order *order, int *ret_code)
{
	char shown[PRINTABLE_MAX];
	if (!is_below_all(settings, order->name))
		return true;
	*ret_code = ask_in_child(settings, order->name);
	if (*ret_code != EXIT_OK)
		return false;
	secret_wipe_environment(true); /* as for any command */
	unsetenv("REDLOCK_AUTH");
	signals_restore();
	execvp(order->argv[0], order->argv);
	const int error = errno;
	complain("cannot execute '%s': %s",
	         printable(order->argv[0], strlen(order->argv[0]), shown, sizeof shown), strerror(error));
	*ret_code = error == ENOENT ? order->not_found_code : order->cannot_execute_code;
	return false;
}
