/* SPDX-License-Identifier: MIT */
/* redlock-exporter: the state of the nodes, and of locks, for Prometheus and for people. It changes no lock.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../redlock/exit_codes.h"
#include "../redlock/printable.h"
#include "http.h"

#define LISTEN "127.0.0.1:9037"

enum { EVERY_MOST_MS = 24 * 60 * 60 * 1000 };

struct arguments {
	const char *listen, *cluster, *config;
	char *urls; /* a comma list; NULL: those of the configuration */
	const char *locks[LOOK_LOCKS_MOST];
	unsigned lock_count;
	uint64_t every_ms; /* between lists of all locks; 0: none */
};

static const char usage[] =
    "Usage: redlock-exporter [--listen ADDRESS:PORT] [-r URL...] [-C CLUSTER] [--config FILE] [--lock "
    "NAME...]\n"
    "                        [--every TIME]\n"
    "Serves /metrics, /healthz, /locks.json and a page for people on " LISTEN ".\n"
    "The nodes are those of redlock(1): /etc/redlock/redlock.conf, REDLOCK_URLS. See redlock-exporter(1).\n";

static int complain(int code, const char *text)
{
	char shown[1024];
	fprintf(stderr, "redlock-exporter: %s\n", harmless(text, shown, sizeof shown));
	return code;
}

/* ---- the command line ---- */

static bool add_url(struct arguments *a, const char *url)
{
	size_t had = a->urls != NULL ? strlen(a->urls) + 1 : 0, size = had + strlen(url) + 1;
	char *more = realloc(a->urls, size);
	if (more == NULL)
		return false;
	if (had > 0)
		more[had - 1] = ',';
	memcpy(more + had, url, strlen(url) + 1);
	a->urls = more;
	return true;
}

/* A name that is given twice has one series. */
static int add_lock(struct arguments *a, const char *name)
{
	for (unsigned i = 0; i < a->lock_count; i++)
		if (strcmp(a->locks[i], name) == 0)
			return 0;
	if (a->lock_count == LOOK_LOCKS_MOST)
		return complain(EXIT_USAGE, "--lock can be given 64 times");
	a->locks[a->lock_count++] = name;
	return 0;
}

static int set_every(struct arguments *a, const char *text)
{
	char why[256] = "";
	int error = redlock_duration_parse(text, 0, EVERY_MOST_MS, why, sizeof why, &a->every_ms);
	return error == 0 ? 0 : complain(EXIT_USAGE, why);
}

static int take_option(struct arguments *a, int option)
{
	switch (option) {
	case 'l':
		a->listen = optarg;
		return 0;
	case 'r':
		return add_url(a, optarg) ? 0 : EXIT_INTERNAL;
	case 'C':
		a->cluster = optarg;
		return 0;
	case 'c':
		a->config = optarg;
		return 0;
	case 'n':
		return add_lock(a, optarg);
	case 'e':
		return set_every(a, optarg);
	default:
		return EXIT_USAGE;
	}
}

/* Returns an exit code, or -1: go on. */
static int read_arguments(struct arguments *a, int argc, char **argv)
{
	static const struct option options[] = {
	    {"listen", required_argument, NULL, 'l'},
	    {"url", required_argument, NULL, 'r'},
	    {"cluster", required_argument, NULL, 'C'},
	    {"config", required_argument, NULL, 'c'},
	    {"lock", required_argument, NULL, 'n'},
	    {"every", required_argument, NULL, 'e'},
	    {"help", no_argument, NULL, 'h'},
	    {"version", no_argument, NULL, 'V'},
	    {0},
	};
	int option, code = 0;
	while (code == 0 && (option = getopt_long(argc, argv, "r:C:h", options, NULL)) != -1) {
		if (option == 'h')
			return fputs(usage, stdout) < 0 ? EXIT_INTERNAL : EXIT_OK;
		if (option == 'V')
			return printf("redlock-exporter %s\n", redlock_version()) < 0 ? EXIT_INTERNAL : EXIT_OK;
		code = take_option(a, option);
	}
	if (code == 0 && optind < argc)
		code = complain(EXIT_USAGE, "takes no arguments: a lock is named by --lock NAME");
	return code == 0 ? -1 : code;
}

/* ---- running ---- */

static int load(struct redlock_options *o, const struct arguments *a, char *why)
{
	int error = a->urls != NULL ? redlock_options_set(o, "url", a->urls) : 0;
	if (error == 0 && (a->urls == NULL || a->cluster != NULL || a->config != NULL))
		error = redlock_options_load(o, a->cluster, a->config);
	if (a->urls != NULL && error == 0)
		error = redlock_options_set(o, "url", a->urls); /* before the configuration's */
	if (error == 0 && o->sets != NULL)
		return complain(EXIT_CONFIG,
		                "names are spread over several node sets (`quorums`): give one of them by "
		                "--cluster");
	return error < 0 ? complain(EXIT_CONFIG, why[0] != '\0' ? why : redlock_strerror(error)) : EXIT_OK;
}

/* Serves until a signal comes. All threads are made with these signals blocked. */
static int serve(const struct arguments *a, const struct redlock_options *o, char *why, size_t size)
{
	sigset_t ends;
	int signal_number, code = EXIT_OK;
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN);
	struct looker *looker = looker_open(o, a->locks, a->lock_count, why, size);
	if (looker == NULL)
		return complain(EXIT_CONFIG, why);
	struct list *list = NULL;
	if (a->every_ms > 0)
		list = list_start(looker_client(looker), o->prefix, a->every_ms);
	bool ok = list != NULL || a->every_ms == 0;
	struct watch *watch = ok ? watch_start(looker, list) : NULL;
	struct MHD_Daemon *daemon = watch != NULL ? http_start(a->listen, watch, why, size) : NULL;
	if (watch == NULL)
		code = complain(EXIT_INTERNAL, "out of memory, or no thread can be made");
	else if (daemon == NULL)
		code = complain(EXIT_CONFIG, why);
	else if (fprintf(stderr, "redlock-exporter: listening on port %u\n", http_port(daemon)) > 0)
		sigwait(&ends, &signal_number);
	http_stop(daemon);
	watch_stop(watch);
	list_stop(list);
	looker_close(looker);
	return code;
}

int main(int argc, char **argv)
{
	struct arguments a = {.listen = LISTEN, .every_ms = LIST_EVERY_MS};
	struct redlock_options o;
	char why[512] = "";
	int code = read_arguments(&a, argc, argv);
	if (code >= 0) {
		free(a.urls);
		return code;
	}
	redlock_options_init(&o);
	o.error_text = why;
	o.error_text_size = sizeof why;
	code = load(&o, &a, why);
	if (code == EXIT_OK)
		code = serve(&a, &o, why, sizeof why);
	redlock_options_clear(&o);
	free(a.urls);
	return code;
}
