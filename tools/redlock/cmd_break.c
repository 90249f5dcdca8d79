/* SPDX-License-Identifier: MIT */
/* redlock break NAME: ends a lock that its holder does not end, by the token that the nodes have shown. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer.h"
#include "audit.h"
#include "break_foreign.h"
#include "cmd.h"
#include "message.h"
#include "printable.h"
#include "side_key.h"
#include "signals.h"

static const struct option_spec break_specs[] = {
    {0, "holder", "TOKEN", OPTION_TEXT, offsetof(struct settings, holder), 1, 0,
     "end this holder alone: of a shared lock, or of a slot"},
    {0, "waiters", NULL, OPTION_FLAG, offsetof(struct settings, waiters), 0, 0,
     "clear the queue, and leave the lock as it is"},
    {0, "reason", "TEXT", OPTION_TEXT, offsetof(struct settings, reason), 1, 0, "for the line in syslog"},
    {'y', "yes", NULL, OPTION_FLAG, offsetof(struct settings, yes), 0, 0, "do not ask"},
};
static const struct option_group break_options = {"Break", break_specs,
                                                  sizeof break_specs / sizeof break_specs[0]};
static const struct option_group *const groups[] = {&break_options, &node_options, &output_options, NULL};

struct task {
	struct session *session;
	const struct settings *settings;
	const char *name;
	char shown[PRINTABLE_MAX]; /* the name */
	struct break_targets targets;
	unsigned deleted; /* keys, of holders or of the queue */
};

/* ---- asking ---- */

static bool may_ask(void)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

/* EXIT_OK: yes; EXIT_NO: no, or a signal came; EXIT_USAGE: there is no terminal to ask on. */
static int confirm(const struct settings *settings, const char *question)
{
	char answer[16] = "";
	if (settings->yes)
		return EXIT_OK;
	fflush(stdout);
	if (!may_ask()) {
		complain(MSG(BREAK_ASKS));
		return EXIT_USAGE;
	}
	fprintf(stderr, "%s [y/N] ", question);
	if (!signals_await_fd(STDIN_FILENO, POLLIN, -1) || fgets(answer, sizeof answer, stdin) == NULL)
		answer[0] = '\0';
	if (strcmp(answer, "y\n") == 0 || strcmp(answer, "yes\n") == 0)
		return EXIT_OK;
	if (!signals_caught())
		complain(MSG(BREAK_NO));
	return EXIT_NO;
}

/* ---- ending a holder ---- */

/* The label of a token, or that it has none: a log is no place for tokens. */
static const char *label_of(const struct break_target *target)
{
	const char *label = strchr(target->token, '|');
	return holder_made_here(target->token, strlen(target->token)) && label != NULL ? label + 1
	                                                                               : "a holder without label";
}

static unsigned count_deleted(const struct report *report)
{
	unsigned count = 0;
	for (unsigned i = 0; i < report->nodes; i++)
		count += report->node[i].vote.code == REDLOCK_VOTE_YES;
	return count;
}

/* ": node 1 unix:/run/a.sock, node 3 ...": the nodes whose key is gone. */
static const char *list_deleted(const struct report *report, char *text, size_t size)
{
	size_t used = 0;
	text[0] = '\0';
	for (unsigned i = 0; i < report->nodes && used < size; i++)
		if (report->node[i].vote.code == REDLOCK_VOTE_YES)
			used += (size_t)snprintf(text + used, size - used, "%s node %u %s", used > 0 ? "," : ":", i + 1,
			                         report->node[i].status.address);
	return text;
}

/* A log has what was done to a lock also where that was not enough to end it. */
static void log_holder(const struct task *task, const struct break_target *target,
                       const struct report *report, bool done)
{
	char text[2048], where[1024] = "", slot[32] = "";
	if (!done)
		list_deleted(report, where, sizeof where);
	if (target->slot > 0)
		snprintf(slot, sizeof slot, " slot %u", target->slot);
	snprintf(text, sizeof text, "%s lock '%s'%s of %s%s on %u of %u nodes%s", done ? "broke" : "did not end",
	         task->shown, slot, label_of(target), done ? "" : ": its key was deleted", count_deleted(report),
	         report->nodes, where);
	audit(text, task->settings->reason);
	say(task->settings, MSG(BROKE), text);
}

/* Nodes that were not told. The library decides with the votes of a quorum, and leaves open what the others
 * say: here they have been waited for. */
static void say_kept(const struct report *report, const struct settings *settings)
{
	for (unsigned i = 0; i < report->nodes; i++) {
		const struct node_report *node = &report->node[i];
		bool silent = node->vote.code == REDLOCK_VOTE_PENDING;
		if (!report_is_definite(node))
			say(settings, MSG(BREAK_KEPT), i + 1, node->status.address,
			    silent ? redlock_vote_text(REDLOCK_VOTE_TIMEOUT) : node->detail);
	}
}

