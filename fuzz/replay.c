/* SPDX-License-Identifier: MIT */
/*
 * Runs a target once with each of the files given, and with each file of the folders given: a fuzzer without
 * the fuzzing, for any compiler. The path is printed before each run, so that the last one is the one to
 * blame.
 */
#include <dirent.h>
#include <errno.h>

#include "fuzz.h"

bool fuzz_trace;
static unsigned long runs;

static void die(const char *path)
{
	fprintf(stderr, "%s: %s\n", path, strerror(errno));
	exit(1);
}

static void run_file(const char *path)
{
	enum { MOST = 1 << 20 };
	FILE *file = fopen(path, "rb");
	if (file == NULL)
		die(path);
	char *buffer = malloc(MOST);
	must(buffer != NULL);
	size_t size = fread(buffer, 1, MOST, file);
	fclose(file);
	/* A copy of exactly this size: a sanitizer finds a read after its end. */
	uint8_t *bytes = malloc(size > 0 ? size : 1);
	must(bytes != NULL);
	memcpy(bytes, buffer, size);
	free(buffer);
	printf("%s\n", path);
	fflush(stdout);
	(void)LLVMFuzzerTestOneInput(bytes, size);
	free(bytes);
	runs++;
}

static void run_folder(const char *path, DIR *folder)
{
	const struct dirent *entry;
	char name[4096];
	while ((entry = readdir(folder)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
		run_file(name);
	}
	closedir(folder);
}

int main(int argc, char **argv)
{
	fuzz_trace = getenv("FUZZ_TRACE") != NULL;
	for (int i = 1; i < argc; i++) {
		DIR *folder = opendir(argv[i]);
		if (folder != NULL)
			run_folder(argv[i], folder);
		else
			run_file(argv[i]);
	}
	printf("%lu inputs\n", runs);
	return runs > 0 ? 0 : 1; /* an empty corpus tests nothing */
}
