/* SPDX-License-Identifier: MIT */
/* redlock cluster start|stop|status: real servers on this machine, to try locks out. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <redlock/redlock.h>

#include "clock.h"
#include "cluster_dir.h"
#include "cluster_server.h"
#include "cmd.h"
#include "json.h"
#include "message.h"
#include "signals.h"

enum { DEFAULT_NODES = 5, START_LIMIT_MS = 20000, POLL_MS = 10 };

static const struct option_spec specs[] = {
    {0, "nodes", "N", OPTION_NUMBER, offsetof(struct settings, cluster_nodes), 1, REDLOCK_MAX_NODES,
     "start: how many servers (5)"},
    {'q', "quiet", NULL, OPTION_FLAG, offsetof(struct settings, quiet), 0, 0, "no messages"},
    {0, "json", NULL, OPTION_FLAG, offsetof(struct settings, json), 0, 0, "print one JSON object on stdout"},
    {'h', "help", NULL, OPTION_FLAG, offsetof(struct settings, help), 0, 0, "this text"},
};
static const struct option_group cluster_options = {"Options", specs, sizeof specs / sizeof specs[0]};
static const struct option_group *const groups[] = {&cluster_options, NULL};

struct cluster {
	const struct settings *settings;
	struct cluster_dir dir;
	struct cluster_server server[REDLOCK_MAX_NODES];
	bool started[REDLOCK_MAX_NODES]; /* by this call */
};

/* ---- printing ---- */

