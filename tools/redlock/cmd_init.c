/* SPDX-License-Identifier: MIT */
/* redlock init: the loop of reading and writing, and what is shown of it. */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cluster_dir.h"
#include "cmd.h"
#include "init/init.h"
#include "message.h"
#include "nodes.h"
#include "secret.h"
#include "signals.h"
#include "values.h"

#define FIELD(name) offsetof(struct settings, name)

static const struct option_spec specs[] = {
    {0, "max-ttl", "TIME", OPTION_DURATION, FIELD(max_ttl_ms), REDLOCK_MIN_TTL_MS, REDLOCK_MAX_TTL_MS,
     "no lock of the set lives longer without renewal; a quarantine is a quarter longer (60s)"},
    {0, "fresh", NULL, OPTION_FLAG, FIELD(fresh), 0, 0,
     "nothing was ever locked on these nodes: do not wait for what they may have forgotten"},
    {0, "add", "URL", OPTION_URL, FIELD(add), 0, 0,
     "add this node to the set, which plain nodes become first"},
    {0, "remove", "URL", OPTION_URL, FIELD(remove), 0, 0, "remove this node from the set"},
    {0, "replace", "OLD NEW", OPTION_URL, FIELD(replace), 0, 0,
     "replace the node OLD of the set by the node NEW; after that give all clients the new list"},
    {0, "dead", NULL, OPTION_FLAG, FIELD(dead), 0, 0,
     "the removed or replaced node is gone for good, and need not be told"},
    {0, "finish", NULL, OPTION_FLAG, FIELD(finish), 0, 0,
     "end the change: all clients have the new list, the former one is refused"},
    {0, "new-epoch", NULL, OPTION_FLAG, FIELD(new_epoch), 0, 0,
     "fencing numbers begin anew, where a majority has lost them"},
    {0, "plain", NULL, OPTION_FLAG, FIELD(plain), 0, 0,
     "turn the set back into plain nodes, without a guard"},
};
static const struct option_group init_options = {"Set", specs, sizeof specs / sizeof specs[0]};
static const struct option_group *const groups[] = {&init_options, &node_options, &output_options, NULL};

static void print_text(const struct init *in)
{
	char text[512];
	for (unsigned i = 0; i < in->nodes && !in->settings->quiet; i++)
		put_line("  node %u %s: %s", i + 1, init_address(in, i),
		         guard_record_text(&in->record[i], text, sizeof text));
	if (in->note != NULL)
		say(in->settings, MSG(INIT_NOTE), in->note);
}

