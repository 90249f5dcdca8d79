/* SPDX-License-Identifier: MIT */
/*
 * Prints the functions that one plain acquire enters, in order, as addresses: over warm connections to three
 * servers in memory (kernel.h). The library is built with -O0 -finstrument-functions; passes.py counts.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <redlock/redlock.h>

enum { NODES = 3, WARM_UP = 16, MOST = 65536 };

static void *entered[MOST];
static size_t count;
static bool armed;

void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

void __cyg_profile_func_enter(void *function, void *call_site)
{
	(void)call_site;
	if (armed && count < MOST)
		entered[count++] = function;
}

void __cyg_profile_func_exit(void *function, void *call_site)
{
	(void)function, (void)call_site;
}

static void must(int result, const char *what)
{
	if (result >= 0)
		return;
	fprintf(stderr, "passes: %s: %s\n", what, redlock_strerror(result));
	exit(1);
}

int main(void)
{
	static const char *const urls[NODES] = {"unix:///run/0", "unix:///run/1", "unix:///run/2"};
	struct redlock_options options;
	redlock_client *client;
	redlock_lock *lock;
	redlock_options_init(&options);
	options.urls = urls;
	options.url_count = NODES;
	must(redlock_open(&options, &client), "open");
	must(redlock_lock_new(client, "passes", NULL, &lock), "lock_new");
	for (unsigned i = 0; i < WARM_UP; i++) {
		must(redlock_acquire(lock), "acquire");
		must(redlock_release(lock), "release");
	}
	armed = true;
	must(redlock_acquire(lock), "acquire");
	armed = false;
	for (size_t i = 0; i < count; i++)
		printf("%p\n", entered[i]);
	fflush(stdout);
	return 0;
}
