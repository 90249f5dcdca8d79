/* SPDX-License-Identifier: MIT */
/* Slots of one name, on real servers. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "record.h"
#include "scripts.h"

enum { NODES = 3, SLOTS = 3 };

static const char *const slot_keys[SLOTS] = {"job", "{job}:redlock:slot:1", "{job}:redlock:slot:2"};
static const char count_key[] = "{job}:redlock:slots";

static redlock_client *open_client_with(int guard)
{
	struct redlock_options options = fixture_client(servers.urls, NODES);
	options.guard = guard;
	return fixture_open_with(&options);
}

static redlock_client *open_client(void)
{
	return open_client_with(REDLOCK_GUARD_AUTO);
}

static redlock_lock *slot_of(redlock_client *client, unsigned slots, uint64_t wait_ms)
{
	struct redlock_lock_options options = fixture_options(WAIT_LONG_TTL_MS);
	options.slots = slots;
	options.wait_ms = wait_ms;
	return fixture_lock_with(client, "job", &options);
}

static unsigned number_of(const redlock_lock *lock)
{
	unsigned slot = 99;
	expect_ok(lock, redlock_lock_slot(lock, &slot));
	return slot;
}

static void flush_scripts(void)
{
	struct raw_reply reply;
	on_servers(0, NODES, server_ask(it, &reply, "SCRIPT", "FLUSH", NULL));
}

/* One after the other the handles get the lowest number that is free, on all nodes; there are three, and no
 * fourth. The servers forget the scripts in between. */
static void expect_slots(int guard)
{
	own_client *client = open_client_with(guard);
	own_lock *first = slot_of(client, SLOTS, 0), *second = slot_of(client, SLOTS, 0);
	own_lock *third = slot_of(client, SLOTS, 0), *fourth = slot_of(client, SLOTS, 0);
	redlock_lock *locks[SLOTS] = {first, second, third};
	unsigned slot;
	assert_int_equal(redlock_lock_slot(first, &slot), REDLOCK_E_STATE);
	for (int round = 0; round < 2; round++) {
		for (unsigned i = 0; i < SLOTS; i++) {
			expect_ok(locks[i], redlock_acquire(locks[i]));
			assert_int_equal(number_of(locks[i]), i);
			struct fixture_token token = fixture_token(locks[i]);
			assert_driven(client, servers_with_value(&servers, NODES, slot_keys[i], token.text) == NODES);
			on_servers(0, NODES, server_must(it, "1", "PEXPIRE", slot_keys[i], "60000", NULL));
			expect_ok(locks[i], redlock_extend(locks[i], 0));
			expect_ok(locks[i], redlock_query(locks[i]));
			assert_driven(client, server_pttl(&servers.server[NODES - 1], slot_keys[i]) > 60000);
			flush_scripts();
		}
		assert_driven(client, servers_with_value(&servers, NODES, count_key, "3") == NODES);
		expect_result(fourth, REDLOCK_E_BUSY, redlock_acquire(fourth));
		expect_ok(second, redlock_release(second));
		expect_settled(client, NODES, slot_keys[1]);
		expect_ok(fourth, redlock_acquire(fourth));
		assert_int_equal(number_of(fourth), 1);
		expect_ok(fourth, redlock_release(fourth));
		expect_result(fourth, REDLOCK_E_STATE, redlock_lock_slot(fourth, &slot));
		expect_ok(first, redlock_release(first));
		expect_ok(third, redlock_release(third));
		for (unsigned i = 0; i < SLOTS; i++)
			expect_settled(client, NODES, slot_keys[i]);
	}
}

TEST(each_slot_is_a_lock)
{
	expect_slots(REDLOCK_GUARD_AUTO);
	record_write(&servers, NODES, WAIT_LONG_TTL_MS, "1000");
	expect_slots(REDLOCK_GUARD_REQUIRE);
	servers_heal(&servers);
}

