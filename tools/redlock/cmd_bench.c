/* SPDX-License-Identifier: MIT */
/* redlock bench: how long acquire and release take, and how many of them a second allows. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "clock.h"
#include "cmd.h"
#include "message.h"
#include "signals.h"
#include "streams.h"

enum { MAX_CONCURRENCY = 10000, WARMUP_PAIRS = 20 };

static const struct option_spec specs[] = {
    {0, "duration", "TIME", OPTION_DURATION, offsetof(struct settings, duration_ms), 1, 86400000,
     "how long to measure (3s)"},
    {0, "pairs", "N", OPTION_NUMBER, offsetof(struct settings, pairs), 1, 1000000000000,
     "measure N pairs instead"},
    {0, "concurrency", "N", OPTION_NUMBER, offsetof(struct settings, concurrency), 1, MAX_CONCURRENCY,
     "N locks in flight on one thread, over the event-loop calls"},
    {0, "no-wait", NULL, OPTION_FLAG, offsetof(struct settings, no_wait), 0, 0, "do not wait for releases"},
};
static const struct option_group bench_options = {"Measurement", specs, sizeof specs / sizeof specs[0]};
static const struct option_group *const groups[] = {&bench_options, &node_options, &output_options, NULL};

/* ---- results ---- */

static const struct {
	const char *name, *key;
	double share;
} percentiles[] = {{"p50", "p50", 0.5}, {"p99", "p99", 0.99}, {"p99.9", "p999", 0.999}};

enum { PERCENTILES = sizeof percentiles / sizeof percentiles[0] };

static const char *mode_name(const struct bench *bench)
{
	if (bench->session->settings->concurrency > 0)
		return bench->no_wait ? "event-loop-no-wait" : "event-loop";
	return bench->no_wait ? "blocking-no-wait" : "blocking";
}

static void json_stats(struct json *json, const char *key, const struct bench_stats *stats)
{
	json_open(json, key, '{');
	for (size_t i = 0; i < PERCENTILES; i++)
		json_decimal(json, percentiles[i].key, bench_stats_us(stats, percentiles[i].share));
	json_close(json, '}');
}

static void print_json(const struct bench *bench, double seconds)
{
	struct json json;
	json_init(&json, stdout);
	json_open(&json, NULL, '{');
	json_text(&json, "mode", mode_name(bench));
	json_number(&json, "nodes", redlock_node_count(bench->session->client));
	json_number(&json, "concurrency", bench->concurrency);
	json_number(&json, "pairs", (int64_t)bench->pairs);
	json_decimal(&json, "pairs_per_s", (double)bench->pairs / seconds);
	json_stats(&json, "acquire_us", &bench->acquire);
	json_stats(&json, "release_us", &bench->release);
	json_stats(&json, "pair_us", &bench->pair);
	json_close(&json, '}');
	json_end(&json);
}

static void print_stats(const char *name, const struct bench_stats *stats)
{
	printf("  %-8s", name);
	for (size_t i = 0; i < PERCENTILES; i++)
		printf("  %s %8.1f us", percentiles[i].name, bench_stats_us(stats, percentiles[i].share));
	putchar('\n');
}

static void print_text(const struct bench *bench, double seconds)
{
	printf("%u node%s, %s, %u in flight\n", redlock_node_count(bench->session->client),
	       redlock_node_count(bench->session->client) == 1 ? "" : "s", mode_name(bench), bench->concurrency);
	printf("  pairs     %llu in %.2f s, %.1f per second\n", (unsigned long long)bench->pairs, seconds,
	       (double)bench->pairs / seconds);
	print_stats("acquire", &bench->acquire);
	print_stats("release", &bench->release);
	print_stats("pair", &bench->pair);
}

/* ---- the run ---- */

static int measure(struct bench *bench, uint64_t pairs, uint64_t duration_ns)
{
	bench->pairs = bench->failed = bench->failed_in_row = 0;
	bench->pairs_wanted = pairs;
	bench->duration_ns = duration_ns;
	bench_stats_clear(&bench->acquire);
	bench_stats_clear(&bench->release);
	bench_stats_clear(&bench->pair);
	bench->begin_ns = bench->shown_ns = clock_ns();
	return bench->session->settings->concurrency > 0 ? bench_run_loop(bench) : bench_run_blocking(bench);
}

static int run_bench(struct bench *bench)
{
	const struct settings *settings = bench->session->settings;
	int code = measure(bench, WARMUP_PAIRS, 0); /* connects, and loads the scripts */
	double seconds;
	if (code == EXIT_OK)
		code = measure(bench, settings->pairs, settings->duration_ms * 1000000);
	seconds = (double)(clock_ns() - bench->begin_ns) / 1e9;
	if (!settings->quiet && isatty(2))
		(void)streams_put_errors("\r\x1b[K", 0);
	session_drain(bench->session, NULL);
	if (code != EXIT_OK) {
		if (bench->failed_in_row > 0)
			report_failure(&bench->report, settings);
		return code;
	}
	if (bench->failed > 0)
		say(settings, MSG(BENCH_FAILED), (unsigned long long)bench->failed,
		    redlock_strerror(bench->report.result));
	if (settings->json)
		print_json(bench, seconds);
	else
		print_text(bench, seconds);
	return signals_caught() ? EXIT_SIGNAL + signals_caught() : EXIT_OK;
}

static int run(const struct settings *given, int argc, char **argv)
{
	struct settings settings = *given;
	struct bench *bench = calloc(1, sizeof *bench);
	(void)argc;
	(void)argv;
	if (bench == NULL) {
		complain(MSG(NO_MEMORY));
		return EXIT_INTERNAL;
	}
	settings.wait_ms = 0; /* the names are its own: a busy one is an error */
	struct session session;
	int code = session_open(&session, &settings);
	if (code == EXIT_OK) {
		bench->session = &session;
		bench->no_wait = settings.no_wait;
		bench->concurrency = settings.concurrency > 0 ? (unsigned)settings.concurrency : 1;
		code = run_bench(bench);
	}
	session_close(&session);
	free(bench);
	return code;
}

const struct command cmd_bench = {
    .name = "bench",
    .arguments = "",
    .summary = "measure acquire and release on these nodes",
    .details = "Acquires and releases locks with names of its own (redlock-bench:PID:N), one at a time over "
               "the blocking calls, "
               "or many in flight with --concurrency. It releases all of them at the end, also after "
               "Ctrl-C.\n",
    .groups = groups,
    .min_args = 0,
    .max_args = 0,
    .run = run,
};