/* The release that the holder itself would send, which also wakes a waiter. Returns an exit code. */
static int end_holder(struct task *task, const struct break_target *target, unsigned slots)
{
	struct settings settings = *task->settings;
	struct report report;
	redlock_lock *lock = NULL;
	settings.shared = target->shared;
	settings.slots = target->shared ? 0 : slots;
	settings.verbose = true; /* the answers of all nodes are waited for: which of them kept the key is told */
	task->session->settings = &settings;
	int code = session_lock_slot(task->session, task->name, target->token, target->slot, &lock);
	if (code == EXIT_OK) {
		int result = session_run(task->session, lock, REDLOCK_OP_RELEASE);
		session_drain(task->session, lock);
		report_collect(&report, "break", task->name, result, task->session, lock);
		unsigned deleted = count_deleted(&report);
		/* The library calls a leftover on a minority gone: its end was the aim. */
		bool done = result == 0 || (result == REDLOCK_E_GONE && deleted > 0);
		code = signals_caught() ? EXIT_SIGNAL + signals_caught() : done ? EXIT_OK : report.outcome.code;
		if (!done && !signals_caught())
			report_failure(&report, task->settings);
		if (deleted > 0)
			log_holder(task, target, &report, done);
		if (done)
			say_kept(&report, task->settings);
		if (report.outcome.code > EXIT_NO)
			session_warn_lingering(task->session, task->name);
		task->deleted += deleted;
		redlock_lock_leave(lock);
	}
	task->session->settings = task->settings;
	return code;
}

static int end_holders(struct task *task, unsigned slots)
{
	int code = EXIT_OK;
	for (size_t i = 0; i < task->targets.count && code < EXIT_SIGNAL; i++) {
		int its = end_holder(task, &task->targets.list[i], slots);
		code = code == EXIT_OK ? its : code;
	}
	if (task->deleted > 0)
		say(task->settings, MSG(BREAK_WARNS));
	return code;
}

/* Keys that no token ends, which the nodes do not let this user read or delete. */
static int foreign_refused(const struct task *task, struct break_foreign *foreign)
{
	report_conclude(&foreign->report, REDLOCK_E_NOQUORUM);
	report_failure(&foreign->report, task->settings);
	return foreign->report.outcome.code;
}

static int delete_foreign(struct task *task, struct break_foreign *foreign)
{
	unsigned deleted = break_foreign_delete(foreign, task->session);
	task->deleted += deleted;
	report_conclude(&foreign->report, 0);
	if (deleted < foreign->count && foreign->report.answered < foreign->report.quorum)
		return foreign_refused(task, foreign);
	return deleted > 0 || foreign->count == 0 ? EXIT_OK : EXIT_NO;
}

/* Why there is nothing that could be ended. Returns an exit code. */
static int refuse(const struct task *task, const struct status_picture *picture,
                  struct break_foreign *foreign)
{
	char words[STANDING_TEXT_MAX];
	if (picture->report.result != 0) {
		report_failure(&picture->report, task->settings);
		return picture->report.outcome.code;
	}
	if (task->targets.count > 0) {
		complain(MSG(BREAK_MANY), task->shown, task->targets.count);
		return EXIT_USAGE;
	}
	if (task->targets.is_foreign && task->settings->holder == NULL)
		return foreign_refused(task, foreign);
	if (task->settings->holder != NULL)
		say(task->settings, MSG(BREAK_OTHER_TOKEN), task->shown,
		    standing_words(&picture->standing, words, sizeof words));
	else
		say(task->settings, MSG(BREAK_FREE), task->shown);
	return EXIT_NO;
}

/* Shows all that is to be ended, asks, and ends it. */
static int end_all(struct task *task, struct status_picture *picture, struct break_foreign *foreign)
{
	bool is_held = task->targets.count > 0;
	if (!task->settings->yes) {
		status_print(picture);
		break_foreign_print(foreign);
	}
	int code = confirm(task->settings, is_held ? "End it? The holder may still be working."
	                                           : "Delete it? Its program may still need it.");
	if (code == EXIT_OK && is_held)
		code = end_holders(task, picture->slots.count > 1 ? picture->slots.count : 0);
	if (code == EXIT_OK)
		code = delete_foreign(task, foreign);
	return code;
}

/* With --holder that holder alone is ended. */
static bool find_all(struct task *task, struct status_picture *picture, struct break_foreign *ret)
{
	const char *holder = task->settings->holder;
	*ret = (struct break_foreign){0};
	return break_targets_find(&task->targets, picture, holder) &&
	       (holder != NULL || break_foreign_read(ret, &task->targets, task->session, task->name));
}

static int break_lock(struct task *task)
{
	struct status_picture picture;
	struct break_foreign foreign;
	int code = status_read(&picture, task->session, task->name);
	if (code != EXIT_OK)
		return code;
	picture.report.verb = "break";
	if (!find_all(task, &picture, &foreign)) {
		complain(MSG(NO_MEMORY));
		code = EXIT_INTERNAL;
	} else if (break_targets_need_choice(&task->targets) ||
	           (task->targets.count == 0 && (foreign.count == 0 || picture.report.result != 0))) {
		code = refuse(task, &picture, &foreign);
	} else {
		code = end_all(task, &picture, &foreign);
	}
	break_foreign_close(&foreign);
	status_end(&picture);
	free(task->targets.list);
	return signals_caught() ? EXIT_SIGNAL + signals_caught() : code;
}

