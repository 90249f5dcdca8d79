/* SPDX-License-Identifier: MIT */
/*
 * redlock-sim-storm: a thousand clients, the shipped library in each, lose one of three nodes at one moment.
 * Prints how many connections reach that node while it is away and when it is back, and fails when there are
 * more than the arithmetic of src/net/backoff.c allows. --break takes the jitter or the backoff away: then it
 * must fail.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <redlock/redlock.h>

#include "net/node.h"
#include "prng.h"
#include "redis.h"
#include "resp.h"
#include "wire.h"

enum { STORM_CLIENTS = 1000, STORM_NODES = 3 };

#define STORM_MS UINT64_C(1000000)
#define STORM_NEVER UINT64_MAX

enum storm_break { STORM_WHOLE, STORM_NO_JITTER, STORM_NO_BACKOFF };

struct storm_client {
	redlock_client *client;
	redlock_lock *lock;
	struct fake_process process;
	uint64_t begins_ns; /* its first operation; NEVER: none */
};

static struct {
	enum storm_break broken;
	uint64_t down_ns, up_ns; /* node 0 is away in between */
	struct prng random;
	struct storm_client clients[STORM_CLIENTS];
	struct redis nodes[STORM_NODES];
	uint32_t arrivals[40000]; /* connections that reach node 0, per millisecond since it went */
} storm;

/* ---- the world: a millisecond each way, and nodes that answer at once ---- */

static int random_bytes(void *buffer, size_t size)
{
	unsigned char *at = buffer;
	for (size_t i = 0; i < size; i++)
		at[i] = storm.broken == STORM_NO_JITTER ? 0 : (unsigned char)prng_next(&storm.random);
	return 0;
}

/* The library's backoff, or none worth the name. */
void real_backoff(struct rl_backoff *backoff, uint64_t opened_ns, bool needed,
                  uint64_t now_ns) __asm__("__real_rl_backoff_begin");
void hooked_backoff(struct rl_backoff *backoff, uint64_t opened_ns, bool needed,
                    uint64_t now_ns) __asm__("__wrap_rl_backoff_begin");

void hooked_backoff(struct rl_backoff *backoff, uint64_t opened_ns, bool needed, uint64_t now_ns)
{
	real_backoff(backoff, opened_ns, needed, now_ns);
	if (storm.broken == STORM_NO_BACKOFF)
		backoff->retry_at_ns = now_ns + 20 * STORM_MS + prng_below(&storm.random, 20) * STORM_MS;
}

static int connect_to(const struct rl_address *address, uint32_t *ret_conn)
{
	unsigned node = address->bytes[1];
	uint64_t away_ms = (wires.now_ns - storm.down_ns) / STORM_MS;
	bool away = node == 0 && wires.now_ns >= storm.down_ns;
	int error = wire_world.connect(address, ret_conn);
	wire_last()->due_ns = wires.now_ns + STORM_MS;
	wire_last()->connect_error = away && wires.now_ns < storm.up_ns ? ECONNREFUSED : 0;
	if (away && away_ms < sizeof storm.arrivals / sizeof storm.arrivals[0])
		storm.arrivals[away_ms]++;
	wire_last()->peer = redis_accept(&storm.nodes[node]);
	return error;
}

static ssize_t send_bytes(uint32_t conn, const void *bytes, size_t size)
{
	struct wire *w = &wires.list[conn];
	struct redis *node = &storm.nodes[w->address.bytes[1]];
	ssize_t sent = wire_world.send(conn, bytes, size);
	bool idle = w->down.length == 0;
	node->now_ms = (int64_t)(wires.now_ns / STORM_MS);
	redis_expire(node);
	redis_serve(node, w->peer, &w->up, UINT32_MAX, &w->down);
	if (idle && w->down.length > 0)
		w->due_ns = wires.now_ns + 2 * STORM_MS;
	return sent;
}

