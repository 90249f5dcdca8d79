// SPDX-License-Identifier: MIT
// A pair of acquire and release by the calls of C and by redlock.hpp, in turns: "NAME MEDIAN P99" in
// microseconds.
//     pair ROUNDS URL...
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <redlock.hpp>

template <class Pair> double time_us(Pair pair)
{
	const auto start = std::chrono::steady_clock::now();
	pair();
	return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

static void print(const char *name, std::vector<double> &times)
{
	std::sort(times.begin(), times.end());
	std::printf("%s %.1f %.1f\n", name, times[times.size() / 2], times[times.size() * 99 / 100]);
}

int main(int argc, char **argv)
{
	const std::size_t rounds = std::strtoul(argv[1], nullptr, 10);
	redlock::client client(std::vector<std::string>(argv + 2, argv + argc));
	redlock::mutex mutex(client, "pair"), other(client, "pair");
	redlock_lock *raw = other.native_handle();
	std::vector<double> c, cxx;
	for (std::size_t i = 0; i < rounds + rounds / 10; i++) {
		const double c_us = time_us([&] {
			if (redlock_acquire(raw) != 0 || redlock_release(raw) != 0)
				std::abort();
		});
		const double cxx_us = time_us([&] { const std::lock_guard<redlock::mutex> guard(mutex); });
		if (i >= rounds / 10) { // the first ones connect
			c.push_back(c_us);
			cxx.push_back(cxx_us);
		}
	}
	print("C", c);
	print("C++", cxx);
	return 0;
}
