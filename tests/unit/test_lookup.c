/* SPDX-License-Identifier: MIT */
/* Lookups of names in their thread. getaddrinfo(3) is the test's: it says what and when it wants. */
#include "os/lookup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"
#include "wait.h"

enum { ID = 77, MOST = 12 };

int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **ret);
void __wrap_freeaddrinfo(struct addrinfo *list);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);

/* The name server's answer. */
static const char *addresses; /* "4.1 6.2": the families and the last bytes */
static int code;
static atomic_bool held; /* it says nothing while this is true */
static atomic_uint asked;
static atomic_uint answered;
static atomic_bool signals_blocked;
static int thread_error;

static const char *take_one(const char *text, struct addrinfo *info)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} *a = calloc(1, sizeof *a);
	unsigned family, last;
	assert_int_equal(sscanf(text, "%u.%u", &family, &last), 2);
	if (family == 4) {
		a->v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(last)};
	} else {
		a->v6.sin6_family = AF_INET6;
		a->v6.sin6_addr.s6_addr[15] = (unsigned char)last;
	}
	*info = (struct addrinfo){.ai_family = a->any.sa_family,
	                          .ai_addr = &a->any,
	                          .ai_addrlen = family == 4   ? sizeof a->v4
	                                        : family == 6 ? sizeof a->v6
	                                                      : 200};
	const char *next = strchr(text, ' ');
	return next != NULL ? next + 1 : NULL;
}

int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **ret)
{
	sigset_t mask;
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	signals_blocked = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGCHLD) == 1;
	if (strcmp(host, "name.example") != 0 || strcmp(service, "6380") != 0 ||
	    hints->ai_socktype != SOCK_STREAM)
		abort();
	asked++;
	while (held)
		usleep(1000);
	int result = code;
	struct addrinfo *list = result == 0 && addresses != NULL ? calloc(MOST, sizeof *list) : NULL;
	unsigned count = 0;
	for (const char *at = list != NULL ? addresses : NULL; at != NULL; count++)
		at = take_one(at, &list[count]);
	for (unsigned i = 0; i + 1 < count; i++)
		list[i].ai_next = &list[i + 1];
	*ret = list;
	errno = EMFILE; /* for EAI_SYSTEM */
	answered++;
	return result;
}

void __wrap_freeaddrinfo(struct addrinfo *list)
{
	for (struct addrinfo *at = list; at != NULL; at = at->ai_next)
		free(at->ai_addr);
	free(list);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument)
{
	return thread_error != 0 ? thread_error : __real_pthread_create(thread, attributes, run, argument);
}

/* ---- helpers ---- */

static struct rl_lookup *start(struct rl_poller *poller)
{
	struct rl_lookup *lookup = NULL;
	assert_int_equal(rl_poller_open(poller), 0);
	assert_int_equal(rl_lookup_start("name.example", 6380, poller, ID, &lookup), 0);
	return lookup;
}

static void wait_for(struct rl_poller *poller)
{
	struct rl_ready ready = {0};
	while (rl_poller_wait(poller, &ready, 1, NULL) == 0)
		continue;
	assert_int_equal(ready.id, ID);
}

static void look_up(const char *say, int fail, struct rl_lookup_result *ret)
{
	struct rl_poller poller;
	addresses = say;
	code = fail;
	struct rl_lookup *lookup = start(&poller);
	wait_for(&poller);
	assert_true(rl_lookup_take(lookup, &poller, ret));
	struct rl_ready ready;
	assert_int_equal(rl_poller_look(&poller, &ready, 1), 0); /* it is not watched any more */
	rl_poller_close(&poller);
}

static const char *show(const struct rl_addresses *all)
{
	static char text[256];
	text[0] = '\0';
	for (unsigned i = 0; i < all->count; i++) {
		const struct sockaddr *any = (const void *)all->list[i].bytes;
		const struct sockaddr_in *v4 = (const void *)any;
		const struct sockaddr_in6 *v6 = (const void *)any;
		bool is_v4 = any->sa_family == AF_INET;
		assert_int_equal(all->list[i].length, is_v4 ? sizeof *v4 : sizeof *v6);
		size_t used = strlen(text);
		snprintf(text + used, sizeof text - used, "%s%c.%u", i > 0 ? " " : "", is_v4 ? '4' : '6',
		         is_v4 ? ntohl(v4->sin_addr.s_addr) : v6->sin6_addr.s6_addr[15]);
	}
	return text;
}

/* ---- tests ---- */