static void close_wire(uint32_t conn, bool abort)
{
	redis_forget(&storm.nodes[wires.list[conn].address.bytes[1]], wires.list[conn].peer);
	wire_world.close(conn, abort);
	buffer_free(&wires.list[conn].up);
}

static bool literal(const char *host, uint16_t port, struct rl_address *ret)
{
	*ret = fake_address('T', (unsigned)(host[strlen("node")] - '0'));
	return true;
}

/* When something happens for this client without its doing. */
static uint64_t due_of(const struct storm_client *c)
{
	uint64_t due_ns = c->process.armed_ns < c->begins_ns ? c->process.armed_ns : c->begins_ns;
	for (unsigned i = 0; i < FAKE_FDS; i++) {
		const struct fake_fd *fd = &c->process.fds[i];
		const struct wire *w = &wires.list[fd->used ? fd->conn : 0];
		bool waits = fd->watched && w->open && (!w->settled || w->down.length > 0 || w->read_error != 0);
		if (waits && w->due_ns < due_ns)
			due_ns = w->due_ns;
	}
	return due_ns;
}

/* Node 0 goes: all its connections are reset. */
static void lose_node(void)
{
	for (uint32_t i = 0; i < wires.count; i++) {
		struct wire *w = &wires.list[i];
		if (!w->open || w->address.bytes[1] != 0)
			continue;
		buffer_drop(&w->down, w->down.length);
		w->read_error = ECONNRESET;
		w->broken = true;
		w->due_ns = wires.now_ns;
	}
}

static void make_world(uint64_t seed)
{
	static struct fake_world world;
	static const struct bytes busy = {"busy", 4};
	wires_begin();
	world = wire_world;
	world.random = random_bytes;
	world.connect = connect_to;
	world.send = send_bytes;
	world.close = close_wire;
	world.literal = literal;
	fake_world = &world;
	wires.now_ns = 1000 * STORM_MS;
	prng_seed(&storm.random, seed, 1);
	for (unsigned i = 0; i < STORM_NODES; i++) {
		snprintf(storm.nodes[i].run_id, sizeof storm.nodes[i].run_id, "%040u", i);
		redis_put(&storm.nodes[i], 0, busy, text_bytes("somebody else's"));
	}
}

/* ---- what clients do ---- */

struct scene {
	const char *name;
	bool holds, waits; /* else they are idle */
	uint64_t away_ms;
	/* Connections per millisecond on average, at most: in the first second, later, and when it is back. */
	double early, late;
};

/*
 * While no lock is asked for, the first try comes at a random time within a second: 1 per ms for 1000
 * clients. The next ones come 50-100, 150-300, 350-700 and 750-1500 ms after it: 5 per ms at the most, at the
 * end of that second. Later each client tries once in 1.5 to 3 s: less than 1000 / 1500 per ms, however they
 * are spread. Clients that renew each 10 s add a tenth at most. Clients that wait for a busy lock ask each 50
 * to 150 ms, 10 per ms, and connect as they ask: each of the next three tries is as dense or less, and the
 * times of three can overlap. Each of them has a second connection, to listen.
 */
static const struct scene scenes[] = {
    {"idle, 20 s", false, false, 20000, 5.0, 1000 / 1500.0},
    {"holding locks, 20 s", true, false, 20000, 5.5, 1000 / 1500.0},
    {"waiting for a lock, 20 s", false, true, 20000, 30.0, 2 * 1000 / 1500.0},
    {"idle, back at once", false, false, 0, 1.0, 0},
    {"holding locks, back after 300 ms", true, false, 300, 5.5, 1000 / 1500.0},
};

enum { WARM_UP_MS = 15000, AFTER_MS = 8000, SECOND_MS = 1000, LATE_FROM_MS = 6000, LONGEST_DELAY_MS = 3000 };

static void must(int error, const char *what)
{
	if (error >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, redlock_strerror(error));
	exit(2);
}

