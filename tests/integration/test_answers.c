/* SPDX-License-Identifier: MIT */
/*
 * Servers that answer badly, by script: each is one missing vote with its reason, and costs nothing else.
 * Seen in three scenes: a quorum grants beside it; its vote is the one that is waited for; all nodes are like
 * it.
 */
#include <stdio.h>

#include "fixture.h"
#include "scripted.h"

enum { SHORT_TIMEOUT_MS = 400 };

/* A bit for each vote that would be right; most behaviours allow exactly one. */
#define VOTE(name) (UINT64_C(1) << REDLOCK_VOTE_##name)

struct behaviour {
	const char *what;
	struct scripted_rule rules[3];
	const char *greeting, *early;
	bool close_on_accept, close_on_command, one_byte, password;
	size_t flood;
	uint64_t votes;
	const char *text; /* a part of what redlock_node_status() says; NULL: more than one would be right */
};

#define RULE(...) .rules = {{__VA_ARGS__}}
#define SET_SAYS(text) RULE("SET", text)
#define SET_ENDS(text) RULE("SET", text, true)
#define ALL_SAY(text) RULE("*", text)
#define REFUSES(vote, text_) RULE("SET", "-" text_ "\r\n"), .votes = VOTE(vote), .text = (text_)
#define ALL_REFUSE(vote, text_) RULE("*", "-" text_ "\r\n"), .votes = VOTE(vote), .text = (text_)
#define NO_REDIS .votes = VOTE(GARBAGE), .text = "the answer is not the Redis protocol"
#define NO_ANSWER .votes = VOTE(GARBAGE), .text = "the answer is not to this request"
#define ENDED .votes = VOTE(CLOSED) | VOTE(DOWN) | VOTE(UNSENT)

