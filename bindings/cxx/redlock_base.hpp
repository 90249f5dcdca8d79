// SPDX-License-Identifier: MIT
/**
 * The ground of redlock.hpp, which includes it: errors and votes as exceptions and codes, and how the events
 * of a client find the callbacks of its locks.
 */
#ifndef REDLOCK_BASE_HPP
#define REDLOCK_BASE_HPP

#include <redlock/loaded.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#if defined(__has_include) && __has_include(<stop_token>)
#include <stop_token>
#endif

namespace redlock {

// ---- errors ----

/** The errors of redlock/results.h, which explains them. */
enum class errc {
	busy = REDLOCK_E_BUSY,
	no_quorum = REDLOCK_E_NOQUORUM,
	lost = REDLOCK_E_LOST,
	gone = REDLOCK_E_GONE,
	cancelled = REDLOCK_E_CANCELLED,
	invalid = REDLOCK_E_INVAL,
	url = REDLOCK_E_URL,
	duplicate = REDLOCK_E_DUPLICATE,
	state = REDLOCK_E_STATE,
	limit = REDLOCK_E_LIMIT,
	no_memory = REDLOCK_E_NOMEM,
	system = REDLOCK_E_SYSTEM,
	forked = REDLOCK_E_FORKED,
	tls = REDLOCK_E_TLS,
	interrupted = REDLOCK_E_INTERRUPTED,
	config = REDLOCK_E_CONFIG,
	unrenewed = REDLOCK_E_UNRENEWED
};

/** The category of errc; a code compares equal to the std::errc of the same meaning. */
inline const std::error_category &category() noexcept
{
	struct redlock_category final : std::error_category {
		const char *name() const noexcept override { return "redlock"; }
		std::string message(int code) const override { return redlock_strerror(code); }
		std::error_condition default_error_condition(int code) const noexcept override
		{
			static constexpr std::pair<int, std::errc> same[] = {
			    {REDLOCK_E_BUSY, std::errc::resource_unavailable_try_again},
			    {REDLOCK_E_CANCELLED, std::errc::operation_canceled},
			    {REDLOCK_E_INVAL, std::errc::invalid_argument},
			    {REDLOCK_E_INTERRUPTED, std::errc::interrupted},
			    {REDLOCK_E_NOMEM, std::errc::not_enough_memory}};
			for (const auto &[ours, standard] : same)
				if (ours == code)
					return standard;
			return {code, *this};
		}
	};
	static const redlock_category the_category;
	return the_category;
}

inline std::error_code make_error_code(errc code) noexcept
{
	return {static_cast<int>(code), category()};
}

/** The answer of one node in the last operation of a lock. The texts are constants of the library. */
struct vote {
	unsigned node;                /**< from 0, in the order of the URLs */
	redlock_vote_code code;       /**< REDLOCK_VOTE_TIMEOUT ... */
	enum redlock_vote_kind kind;  /**< of a code that is newer than the program, too */
	const char *name, *text;      /**< "TIMEOUT", "no answer in time" */
	std::chrono::nanoseconds rtt; /**< from the start of the operation to the answer; 0: none yet */
};

/** Thrown by calls without a std::error_code. what() is the sentence of redlock_last_error(). */
class error : public std::system_error {
public:
	error(int code, const std::string &why, std::vector<vote> votes = {})
	    : std::system_error(code, category()), about_(std::make_shared<about>(about{why, std::move(votes)}))
	{
	}
	const char *what() const noexcept override { return about_->why.c_str(); }
	/** The votes of all nodes; empty if the call asked none. */
	const std::vector<vote> &votes() const noexcept { return about_->votes; }

private:
	struct about {
		std::string why;
		std::vector<vote> votes;
	};
	std::shared_ptr<const about> about_; // a copy of an exception must not throw
};

namespace detail {

inline std::error_code code_of(int result) noexcept
{
	return result < 0 ? std::error_code(result, category()) : std::error_code();
}

inline void expect(int result, const char *why = "")
{
	if (result < 0)
		throw error(result, *why != '\0' ? why : redlock_strerror(result));
}

template <class Duration> std::uint64_t to_ms(Duration duration) noexcept
{
	const double ms = std::ceil(std::chrono::duration<double, std::milli>(duration).count());
	return !(ms > 0) ? 0 : ms >= 1e15 ? REDLOCK_FOREVER : static_cast<std::uint64_t>(ms);
}

/** A text for C, which would end at a NUL. */
inline const char *c_text(const std::string &text)
{
	expect(text.find('\0') == std::string::npos ? 0 : REDLOCK_E_INVAL, "a text contains a NUL");
	return text.c_str();
}

/** The stop that is requested when a lock is lost. The keeper's thread requests it while another thread may
 * replace it. */
#if defined(__cpp_lib_jthread)
class stop {
public:
	void request() { get().request_stop(); }
	std::stop_token token() { return get().get_token(); }
	/** For the next acquisition. */
	void renew()
	{
		const std::lock_guard<std::mutex> guard(mutex_);
		if (source_.stop_requested())
			source_ = std::stop_source();
	}

private:
	std::stop_source get()
	{
		const std::lock_guard<std::mutex> guard(mutex_);
		return source_;
	}
	std::mutex mutex_;
	std::stop_source source_;
};
#else
struct stop {
	void request() noexcept {}
	void renew() noexcept {}
};
#endif

/** The callbacks of a lock. */
struct listener {
	std::function<void(std::error_code)> done; // of the operation that was started
	std::function<void()> danger, lost;
	detail::stop stop;

