// SPDX-License-Identifier: MIT
// A user's program in C++17: the header's declarations link, and fit into smart pointers.
#include <memory>
#include <string>

#include <redlock/redlock.h>

struct close_client {
	void operator()(redlock_client *client) const
	{
		redlock_close(client);
	}
};

struct free_lock {
	void operator()(redlock_lock *lock) const
	{
		redlock_lock_free(lock);
	}
};

int main(int argc, char **argv)
{
	const std::string url = argc > 1 ? argv[1] : "";
	const std::string name = "job in C++";
	const char *const urls[] = {url.c_str()};
	redlock_options options;
	redlock_client *client = nullptr;
	redlock_lock *lock = nullptr;

	redlock_options_init(&options);
	options.urls = urls;
	options.url_count = 1;
	if (redlock_open(&options, &client) != 0)
		return 1;
	std::unique_ptr<redlock_client, close_client> client_owner(client);
	if (redlock_lock_new(client, name.c_str(), nullptr, &lock) != 0)
		return 1;
	std::unique_ptr<redlock_lock, free_lock> lock_owner(lock);
	if (redlock_acquire(lock) != 0 || redlock_remaining_ms(lock) == 0)
		return 1;
	return redlock_release(lock) != 0;
}