static const struct behaviour behaviours[] = {
    {"loading", REFUSES(LOADING, "LOADING Redis is loading the dataset in memory")},
    {"loading from the start", ALL_REFUSE(LOADING, "LOADING Redis is loading")},
    {"busy with a script", REFUSES(BLOCKED, "BUSY Redis is busy running a script.")},
    {"out of memory", REFUSES(OOM, "OOM command not allowed when used memory > 'maxmemory'.")},
    {"cannot persist", REFUSES(MISCONF, "MISCONF Errors writing to the AOF file")},
    {"no replicas", REFUSES(REPLICAS, "NOREPLICAS Not enough good replicas to write.")},
    {"replica", REFUSES(READONLY, "READONLY You can't write against a read only replica.")},
    {"cluster, moved", REFUSES(CLUSTER, "MOVED 3999 127.0.0.1:6381")},
    {"cluster, asking", REFUSES(CLUSTER, "ASK 3999 127.0.0.1:6381")},
    {"no password", REFUSES(AUTH, "NOAUTH Authentication required.")},
    {"no permission", REFUSES(NOPERM, "NOPERM this user has no permissions")},
    {"no such command", REFUSES(COMMAND, "ERR unknown command 'SET'")},
    {"protected mode", ALL_REFUSE(AUTH, "DENIED Redis is running in protected mode")},
    {"turned away: protected mode", .greeting = "-DENIED Redis is running in protected mode\r\n",
     .votes = VOTE(AUTH)},
    {"turned away: too many", .greeting = "-ERR max number of clients reached\r\n", .votes = VOTE(SERVER)},
    {"unheard-of error", REFUSES(SERVER, "WHATEVER went wrong")},
    {"error without text", SET_SAYS("-\r\n"), .votes = VOTE(SERVER)},
    {"integer for a status", SET_SAYS(":1\r\n"), NO_ANSWER},
    {"array for a status", SET_SAYS("*2\r\n$2\r\nOK\r\n$2\r\nOK\r\n"), NO_ANSWER},
    {"string for a status", SET_SAYS("$2\r\nOK\r\n"), .votes = VOTE(GARBAGE) | VOTE(YES)},
    {"other status", SET_SAYS("+QUEUED\r\n"), NO_ANSWER},
    {"web server", ALL_SAY("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"), .votes = VOTE(SERVICE),
     .text = "speaks HTTP"},
    {"web server, later", SET_SAYS("HTTP/1.1 400 Bad Request\r\n\r\n"), NO_REDIS},
    {"alert of TLS", ALL_SAY("\x15\x03\x01"), .votes = VOTE(SERVICE), .text = "speaks TLS: use rediss://"},
    {"Sentinel", RULE("INFO", "$21\r\nredis_mode:sentinel\r\n\r\n"), .votes = VOTE(SERVICE),
     .text = "a Sentinel"},
    {"zero bytes only", ALL_SAY("\x01\x02\x03\xff"), NO_REDIS},
    {"bad length", ALL_SAY("$-5\r\n"), NO_REDIS},
    {"length that is no number", ALL_SAY("$12x\r\n"), NO_REDIS},
    {"length that overflows", ALL_SAY("$99999999999999999999999\r\n"), NO_REDIS},
    {"huge array", ALL_SAY("*1000000000\r\n"), NO_REDIS},
    {"deep arrays", ALL_SAY("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"),
     NO_REDIS},
    {"huge string", ALL_SAY("$536870912\r\n"), .flood = 64 << 20, NO_REDIS},
    {"endless status", ALL_SAY("+"), .flood = 64 << 20, NO_REDIS},
    {"endless error", SET_SAYS("-ERR "), .flood = 64 << 20, NO_REDIS},
    {"unasked answers", ALL_SAY("+OK\r\n+OK\r\n+OK\r\n+OK\r\n"), .votes = VOTE(GARBAGE) | VOTE(YES)},
    {"push message", ALL_SAY(">2\r\n+message\r\n+hello\r\n"), NO_REDIS},
    {"closes at once", .close_on_accept = true, ENDED},
    {"closes at a command", .close_on_command = true, ENDED},
    {"silent", ALL_SAY(""), .votes = VOTE(TIMEOUT) | VOTE(UNSENT)},
    {"silent to SET", SET_SAYS(""), .votes = VOTE(TIMEOUT)},
    {"half an answer", SET_SAYS("+O"), .votes = VOTE(TIMEOUT)},
    {"replica without its master", REFUSES(BLOCKED, "MASTERDOWN Link with MASTER is down")},
    {"cluster, down", REFUSES(CLUSTER, "CLUSTERDOWN The cluster is down")},
    {"wrong password", RULE("AUTH", "-WRONGPASS invalid username-password pair\r\n"), .password = true,
     .votes = VOTE(AUTH), .text = "WRONGPASS invalid username-password pair"},
    {"password and command together", RULE("AUTH", "-NOPERM this user has no permissions\r\n"),
     .password = true, .votes = VOTE(NOPERM), .text = "NOPERM this user has no permissions"},
    {"array of 100 million", SET_SAYS("*100000000\r\n"), .flood = 1 << 20, NO_REDIS},
    {"array of 100 million in an array", SET_SAYS("*2\r\n*100000000\r\n"), NO_REDIS},
    {"nested array", SET_SAYS("*1\r\n*1\r\n+OK\r\n"), NO_REDIS},
    {"answer without end", SET_SAYS("$400000000\r\n"), .flood = SIZE_MAX, NO_REDIS},
    {"push message before the answer", SET_SAYS(">2\r\n+invalidate\r\n*1\r\n$3\r\nkey\r\n+OK\r\n"), NO_REDIS},
    {"map and double of RESP3", SET_SAYS("%1\r\n+a\r\n,1.5\r\n"), NO_REDIS},
    {"error byte by byte", REFUSES(LOADING, "LOADING Redis is loading"), .one_byte = true},
    {"garbage byte by byte", SET_SAYS("OK\r\n"), .one_byte = true, NO_REDIS},
    {"closes after AUTH", RULE("AUTH", "+OK\r\n", true), .password = true, ENDED},
    {"closes in the answer to AUTH", RULE("AUTH", "+O", true), .password = true, ENDED},
    {"closes in an answer", SET_ENDS("+O"), .votes = VOTE(CLOSED)},
    {"closes instead of an answer", SET_ENDS(""), .votes = VOTE(CLOSED)},
    {"closes after an error", SET_ENDS("-MISCONF Errors writing to the AOF file\r\n"),
     .votes = VOTE(MISCONF)},
    {"answers twice", SET_SAYS("+OK\r\n+OK\r\n"), .votes = VOTE(YES), .text = "the answer is not "},
    {"answers before it is asked", .early = "+OK\r\n", .votes = VOTE(GARBAGE), .text = "the answer is not "},
    {"many answers before it is asked", .early = "+OK\r\n+OK\r\n+OK\r\n+OK\r\n",
     .votes = VOTE(GARBAGE) | VOTE(YES), .text = "the answer is not "},
};

enum { BEHAVIOURS = sizeof behaviours / sizeof behaviours[0] };

static bool waits_for_timeout(const struct behaviour *b)
{
	return (b->votes & VOTE(TIMEOUT)) != 0;
}

