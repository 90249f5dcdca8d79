/* SPDX-License-Identifier: MIT */
/* The series of a job, read from the textfile, changed, and written back. */
#include "metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../exit_codes.h"
#include "../host.h"
#include "../message.h"
#include "../printable.h"
#include "../replace_file.h"

/* X(NAME, name, help) */
#define METRIC_MAP(X)                                                                                        \
	X(START, "redlock_job_last_start_timestamp_seconds",                                                     \
	  "When the last run on this host began, by its clock.")                                                 \
	X(END, "redlock_job_last_end_timestamp_seconds", "When the command of the last run on this host ended.") \
	X(DURATION, "redlock_job_last_duration_seconds", "How long the last run on this host took.")             \
	X(WAIT, "redlock_job_last_wait_seconds", "How long the last run on this host waited for its lock.")      \
	X(CODE, "redlock_job_last_exit_code", "Exit code of the last run on this host; 79: its lock was lost.")  \
	X(LOST, "redlock_job_last_lost", "Whether the last run on this host lost its lock.")                     \
	X(SKIP, "redlock_job_last_skip_timestamp_seconds",                                                       \
	  "When --once-per skipped a run last: the job had run.")                                                \
	X(BUSY, "redlock_job_last_busy_timestamp_seconds", "When the lock was busy last: no run on this host.")  \
	X(FAILURE, "redlock_job_last_failure_timestamp_seconds",                                                 \
	  "When a run did not begin for another reason last: too few nodes, wrong configuration.")

enum metric {
#define METRIC_ENUM(id, name, help) METRIC_##id,
	METRIC_MAP(METRIC_ENUM)
#undef METRIC_ENUM
	    METRICS
};

static const struct {
	const char *name, *help;
} metrics[METRICS] = {
#define METRIC_ROW(id, name, help) {name, help},
    METRIC_MAP(METRIC_ROW)
#undef METRIC_ROW
};

struct series {
	char *labels; /* {job="nightly",host="web-1"} */
	bool known[METRICS];
	double value[METRICS];
};

/* ---- labels ---- */

/* The exposition format has three escapes. Bytes that are no printable UTF-8 are \xNN by then. */
static void put_label(FILE *out, const char *name, const char *text)
{
	size_t length = strlen(text), size = 4 * length + 4;
	char *shown = malloc(size);
	fprintf(out, "%s=\"", name);
	if (shown != NULL)
		printable(text, length, shown, size);
	for (const char *at = shown; at != NULL && *at != '\0'; at++) {
		if (*at == '"' || *at == '\\')
			putc('\\', out);
		putc(*at, out);
	}
	putc('"', out);
	free(shown);
}

static char *make_labels(const struct run *run)
{
	char host[HOST_NAME_MAX + 1], *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (out == NULL)
		return NULL;
	putc('{', out);
	put_label(out, "job", run->order->name);
	putc(',', out);
	put_label(out, "host", host_name(host, sizeof host));
	putc('}', out);
	return fclose(out) == 0 ? text : NULL;
}

/* ---- values ---- */

static void set(struct series *series, enum metric metric, double value)
{
	series->known[metric] = true;
	series->value[metric] = value;
}

static double seconds(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
}

/* A time of CLOCK_BOOTTIME by the wall clock of now: that may have been set since. */
static double wall_seconds(uint64_t when_ns)
{
	return (double)((int64_t)when_ns + clock_ahead_ns()) / 1e9;
}

static void set_all(struct series *series, const struct run *run)
{
	uint64_t end_ns = run->exited ? run->exited_ns : run->ended_ns;
	if (run->result == REDLOCK_E_CANCELLED)
		return; /* somebody ended the wait */
	if (run->acquired_ns == 0) {
		enum metric missed = run->skipped                    ? METRIC_SKIP
		                     : run->result == REDLOCK_E_BUSY ? METRIC_BUSY
		                                                     : METRIC_FAILURE;
		set(series, missed, wall_seconds(run->ended_ns));
		return;
	}
	set(series, METRIC_START, wall_seconds(run->acquired_ns));
	set(series, METRIC_END, wall_seconds(end_ns));
	set(series, METRIC_DURATION, seconds(run->acquired_ns, end_ns));
	set(series, METRIC_WAIT, seconds(run->waiting.view.begin_ns, run->acquired_ns));
	set(series, METRIC_CODE, run->code);
	set(series, METRIC_LOST, run->code == EXIT_LOST);
}

/* ---- the file ---- */

static void take_line(struct series *series, const char *line)
{
	size_t name = strcspn(line, "{ \n"), labels = strlen(series->labels);
	for (unsigned i = 0; i < METRICS; i++) {
		char *end;
		if (strlen(metrics[i].name) != name || memcmp(line, metrics[i].name, name) != 0 ||
		    strncmp(line + name, series->labels, labels) != 0 || line[name + labels] != ' ')
			continue;
		double value = strtod(line + name + labels, &end);
		if (*end == '\n')
			set(series, (enum metric)i, value);
	}
}

/* Reads the values of earlier runs. */
static void read_file(struct series *series, const char *path)
{
	struct stat info;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	FILE *in = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? fdopen(fd, "r") : NULL;
	char *line = NULL;
	size_t size = 0;
	while (in != NULL && getline(&line, &size, in) > 0)
		take_line(series, line);
	free(line);
	if (in != NULL)
		fclose(in);
	else if (fd >= 0)
		close(fd);
}

static bool write_series(FILE *out, const void *content)
{
	const struct series *series = content;
	for (unsigned i = 0; i < METRICS; i++)
		if (series->known[i])
			fprintf(out, "# HELP %s %s\n# TYPE %s gauge\n%s%s %.3f\n", metrics[i].name, metrics[i].help,
			        metrics[i].name, metrics[i].name, series->labels, series->value[i]);
	return !ferror(out);
}

void metrics_write(const struct run *run, const char *path)
{
	struct series series = {.labels = make_labels(run)};
	bool written = false;
	errno = ENOMEM;
	if (series.labels != NULL) {
		read_file(&series, path);
		set_all(&series, run);
		written = replace_file(path, write_series, &series); /* the collector reads what ends in .prom */
	}
	if (!written)
		say_now(run->settings, MSG(METRICS), path, strerror(errno));
	free(series.labels);
}
