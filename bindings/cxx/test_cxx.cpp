// SPDX-License-Identifier: MIT
// redlock.hpp on real servers: guards of the standard library, errors, loss, event loops, coroutines, fork.
#include "redlock.hpp"

#include <sys/wait.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <shared_mutex>

extern "C" {
#include "child.h"
#include "servers.h"
}

using namespace std::chrono_literals;

namespace {

// ---- the tests list themselves ----

struct test {
	const char *name;
	void (*run)();
	static std::vector<test> &all()
	{
		static std::vector<test> list;
		return list;
	}
	test(const char *n, void (*r)()) : name(n), run(r) { all().push_back(*this); }
};

#define TEST(title)                                                                                          \
	void title();                                                                                            \
	const test list_##title(#title, title);                                                                  \
	void title()

[[noreturn]] void fail(int line, const std::string &what)
{
	throw std::runtime_error("line " + std::to_string(line) + ": " + what);
}

#define CHECK(condition) ((condition) ? void() : fail(__LINE__, #condition))

/** Waits for what must happen, for as long as that may take on a busy machine under a sanitizer. */
template <class Condition> void wait_until(int line, Condition condition)
{
	const auto end = std::chrono::steady_clock::now() + 30s;
	for (; !condition(); std::this_thread::sleep_for(2ms))
		if (std::chrono::steady_clock::now() > end)
			fail(line, "did not happen in time");
}

#define CHECK_SOON(condition) wait_until(__LINE__, [&] { return condition; })

template <class F> std::error_code code_of(F call)
{
	try {
		call();
	} catch (const redlock::error &e) {
		return e.code();
	}
	return {};
}

#define CHECK_THROWS(code, call) CHECK(code_of([&] { call; }) == redlock::errc::code)

// ---- servers ----

constexpr unsigned nodes = 3;
struct servers cluster;

std::vector<std::string> urls()
{
	return {cluster.urls, cluster.urls + nodes};
}

/** Patient, so that a busy machine changes no result. */
redlock::client open_client(unsigned node_timeout_ms = 20000)
{
	redlock::options o(urls());
	o->node_timeout_ms = node_timeout_ms;
	return redlock::client(o);
}

redlock::lock_options lasting(const redlock::client &c)
{
	return c.defaults().ttl(5min);
}

template <class Action> void on_servers(unsigned first, unsigned end, Action action)
{
	for (unsigned i = first; i < end; i++)
		action(&cluster.server[i]);
}

unsigned count_threads()
{
	unsigned count = 0;
	DIR *dir = opendir("/proc/self/task");
	while (const dirent *entry = readdir(dir))
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

// ---- guards of the standard library ----

TEST(exclusive_guards)
{
	auto c = open_client();
	redlock::mutex a(c, "a", lasting(c)), b(c, "b", lasting(c)), rival(c, "a", lasting(c));
	{
		const std::scoped_lock both(a, b);
		CHECK(a.remaining() > 1min && b.remaining() > 1min);
		CHECK(!rival.try_lock());
		CHECK(rival.last_error().find("busy: held by") == 0);
		CHECK(servers_with_value(&cluster, nodes, "a", a.token().c_str()) >= 2);
	}
	CHECK(a.remaining() == 0ms);
	std::unique_lock<redlock::mutex> one(a, 30s);
	CHECK(one.owns_lock());
	CHECK(!std::unique_lock(rival, std::try_to_lock).owns_lock());
	CHECK(!rival.try_lock_until(std::chrono::steady_clock::now() + 50ms));
	CHECK(!rival.try_lock_until(std::chrono::steady_clock::now() - 1h));
	one.unlock();
	CHECK(rival.try_lock_for(30s));
	redlock::mutex moved(std::move(rival));
	CHECK(moved.remaining() > 1min);
	moved.extend();
	moved.extend(10min);
	CHECK(moved.owned() && !a.owned());
	CHECK(moved.remaining() > 6min);
	moved.unlock();
}

TEST(shared_guards)
{
	auto c = open_client();
	redlock::shared_mutex first(c, "s", lasting(c)), second(c, "s", lasting(c));
	std::shared_lock one(first), two(second, 30s);
	CHECK(one.owns_lock() && two.owns_lock());
	CHECK(!first.try_upgrade());
	CHECK(first.shared().remaining() > 1min);
	redlock::shared_mutex writer(c, "s", lasting(c));
	CHECK(!writer.try_lock());
	two.unlock();
	CHECK_SOON(first.try_upgrade()); // the slowest node has the release a moment later
	CHECK(!second.try_lock_shared());
	first.downgrade();
	CHECK(second.try_lock_shared());
	second.unlock_shared();
	one.unlock();
	const std::unique_lock exclusive(writer, 30s);
	CHECK(exclusive.owns_lock() && writer.exclusive().remaining() > 1min);
}

TEST(slots_names_and_entries)
{
	auto c = open_client();
	redlock::semaphore one(c, "k", 2, lasting(c)), two(c, "k", 2, lasting(c)), three(c, "k", 2, lasting(c));
	one.acquire();
	CHECK(two.try_acquire_for(30s));
	CHECK(one.slot() + two.slot() == 1);
	CHECK(!three.try_acquire());
	CHECK_THROWS(state, three.slot());
	one.release();
	CHECK(three.try_acquire_for(30s));

	redlock::mutex pair(c, {"x", "y"}, lasting(c)), y(c, "y", lasting(c).reentrant());
	y.lock();
	y.lock();
	CHECK(!pair.try_lock());
	CHECK(pair.obstacle() == 1);
	y.unlock();
	CHECK(y.remaining() > 0ms);
	y.unlock();
	CHECK(pair.try_lock_for(30s));
}

// ---- errors ----

TEST(errors_say_why)
{
	CHECK_THROWS(url, redlock::client({"http://a"}));
	CHECK_THROWS(invalid, redlock::options().set("node-timeout", "soon"));
	CHECK_THROWS(invalid, redlock::options().set("prefix", std::string("a\0b", 3)));
	CHECK_THROWS(config, redlock::options::load("", "/nonexistent/redlock.conf"));
	auto c = open_client();
	CHECK_THROWS(invalid, redlock::mutex(c, "", lasting(c)));
	try {
		const redlock::mutex brief(c, "why", c.defaults().ttl(1ms));
		fail(__LINE__, "made with a TTL of 1 ms");
	} catch (const redlock::error &e) {
		CHECK(std::string(e.what()).find("ttl") != std::string::npos);
	}
	redlock::mutex m(c, "why", lasting(c));
	CHECK_THROWS(lost, m.check());
	CHECK_THROWS(state, m.extend());
	on_servers(1, nodes, server_kill);
	try {
		(void)m.try_lock();
		fail(__LINE__, "granted without a quorum");
	} catch (const redlock::error &e) {
		CHECK(e.code() == redlock::errc::no_quorum);
		const std::string why = e.what();
		CHECK(why.find("no quorum: ") == 0 && why.find("2 are needed; node") != why.npos);
		CHECK(e.votes().size() == nodes && e.votes()[2].node == 2);
		CHECK(e.votes()[1].kind == REDLOCK_KIND_MISSING && e.votes()[1].text[0] != '\0');
		const redlock::error copy = e;
		CHECK(copy.what() == std::string(e.what()));
	}
	std::error_code ec;
	CHECK(!m.try_lock(ec) && ec == redlock::errc::no_quorum);
	CHECK(std::error_code(redlock::errc::cancelled) == std::errc::operation_canceled);
}

TEST(an_unrenewed_lock_is_refused)
{
	auto c = open_client();
	redlock::mutex m(c, "renewed", lasting(c).renew(1min));
	CHECK_THROWS(unrenewed, m.lock());
	c.start_keeper();
	m.lock();
	CHECK_THROWS(state, c.start_keeper());
}

TEST(durations_are_rounded_up_and_capped)
{
	using redlock::detail::to_ms;
	CHECK(to_ms(1500us) == 2 && to_ms(-1h) == 0 && to_ms(0.25s) == 250);
	CHECK(to_ms(std::chrono::hours::max()) == REDLOCK_FOREVER);
}

TEST(a_waiting_call_is_cancelled)
{
	auto c = open_client();
	redlock::mutex holder(c, "cancel", lasting(c)), waiter(c, "cancel", lasting(c));
	holder.lock();
	std::atomic<bool> done = false;
	std::error_code ec;
	std::thread thread([&] {
		waiter.lock(ec);
		done = true;
	});
	for (; !done; std::this_thread::sleep_for(2ms))
		waiter.cancel(); // one that comes before the wait does nothing
	thread.join();
	CHECK(ec == std::errc::operation_canceled);
}

// ---- faults ----

TEST(a_minority_may_die_or_hang)
{
	for (const auto fault : {server_kill, server_pause}) {
		auto c = open_client(500);
		redlock::mutex m(c, "minority", lasting(c));
		fault(&cluster.server[0]);
		CHECK(m.try_lock_for(30s));
		m.unlock();
		servers_heal(&cluster);
	}
}

TEST(loss_is_told_at_once_and_threads_end)
{
	const unsigned before = count_threads();
	{
		auto c = open_client(300);
		c.start_keeper();
		CHECK(count_threads() == before + 2);
		std::atomic<int> lost = 0, danger = 0;
		redlock::mutex m(c, "loss", c.defaults().ttl(3s).renew(300ms).danger(1s));
		m.on_lost([&] { lost++; });
		m.on_danger([&] { danger++; });
		m.lock();
#if defined(__cpp_lib_jthread)
		const std::stop_token token = m.lost_token();
		CHECK(!token.stop_requested());
#endif
		on_servers(0, nodes, server_pause);
		CHECK_SOON(lost == 1);
		CHECK(danger == 1);
		CHECK_THROWS(lost, m.check());
#if defined(__cpp_lib_jthread)
		CHECK(token.stop_requested());
#endif
		on_servers(0, nodes, server_resume);
		std::error_code ec;
		m.unlock(ec);
		CHECK_SOON(m.try_lock_for(1s));
#if defined(__cpp_lib_jthread)
		CHECK(!m.lost_token().stop_requested());
#endif
	}
	CHECK_SOON(count_threads() == before);
}

TEST(a_lock_that_was_taken_is_gone)
{
	auto c = open_client();
	redlock::mutex m(c, "taken", lasting(c));
	m.lock();
	on_servers(0, nodes, [](const server *s) { server_must(s, "OK", "SET", "taken", "x", nullptr); });
	std::error_code ec;
	m.unlock(ec);
	CHECK(ec == redlock::errc::gone);
}

TEST(locks_outlive_their_client)
{
	auto c = std::make_unique<redlock::client>(open_client());
	redlock::mutex m(*c, "late", lasting(*c));
	m.lock();
	c.reset();
	CHECK_THROWS(state, m.lock());
}

long resident_kib()
{
	long total = 0, resident = 0;
	FILE *file = std::fopen("/proc/self/statm", "r");
	CHECK(file != nullptr && std::fscanf(file, "%ld %ld", &total, &resident) == 2);
	std::fclose(file);
	return resident * sysconf(_SC_PAGESIZE) / 1024;
}

/* REDLOCK_SOAK locks, else 2000, leave no memory. */
TEST(many_locks_leave_nothing)
{
	const char *given = std::getenv("REDLOCK_SOAK");
	const int rounds = given != nullptr ? std::atoi(given) : 2000, warm = 1000;
	redlock::client c = open_client();
	long before = 0;
	for (int i = 0; i < warm + rounds; i++) {
		redlock::mutex m(c, "soak-" + std::to_string(i % 10), lasting(c));
		const std::lock_guard<redlock::mutex> guard(m);
		if (i == warm)
			before = resident_kib();
	}
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	const long limit_kib = 1 << 20; // freed memory is kept, for the sanitizer
#else
	const long limit_kib = 4096;
#endif
	CHECK(resident_kib() - before < limit_kib);
}

TEST(fencing_tokens_rise)
{
	char output[4096];
	std::vector<const char *> init = {getenv("REDLOCK_BIN"), "init", "--fresh", "--max-ttl", "10m"};
	for (unsigned i = 0; i < nodes; i++)
		init.insert(init.end(), {"-r", cluster.urls[i]});
	init.push_back(nullptr);
	{
		auto c = open_client();
		redlock::mutex m(c, "fenced", lasting(c).fence());
		CHECK_THROWS(no_quorum, m.lock());
		CHECK(m.votes()[0].name == std::string("UNGUARDED"));
	}
	if (child_run(init.data(), output, sizeof output) != 0)
		fail(__LINE__, output);
	auto c = open_client();
	redlock::mutex m(c, "fenced", lasting(c).fence());
	CHECK(m.fence() == 0);
	m.lock();
	const std::uint64_t first = m.fence();
	m.unlock();
	m.lock();
	CHECK(first > 0 && m.fence() > first);
}

// ---- event loops ----

/** As a program with one descriptor would. */
void turn(redlock::client &c)
{
	pollfd fd = {c.fd(), POLLIN, 0};
	poll(&fd, 1, c.poll_timeout() == 0 ? 0 : 100);
	c.dispatch();
}

#define TURN_UNTIL(condition)                                                                                \
	wait_until(__LINE__, [&] {                                                                               \
		turn(c);                                                                                             \
		return condition;                                                                                    \
	})

TEST(callbacks_in_a_loop)
{
	auto c = open_client();
	const unsigned threads = count_threads();
	std::vector<redlock::mutex> many;
	std::size_t held = 0, released = 0;
	for (int i = 0; i < 50; i++)
		many.emplace_back(c, "loop-" + std::to_string(i), lasting(c));
	for (redlock::mutex &m : many)
		m.async_lock([&](std::error_code ec) { held += !ec; });
	TURN_UNTIL(held == many.size());
	redlock::mutex rival(c, "loop-0", lasting(c));
	std::error_code ended;
	rival.async_lock([&](std::error_code ec) { ended = ec; });
	std::error_code twice;
	rival.async_lock([&](std::error_code ec) { twice = ec; });
	CHECK(twice == redlock::errc::state);
	turn(c);
	rival.cancel();
	TURN_UNTIL(bool(ended));
	CHECK(ended == redlock::errc::cancelled);
	for (redlock::mutex &m : many)
		m.async_unlock([&](std::error_code ec) { released += !ec; });
	TURN_UNTIL(released == many.size());
	CHECK(count_threads() == threads);
}

TEST(loss_in_a_loop)
{
	auto c = open_client(300);
	redlock::mutex m(c, "loop-loss", c.defaults().ttl(2s).renew(300ms));
	bool lost = false, held = false;
	m.on_lost([&] { lost = true; });
	m.async_lock([&](std::error_code ec) { held = !ec; });
	TURN_UNTIL(held);
	on_servers(0, nodes, server_kill);
	TURN_UNTIL(lost);
	CHECK(m.remaining() == 0ms);
}

#if defined(__cpp_impl_coroutine)
struct task {
	struct promise_type {
		task get_return_object() { return {}; }
		std::suspend_never initial_suspend() { return {}; }
		std::suspend_never final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() { std::terminate(); }
	};
};

task work_with(redlock::mutex &m, redlock::mutex &rival, std::string &steps)
{
	co_await m.async_lock();
	steps += "locked ";
	if (!co_await rival.async_try_lock_for(0s))
		steps += "busy ";
	try {
		co_await m.async_lock();
	} catch (const redlock::error &e) {
		steps += e.code() == redlock::errc::state ? "state " : "other ";
	}
	co_await m.async_extend(10min);
	steps += "extended ";
	co_await m.async_unlock();
	steps += "unlocked";
}

TEST(coroutines_in_a_loop)
{
	auto c = open_client();
	redlock::mutex m(c, "co", lasting(c)), rival(c, "co", lasting(c));
	std::string steps;
	work_with(m, rival, steps);
	CHECK(steps.empty());
	TURN_UNTIL(steps == "locked busy state extended unlocked");
}

struct owned_task {
	struct promise_type : task::promise_type {
		owned_task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
	};
	std::coroutine_handle<promise_type> handle;
};

owned_task wait_for(redlock::mutex &m)
{
	co_await m.async_lock();
}

TEST(a_coroutine_that_is_destroyed_cancels)
{
	auto c = open_client();
	redlock::mutex holder(c, "destroyed", lasting(c)), waiter(c, "destroyed", lasting(c));
	holder.lock();
	const owned_task waiting = wait_for(waiter);
	turn(c);
	waiting.handle.destroy();
	holder.unlock();
	bool held = false;
	redlock::mutex next(c, "destroyed", lasting(c));
	next.async_lock([&](std::error_code ec) { held = !ec; });
	TURN_UNTIL(held);
	CHECK(waiter.remaining() == 0ms);
}
#endif

// ---- fork ----

/** What a child does with objects of its parent, which has a keeper: all of it must end. */
int in_child(const redlock::client &, redlock::mutex m)
{
	std::error_code ec;
	m.unlock(ec);
	const bool forked = ec == redlock::errc::forked && code_of([&] { m.lock(); }) == redlock::errc::forked;
	return forked && m.remaining() == 0ms ? 0 : 1;
}

TEST(a_child_has_no_locks)
{
	auto c = open_client();
	c.start_keeper();
	redlock::mutex m(c, "fork", lasting(c).renew(1min));
	m.lock();
	const pid_t pid = child_fork();
	if (pid == 0)
		_exit(in_child(std::move(c), std::move(m)));
	CHECK(child_join(pid) == 0);
	m.check();
	CHECK(servers_with_key(&cluster, nodes, "fork") >= 2);
}

} // namespace

int main(int argc, char **argv)
{
	int failed = 0;
	servers_start(&cluster, nodes, nullptr);
	for (const test &t : test::all()) {
		if (argc > 1 && std::string(argv[1]) != t.name)
			continue;
		std::printf("[ RUN      ] %s\n", t.name);
		std::fflush(stdout); // a child must not print it again
		try {
			t.run();
			std::printf("[       OK ] %s\n", t.name);
		} catch (const std::exception &e) {
			std::printf("[  FAILED  ] %s: %s\n", t.name, e.what());
			failed++;
		}
		servers_heal(&cluster);
	}
	servers_stop(&cluster);
	return failed == 0 ? 0 : 1;
}