static void begin(struct scripted *scripted, const struct behaviour *b)
{
	struct scripted_plan plan = {
	    .rules = b->rules[0].command != NULL ? b->rules : NULL,
	    .greeting = b->greeting,
	    .early = b->early,
	    .one_byte = b->one_byte,
	    .close_on_accept = b->close_on_accept,
	    .close_on_command = b->close_on_command,
	    .flood = b->flood,
	};
	scripted_start(scripted, &plan);
	if (b->password)
		snprintf(scripted->url, sizeof scripted->url, "redis://:secret@127.0.0.1:%d", scripted->port);
}

static void expect_reason(const struct behaviour *b, const redlock_lock *lock, unsigned node)
{
	enum redlock_vote_code vote = fixture_vote(lock, node);
	if ((b->votes & (UINT64_C(1) << vote)) == 0)
		fail_msg("%s: vote %s", b->what, redlock_vote_name(vote));
}

/* ---- a quorum grants beside it ---- */

static void grant_beside(const struct behaviour *b)
{
	struct scripted bad[2];
	begin(&bad[0], b);
	begin(&bad[1], b);
	const char *urls[] = {bad[0].url, servers.urls[0], bad[1].url, servers.urls[1], servers.urls[2]};
	redlock_client *client = fixture_open(urls, 5, FIXTURE_NODE_TIMEOUT_MS);
	redlock_lock *lock = fixture_lock(client, "beside", WAIT_LONG_TTL_MS, 0);
	for (int i = 0; i < 3; i++) {
		uint64_t start_ns = wait_now_ns();
		expect_ok(lock, redlock_acquire(lock));
		expect_ok(lock, redlock_extend(lock, 0));
		expect_ok(lock, redlock_release(lock));
		if (wait_elapsed_ms(start_ns) > FIXTURE_NODE_TIMEOUT_MS / 2)
			fail_msg("%s: %d ms", b->what, (int)wait_elapsed_ms(start_ns));
		assert_driven(client, servers_with_key(&servers, 3, "beside") == 0);
	}
	redlock_lock_free(lock);
	redlock_close(client);
	scripted_stop(&bad[1]);
	scripted_stop(&bad[0]);
}

/* ---- the vote that is waited for ---- */

/* One node grants and one refuses, so that the third decides between BUSY and a grant. It never grants. */
static bool has_text(redlock_client *client, const char *text)
{
	struct redlock_node_status status = fixture_status(client, 1);
	return strstr(status.last_error, text) != NULL && strstr(status.last_error, "secret") == NULL;
}

/* Bytes that nobody reads stay in the buffers of the kernel: a few MiB for each connection. */
static bool took_little(const struct scripted *bad)
{
	return bad->counts->flooded <= (bad->counts->connections + 1ul) * (16ul << 20);
}

static void decide_by(const struct behaviour *b)
{
	own_scripted bad;
	begin(&bad, b);
	const char *urls[] = {servers.urls[0], bad.url, servers.urls[1]};
	redlock_client *client =
	    fixture_open(urls, 3, waits_for_timeout(b) ? SHORT_TIMEOUT_MS : FIXTURE_NODE_TIMEOUT_MS);
	/* An own value is tried once, whatever the others might still give back. */
	redlock_lock *lock = fixture_value_lock(client, "decides", WAIT_LONG_TTL_MS, "ours");
	server_must(&servers.server[1], "OK", "SET", "decides", "somebody else", NULL);
	int result = redlock_acquire(lock);
	expect_reason(b, lock, 1);
	if (fixture_vote(lock, 1) != REDLOCK_VOTE_YES)
		expect_result(lock, REDLOCK_E_BUSY, result);
	if (b->text != NULL)
		assert_driven(client, has_text(client, b->text));
	assert_true(took_little(&bad));
	redlock_lock_free(lock);
	redlock_close(client);
	assert_soon(!server_has(&servers.server[0], "decides"));
	server_must(&servers.server[1], "1", "DEL", "decides", NULL);
}

/* ---- memory: first of all, as the peak never falls ---- */

static long resident_peak_kib(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	long kib = -1;
	while (file != NULL && fgets(line, sizeof line, file) != NULL) {
		if (strncmp(line, "VmHWM:", 6) == 0)
			kib = strtol(line + 6, NULL, 10);
	}
	if (file != NULL)
		fclose(file);
	return kib;
}

/* However much a server promises or sends, the peak of the memory in use hardly moves. */
TEST(memory_is_bounded)
{
	if (wait_is_slow()) {
		print_message("memory is not judged under a sanitizer or valgrind\n");
		skip();
	}
	decide_by(&behaviours[0]);
	long before_kib = resident_peak_kib();
	assert_true(before_kib > 0);
	for (unsigned i = 0; i < BEHAVIOURS; i++) {
		if (behaviours[i].flood > 0 || strstr(behaviours[i].what, "array") != NULL)
			decide_by(&behaviours[i]);
	}
	assert_in_range(resident_peak_kib(), before_kib, before_kib + 4L * 1024);
}