/* ---- clearing a queue ---- */

enum { QUEUE, OFFERS, KEYS };

/* Deletes the queue and the offers on all nodes. Returns the number of nodes that answered. */
static unsigned delete_queues(struct task *task, redlock_asker *asker, char *const *keys,
                              struct report *report)
{
	struct redlock_question list[REDLOCK_MAX_NODES];
	const char *const del[] = {"DEL", keys[QUEUE], keys[OFFERS]};
	for (unsigned i = 0; i < report->nodes; i++)
		list[i] = (struct redlock_question){
		    .size = sizeof(struct redlock_question), .node = i, .argc = 1 + KEYS, .argv = del};
	(void)!redlock_ask(asker, list, report->nodes, task->session->node_timeout_ms);
	for (unsigned i = 0; i < report->nodes; i++) {
		const struct redlock_reply *r = list[i].reply;
		if (r == NULL || r->kind != REDLOCK_REPLY_INTEGER) {
			answer_refused(&report->node[i], &list[i]);
			continue;
		}
		report->node[i].vote.code = REDLOCK_VOTE_YES;
		task->deleted += r->integer > 0;
	}
	report_conclude(report, 0);
	if (report->answered < report->quorum)
		report_conclude(report, REDLOCK_E_NOQUORUM);
	return report->answered;
}

static void tell_cleared(const struct task *task, unsigned answered, unsigned nodes)
{
	char text[512];
	if (answered > 0 && task->deleted == 0)
		say(task->settings, MSG(BREAK_NO_QUEUE), task->shown, answered, nodes);
	if (task->deleted == 0)
		return;
	snprintf(text, sizeof text, "cleared the queue of lock '%s', which was on %u of %u nodes", task->shown,
	         task->deleted, nodes);
	audit(text, task->settings->reason);
	say(task->settings, MSG(BREAK_QUEUE), text);
}

static int clear_queue(struct task *task)
{
	char *queue = side_key_new(task->settings->prefix, task->name, "queue");
	char *offers = side_key_new(task->settings->prefix, task->name, "offers");
	char *const keys[KEYS] = {queue, offers};
	struct report report;
	redlock_asker *asker = NULL;
	int code = EXIT_INTERNAL;
	answer_begin(&report, "break", task->session->client);
	report.name = task->name;
	if (queue == NULL || offers == NULL || redlock_asker_open(task->session->client, &asker) < 0) {
		complain(MSG(NO_MEMORY));
	} else if ((code = confirm(task->settings, "Clear the queue? Clients that wait line up anew.")) ==
	           EXIT_OK) {
		unsigned answered = delete_queues(task, asker, keys, &report);
		if (report.result != 0)
			report_failure(&report, task->settings);
		tell_cleared(task, answered, report.nodes);
		code = report.result == 0 && task->deleted == 0 ? EXIT_NO : report.outcome.code;
	}
	redlock_asker_close(asker);
	free(queue);
	free(offers);
	return signals_caught() ? EXIT_SIGNAL + signals_caught() : code;
}

/* ---- the command ---- */

static void print_json(const struct task *task, int code)
{
	struct json json;
	json_init(&json, stdout);
	json_open(&json, NULL, '{');
	json_text(&json, "verb", "break");
	json_bytes(&json, "name", task->name, strlen(task->name));
	json_text(&json, "what", task->settings->waiters ? "waiters" : "holder");
	json_bool(&json, "done", code == EXIT_OK);
	json_number(&json, "deleted", task->deleted);
	json_close(&json, '}');
	json_end(&json);
}

static int run(const struct settings *given, int argc, char **argv)
{
	(void)argc;
	struct session session;
	struct settings settings = *given;
	struct task task = {.session = &session, .settings = &settings, .name = argv[0]};
	settings.wait_ms = 0; /* one attempt: records that nodes do not tell by then are not waited for */
	printable(task.name, strlen(task.name), task.shown, sizeof task.shown);
	if (settings.waiters && settings.holder != NULL) {
		complain(MSG(BREAK_OPTIONS));
		return EXIT_USAGE;
	}
	int code = session_open(&session, &settings);
	if (code == EXIT_OK) {
		code = settings.waiters ? clear_queue(&task) : break_lock(&task);
		if (settings.json && code < EXIT_SIGNAL)
			print_json(&task, code);
	}
	session_close(&session);
	return code;
}

const struct command cmd_break = {
    .name = "break",
    .arguments = "NAME",
    .summary = "end a lock that its holder does not end",
    .details =
        "Shows what `redlock status` shows, asks, and deletes the key on each node if it still has the token "
        "that was shown; a client that waits is told. The holder may still be working: `redlock run` learns "
        "it at its next renewal, and stops its command; the resource may be used by two until then. Of a "
        "shared lock, or of slots, --holder names the one to end. Without a terminal it needs --yes, and "
        "only shows. A line "
        "with the user, the lock and the --reason goes to syslog.\n"
        "Exit code 0: done; 1: nothing was there to end, or the answer was no.\n",
    .groups = groups,
    .looks = true,
    .takes_name = true,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
