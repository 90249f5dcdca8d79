// SPDX-License-Identifier: MIT
// A user's program in C++17: redlock.hpp as installed, and the C header beside it.
#include <string>

#include <redlock.hpp>

using namespace std::chrono_literals;

int main(int argc, char **argv)
{
	redlock::client client({argc > 1 ? argv[1] : ""});
	redlock::mutex job(client, "job in C++", client.defaults().ttl(30s));
	const std::unique_lock lock(job, 5s);
	return lock && job.remaining() > 0ms && redlock_remaining_ms(job.native_handle()) > 0 ? 0 : 1;
}