TEST(grant_beside_bad_nodes)
{
	for (unsigned i = 0; i < BEHAVIOURS; i++)
		grant_beside(&behaviours[i]);
}

TEST(reason_of_each_bad_node)
{
	for (unsigned i = 0; i < BEHAVIOURS; i++)
		decide_by(&behaviours[i]);
}

/* ---- all nodes are bad ---- */

TEST(all_nodes_bad)
{
	enum { NODES = 7 };
	for (unsigned first = 0; first < BEHAVIOURS; first += NODES) {
		struct scripted bad[NODES];
		const char *urls[NODES];
		const struct behaviour *which[NODES];
		for (unsigned i = 0; i < NODES; i++) {
			which[i] = &behaviours[(first + i) % BEHAVIOURS];
			if (which[i]->votes & VOTE(YES)) /* may be taken for a good one */
				which[i] = &behaviours[0];
			begin(&bad[i], which[i]);
			urls[i] = bad[i].url;
		}
		redlock_client *client = fixture_open(urls, NODES, 3000);
		redlock_lock *lock = fixture_lock(client, "nowhere", WAIT_LONG_TTL_MS, 0);
		expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
		for (unsigned i = 0; i < NODES; i++)
			if (fixture_vote(lock, i) != REDLOCK_VOTE_PENDING) /* the result does not wait for all reasons */
				expect_reason(which[i], lock, i);
		assert_true(fixture_votes_of_kind(lock, NODES, REDLOCK_KIND_PENDING) < NODES - NODES / 2);
		redlock_lock_free(lock);
		redlock_close(client);
		for (unsigned i = 0; i < NODES; i++)
			scripted_stop(&bad[i]);
	}
}

/* ---- reconnects ---- */

/* How many connections there can be within this time: the first; one that is excused because it opened; then
 * with at least 50 ms before the next, 100, 200 ... up to 1500. */
static unsigned most_connections(uint64_t elapsed_ms)
{
	unsigned count = 2;
	uint64_t least_ms = 50;
	for (uint64_t at_ms = 0; (at_ms += least_ms) <= elapsed_ms; count++)
		least_ms = least_ms * 2 < 1500 ? least_ms * 2 : 1500;
	return count;
}

TEST(reconnects_back_off)
{
	static const char *const names[] = {"closes at once",
	                                    "closes at a command",
	                                    "closes after AUTH",
	                                    "closes in an answer",
	                                    "wrong password",
	                                    "closes after an error",
	                                    "answers before it is asked",
	                                    "integer for a status",
	                                    "huge array",
	                                    "answers twice",
	                                    "turned away: too many",
	                                    "push message",
	                                    "endless status",
	                                    "closes instead of an answer"};
	enum { BAD = sizeof names / sizeof names[0], GOOD = BAD + 1, WINDOW_MS = 2500 };
	struct scripted bad[BAD], good[GOOD];
	const char *urls[BAD + GOOD];
	for (unsigned i = 0; i < BAD; i++) {
		const struct behaviour *b = behaviours;
		while (strcmp(b->what, names[i]) != 0)
			b++;
		begin(&bad[i], b);
		urls[i] = bad[i].url;
	}
	for (unsigned i = 0; i < GOOD; i++) {
		scripted_start(&good[i], &(struct scripted_plan){.flood = 0});
		urls[BAD + i] = good[i].url;
	}
	uint64_t start_ns = wait_now_ns();
	redlock_client *client = fixture_open(urls, BAD + GOOD, FIXTURE_NODE_TIMEOUT_MS);
	redlock_lock *lock = fixture_lock(client, "spaced", WAIT_LONG_TTL_MS, 0);
	while (wait_elapsed_ms(start_ns) < WINDOW_MS)
		expect_pair(lock);
	for (unsigned i = 0; i < BAD; i++) {
		unsigned connections = bad[i].counts->connections, most = most_connections(wait_elapsed_ms(start_ns));
		if (connections < 2 || connections > most)
			fail_msg("%s: %u connections, at most %u", names[i], connections, most);
	}
	redlock_lock_free(lock);
	redlock_close(client);
	for (unsigned i = 0; i < BAD; i++)
		scripted_stop(&bad[i]);
	for (unsigned i = 0; i < GOOD; i++) {
		assert_soon(good[i].counts->connections == 1);
		scripted_stop(&good[i]);
	}
}

SERVER_TESTS(3)
