/* SPDX-License-Identifier: MIT */
#include "reenter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../exit_codes.h"
#include "../message.h"
#include "../outcome.h"
#include "../printable.h"
#include "../report.h"
#include "../secret.h"
#include "../signals.h"
#include "above.h"

/* A token that was inherited by a process that no run above this one could stop, as through a queue or ssh,
 * does not prove that the lock stays. */
static bool is_below_all(const struct settings *settings, const char *name)
{
	struct runs_entry run;
	bool all = above_find(settings, name, &run) && run.stops;
	for (size_t i = 0; all && i < settings->also.count; i++)
		all = above_find(settings, settings->also.items[i], &run) && run.stops;
	return all;
}

/* Refuses if the run above holds something else of that name. */
static bool fits(const struct settings *settings, const struct runs_entry *run, const char *shown)
{
	bool serves = above_serves(run, settings);
	bool fenced = run->nearest && getenv("REDLOCK_FENCE") != NULL; /* each run sets its own, or none */
	bool numbered = !settings->fence || fenced;
	if (!serves && run->slot > 0)
		say(settings, MSG(REENTER_SLOT), run->slot, shown);
	else if (!serves && run->kind == RUNS_SHARED)
		say(settings, MSG(REENTER_SHARED), shown);
	else if (!serves && runs_kind_of(settings) == RUNS_SAFE)
		say(settings, MSG(REENTER_SAFE), shown);
	else if (!serves)
		say(settings, MSG(REENTER_SETNX), shown, run->kind == RUNS_SETNX ? "with" : "without");
	else if (!numbered && run->nearest)
		say(settings, MSG(REENTER_FENCE), shown);
	else if (!numbered)
		say(settings, MSG(REENTER_NUMBER), shown);
	return serves && numbered;
}

/* Why it is not, or is not known, to be held. Returns the exit code. */
static int tell(struct session *session, redlock_lock *lock, const char *name, const char *shown, int result)
{
	const struct settings *settings = session->settings;
	struct report report;
	if (result == REDLOCK_E_GONE)
		say(settings, MSG(REENTER_GONE), shown);
	else
		say(settings, MSG(REENTER_UNKNOWN), shown, redlock_strerror(result));
	if (lock == NULL)
		return result == REDLOCK_E_GONE ? EXIT_LOST : outcome_of_error(result);
	report_collect(&report, "run", name, result, session, lock);
	if (settings->verbose)
		report_votes(&report);
	if (result == REDLOCK_E_NOQUORUM)
		report_failure(&report, settings);
	return result == REDLOCK_E_GONE ? EXIT_LOST : report.outcome.code;
}

/* Whether a quorum of nodes has the token of the run above under the name: an exit code, LOST if not. */
static int ask(struct session *session, const char *name)
{
	const struct settings *settings = session->settings;
	char shown[PRINTABLE_MAX];
	struct runs_entry run;
	redlock_lock *lock = NULL;
	printable(name, strlen(name), shown, sizeof shown);
	bool above = above_find(settings, name, &run);
	if (above && !fits(settings, &run, shown))
		return EXIT_USAGE;
	int result = above ? above_question(session, &run, name, &lock) : REDLOCK_E_GONE;
	if (above && result == 0)
		result = session_run(session, lock, REDLOCK_OP_QUERY);
	int code = EXIT_OK;
	if (result == REDLOCK_E_CANCELLED && signals_caught())
		code = EXIT_SIGNAL + signals_caught();
	else if (result != 0)
		code = tell(session, lock, name, shown, result);
	redlock_lock_free(lock);
	return code;
}

static int ask_all(const struct settings *settings, const char *name)
{
	struct session session;
	int code = session_open(&session, settings);
	if (code == EXIT_OK)
		code = ask(&session, name);
	for (size_t i = 0; code == EXIT_OK && i < settings->also.count; i++)
		code = ask(&session, settings->also.items[i]);
	session_close(&session);
	return code;
}

static void nothing(int number)
{
	(void)number;
}

/* As a run ignores them before its command runs. By a handler: that is gone with exec, and nobody else's. */
static void outlive_user_signals(void)
{
	const struct sigaction action = {.sa_handler = nothing, .sa_flags = SA_RESTART};
	static const int numbers[] = {SIGUSR1, SIGUSR2};
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		if (!signal_is_ignored(numbers[i]))
			(void)sigaction(numbers[i], &action, NULL);
}

/* Waits until the child has closed its end, by its own. It is told of a signal that ends this process. */
static void await_end(pid_t child, int closed_fd)
{
	struct pollfd watched[2] = {{.fd = closed_fd}, {.fd = signals_fd(), .events = POLLIN}};
	while (watched[0].revents == 0) {
		if (signals_caught() && watched[1].fd >= 0) {
			(void)kill(child, signals_caught());
			watched[1].fd = -1; /* once is enough */
		}
		if (poll(watched, 2, -1) < 0 && errno != EINTR)
			break;
	}
}

static int cannot_ask(const char *why)
{
	complain(MSG(REENTER_NODES), why);
	return EXIT_INTERNAL;
}

/* By a child: what opens a session wipes passwords out of the environment, which is the command's. */
static int ask_in_child(const struct settings *settings, const char *name)
{
	int status, ends[2];
	outlive_user_signals();
	if (pipe2(ends, O_CLOEXEC) < 0)
		return cannot_ask(strerror(errno));
	const pid_t pid = fork();
	if (pid == 0) /* with a pipe of its own: what wakes the parent would wake it without end */
		_exit(signals_catch() < 0 ? EXIT_INTERNAL : ask_all(settings, name));
	int error = errno;
	close(ends[1]);
	if (pid > 0)
		await_end(pid, ends[0]);
	close(ends[0]);
	if (pid < 0)
		return cannot_ask(strerror(error));
	if (waitpid(pid, &status, 0) < 0)
		return cannot_ask(strerror(errno));
	if (!WIFEXITED(status))
		return cannot_ask("the process that asks them was killed");
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
	int error = errno;
	complain(MSG(EXECUTE), printable(order->argv[0], strlen(order->argv[0]), shown, sizeof shown),
	         strerror(error));
	*ret_code = error == ENOENT ? order->not_found_code : order->cannot_execute_code;
	return false;
}