static void open_client(struct storm_client *c, const struct scene *scene)
{
	static const char *const urls[] = {"redis://node0", "redis://node1", "redis://node2"};
	struct redlock_options options;
	struct redlock_lock_options lock;
	char name[32];
	redlock_options_init(&options);
	options.urls = urls;
	options.url_count = STORM_NODES;
	fake_process = &c->process;
	must(redlock_open(&options, &c->client), "redlock_open");
	redlock_lock_options_init(&lock);
	lock.ttl_ms = 30000;
	lock.renew_ms = 10000;
	lock.wait_ms = REDLOCK_FOREVER;
	snprintf(name, sizeof name, scene->waits ? "busy" : "job-%u", (unsigned)(c - storm.clients));
	must(redlock_lock_new(c->client, name, &lock, &c->lock), "redlock_lock_new");
	c->begins_ns = scene->holds || scene->waits ? wires.now_ns + prng_below(&storm.random, 10000) * STORM_MS
	                                            : STORM_NEVER;
}

static void run_client(struct storm_client *c)
{
	struct redlock_event event = {.size = sizeof event};
	fake_process = &c->process;
	if (c->begins_ns <= wires.now_ns) {
		c->begins_ns = STORM_NEVER;
		must(redlock_start_acquire(c->lock), "redlock_start_acquire");
	}
	do
		must(redlock_process(c->client), "redlock_process");
	while (redlock_timeout_ns(c->client) <= wires.now_ns && redlock_next(c->client, &event) > 0);
}

/* When each client has something to do. */
static uint64_t due_ns[STORM_CLIENTS];

static void run_until(uint64_t until_ns)
{
	for (unsigned i = 0; i < STORM_CLIENTS; i++)
		due_ns[i] = due_of(&storm.clients[i]);
	for (;;) {
		unsigned first = 0;
		for (unsigned i = 1; i < STORM_CLIENTS; i++)
			first = due_ns[i] < due_ns[first] ? i : first;
		uint64_t next_ns = due_ns[first] < until_ns ? due_ns[first] : until_ns;
		wires.now_ns = next_ns > wires.now_ns ? next_ns : wires.now_ns;
		if (due_ns[first] >= until_ns)
			return;
		run_client(&storm.clients[first]);
		due_ns[first] = due_of(&storm.clients[first]);
	}
}

static unsigned count_connected(void)
{
	unsigned count = 0;
	for (unsigned i = 0; i < STORM_CLIENTS; i++) {
		struct redlock_node_status status = {.size = sizeof status};
		must(redlock_node_status(storm.clients[i].client, 0, &status), "redlock_node_status");
		count += status.connected != 0;
	}
	return count;
}

/* ---- what is counted ---- */

static unsigned arrivals(unsigned from_ms, unsigned to_ms)
{
	unsigned sum = 0;
	for (unsigned ms = from_ms; ms < to_ms; ms++)
		sum += storm.arrivals[ms];
	return sum;
}

static unsigned most_in(unsigned window_ms, unsigned from_ms, unsigned to_ms)
{
	unsigned most = 0;
	for (unsigned ms = from_ms; ms + window_ms <= to_ms; ms++) {
		unsigned sum = arrivals(ms, ms + window_ms);
		most = sum > most ? sum : most;
	}
	return most;
}

static void print_histogram(unsigned until_ms)
{
	for (unsigned ms = 0; ms < until_ms; ms += 100) {
		unsigned sum = arrivals(ms, ms + 100);
		printf("  %6u ms %5u ", ms, sum);
		for (unsigned i = 0; i < sum; i += 10)
			putchar('#');
		putchar('\n');
	}
}

/* Random arrivals of this mean stay within six deviations of it, in all windows of all seeds that anybody
 * will run. */
