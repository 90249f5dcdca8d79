// SPDX-License-Identifier: MIT
// The beginning and the table of README.md: a program for redis-plus-plus sees the same with redlock.hpp, by
// the words of the other column. ../readme compares our words with this file. The program for redis-plus-plus
// runs where pkg-config finds that library.
#include <redlock.hpp>

#include <cstdio>
#include <cstdlib>

extern "C" {
#include "servers.h"
}

#if defined(HAVE_REDIS_PLUS_PLUS)
#include <sw/redis++/patterns/redlock.h>
#include <sw/redis++/redis++.h>
#endif

using namespace std::chrono_literals;

namespace {

using seen = std::vector<std::string>;

struct servers cluster;
std::vector<std::string> urls;

template <class Condition> std::string soon(Condition condition)
{
	const auto end = std::chrono::steady_clock::now() + 30s;
	for (; !condition(); std::this_thread::sleep_for(2ms))
		if (std::chrono::steady_clock::now() > end)
			return "never";
	return "soon";
}

/** What is left of a key, on the server where that is most. */
std::chrono::milliseconds left(const char *key)
{
	long long most = -2;
	for (unsigned i = 0; i < cluster.count; i++)
		most = std::max(most, server_pttl(&cluster.server[i], key));
	return std::chrono::milliseconds(most);
}

std::string is_extended(std::chrono::milliseconds beyond)
{
	return soon([=] { return left("nightly") > beyond; });
}

std::string is_renewed()
{
	return soon([] { return left("nightly") < 4s; }) + is_extended(4s);
}

void forget()
{
	for (unsigned i = 0; i < cluster.count; i++)
		server_must(&cluster.server[i], "1", "DEL", "nightly", nullptr);
}

void kill_two()
{
	server_kill(&cluster.server[1]);
	server_kill(&cluster.server[2]);
}

std::string word(bool yes)
{
	return yes ? "yes" : "no";
}

/** The right column. */
seen by_redlock()
{
	seen log;
	std::atomic<bool> is_lost{false};
	const auto f = [&] { is_lost = true; };
	redlock::client c(urls);
	auto o = c.defaults().ttl(5s);
	redlock::mutex m(c, "nightly", o.renew(2s));
	c.start_keeper();
	redlock::mutex rival(c, "nightly");
	m.on_lost(f);
	{
		std::lock_guard l(m);
		log.push_back("busy " + word(rival.try_lock()) + word(rival.try_lock_for(300ms)));
		log.push_back("renewed " + is_renewed());
		m.extend(30s);
		log.push_back("extended " + is_extended(20s));
	}
	log.push_back("free " + word(rival.try_lock()));
	rival.unlock();
	log.push_back("again " + word(m.try_lock_for(5s)));
#if defined(__cpp_lib_jthread)
	const auto token = m.lost_token();
#endif
	forget();
	log.push_back("lost " + soon([&] { return is_lost.load(); }));
#if defined(__cpp_lib_jthread)
	if (!token.stop_requested())
		log.push_back("the stop was not requested");
#endif
	m.unlock();
	kill_two();
	try {
		log.push_back("no quorum " + word(m.try_lock()));
	} catch (const redlock::error &e) {
		log.push_back("an error");
		if (e.code() != redlock::errc::no_quorum || e.votes().size() != 3)
			log.push_back(e.what());
	}
	return log;
}

#if defined(HAVE_REDIS_PLUS_PLUS)
/** The left column. */
seen by_redis_plus_plus()
{
	using namespace sw::redis;
	seen log;
	std::atomic<bool> is_lost{false};
	const auto on_error = [&](std::exception_ptr) { is_lost = true; };
	const auto r1 = std::make_shared<Redis>(cluster.tcp_urls[0]);
	const auto r2 = std::make_shared<Redis>(cluster.tcp_urls[1]);
	const auto r3 = std::make_shared<Redis>(cluster.tcp_urls[2]);
	const auto watcher = std::make_shared<LockWatcher>();
	RedMutexOptions o;
	o.ttl = 5s;
	o.retry_delay = 100ms;
	RedMutex m({r1, r2, r3}, "nightly", on_error, o, watcher);
	RedMutex rival({r1, r2, r3}, "nightly");
	const auto try_lock_for = [&o](RedMutex &mutex, std::chrono::milliseconds wait) {
		const auto end = std::chrono::steady_clock::now() + wait;
		while (!mutex.try_lock()) {
			if (std::chrono::steady_clock::now() > end)
				return false;
			std::this_thread::sleep_for(o.retry_delay);
		}
		return true;
	};
	{
		std::lock_guard<RedMutex> l(m);
		log.push_back("busy " + word(rival.try_lock()) + word(try_lock_for(rival, 300ms)));
		log.push_back("renewed " + is_renewed());
	}
	RedLockMutex other({r1, r2, r3}, "nightly");
	{
		RedLock<RedLockMutex> l(other, std::defer_lock);
		l.try_lock(5s);
		l.extend_lock(30s);
		log.push_back("extended " + is_extended(20s));
	}
	log.push_back("free " + word(rival.try_lock()));
	rival.unlock();
	log.push_back("again " + word(try_lock_for(m, 5s)));
	forget();
	log.push_back("lost " + soon([&] { return is_lost.load(); }));
	m.unlock();
	kill_two();
	try {
		log.push_back("no quorum " + word(m.try_lock()));
	} catch (const sw::redis::Error &) {
		log.push_back("an error");
	}
	return log;
}
#endif

void backup(std::chrono::milliseconds within)
{
	if (within < 1s || within > 30s)
		std::exit(1);
}

/** The first lines. */
void beginning()
{
	redlock::client client(urls);
	redlock::mutex nightly(client, "nightly", client.defaults().ttl(30s));
	if (std::unique_lock lock(nightly, 5s); lock)
		backup(nightly.remaining());
}

int check(const char *name, seen (*program)())
{
	static const seen expected{"busy nono", "renewed soonsoon", "extended soon", "free yes",
	                           "again yes", "lost soon",        "an error"};
	servers_heal(&cluster);
	const seen got = program();
	std::printf("[ %s ] %s\n", got == expected ? "      OK" : " FAILED ", name);
	if (got == expected)
		return 0;
	for (const std::string &line : got)
		std::printf("%s\n", line.c_str());
	return 1;
}

} // namespace

int main()
{
	servers_start(&cluster, 3, nullptr);
	urls = {cluster.urls, cluster.urls + 3};
	beginning();
	int failed = check("the right column", by_redlock);
#if defined(HAVE_REDIS_PLUS_PLUS)
	failed += check("the left column", by_redis_plus_plus);
#endif
	servers_stop(&cluster);
	return failed;
}