static void print_json(const struct init *in, int code)
{
	struct json json;
	json_init(&json, stdout);
	json_open(&json, NULL, '{');
	json_text(&json, "verb", "init");
	json_number(&json, "exit_code", code);
	json_open(&json, "nodes", '[');
	for (unsigned i = 0; i < in->nodes; i++) {
		json_open(&json, NULL, '{');
		json_number(&json, "node", i + 1);
		json_text(&json, "address", init_address(in, i));
		guard_record_json(&in->record[i], &json);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
	json_end(&json);
}

static int read_all(struct init *in)
{
	int error =
	    guard_record_read(in->asker, in->record, in->nodes, UINT64_MAX, in->session.node_timeout_ms + 800);
	if (error >= 0 || error == REDLOCK_E_INTERRUPTED)
		return EXIT_OK;
	complain(MSG(LIBRARY), redlock_strerror(error));
	return EXIT_INTERNAL;
}

static void wait_for(struct init *in, const char **told)
{
	uint64_t wait_ms = in->look_ms > 0 && in->look_ms < in->wait_ms ? in->look_ms : in->wait_ms;
	uint64_t until_ns = clock_ns() + wait_ms * 1000000;
	if (*told != in->wait_why)
		say(in->settings, MSG(INIT_WAITS), (double)in->wait_ms / 1000, in->wait_why);
	*told = in->wait_why;
	(void)signals_sleep_until(until_ns);
}

static int go(struct init *in)
{
	const char *told = NULL;
	int code = INIT_MORE;
	while (code == INIT_MORE) {
		code = read_all(in);
		if (code == EXIT_OK)
			code = init_plan(in);
		if (code == INIT_MORE && init_has_changes(in))
			code = init_write(in);
		else if (code == INIT_MORE && in->wait_ms > 0)
			wait_for(in, &told);
		if (code == INIT_MORE && signals_caught())
			code = EXIT_SIGNAL + signals_caught();
	}
	return code;
}

static const char *check_options(const struct settings *s)
{
	int verbs = (s->add != NULL) + (s->remove != NULL) + (s->replace != NULL) + s->new_epoch + s->plain;
	if (verbs > 1)
		return "one of --add, --remove, --replace, --new-epoch and --plain at a time";
	if (s->finish && (s->new_epoch || s->plain))
		return "--finish ends a change of members";
	return s->dead && s->remove == NULL && s->replace == NULL && !s->finish
	           ? "--dead is about the member that --remove or --replace names: give both"
	           : NULL;
}

/* NEW, the argument after --replace OLD: a change that both --remove and --add describe. */
static int take_new(struct settings *settings, struct text_list *new, int argc, char **argv)
{
	if (settings->replace == NULL && argc == 0)
		return EXIT_OK;
	if (settings->replace == NULL || argc == 0) {
		complain(MSG(INIT_USAGE),
		         argc == 0 ? "--replace takes two nodes: --replace OLD NEW" : "too many arguments");
		return EXIT_USAGE;
	}
	if (!text_list_add(new, argv[0])) {
		complain(MSG(NO_MEMORY));
		return EXIT_INTERNAL;
	}
	settings->password_in_argv |= secret_blank_urls(argv[0]);
	settings->remove = settings->replace;
	settings->add = new->items[0];
	return EXIT_OK;
}

/* For the next commands of this user. */
static void remember(const struct init *in)
{
	for (unsigned i = 0; i < in->nodes && !in->settings->plain; i++)
		if (guard_record_is_of_a_set(&in->record[i])) {
			(void)guard_memory_keep(in->target, in->record[i].field[GUARD_SET],
			                        guard_record_number(&in->record[i], GUARD_TTL));
			return;
		}
	guard_memory_drop(in->list);
	guard_memory_drop(in->target);
}

static int run_init(const struct settings *settings)
{
	struct init *in = calloc(1, sizeof *in);
	if (in == NULL) {
		complain(MSG(NO_MEMORY));
		return EXIT_INTERNAL;
	}
	int code = init_open(in, settings);
	if (code == EXIT_OK) {
		code = go(in);
		if (code == EXIT_OK && nodes_are_local(settings))
			code = cluster_dir_guard(!settings->plain);
		else if (code == EXIT_OK)
			remember(in);
		if (settings->json)
			print_json(in, code);
		else
			print_text(in);
	}
	init_close(in);
	free(in);
	return code;
}

static int run(const struct settings *settings, int argc, char **argv)
{
	const char *wrong = check_options(settings);
	if (wrong != NULL) {
		complain(MSG(INIT_USAGE), wrong);
		return EXIT_USAGE;
	}
	struct settings own = *settings;
	struct text_list new = {NULL, 0};
	int code = take_new(&own, &new, argc, argv);
	if (code == EXIT_OK)
		code = run_init(&own);
	text_list_free(&new);
	return code;
}

const struct command cmd_init = {
    .name = "init",
    .arguments = "",
    .summary = "make the nodes a guarded set, or change its members",
    .details =
        "Writes a record to each node. All clients of these nodes then keep out a node that was restarted, "
        "wiped or restored until its locks have expired, and clients with another list of nodes; they need "
        "no setting.\n"
        "A run that did not reach all nodes is repeated; what is there stays. Members change one at a time: "
        "--add, --remove or --replace, then the new list for all clients, then --finish. Locks of clients "
        "with "
        "--guard=off are not protected.\n"
        "Exit code 0: all nodes have it. 69: some did not answer, or too few know their fencing numbers. 78: "
        "there are records of another set.\n",
    .groups = groups,
    .min_args = 0,
    .max_args = 1,
    .run = run,
};
