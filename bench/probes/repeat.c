/* SPDX-License-Identifier: MIT */
/*
 * Runs a command again and again, one after the other, and prints how long each took as a whole process.
 *
 * usage: repeat -n COUNT [-o FILE] COMMAND [ARG...]
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "result.h"

extern char **environ;

static uint64_t run(char *const *argv)
{
	pid_t pid;
	int status;
	uint64_t begin_ns = clock_now();
	if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) != 0)
		die(argv[0]);
	if (waitpid(pid, &status, 0) < 0)
		die("waitpid");
	uint64_t taken_ns = clock_now() - begin_ns;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		fprintf(stderr, "repeat: %s failed (status %d)\n", argv[0], status);
		exit(1);
	}
	return taken_ns;
}

int main(int argc, char **argv)
{
	struct options options = options_parse_command(argc, argv);
	struct result result;
	result_begin(&result, &options);
	while (!result_over(&result, &options, 0))
		samples_add(&result.pair, run(options.nodes));
	result_print(&result, &options, "");
	result_close(&result);
	return 0;
}