/* A client that has NAME, in whatever way, has one of the places, and the other way round. */
TEST(the_first_slot_is_the_name)
{
	own_client *client = open_client();
	own_lock *plain = fixture_lock(client, "job", WAIT_LONG_TTL_MS, 0);
	own_lock *one = slot_of(client, 2, 0), *two = slot_of(client, 2, 0);
	static const char *const others[][6] = {{"SET", "job", "x", NULL}, {"HSET", "job", "f", "v", NULL}};
	for (unsigned i = 0; i < 2; i++) {
		on_servers(0, NODES,
		           server_must(it, i == 0 ? "OK" : "1", others[i][0], others[i][1], others[i][2],
		                       others[i][3], NULL));
		expect_ok(one, redlock_acquire(one));
		assert_int_equal(number_of(one), 1);
		expect_result(two, REDLOCK_E_BUSY, redlock_acquire(two));
		expect_ok(one, redlock_release(one));
		on_servers(0, NODES, server_must(it, "1", "DEL", "job", NULL));
	}
	expect_ok(one, redlock_acquire(one));
	expect_ok(two, redlock_acquire(two));
	expect_result(plain, REDLOCK_E_BUSY, redlock_acquire(plain));
	expect_ok(two, redlock_release(two));
	expect_result(plain, REDLOCK_E_BUSY, redlock_acquire(plain));
	expect_ok(one, redlock_release(one));
	expect_pair(plain);
}

/* While a slot is taken, also one that the other number does not have, nobody sets another number. */
TEST(all_have_one_number)
{
	own_client *client = open_client();
	own_lock *three = slot_of(client, 3, 0), *more = slot_of(client, 3, 0);
	own_lock *two = slot_of(client, 2, WAIT_SOON_MS), *five = slot_of(client, 5, 0);
	expect_ok(three, redlock_acquire(three));
	expect_ok(more, redlock_acquire(more));
	expect_result(two, REDLOCK_E_NOQUORUM, redlock_acquire(two)); /* at once */
	assert_true(fixture_votes_of_kind(two, NODES, REDLOCK_KIND_FATAL) >= 2);
	expect_result(five, REDLOCK_E_NOQUORUM, redlock_acquire(five));
	own_lock *last = slot_of(client, 3, 0);
	expect_ok(last, redlock_acquire(last));
	expect_ok(three, redlock_release(three));
	expect_ok(more, redlock_release(more));
	assert_int_equal(number_of(last), 2);
	expect_result(two, REDLOCK_E_NOQUORUM, redlock_acquire(two));
	expect_ok(last, redlock_release(last));
	expect_settled(client, NODES, slot_keys[2]);
	expect_pair(two);
	assert_driven(client, servers_with_value(&servers, NODES, count_key, "2") == NODES);
	expect_pair(five);
}

struct racer {
	redlock_client *client;
	redlock_lock *lock;
	atomic_uint *holders;
	int result;
};

static void *race(void *of)
{
	struct racer *r = of;
	r->result = redlock_acquire(r->lock);
	atomic_fetch_add(r->holders, r->result == 0);
	while (r->result == 0 && atomic_load(r->holders) < SLOTS && redlock_drain(r->client, 1) >= 0)
		; /* its loop goes on, as in a service */
	return NULL;
}

/* As many clients as there are slots, at one moment: what split votes have left beside a grant keeps no slot
 * from the others until its TTL. */
