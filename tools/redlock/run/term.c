/* SPDX-License-Identifier: MIT */
#include "term.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../clock.h"
#include "../exit_codes.h"
#include "../message.h"
#include "family.h"
#include "hook.h"

#define TERM_PROCESS "redlock-term" /* its name, as /proc shows it */

enum { LOOK_AGAIN_MS = 5 };

static int run_hook(const struct term *term, const sigset_t *mask, const char *line, const char *event,
                    bool breaks)
{
	const struct hook hook = {
	    .line = line, .event = event, .limit_ms = term->hook_ms, .mask = mask, .breaks = breaks};
	char why[32];
	int code = hook_run(&hook);
	if (code != 0 && code != HOOK_BROKEN)
		complain(MSG(HOOK), event, hook_why(code, why, sizeof why));
	return code;
}

static bool is_someone_left(void)
{
	pid_t pid;
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		;
	return !(pid < 0 && errno == ECHILD);
}

/* Processes that --on-gain has left running end with the term: TERM, then KILL. */
static void stop_rest(const struct term *term, int proc)
{
	static const int ask[] = {SIGTERM, SIGCONT}, kill_now[] = {SIGKILL};
	uint64_t kill_ns = clock_ns() + term->hook_ms * 1000000;
	if (is_someone_left())
		(void)family_signal(proc, 0, ask, 2);
	while (is_someone_left()) {
		if (clock_ns() >= kill_ns)
			(void)family_signal(proc, 0, kill_now, 1);
		clock_sleep_ms(LOOK_AGAIN_MS);
	}
}

void term_hide(const struct term *term)
{
	atomic_store(&term->page->over, true);
	(void)unlink(term->path);
}

int term_run(const struct term *term, const sigset_t *mask)
{
	sigset_t ends;
	int proc = family_open(), number;
	hook_ends(&ends);
	(void)prctl(PR_SET_NAME, TERM_PROCESS);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	atomic_store(&term->page->begun, true);
	int code = run_hook(term, mask, term->on_gain, "gain", true);
	if (code == 0)
		(void)sigwait(&ends, &number);
	term_hide(term);
	atomic_store(&term->page->loss_begun, true);
	(void)run_hook(term, mask, term->on_loss, "loss", false);
	stop_rest(term, proc);
	return code == HOOK_BROKEN ? EXIT_OK : code < 0 ? EXIT_CANNOT_EXECUTE : code;
}
