/* SPDX-License-Identifier: MIT */
/*
 * redlock-sim-sets: how throughput grows with the node sets. A client keeps locks in flight over 1, 2, 4, 8
 * and 16 sets of three servers each; the library's own redlock_nodes_of() says which set has a name. A server
 * executes one request at a time, each in the same time. The wires and the client take none, so that the
 * servers are the limit. Prints pairs of acquire and release per second of virtual time, and fails when k
 * sets serve less than 3/4 k times as many as one. --break tag gives all names one hash tag, and so one set:
 * then it must fail.
 */
#include <stdio.h>
#include <stdlib.h>

#include <redlock/redlock.h>

#include "prng.h"
#include "redis.h"
#include "wire.h"

enum { SETS = 16, SET_NODES = 3, SERVERS = SETS * SET_NODES, NAMES = 20000, IN_FLIGHT = 32 };

#define SETS_MS UINT64_C(1000000)
#define WARM_UP_NS (40 * SETS_MS)
#define MEASURE_NS (25 * SETS_MS)

/* An ordinary client of the nodes of one set, in a process of its own: the modelled poller has no others in
 * it. */
struct part {
	redlock_client *client;
	struct fake_process process;
	unsigned names;
	bool begun; /* an operation was started since it was driven */
};

struct job {
	redlock_lock *lock;
	struct part *part;
	unsigned wanted; /* so often: once, and then again, one after the other */
};

struct server {
	struct redis redis;
	uint64_t free_ns, busy_ns; /* when it is free again; the sum of what it has worked by then */
};

static struct {
	uint64_t service_ns, pairs;
	bool one_tag;
	struct prng random;
	struct server servers[SERVERS];
	struct part parts[SETS];
	struct job jobs[NAMES];
} sim;

static void must(int error, const char *what)
{
	if (error >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, redlock_strerror(error));
	exit(2);
}

/* ---- the world ---- */

static int random_bytes(void *buffer, size_t size)
{
	unsigned char *at = buffer;
	for (size_t i = 0; i < size; i++)
		at[i] = (unsigned char)prng_next(&sim.random);
	return 0;
}

static bool literal(const char *host, uint16_t port, struct rl_address *ret)
{
	*ret = fake_address('T', (unsigned)strtoul(host + strlen("node"), NULL, 10));
	return true;
}

static int connect_to(const struct rl_address *address, uint32_t *ret_conn)
{
	int error = wire_world.connect(address, ret_conn);
	wire_last()->peer = redis_accept(&sim.servers[address->bytes[1]].redis);
	return error;
}

static void make_world(uint64_t seed)
{
	static struct fake_world world;
	wires_begin();
	world = wire_world;
	world.random = random_bytes;
	world.connect = connect_to;
	world.literal = literal;
	fake_world = &world;
	wires.now_ns = 1000 * SETS_MS;
	prng_seed(&sim.random, seed, 1);
	for (unsigned i = 0; i < SERVERS; i++)
		snprintf(sim.servers[i].redis.run_id, sizeof sim.servers[i].redis.run_id, "%040u", i);
}

/* Each server that is free executes one request; the answer is there when it has done so. Returns when a
 * server is free the next time. */
static uint64_t serve(void)
{
	uint64_t next_ns = UINT64_MAX;
	for (uint32_t i = 1; i < wires.count; i++) {
		struct wire *w = &wires.list[i];
		struct server *s = &sim.servers[w->address.bytes[1]];
		if (s->free_ns <= wires.now_ns && w->up.length > 0) {
			s->redis.now_ms = (int64_t)(wires.now_ns / SETS_MS);
			redis_serve(&s->redis, w->peer, &w->up, 1, &w->down);
			s->free_ns = w->due_ns = wires.now_ns + sim.service_ns;
			s->busy_ns += sim.service_ns;
		}
		if (s->free_ns > wires.now_ns && s->free_ns < next_ns)
			next_ns = s->free_ns;
	}
	return next_ns;
}