	void hear(const redlock_event &event)
	{
		if (event.kind == REDLOCK_EVENT_DONE) {
			if (const auto call = std::exchange(done, nullptr))
				call(code_of(event.result));
			return;
		}
		if (event.kind == REDLOCK_EVENT_LOST)
			stop.request();
		if (event.kind == REDLOCK_EVENT_LOST && lost)
			lost();
		if (event.kind == REDLOCK_EVENT_DANGER && danger)
			danger();
	}
};

/** The client of the C library, and the callbacks of its locks, by the number that is the `user` of a handle.
 */
struct core {
	redlock_client *raw = nullptr;
	const pid_t owner = getpid(); // a child has no other threads, and nobody unlocks the mutex there
	std::mutex mutex;
	std::unordered_map<void *, std::shared_ptr<listener>> listeners;
	std::uintptr_t last = 0;
	std::thread watcher;
	int stop_fd = -1;

	~core() { close(); }

	void close() noexcept
	{
		stop_watcher();
		redlock_close(std::exchange(raw, nullptr));
	}

	void stop_watcher() noexcept
	{
		if (!watcher.joinable())
			return;
		if (getpid() != owner) {
			watcher.detach();
		} else {
			(void)eventfd_write(stop_fd, 1);
			watcher.join();
		}
		::close(std::exchange(stop_fd, -1));
	}

	void watch(int notice_fd)
	{
		pollfd fds[] = {{notice_fd, POLLIN, 0}, {stop_fd, POLLIN, 0}};
		while (fds[1].revents == 0)
			if (poll(fds, 2, -1) > 0 && fds[0].revents != 0)
				pull();
	}

	void *add(std::shared_ptr<listener> one)
	{
		const std::lock_guard<std::mutex> guard(mutex);
		void *number = reinterpret_cast<void *>(++last);
		listeners.emplace(number, std::move(one));
		return number;
	}

	void remove(void *number) noexcept
	{
		if (getpid() != owner)
			return;
		const std::lock_guard<std::mutex> guard(mutex);
		listeners.erase(number);
	}

	std::shared_ptr<listener> find(void *number)
	{
		const std::lock_guard<std::mutex> guard(mutex);
		const auto found = listeners.find(number);
		return found != listeners.end() ? found->second : nullptr;
	}

	void pull()
	{
		redlock_event event = {};
		event.size = sizeof event;
		while (redlock_next(raw, &event) == 1)
			if (const auto one = find(event.user))
				one->hear(event);
	}
};

} // namespace detail

} // namespace redlock

template <> struct std::is_error_code_enum<redlock::errc> : std::true_type {
};

#endif