TEST(all_slots_can_be_had_at_once)
{
	enum { ROUNDS = 40 };
	own_client *one = open_client(), *two = open_client(), *three = open_client();
	redlock_client *clients[SLOTS] = {one, two, three};
	atomic_uint holders;
	pthread_t threads[SLOTS];
	struct racer racers[SLOTS];
	for (unsigned i = 0; i < SLOTS; i++)
		racers[i] = (struct racer){clients[i], slot_of(clients[i], SLOTS, WAIT_SOON_MS), &holders, 0};
	for (int round = 0; round < ROUNDS; round++) {
		atomic_store(&holders, 0);
		for (unsigned i = 0; i < SLOTS; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
		for (unsigned i = 0; i < SLOTS; i++)
			pthread_join(threads[i], NULL);
		for (unsigned i = 0; i < SLOTS; i++)
			expect_ok(racers[i].lock, racers[i].result);
		for (unsigned i = 0; i < SLOTS; i++)
			expect_ok(racers[i].lock, redlock_release(racers[i].lock));
	}
	for (unsigned i = 0; i < SLOTS; i++)
		redlock_lock_free(racers[i].lock);
}

/* The slot's key goes: the next extend says so, and a release that it was gone. */
TEST(a_slot_is_lost_like_any_lock)
{
	own_client *client = open_client();
	own_lock *first = slot_of(client, SLOTS, 0), *lock = slot_of(client, SLOTS, 0);
	expect_ok(first, redlock_acquire(first));
	expect_ok(lock, redlock_acquire(lock));
	assert_driven(client, servers_with_key(&servers, NODES, slot_keys[1]) == NODES);
	on_servers(0, NODES, server_must(it, "OK", "SET", slot_keys[1], "x", NULL));
	expect_result(lock, REDLOCK_E_LOST, redlock_extend(lock, 0));
	assert_int_equal(number_of(lock), 1);
	expect_result(lock, REDLOCK_E_GONE, redlock_release(lock));
	expect_ok(first, redlock_extend(first, 0));
	expect_ok(first, redlock_release(first));
	assert_int_equal(servers_with_value(&servers, NODES, slot_keys[1], "x"), NODES);
}

/* Nodes that have other slots taken give other ones: what a minority gave is given back at once. */
TEST(votes_for_other_slots_do_not_count)
{
	own_client *client = fixture_open(servers.urls, NODES, 200); /* five times that is how long it tries */
	own_lock *lock = slot_of(client, SLOTS, 0);
	server_must(&servers.server[0], "OK", "SET", "job", "x", NULL);
	expect_ok(lock, redlock_acquire(lock));
	assert_int_equal(number_of(lock), 0);
	assert_driven(client, servers_with_key(&servers, 1, slot_keys[1]) == 0); /* while the other is held */
	expect_ok(lock, redlock_release(lock));
	server_must(&servers.server[0], "1", "DEL", "job", NULL);
	/* A different one on each, and all of them taken but that: no slot has a quorum. */
	for (unsigned i = 0; i < NODES; i++)
		for (unsigned slot = 0; slot < SLOTS; slot++)
			if (slot != i)
				server_must(&servers.server[i], "OK", "SET", slot_keys[slot], "x", NULL);
	expect_result(lock, REDLOCK_E_BUSY, redlock_acquire(lock));
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	for (unsigned slot = 0; slot < SLOTS; slot++)
		assert_int_equal(servers_with_value(&servers, NODES, slot_keys[slot], "x"), NODES - 1);
}

TEST(refused_options)
{
	own_client *client = open_client();
	redlock_lock *lock = NULL;
	struct redlock_lock_options options = fixture_options(WAIT_LONG_TTL_MS);
	const struct {
		uint32_t slots;
		const char *token;
		int fence, compat, result;
		uint32_t slot;
	} rows[] = {{1, NULL, 0, 0, 0, 0},
	            {REDLOCK_MAX_SLOTS, NULL, 0, 0, 0, 0},
	            {REDLOCK_MAX_SLOTS + 1, NULL, 0, 0, REDLOCK_E_INVAL, 0},
	            {2, "t", 0, 0, REDLOCK_E_STATE, 1},
	            {2, "t", 0, 0, REDLOCK_E_INVAL, 2},
	            {2, NULL, 0, 0, REDLOCK_E_INVAL, 1},
	            {0, "t", 0, 0, REDLOCK_E_INVAL, 1},
	            {2, NULL, 1, 0, REDLOCK_E_INVAL, 0},
	            {2, NULL, 0, REDLOCK_COMPAT_SETNX, REDLOCK_E_INVAL, 0},
	            {2, NULL, 0, REDLOCK_COMPAT_SETNX_SAFE, REDLOCK_E_INVAL, 0}};
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		options.slots = rows[i].slots;
		options.token = rows[i].token;
		options.token_len = rows[i].token != NULL ? 1 : 0;
		options.fence = rows[i].fence;
		options.compat = rows[i].compat;
		options.slot = rows[i].slot;
		bool made = rows[i].result != REDLOCK_E_INVAL;
		assert_int_equal(redlock_lock_new(client, "job", &options, &lock), made ? 0 : REDLOCK_E_INVAL);
		if (rows[i].result == 0)
			expect_pair(lock);
		else if (made)
			assert_int_equal(redlock_acquire(lock), rows[i].result);
		if (made)
			redlock_lock_free(lock);
	}
	const char *const names[] = {"a", "b"};
	struct redlock_lock_options several = fixture_options(WAIT_LONG_TTL_MS);
	several.slots = 2;
	assert_int_equal(redlock_lock_new_many(client, names, 2, &several, &lock), REDLOCK_E_INVAL);
}

/* ---- the line ---- */

#define A "aaaaaaaaaaaaaaaa.01"
#define B "bbbbbbbbbbbbbbbb.02"
#define C "cccccccccccccccc.03"
#define NAMED "dddddddddddddddd.4" /* waits for the name */

static const char queue_key[] = "{job}:redlock:queue";
static struct raw ears;