static bool holds(const char *when, unsigned window_ms, unsigned from_ms, unsigned to_ms, double per_ms)
{
	double mean = per_ms * window_ms;
	double bound = mean + 6 * sqrt(mean) + 1;
	unsigned most = to_ms > from_ms ? most_in(window_ms, from_ms, to_ms) : 0;
	bool good = most <= bound;
	printf("  %-28s %4u in %3u ms, at most %4.0f%s\n", when, most, window_ms, bound,
	       good ? "" : "   TOO MANY");
	return good;
}

static bool judge(const struct scene *scene)
{
	unsigned up_ms = (unsigned)scene->away_ms, end_ms = up_ms + LONGEST_DELAY_MS + AFTER_MS;
	bool good = true;
	for (unsigned window_ms = 10; window_ms <= 100; window_ms *= 10) {
		good &= holds("at first", window_ms, 0, LATE_FROM_MS, scene->early);
		if (up_ms > LATE_FROM_MS)
			good &= holds("later, and when it is back", window_ms, LATE_FROM_MS, end_ms, scene->late);
	}
	unsigned back = arrivals(up_ms, end_ms), connected = count_connected();
	printf("  %u connections when it is back, %u clients connected\n", back, connected);
	/* Each comes once, and none stays away. One that waits may come once more, to listen. */
	good &= connected == STORM_CLIENTS && back >= STORM_CLIENTS - (up_ms == 0 ? 0u : 1u) * 50 &&
	        back <= STORM_CLIENTS * (scene->waits ? 2u : 1u);
	return good;
}

static bool play(const struct scene *scene, enum storm_break broken, uint64_t seed, bool histogram)
{
	memset(&storm, 0, sizeof storm);
	storm.broken = broken;
	storm.down_ns = storm.up_ns = STORM_NEVER;
	make_world(seed);
	for (unsigned i = 0; i < STORM_CLIENTS; i++)
		open_client(&storm.clients[i], scene);
	run_until(wires.now_ns + WARM_UP_MS * STORM_MS);
	printf("%s: %u of %u clients are connected when the node goes\n", scene->name, count_connected(),
	       (unsigned)STORM_CLIENTS);
	storm.down_ns = wires.now_ns;
	storm.up_ns = wires.now_ns + scene->away_ms * STORM_MS;
	lose_node();
	run_until(storm.up_ns + (LONGEST_DELAY_MS + AFTER_MS) * STORM_MS);
	if (histogram)
		print_histogram((unsigned)scene->away_ms + LONGEST_DELAY_MS + 1000);
	bool good = judge(scene);
	for (unsigned i = 0; i < STORM_CLIENTS; i++) {
		fake_process = &storm.clients[i].process;
		redlock_lock_leave(storm.clients[i].lock);
		redlock_close(storm.clients[i].client);
	}
	for (unsigned i = 0; i < STORM_NODES; i++)
		redis_free(&storm.nodes[i]);
	wires_end();
	return good;
}

int main(int argc, char **argv)
{
	enum storm_break broken = STORM_WHOLE;
	bool histogram = false, good = true;
	uint64_t seed = 1;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--histogram") == 0)
			histogram = true;
		else if (i + 1 < argc && strcmp(argv[i], "--seed") == 0)
			seed = strtoull(argv[++i], NULL, 10);
		else if (i + 1 < argc && strcmp(argv[i], "--break") == 0 && strcmp(argv[i + 1], "jitter") == 0 && ++i)
			broken = STORM_NO_JITTER;
		else if (i + 1 < argc && strcmp(argv[i], "--break") == 0 && strcmp(argv[i + 1], "backoff") == 0 &&
		         ++i)
			broken = STORM_NO_BACKOFF;
		else {
			fprintf(stderr, "usage: %s [--histogram] [--seed N] [--break jitter|backoff]\n", argv[0]);
			return 2;
		}
	}
	for (unsigned i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
		bool one = play(&scenes[i], broken, seed, histogram);
		good = good && one;
	}
	if (broken != STORM_WHOLE)
		puts(good ? "nothing was found, although it is broken" : "found, as it must be");
	return good == (broken == STORM_WHOLE) ? 0 : 1;
}