/* ---- the client ---- */

static struct redlock_options options_of(unsigned count)
{
	static char hosts[SERVERS][20], names[SETS][2];
	static const char *urls[SERVERS];
	static struct redlock_node_set sets[SETS];
	struct redlock_options options;
	for (unsigned i = 0; i < SERVERS; i++) {
		snprintf(hosts[i], sizeof hosts[i], "redis://node%u", i);
		urls[i] = hosts[i];
	}
	for (unsigned i = 0; i < count; i++) {
		names[i][0] = (char)('a' + i);
		sets[i] = (struct redlock_node_set){.size = sizeof sets[i],
		                                    .name = names[i],
		                                    .urls = &urls[(size_t)i * SET_NODES],
		                                    .url_count = SET_NODES};
	}
	redlock_options_init(&options);
	options.sets = sets;
	options.set_count = count;
	return options;
}

static void make_job(struct job *job, const struct redlock_options *whole)
{
	struct redlock_options options = *whole;
	struct redlock_node_set set = {.size = sizeof set};
	struct redlock_lock_options lock;
	const char *urls[REDLOCK_MAX_NODES];
	char text[48];
	int length = snprintf(text, sizeof text, "%sjob-%016llx", sim.one_tag ? "{tag}" : "",
	                      (unsigned long long)prng_next(&sim.random));
	struct redlock_name name = {text, (size_t)length};
	must(redlock_nodes_of(whole, &name, 1, urls, &set), "redlock_nodes_of");
	*job = (struct job){.part = &sim.parts[set.name[0] - 'a']};
	fake_process = &job->part->process;
	options.sets = NULL;
	options.set_count = 0;
	options.urls = set.urls;
	options.url_count = set.url_count;
	if (job->part->names++ == 0)
		must(redlock_open(&options, &job->part->client), "redlock_open");
	redlock_lock_options_init(&lock);
	lock.user = job;
	must(redlock_lock_new(job->part->client, text, &lock, &job->lock), "redlock_lock_new");
}

static void start(struct job *job)
{
	fake_process = &job->part->process;
	must(redlock_start_acquire(job->lock), "redlock_start_acquire");
	job->part->begun = true;
}

/* Somebody wants any of the names, which is in flight perhaps. */
static void want(void)
{
	struct job *job = &sim.jobs[prng_below(&sim.random, NAMES)];
	if (job->wanted++ == 0)
		start(job);
}

static void go_on(struct job *job, const struct redlock_event *event)
{
	must(event->result, "a pair");
	if (event->operation == REDLOCK_OP_ACQUIRE) {
		must(redlock_start_release(job->lock), "redlock_start_release");
		job->part->begun = true;
		return;
	}
	sim.pairs++;
	if (--job->wanted > 0)
		start(job);
	want();
}

static bool drive(struct part *p)
{
	struct redlock_event event = {.size = sizeof event};
	if (p->client == NULL ||
	    (!p->begun && p->process.armed_ns > wires.now_ns && !fake_anything_ready(&p->process)))
		return false;
	p->begun = false;
	for (fake_process = &p->process; redlock_next(p->client, &event) > 0; fake_process = &p->process)
		if (event.kind == REDLOCK_EVENT_DONE)
			go_on(redlock_lock_user(event.lock), &event);
	must(redlock_process(p->client), "redlock_process");
	p->begun = redlock_timeout_ns(p->client) <= wires.now_ns;
	return true;
}

static void run_until(uint64_t until_ns)
{
	while (wires.now_ns < until_ns) {
		bool any = true;
		while (any) {
			any = false;
			for (unsigned i = 0; i < SETS; i++)
				any |= drive(&sim.parts[i]);
		}
		uint64_t next_ns = serve();
		for (unsigned i = 0; i < SETS; i++)
			if (sim.parts[i].client != NULL && sim.parts[i].process.armed_ns < next_ns)
				next_ns = sim.parts[i].process.armed_ns;
		wires.now_ns = next_ns < until_ns ? next_ns : until_ns;
	}
}