static void listen_to(const char *place)
{
	char channel[64];
	struct raw_reply reply;
	snprintf(channel, sizeof channel, "redlock:wake:%.16s", place);
	struct raw_arg args[] = {{"SUBSCRIBE", 9}, {channel, strlen(channel)}};
	assert_int_equal(raw_send(&ears, args, 2), 0);
	assert_int_equal(raw_receive(&ears, &reply), 0);
}

static void listen(void)
{
	assert_int_equal(raw_open(&ears, servers.server[0].socket, WAIT_SOON_MS), 0);
	for (const char *const *place = (const char *[]){A, B, C, NAMED, NULL}; *place != NULL; place++)
		listen_to(*place);
}

static void expect_woken(const char *place)
{
	char want[128];
	struct raw_reply reply;
	snprintf(want, sizeof want, "message\nredlock:wake:%.16s\n%s", place, place + 17);
	assert_int_equal(raw_receive(&ears, &reply), 0);
	assert_int_equal(strncmp(reply.text, want, strlen(want)), 0);
}

static void expect_silence(void)
{
	struct raw_reply reply;
	struct raw_arg ping = {"PING", 4};
	assert_int_equal(raw_send(&ears, &ping, 1), 0);
	assert_int_equal(raw_receive(&ears, &reply), 0);
	assert_memory_equal(reply.text, "pong", 4);
}

/* Runs a script on a name with two slots. The items of the answer, one to a line. */
static const char *run(enum rl_script script, const char *const *words)
{
	static struct raw_reply reply;
	struct raw_arg args[20] = {{"EVAL", 4}, {rl_scripts[script].text, rl_scripts[script].length}};
	size_t count = 2;
	for (; *words != NULL; words++)
		args[count++] = (struct raw_arg){*words, strlen(*words)};
	const char *text = server_call(&servers.server[0], args, count, &reply);
	assert_int_not_equal(reply.type, '-');
	return text;
}

/* Verdict, how many wait, the slot; of a refusal the place. */
static void expect_enter(const char *token, const char *place, int taken, int waiting, int slot_or_place)
{
	const char *const words[] = {
	    "5",   "job",  queue_key, "{job}:redlock:offers", count_key, slot_keys[1], token, "30000", "2", "0",
	    place, "5000", NULL};
	int verdict = -9, count = -9, third = -9, fourth = -9;
	assert_int_equal(
	    sscanf(run(RL_SCRIPT_SLOT_ENTER, words), "%d %d %d %d", &verdict, &count, &third, &fourth), 4);
	assert_int_equal(verdict, taken);
	assert_int_equal(count, waiting);
	assert_int_equal(taken == 1 ? third : fourth, slot_or_place);
}

static void expect_release(const char *token, const char *place, const char *quiet, const char *answer)
{
	const char *const words[] = {
	    "4", "job", queue_key, "{job}:redlock:offers", slot_keys[1], token, place, "5000", quiet, "", NULL};
	assert_string_equal(run(RL_SCRIPT_SLOT_RELEASE, words), answer);
}

/* A second release wakes nobody while the first waiter has been woken and has not come: the waiter that is
 * served wakes the next one, if there is a slot for it. */
TEST(a_release_wakes_one)
{
	listen();
	expect_enter("t1", "", 1, 0, 0);
	expect_enter("t2", "", 1, 0, 1);
	expect_enter("a1", A, 0, 1, 1);
	expect_enter("b1", B, 0, 2, 2);
	expect_enter("c1", C, 0, 3, 3);
	expect_enter("x1", "", 0, 3, 0); /* it takes no place */
	expect_silence();
	expect_release("t1", "", "", "2");
	expect_woken(A);
	expect_release("t2", "", "", "2");
	expect_enter("c2", C, 0, 3, 3); /* it is not its turn */
	expect_silence();
	expect_enter("a2", A, 1, 2, 0);
	expect_woken(B);
	expect_enter("b2", B, 1, 1, 1);
	expect_silence();
	expect_release("a2", "", "1", "2"); /* quietly: an attempt that has failed */
	expect_silence();
	expect_release("none", C, "", "0"); /* gives up the place, and the line is empty */
	expect_release("b2", "", "", "1");
	assert_int_equal(servers_with_key(&servers, 1, queue_key), 0);
	raw_close(&ears);
}

/* Waiters for the name alone do not hold up waiters for any slot, nor do they overtake them when the name is
 * all that is free. */
