/* SPDX-License-Identifier: MIT */
/*
 * A term of leadership: what the guard of `redlock elect` runs under the lock where `redlock run` has a
 * command. It runs --on-gain, waits for the signal that ends the term, and runs --on-loss. The guard sends
 * that signal before the lock ends, and kills all that is left in time (docs/run.md).
 */
#ifndef REDLOCK_TOOL_RUN_TERM_H
#define REDLOCK_TOOL_RUN_TERM_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Memory that the term shares with the elector, which outlives it. */
struct term_page {
	atomic_bool begun;      /* --on-gain was started */
	atomic_bool loss_begun; /* --on-loss was */
	atomic_bool over;       /* the status file must not say "leader" any more */
};

struct term {
	const char *on_gain, *on_loss; /* NULL: none */
	uint64_t hook_ms; /* for each line, and from TERM to KILL for processes that --on-gain has left running */
	struct term_page *page;
	const char *path; /* of the status file */
	int news; /* where the supervisor tells the elector (news.h); open as long as a process of the term lives
	           */
};

/* Before --on-loss, and before the lock is released: removes the status file. A killed elector could not, and
 * its file would be believed beside that of the next leader. */
void term_hide(const struct term *term);

/* Returns the exit code of the term: that of --on-gain, if it failed, else 0. */
int term_run(const struct term *term, const sigset_t *mask);

#endif