static void print_json(const char *verb, const struct cluster *cluster)
{
	struct json json;
	json_init(&json, stdout);
	json_open(&json, NULL, '{');
	json_text(&json, "verb", verb);
	json_open(&json, "nodes", '[');
	char url[CLUSTER_URL_MAX];
	for (unsigned i = 0; i < cluster->dir.nodes; i++) {
		const struct cluster_server *server = &cluster->server[i];
		cluster_server_url(server, url, sizeof url);
		json_open(&json, NULL, '{');
		json_number(&json, "node", server->number);
		json_number(&json, "pid", server->pid);
		json_text(&json, "url", url);
		json_bool(&json, "up", server->up);
		if (server->refusal[0] != '\0')
			json_text(&json, "refusal", server->refusal);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
	json_end(&json);
}

/* "up", "down", "not answering", or "refuses: NOAUTH Authentication required.". */
static const char *state_of(const struct cluster_server *server, char *buffer, size_t size)
{
	if (server->up || server->pid <= 0)
		return server->up ? "up" : "down";
	if (server->refusal[0] == '\0')
		return "not answering";
	snprintf(buffer, size, "refuses: %s", server->refusal);
	return buffer;
}

static void print_servers(const char *verb, const struct cluster *cluster)
{
	if (cluster->settings->json) {
		print_json(verb, cluster);
		return;
	}
	char url[CLUSTER_URL_MAX], state[sizeof cluster->server[0].refusal + 16];
	for (unsigned i = 0; i < cluster->dir.nodes && !(cluster->settings->quiet && strcmp(verb, "start") == 0);
	     i++) {
		const struct cluster_server *server = &cluster->server[i];
		cluster_server_url(server, url, sizeof url);
		put_line("node %u  pid %ld  %s  %s", server->number, (long)server->pid, url,
		         state_of(server, state, sizeof state));
	}
}

/* ---- start ---- */

/* Looks for the server program along PATH. */
static bool find_program(char *buffer, size_t size)
{
	static const char *const names[] = {"redis-server", "valkey-server"};
	const char *path = getenv("PATH");
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		for (const char *from = path != NULL ? path : "/usr/bin"; from != NULL; from = strchr(from, ':')) {
			from += *from == ':';
			snprintf(buffer, size, "%.*s/%s", (int)strcspn(from, ":"), from, names[i]);
			if (buffer[0] == '/' && access(buffer, X_OK) == 0)
				return true;
		}
	complain(MSG(NO_SERVER));
	return false;
}

/* Looks at a server that this call started. False when it has ended. */
static bool watch_start(struct cluster_server *server)
{
	pid_t pid = server->pid;
	if (waitpid(pid, NULL, WNOHANG) == pid) {
		server->pid = 0;
		cluster_server_complain(server);
		return false;
	}
	if (access(server->socket, F_OK) == 0)
		cluster_server_look(server);
	server->pid = pid; /* look() finds none until the process runs in its directory */
	return true;
}

static bool spawn_missing(struct cluster *cluster, const char *program)
{
	for (unsigned i = 0; i < cluster->dir.nodes; i++) {
		struct cluster_server *server = &cluster->server[i];
		if (server->pid > 0)
			continue;
		cluster->started[i] = true;
		if (!cluster_server_spawn(server, program))
			return false;
	}
	return true;
}

/* Waits until every server answers. */
static bool wait_until_up(struct cluster *cluster)
{
	for (unsigned waited = 0; waited < START_LIMIT_MS && !signals_caught(); waited += POLL_MS) {
		unsigned up = 0;
		for (unsigned i = 0; i < cluster->dir.nodes; i++) {
			struct cluster_server *server = &cluster->server[i];
			if (!server->up && cluster->started[i] && !watch_start(server))
				return false;
			up += server->up || !cluster->started[i];
		}
		if (up == cluster->dir.nodes)
			return true;
		clock_sleep_ms(POLL_MS);
	}
	for (unsigned i = 0; i < cluster->dir.nodes && !signals_caught(); i++)
		if (!cluster->server[i].up && cluster->started[i])
			cluster_server_complain(&cluster->server[i]);
	return false;
}

/* Ends what this call has started, so that a failed start leaves what was there before. */
static void undo_start(struct cluster *cluster, bool was_there)
{
	for (unsigned i = 0; i < cluster->dir.nodes; i++) {
		struct cluster_server *server = &cluster->server[i];
		if (!cluster->started[i])
			continue;
		if (server->pid > 0) { /* a child of ours that was not waited for: the number is still its own */
			kill(server->pid, SIGKILL);
			waitpid(server->pid, NULL, 0);
		}
		if (!was_there)
			cluster_server_remove(server);
	}
	if (!was_there)
		cluster_dir_remove(&cluster->dir);
}

static void look_at_all(struct cluster *cluster)
{
	for (unsigned i = 0; i < cluster->dir.nodes; i++) {
		cluster_server_init(&cluster->server[i], cluster->dir.path_fd, cluster->dir.path, i + 1);
		cluster_server_look(&cluster->server[i]);
	}
}

/* The word local is the command's alone: programs need the URLs. */
static void say_use(const struct cluster *cluster)
{
	char urls[REDLOCK_MAX_NODES * (CLUSTER_URL_MAX + 1)], url[CLUSTER_URL_MAX];
	size_t used = 0;
	for (unsigned i = 0; i < cluster->dir.nodes; i++) {
		cluster_server_url(&cluster->server[i], url, sizeof url);
		used += (size_t)snprintf(urls + used, sizeof urls - used, "%s%s", i > 0 ? "," : "", url);
	}
	say(cluster->settings, MSG(CLUSTER_USE));
	say(cluster->settings, MSG(CLUSTER_URLS), urls);
}

/* Says which servers ran before this call, and do not work. EXIT_OK: none. */
static int complain_kept(const struct cluster *cluster)
{
	int code = EXIT_OK;
	char state[sizeof cluster->server[0].refusal + 16];
	for (unsigned i = 0; i < cluster->dir.nodes; i++) {
		const struct cluster_server *server = &cluster->server[i];
		if (server->up)
			continue;
		complain(MSG(SERVER_KEPT), server->number, (long)server->pid, state_of(server, state, sizeof state));
		code = EXIT_NOQUORUM;
	}
	return code;
}

static int start_servers(struct cluster *cluster, bool was_there)
{
	look_at_all(cluster);
	char program[PATH_MAX];
	if (!find_program(program, sizeof program)) {
		undo_start(cluster, was_there);
		return EXIT_CONFIG;
	}
	if (!spawn_missing(cluster, program) || !wait_until_up(cluster)) {
		undo_start(cluster, was_there);
		return signals_caught() ? EXIT_SIGNAL + signals_caught() : EXIT_INTERNAL;
	}
	print_servers("start", cluster);
	if (!cluster->settings->json)
		say_use(cluster);
	return complain_kept(cluster);
}

static int start(struct cluster *cluster)
{
	unsigned wanted = (unsigned)cluster->settings->cluster_nodes;
	int code = cluster_dir_lock(&cluster->dir);
	if (code != EXIT_OK)
		return code;
	bool was_there = cluster->dir.nodes > 0;
	if (was_there && wanted > 0 && wanted != cluster->dir.nodes) {
		complain(MSG(CLUSTER_SIZE), cluster->dir.nodes, wanted);
		code = EXIT_CONFIG;
	} else if (!was_there) {
		code = cluster_dir_create(&cluster->dir, wanted > 0 ? wanted : DEFAULT_NODES);
	}
	if (code == EXIT_OK)
		code = start_servers(cluster, was_there);
	return code;
}

/* ---- stop ---- */

/* All numbers that there can be: a stop that was interrupted may have left any. */
static bool end_all(struct cluster *cluster, unsigned *ret_ended)
{
	bool all_gone = true;
	*ret_ended = 0;
	for (unsigned i = 0; i < REDLOCK_MAX_NODES; i++) {
		cluster_server_init(&cluster->server[i], cluster->dir.path_fd, cluster->dir.path, i + 1);
		cluster_server_look(&cluster->server[i]);
		cluster_server_ask_to_end(&cluster->server[i]);
	}
	for (unsigned i = 0; i < REDLOCK_MAX_NODES; i++) {
		struct cluster_server *server = &cluster->server[i];
		*ret_ended += server->pid > 0;
		if (server->pid > 0 && !cluster_server_end(server))
			all_gone = false;
		else
			cluster_server_remove(server);
	}
	return all_gone;
}

static int stop(struct cluster *cluster)
{
	int code = cluster_dir_lock(&cluster->dir);
	if (code != EXIT_OK)
		return code;
	unsigned ended;
	if (!end_all(cluster, &ended))
		return EXIT_INTERNAL;
	cluster_dir_remove(&cluster->dir);
	cluster->dir.nodes = 0;
	if (cluster->settings->json)
		print_json("stop", cluster);
	else if (ended == 0)
		say(cluster->settings, MSG(CLUSTER_NONE));
	else
		say(cluster->settings, MSG(CLUSTER_ENDED), ended, ended == 1 ? "" : "s", cluster->dir.path);
	return EXIT_OK;
}

/* ---- status ---- */

static int status(struct cluster *cluster)
{
	unsigned up = 0;
	int code = cluster_dir_find(&cluster->dir);
	if (code != EXIT_OK)
		return code;
	look_at_all(cluster);
	for (unsigned i = 0; i < cluster->dir.nodes; i++)
		up += cluster->server[i].up;
	print_servers("status", cluster);
	if (cluster->dir.nodes == 0)
		say(cluster->settings, MSG(CLUSTER_START));
	return up > cluster->dir.nodes / 2 ? EXIT_OK : EXIT_NOQUORUM;
}

static const struct {
	const char *name;
	int (*run)(struct cluster *cluster);
} verbs[] = {{"start", start}, {"stop", stop}, {"status", status}};

static int run(const struct settings *settings, int argc, char **argv)
{
	struct cluster *cluster = calloc(1, sizeof *cluster);
	int code = EXIT_USAGE;
	size_t i = 0;
	(void)argc;
	if (cluster == NULL) {
		complain(MSG(NO_MEMORY));
		return EXIT_INTERNAL;
	}
	cluster->settings = settings;
	while (i < sizeof verbs / sizeof verbs[0] && strcmp(verbs[i].name, argv[0]) != 0)
		i++;
	if (i < sizeof verbs / sizeof verbs[0]) {
		code = verbs[i].run(cluster);
		cluster_dir_close(&cluster->dir);
	} else {
		complain(MSG(CLUSTER_VERB), argv[0]);
	}
	free(cluster);
	return code;
}

const struct command cmd_cluster = {
    .name = "cluster",
    .arguments = "start|stop|status",
    .summary = "run servers on this machine, to try locks out",
    .details =
        "start: real redis-server or valkey-server processes without persistence, that outlive the shell; "
        "those "
        "that run already are kept, and exit code 69 tells that one of them does not answer. stop: ends "
        "exactly these and removes their files. status: one line for "
        "each; "
        "exit code 0 when a majority is up, 69 when not. Use them by -r local or REDLOCK_URLS=local.\n",
    .groups = groups,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