TEST(waiters_for_the_name)
{
	char entry[40];
	snprintf(entry, sizeof entry, "1w%-27s ;", NAMED);
	listen();
	expect_enter("t0", "", 1, 0, 0);
	expect_enter("t1", "", 1, 0, 1);
	server_must(&servers.server[0], "OK", "SET", queue_key, entry, "PX", "60000", NULL);
	expect_enter("a1", A, 0, 2, 1);
	expect_release("t1", "", "", "2");
	expect_woken(A);
	expect_silence();
	expect_enter("a2", A, 1, 1, 1);
	assert_int_equal(servers_with_value(&servers, 1, queue_key, entry), 1);
	expect_enter("b1", B, 0, 2, 1);
	expect_release("t0", "", "", "2");
	expect_woken(NAMED);
	expect_enter("b2", B, 0, 2, 2); /* after it */
	expect_silence();
	expect_release("a2", "", "", "2"); /* both are free: who wants the name may have it */
	expect_woken(B);
	expect_enter("b3", B, 1, 1, 1);
	raw_close(&ears);
}

/* The places of clients read so: by the first digit of the number. */
TEST(a_waiter_has_a_place_for_any_slot)
{
	own_client *holder = open_client(), *waiter = open_client();
	own_lock *one = slot_of(holder, 2, 0), *two = slot_of(holder, 2, 0),
	         *lock = slot_of(waiter, 2, WAIT_SOON_MS);
	struct raw_reply reply;
	expect_ok(one, redlock_acquire(one));
	expect_ok(two, redlock_acquire(two));
	expect_ok(lock, redlock_start_acquire(lock));
	assert_driven(waiter, servers_with_key(&servers, NODES, queue_key) == 1);
	on_servers(
	    0, NODES, if (server_has(it, queue_key)) {
		    const char *text = server_ask(it, &reply, "GET", queue_key, NULL);
		    const char *dot = strchr(text, '.');
		    assert_true(dot != NULL && dot[1] == '0' && dot[2] != ' ');
	    });
	expect_ok(two, redlock_release(two));
	assert_driven(waiter, redlock_remaining_ms(lock) > 0);
	assert_int_equal(number_of(lock), 1);
}

/* ---- many at once ---- */

enum { TURNS = 40, WORKERS = 6, PLACES = 2 };
static atomic_int inside[PLACES];

/* NULL, or what went wrong. */
static void *work(void *argument)
{
	static char not_acquired[] = "not acquired", two[] = "two in one slot", not_released[] = "not released";
	own_client *client = open_client();
	own_lock *lock = slot_of(client, PLACES, *(const uint64_t *)argument);
	for (int turn = 0; turn < TURNS; turn++) {
		unsigned slot = 99;
		if (redlock_acquire(lock) != 0)
			return not_acquired;
		if (redlock_lock_slot(lock, &slot) != 0 || atomic_fetch_add(&inside[slot], 1) != 0)
			return two;
		atomic_fetch_sub(&inside[slot], 1);
		if (redlock_release(lock) != 0)
			return not_released;
	}
	return NULL;
}

TEST(all_have_their_turns)
{
	static const uint64_t forever = REDLOCK_FOREVER;
	pthread_t threads[WORKERS];
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, work, (void *)&forever);
	for (int i = 0; i < WORKERS; i++) {
		void *problem;
		pthread_join(threads[i], &problem);
		if (problem != NULL)
			fail_msg("%s", (const char *)problem);
	}
}

/* As many clients as there are places, at the same moment and without waiting: each has one. */
static pthread_barrier_t gun;

static void *try(void *argument)
{
	own_client *client = open_client();
	own_lock *lock = slot_of(client, PLACES, 0);
	expect_pair(lock); /* it is connected */
	for (int turn = 0; turn < TURNS; turn++) {
		pthread_barrier_wait(&gun);
		int result = redlock_acquire(lock);
		if (result != 0)
			*(int *)argument = result;
		pthread_barrier_wait(&gun);
		if (result == 0)
			(void)redlock_release(lock);
		(void)redlock_drain(client, WAIT_SOON_MS);
	}
	return NULL;
}

TEST(as_many_as_there_are_places_all_get_one)
{
	pthread_t threads[PLACES];
	int results[PLACES] = {0};
	pthread_barrier_init(&gun, NULL, PLACES);
	for (int i = 0; i < PLACES; i++)
		pthread_create(&threads[i], NULL, try, &results[i]);
	for (int i = 0; i < PLACES; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < PLACES; i++)
		assert_string_equal(redlock_error_name(results[i]), "OK");
	pthread_barrier_destroy(&gun);
}

SERVER_TESTS(NODES)