/* ---- what is counted ---- */

static uint64_t worked_ns(const struct server *s)
{
	return s->busy_ns - (s->free_ns > wires.now_ns ? s->free_ns - wires.now_ns : 0);
}

/* Pairs per second. The line has no end yet. */
static double measure(unsigned sets)
{
	uint64_t before[SERVERS], busiest_ns = 0;
	unsigned least = NAMES, most = 0;
	run_until(wires.now_ns + WARM_UP_NS);
	sim.pairs = 0;
	for (unsigned i = 0; i < SERVERS; i++)
		before[i] = worked_ns(&sim.servers[i]);
	run_until(wires.now_ns + MEASURE_NS);
	for (unsigned i = 0; i < sets * SET_NODES; i++) {
		uint64_t worked = worked_ns(&sim.servers[i]) - before[i];
		busiest_ns = worked > busiest_ns ? worked : busiest_ns;
		least = sim.parts[i / SET_NODES].names < least ? sim.parts[i / SET_NODES].names : least;
		most = sim.parts[i / SET_NODES].names > most ? sim.parts[i / SET_NODES].names : most;
	}
	double pairs_per_s = (double)sim.pairs * 1e9 / (double)MEASURE_NS, mean = (double)NAMES / sets;
	printf("%4u %12.0f %14.1f %% %10.3f - %.3f", sets, pairs_per_s,
	       100.0 * (double)busiest_ns / (double)MEASURE_NS, least / mean, most / mean);
	return pairs_per_s;
}

static double play(unsigned sets, uint64_t seed)
{
	struct redlock_options options = options_of(sets);
	memset(sim.servers, 0, sizeof sim.servers);
	memset(sim.parts, 0, sizeof sim.parts);
	make_world(seed);
	for (unsigned i = 0; i < NAMES; i++)
		make_job(&sim.jobs[i], &options);
	for (unsigned i = 0; i < sets * IN_FLIGHT; i++)
		want();
	double pairs_per_s = measure(sets);
	for (unsigned i = 0; i < NAMES; i++) {
		fake_process = &sim.jobs[i].part->process;
		redlock_lock_leave(sim.jobs[i].lock);
	}
	for (unsigned i = 0; i < SETS; i++) {
		fake_process = &sim.parts[i].process;
		redlock_close(sim.parts[i].client);
	}
	for (unsigned i = 0; i < SERVERS; i++)
		redis_free(&sim.servers[i].redis);
	wires_end();
	return pairs_per_s;
}

int main(int argc, char **argv)
{
	uint64_t seed = 1;
	bool good = true;
	double first = 0;
	sim.service_ns = 1200;
	for (int i = 1; i < argc; i += 2) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";
		if (strcmp(argv[i], "--seed") == 0)
			seed = strtoull(value, NULL, 10);
		else if (strcmp(argv[i], "--service-ns") == 0 && strtoull(value, NULL, 10) > 0)
			sim.service_ns = strtoull(value, NULL, 10);
		else if (strcmp(argv[i], "--break") == 0 && strcmp(value, "tag") == 0)
			sim.one_tag = true;
		else {
			fprintf(stderr, "usage: %s [--seed N] [--service-ns N] [--break tag]\n", argv[0]);
			return 2;
		}
	}
	puts("sets      pairs/s   busiest server   names of a set/mean   x one set");
	for (unsigned sets = 1; sets <= SETS; sets *= 2) {
		double pairs_per_s = play(sets, seed);
		first = sets == 1 ? pairs_per_s : first;
		bool grows = pairs_per_s >= 0.75 * sets * first;
		printf(" %13.2f%s\n", pairs_per_s / first, grows ? "" : "   TOO LITTLE");
		good = good && grows;
	}
	if (sim.one_tag)
		puts(good ? "nothing was found, although all names are in one set" : "found, as it must be");
	return good == sim.one_tag ? 1 : 0;
}
