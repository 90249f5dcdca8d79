/* SPDX-License-Identifier: MIT */
/* The end of a run as one JSON object. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../json.h"
#include "../message.h"
#include "../signals.h"
#include "run.h"

static int64_t since_ms(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (int64_t)((to_ns - from_ns) / 1000000) : 0;
}

/* The command's own end: its exit code or its signal. */
static void json_command(struct json *json, const struct run *run)
{
	bool executed = run->exited && !run->too_late && atomic_load(&run->guard.share->exec_error) == 0;
	int status = run->wait_status;
	json_number_or_null(json, "command_exit_code", executed && WIFEXITED(status), WEXITSTATUS(status));
	json_number_or_null(json, "command_signal", executed && WIFSIGNALED(status), WTERMSIG(status));
}

static void json_slot(struct json *json, const struct run *run)
{
	const char *number = run->guard.share->slot_variable + sizeof SHARE_SLOT_IS - 1;
	json_number(json, "slots", (int64_t)run->settings->slots);
	json_number_or_null(json, "slot", run->acquired_ns != 0, strtol(number, NULL, 10));
}

/* A reader that takes nothing must not keep this process from being ended. So much goes into a pipe that has
 * room. */
static bool write_whole(int fd, const char *text, size_t size)
{
	while (size > 0) {
		if (!signals_await_fd(fd, POLLOUT, -1))
			return false;
		ssize_t sent = write(fd, text, size < PIPE_BUF ? size : PIPE_BUF);
		if (sent < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		text += sent > 0 ? sent : 0;
		size -= sent > 0 ? (size_t)sent : 0;
	}
	return close(fd) == 0;
}

static void write_object(FILE *out, const struct run *run, const struct report *report)
{
	const char *token = share_token(run->guard.share);
	struct json json;
	json_init(&json, out);
	report_json_begin(report, &json);
	report_json_names(report, run->settings, &json);
	if (run->settings->once_per_ms > 0)
		json_bool(&json, "skipped", run->skipped);
	json_bool(&json, "acquired", run->acquired_ns != 0);
	json_number(&json, "exit_code", run->code);
	json_command(&json, run);
	if (run->acquired_ns != 0)
		json_text(&json, "token", token);
	else
		json_null(&json, "token");
	uint64_t fence = redlock_lock_fence(run->lock);
	json_number_or_null(&json, "fence", run->acquired_ns != 0 && fence != 0, (int64_t)fence);
	if (run->settings->slots > 0)
		json_slot(&json, run);
	json_number(&json, "ttl_ms", (int64_t)run->times.ttl_ms);
	wait_view_json(&run->waiting.view, &json);
	json_number(&json, "held_ms", run->acquired_ns ? since_ms(run->acquired_ns, run->ended_ns) : 0);
	report_json_end(report, &json);
}

void record_write(const struct run *run, const struct report *report)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (out != NULL)
		write_object(out, run, report);
	if (out == NULL || fclose(out) != 0 || !write_whole(run->order->report_fd, text, size))
		say(run->settings, MSG(REPORT), run->order->report_fd);
	free(text);
}