TEST(order)
{
	static const struct {
		const char *said, *want;
	} cases[] = {
	    {"4.1", "4.1"},
	    {"6.1 4.2", "6.1 4.2"},
	    {"6.1 6.2 6.3 4.4 4.5", "6.1 4.4 6.2 4.5 6.3"},
	    {"4.1 4.2 6.3", "4.1 6.3 4.2"},
	    {"4.1 6.2 6.3 6.4", "4.1 6.2 6.3 6.4"},
	    {"4.1 4.1 4.1", "4.1"},
	    {"6.1 6.2 6.3 6.4 6.5 6.6 6.7 6.8 6.9 4.1 4.2", "6.1 4.1 6.2 4.2 6.3 6.4 6.5 6.6"},
	    {"9.1 4.1", "4.1"}, /* an address that is too long for anything */
	};
	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct rl_lookup_result r;
		look_up(cases[i].said, 0, &r);
		assert_string_equal(show(&r.addresses), cases[i].want);
		assert_string_equal(r.why, "");
	}
}

TEST(failures)
{
	static const struct {
		int code;
		bool certain;
		const char *why;
	} cases[] = {
	    {EAI_NONAME, true, "Name or service not known"},
	    {EAI_NODATA, true, "No address associated with hostname"},
	    {EAI_ADDRFAMILY, true, "Address family for hostname not supported"},
	    {EAI_AGAIN, false, "Temporary failure in name resolution"},
	    {EAI_FAIL, false, "Non-recoverable failure in name resolution"},
	    {EAI_MEMORY, false, "Memory allocation failure"},
	    {EAI_SYSTEM, false, "Too many open files"},
	    {0, true, "Name or service not known"}, /* and an empty list */
	};
	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct rl_lookup_result r;
		look_up(NULL, cases[i].code, &r);
		assert_int_equal(r.addresses.count, 0);
		assert_string_equal(r.why, cases[i].why);
		assert_int_equal(r.certain, cases[i].certain);
	}
}

TEST(not_yet)
{
	struct rl_poller poller;
	struct rl_ready ready;
	struct rl_lookup_result r;
	addresses = "4.1";
	code = 0;
	held = true;
	signals_blocked = false;
	unsigned before = asked;
	struct rl_lookup *lookup = start(&poller);
	assert_soon(asked > before);
	assert_true(signals_blocked);
	assert_int_equal(rl_poller_look(&poller, &ready, 1), 0);
	assert_false(rl_lookup_take(lookup, &poller, &r));
	held = false;
	wait_for(&poller);
	assert_true(rl_lookup_take(lookup, &poller, &r));
	assert_string_equal(show(&r.addresses), "4.1");
	rl_poller_close(&poller);
}

/* The client goes away first, also with its descriptors: a new one of the same number must not be rung. */
TEST(left_alone)
{
	struct rl_poller poller;
	held = true;
	unsigned before = answered;
	struct rl_lookup *many[16];
	for (unsigned i = 0; i < COUNT(many); i++) {
		many[i] = start(&poller);
		rl_poller_close(&poller);
		rl_lookup_leave(many[i], false);
	}
	int pipe_fds[2];
	assert_int_equal(pipe(pipe_fds), 0);
	held = false;
	assert_soon(answered == before + COUNT(many));
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

TEST(left_when_it_has_ended)
{
	struct rl_poller poller;
	unsigned before = answered;
	struct rl_lookup *lookup = start(&poller);
	wait_for(&poller);
	assert_int_equal(answered, before + 1);
	rl_lookup_leave(lookup, false);
	rl_poller_close(&poller);
}

/* A child has no such thread: it frees the lookup, and the parent's goes on. */
TEST(forked)
{
	struct rl_poller poller;
	struct rl_lookup_result r;
	held = true;
	addresses = "6.9";
	code = 0;
	struct rl_lookup *lookup = start(&poller);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		rl_poller_close(&poller);
		rl_lookup_leave(lookup, true);
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	held = false;
	wait_for(&poller);
	assert_true(rl_lookup_take(lookup, &poller, &r));
	assert_string_equal(show(&r.addresses), "6.9");
	rl_poller_close(&poller);
}

TEST(no_thread)
{
	struct rl_poller poller;
	struct rl_lookup *lookup = NULL;
	struct rl_ready ready;
	assert_int_equal(rl_poller_open(&poller), 0);
	thread_error = EAGAIN;
	assert_int_equal(rl_lookup_start("name.example", 6380, &poller, ID, &lookup), -EAGAIN);
	thread_error = 0;
	assert_int_equal(rl_poller_look(&poller, &ready, 1), 0);
	rl_poller_close(&poller);
	assert_int_equal(rl_lookup_start("name.example", 6380, &poller, ID, &lookup), -EBADF);
	assert_null(lookup);
}

TEST(literals)
{
	static const struct {
		const char *host;
		bool literal;
	} cases[] = {
	    {"127.0.0.1", true}, {"::1", true},         {"::ffff:1.2.3.4", true}, {"localhost", false},
	    {"127.1", false},    {"fe80::1%lo", false}, {"1.2.3.4.5", false},     {"", false},
	};
	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct rl_address address;
		assert_int_equal(rl_resolve_literal(cases[i].host, 1, &address), cases[i].literal);
		assert_int_equal(address.length > 0, cases[i].literal);
	}
}

/* The last threads have freed what was theirs before a leak checker looks. */
static void settle(void)
{
	usleep(50000);
}

TESTS(.stop = settle)
