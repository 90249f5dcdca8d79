// SPDX-License-Identifier: MIT
/**
 * libredlock in C++17: locks over independent Redis or Valkey servers, for std::unique_lock, std::scoped_lock
 * and std::shared_lock.
 *
 *     redlock::client client({"redis://10.0.0.1", "redis://10.0.0.2", "redis://10.0.0.3"});
 *     redlock::mutex nightly(client, "nightly", client.defaults().ttl(30s));
 *     if (std::unique_lock lock(nightly, 5s); lock)        waits 5 s at most
 *         work(nightly.remaining());                       the lock is a lease: it ends
 *
 * Nothing here decides about locks. Each call is one of <redlock/redlock.h>, which says what it does and has
 * the errors; this header is about errors, durations, ownership and callbacks:
 *
 *   - A call without a std::error_code throws redlock::error, whose what() says why, node by node. A call
 * with a std::error_code throws nothing. A busy lock is `false` of a try_lock, and an error of lock() never.
 *   - Durations are those of <chrono>, rounded up to milliseconds. Negative ones are 0.
 *   - One object is one claimant: two objects of one name exclude each other. As a handle of the C library,
 * an object belongs to one thread at a time, but for remaining(), cancel() and lost_token(): give each thread
 *     its own. A client may be used by many threads.
 *   - After fork(2) calls in the child fail with errc::forked; objects may be destroyed there.
 */
#ifndef REDLOCK_HPP
#define REDLOCK_HPP

#include "redlock_base.hpp"

#if defined(__cpp_impl_coroutine)
#include <coroutine>
#endif

namespace redlock {

// ---- options ----

/** Options of a client; each field of redlock/options.h by `->`: o->node_timeout_ms = 500. */
class options {
public:
	/** The defaults, for these nodes. Without any, set("url", ...) names them. */
	explicit options(const std::vector<std::string> &urls = {}) : in_(std::make_unique<inside>())
	{
		for (const std::string &url : urls)
			detail::expect(redlock_options_add_url(&in_->raw, detail::c_text(url)), in_->why);
	}

	/** The configuration of the redlock command; "": as it says itself. what() names the file and the line.
	 */
	static options load(const std::string &cluster = "", const std::string &file = "")
	{
		options o;
		const char *section = cluster.empty() ? nullptr : cluster.c_str();
		detail::expect(redlock_options_load(&o.in_->raw, section, file.empty() ? nullptr : file.c_str()),
		               o.in_->why);
		return o;
	}

	/** An option by its name in redlock_config(3): set("node-timeout", "500ms"). */
	options &set(const std::string &name, const std::string &value)
	{
		detail::expect(redlock_options_set(&in_->raw, detail::c_text(name), detail::c_text(value)), in_->why);
		return *this;
	}

	redlock_options *operator->() noexcept { return &in_->raw; }

private:
	friend class client;
	struct inside {
		redlock_options raw;
		char why[512] = "";
		inside()
		{
			detail::expect(redlock_check_loaded(why, sizeof why), why);
			redlock_options_init(&raw);
			redlock_options_set_error_text(&raw, why, sizeof why);
		}
		~inside() { redlock_options_clear(&raw); }
	};
	std::unique_ptr<inside> in_;
};

/** Options of a lock; each field of redlock/options.h by `->`: o->max_extends = 3. */
class lock_options {
public:
	lock_options() noexcept { redlock_lock_options_init(&raw_); }
	/** How long a grant lasts; 30 s. */
	template <class D> lock_options &ttl(D d) noexcept { return raw_.ttl_ms = detail::to_ms(d), *this; }
	/** Extends the lock this long after each grant. Needs client::start_keeper(), or dispatch() in a loop. */
	template <class D> lock_options &renew(D d) noexcept { return raw_.renew_ms = detail::to_ms(d), *this; }
	/** Calls mutex::on_danger() this long before the validity ends; a sixth of the TTL. */
	template <class D> lock_options &danger(D d) noexcept { return raw_.danger_ms = detail::to_ms(d), *this; }
	/** Each acquisition has a fencing token. Needs a guarded node set. */
	lock_options &fence(bool yes = true) noexcept { return raw_.fence = yes, *this; }
	/** A lock() of an object that holds the lock counts up, and each unlock() counts down. */
	lock_options &reentrant(bool yes = true) noexcept { return raw_.reentrant = yes, *this; }
	redlock_lock_options *operator->() noexcept { return &raw_; }

private:
	redlock_lock_options raw_;
};

// ---- client ----

/** The connections to the nodes. Opening does not wait for them. */
class client {
public:
	/** what() of the error names the node or the option, and the cause. */
	explicit client(const std::vector<std::string> &urls) : client(options(urls)) {}
	explicit client(const options &o) : core_(std::make_shared<detail::core>())
	{
		detail::expect(redlock_open(&o.in_->raw, &core_->raw), o.in_->why);
	}
	client(client &&) noexcept = default;
	client &operator=(client &&) = delete;
	/** close(1 s). Locks may be destroyed later; calls on them fail with errc::state. */
	~client()
	{
		if (core_)
			close(std::chrono::seconds(1));
	}

	/** The options of locks that are made without any, to be changed: client.defaults().ttl(30s). */
	lock_options defaults() const
	{
		lock_options found;
		detail::expect(redlock_client_lock_options(core_->raw, found.operator->()));
		return found;
	}

	/** Starts two threads: one renews locks, one calls their on_lost() and on_danger(). close() ends both. */
	void start_keeper()
	{
		detail::expect(redlock_keeper_start(core_->raw));
		const int notice_fd = redlock_notice_fd(core_->raw);
		detail::expect(notice_fd);
		detail::expect((core_->stop_fd = eventfd(0, EFD_CLOEXEC)) < 0 ? REDLOCK_E_SYSTEM : 0);
		core_->watcher = std::thread(&detail::core::watch, core_.get(), notice_fd);
	}

	/** Waits for releases without an answer. Returns how many are left: their keys may stay until their TTL.
	 */
	template <class D> unsigned drain(D timeout, std::error_code &ec) noexcept
	{
		const int owed = redlock_drain(core_->raw, detail::to_ms(timeout));
		ec = detail::code_of(owed);
		return owed < 0 ? 0 : static_cast<unsigned>(owed);
	}

	/** Ends the threads, releases what locks hold, drains and closes. No other thread may be inside a call of
	 * this client. */
	template <class D> void close(D timeout) noexcept
	{
		std::error_code ignored;
		core_->stop_watcher();
		redlock_release_all(core_->raw);
		drain(timeout, ignored);
		core_->close();
	}

	/** For event loops: dispatch() when fd() is readable, and before a poll(2) whose timeout would be 0. */
	int fd() const noexcept { return redlock_fd(core_->raw); }
	int poll_timeout() const noexcept { return redlock_timeout_ns(core_->raw) == 0 ? 0 : -1; }

	/** Receives, sends what async_ calls have started, and calls back. Never blocks. Throws what callbacks
	 * do. */
	void dispatch()
	{
		const auto core = core_; // a callback may destroy the client
		detail::expect(redlock_process(core->raw));
		core->pull();
	}

	unsigned node_count() const noexcept { return redlock_node_count(core_->raw); }
	unsigned quorum() const noexcept { return redlock_quorum(core_->raw); }
	redlock_client *native_handle() const noexcept { return core_->raw; }

private:
	friend class mutex;
	std::shared_ptr<detail::core> core_;
};

// ---- locks ----

/** An exclusive lock: Lockable and TimedLockable. Destroying it releases what it holds, without waiting; no
 * operation may run then. */
class mutex {
public:
	mutex(client &c, const std::string &name, lock_options o) : mutex(c, std::vector<std::string>{name}, o) {}
	mutex(client &c, const std::string &name) : mutex(c, name, c.defaults()) {}
	mutex(client &c, std::initializer_list<std::string> names, lock_options o)
	    : mutex(c, std::vector<std::string>(names), o)
	{
	}
	/** Several names: all of them or none, without a deadlock whatever their order. */
	mutex(client &c, const std::vector<std::string> &names, lock_options o)
	    : raw_(nullptr, deleter{c.core_, nullptr}), listener_(std::make_shared<detail::listener>())
	{
		std::vector<redlock_name> all;
		for (const std::string &name : names)
			all.push_back({name.data(), name.size()});
		redlock_lock *made = nullptr;
		o->user = raw_.get_deleter().number = c.core_->add(listener_);
		const int result =
		    redlock_lock_new_many_bytes(c.core_->raw, all.data(), all.size(), o.operator->(), &made);
		char why[512] = "";
		if (result < 0) {
			c.core_->remove(o->user);
			(void)redlock_client_last_error(c.core_->raw, why, sizeof why);
		}
		detail::expect(result, why);
		raw_.reset(made);
	}

	/** Waits for the lock without a limit. */
	void lock() { expect(acquire(REDLOCK_FOREVER)); }
	void lock(std::error_code &ec) noexcept { ec = detail::code_of(acquire(REDLOCK_FOREVER)); }

	/** False: busy. Throws if that is not known, because too few nodes answered. */
	bool try_lock() { return granted(acquire(0)); }
	bool try_lock(std::error_code &ec) noexcept { return granted(acquire(0), ec); }
	template <class R, class P> bool try_lock_for(const std::chrono::duration<R, P> &wait)
	{
		return granted(acquire(detail::to_ms(wait)));
	}
	template <class R, class P>
	bool try_lock_for(const std::chrono::duration<R, P> &wait, std::error_code &ec) noexcept
	{
		return granted(acquire(detail::to_ms(wait)), ec);
	}
	template <class C, class D> bool try_lock_until(const std::chrono::time_point<C, D> &end)
	{
		return try_lock_for(end - C::now());
	}

	/** Releases. Whatever comes back, the lock is not held any more. errc::gone: it had ended before, and the
	 * work may not have been protected. The first form, which guards call, is silent: see check(), on_lost().
	 */
	void unlock() noexcept { (void)redlock_release(raw_.get()); }
	void unlock(std::error_code &ec) noexcept { ec = detail::code_of(redlock_release(raw_.get())); }

	/** How long the lock may be relied on, by the clock; 0: not held, or lost. Any thread. */
	std::chrono::milliseconds remaining() const noexcept
	{
		return std::chrono::milliseconds(redlock_remaining_ms(raw_.get()));
	}

	/** Throws errc::lost if the lock is not valid any more: for steps that must not be late. */
	void check() const { detail::expect(redlock_remaining_ms(raw_.get()) == 0 ? REDLOCK_E_LOST : 0); }

	/** A new TTL from now on; 0: that of the options. Never shortens. */
	template <class D = std::chrono::milliseconds> void extend(D ttl = D::zero())
	{
		expect(redlock_extend(raw_.get(), detail::to_ms(ttl)));
	}
	template <class D> void extend(D ttl, std::error_code &ec) noexcept
	{
		ec = detail::code_of(redlock_extend(raw_.get(), detail::to_ms(ttl)));
	}

	/** Asks the nodes whether a quorum of them has this lock. Throws if too few answer. */
	bool owned()
	{
		const int result = redlock_query(raw_.get());
		expect(result == REDLOCK_E_GONE ? 0 : result);
		return result == 0;
	}

	/** Ends a call or an async_ operation of this object with errc::cancelled. Any thread. */
	void cancel() noexcept { (void)redlock_cancel(raw_.get()); }

	/** Called by the keeper's thread or dispatch(). Set them before the lock is acquired. A call in the
	 * keeper's thread must not throw, nor destroy the client. */
	void on_lost(std::function<void()> call) { listener_->lost = std::move(call); }
	void on_danger(std::function<void()> call) { listener_->danger = std::move(call); }

	/** The token of the current or last acquisition. A client that knows it can extend and release. */
	std::string token() const
	{
		char bytes[REDLOCK_MAX_TOKEN + 1];
		std::size_t length = 0;
		expect(redlock_lock_token(raw_.get(), bytes, sizeof bytes, &length));
		return {bytes, length};
	}
	/** The fencing token of the current or last acquisition; 0: none. */
	std::uint64_t fence() const noexcept { return redlock_lock_fence(raw_.get()); }
	/** Of several names, the index of the one that was busy. Throws errc::state if no node named one. */
	unsigned obstacle() const { return number(redlock_lock_obstacle); }

	/** The vote of each node in the last operation. */
	std::vector<vote> votes() const
	{
		std::vector<vote> all;
		redlock_vote v = {};
		v.size = sizeof v;
		for (unsigned i = 0; redlock_lock_vote(raw_.get(), i, &v) == 0; i++)
			all.push_back({i, v.code, redlock_vote_kind(v.code), redlock_vote_name(v.code),
			               redlock_vote_text(v.code), std::chrono::nanoseconds(v.rtt_ns)});
		return all;
	}

	/** Why the last call failed, in a sentence; "success" if it did not. */
	std::string last_error() const
	{
		char text[1024];
		const int length = redlock_last_error(raw_.get(), text, sizeof text);
		return length < 0 ? redlock_strerror(length) : text;
	}

	redlock_lock *native_handle() const noexcept { return raw_.get(); }

	// In an event loop. `done` gets the result in dispatch(), or at once if the operation cannot begin.
	// Without `done`, in C++20, for co_await: these throw as the blocking calls do, and the coroutine
	// continues in dispatch(). One that is destroyed while it waits cancels the operation.

	template <class... F> auto async_lock(F... done)
	{
		return begin<false>(REDLOCK_OP_ACQUIRE, REDLOCK_FOREVER, std::move(done)...);
	}
	template <class D, class... F> auto async_try_lock_for(D wait, F... done)
	{
		return begin<true>(REDLOCK_OP_ACQUIRE, detail::to_ms(wait), std::move(done)...);
	}
	template <class... F> auto async_unlock(F... done)
	{
		return begin<false>(REDLOCK_OP_RELEASE, 0, std::move(done)...);
	}
	template <class D, class... F> auto async_extend(D ttl, F... done)
	{
		return begin<false>(REDLOCK_OP_EXTEND, detail::to_ms(ttl), std::move(done)...);
	}

#if defined(__cpp_lib_jthread)
	/** Its stop is requested when the lock is lost. Each acquisition has its own: get it when the lock is
	 * held. */
	std::stop_token lost_token() const
	{
		return listener_->stop.token();
	}
#endif

protected:
	friend class shared_mutex;
	void expect(int result) const
	{
		if (result < 0)
			throw error(result, last_error(), votes());
	}
	unsigned number(int (*get)(const redlock_lock *, unsigned *)) const
	{
		unsigned found = 0;
		expect(get(raw_.get(), &found));
		return found;
	}
	bool granted(int result) const
	{
		expect(result == REDLOCK_E_BUSY ? 0 : result);
		return result == 0;
	}
	static bool granted(int result, std::error_code &ec) noexcept
	{
		ec = detail::code_of(result == REDLOCK_E_BUSY ? 0 : result);
		return result == 0;
	}

private:
#if defined(__cpp_impl_coroutine)
	/** What co_await waits for; a bool if busy is an answer. */
	template <bool AnswersBusy> class operation {
	public:
		operation(mutex &m, redlock_operation what, std::uint64_t ms) : owner_(m), what_(what), ms_(ms) {}
		operation(const operation &) = delete;
		operation &operator=(const operation &) = delete;
		~operation()
		{
			if (!suspended_ || ended_)
				return;
			owner_.listener_->done = nullptr;
			owner_.cancel();
		}
		bool await_ready() const noexcept { return false; }
		bool await_suspend(std::coroutine_handle<> waiting)
		{
			owner_.begin<AnswersBusy>(what_, ms_, [this, waiting](std::error_code ec) {
				result_ = ec.value();
				ended_ = true;
				if (suspended_)
					waiting.resume();
			});
			return suspended_ = !ended_;
		}
		auto await_resume()
		{
			if constexpr (AnswersBusy)
				return owner_.granted(result_);
			else
				owner_.expect(result_);
		}

	private:
		mutex &owner_;
		redlock_operation what_;
		std::uint64_t ms_;
		int result_ = 0;
		bool suspended_ = false, ended_ = false;
	};
	template <bool AnswersBusy> operation<AnswersBusy> begin(redlock_operation what, std::uint64_t ms)
	{
		return {*this, what, ms};
	}
#endif
	struct deleter {
		std::shared_ptr<detail::core> core;
		void *number;
		void operator()(redlock_lock *lock) const noexcept
		{
			core->remove(number);
			redlock_lock_free(lock);
		}
	};

	int acquire(std::uint64_t wait_ms) noexcept
	{
		listener_->stop.renew();
		const int result = redlock_lock_set_wait(raw_.get(), wait_ms);
		return result < 0 ? result : redlock_acquire(raw_.get());
	}
	template <bool AnswersBusy, class F> void begin(redlock_operation what, std::uint64_t ms, F done)
	{
		if (what == REDLOCK_OP_ACQUIRE)
			listener_->stop.renew();
		const int result = redlock_start(raw_.get(), what, ms);
		if (result < 0)
			done(detail::code_of(result));
		else
			listener_->done = std::move(done);
	}

	std::unique_ptr<redlock_lock, deleter> raw_;
	std::shared_ptr<detail::listener> listener_;
};

/** Up to `slots` holders of one name at a time, each with a slot of its own: as std::counting_semaphore, and
 * Lockable. All clients of the name must give the same number. */
class semaphore : public mutex {
public:
	semaphore(client &c, const std::string &name, unsigned slots, lock_options o)
	    : mutex(c, name, with(slots, o))
	{
	}
	semaphore(client &c, const std::string &name, unsigned slots) : semaphore(c, name, slots, c.defaults()) {}

	void acquire() { lock(); }
	bool try_acquire() { return try_lock(); }
	template <class R, class P> bool try_acquire_for(const std::chrono::duration<R, P> &wait)
	{
		return try_lock_for(wait);
	}
	void release() noexcept { unlock(); }
	/** The slot that is held, from 0 to slots - 1. Throws errc::state if none is. */
	unsigned slot() const { return number(redlock_lock_slot); }

private:
	static lock_options with(unsigned slots, lock_options o) noexcept { return o->slots = slots, o; }
};

/** One exclusive holder or any number of shared ones: SharedTimedLockable. The object claims either at a
 * time. */
class shared_mutex : mutex {
public:
	shared_mutex(client &c, const std::string &name, lock_options o)
	    : mutex(c, name, o), shared_(c, name, shared_mode(o))
	{
	}
	shared_mutex(client &c, const std::string &name) : shared_mutex(c, name, c.defaults()) {}

	using mutex::lock, mutex::try_lock, mutex::try_lock_for, mutex::try_lock_until, mutex::unlock;

	void lock_shared() { shared_.lock(); }
	void lock_shared(std::error_code &ec) noexcept { shared_.lock(ec); }
	bool try_lock_shared() { return shared_.try_lock(); }
	bool try_lock_shared(std::error_code &ec) noexcept { return shared_.try_lock(ec); }
	template <class D> bool try_lock_shared_for(const D &wait) { return shared_.try_lock_for(wait); }
	template <class T> bool try_lock_shared_until(const T &end) { return shared_.try_lock_until(end); }
	void unlock_shared() noexcept { shared_.unlock(); }

	/** Makes the shared lock exclusive. False: there are other holders, and the lock is shared as before. It
	 * is still unlock_shared() that ends it. */
	bool try_upgrade() { return shared_.granted(redlock_upgrade(shared_.native_handle())); }
	/** Makes it shared again, without a moment in which it is not held. */
	void downgrade() { shared_.expect(redlock_downgrade(shared_.native_handle())); }

	/** The lock of lock(), and that of lock_shared(): remaining(), check(), on_lost(), votes(),
	 * async_lock()... */
	mutex &exclusive() noexcept { return *this; }
	mutex &shared() noexcept { return shared_; }

private:
	static lock_options shared_mode(lock_options o) noexcept { return o->mode = REDLOCK_SHARED, o; }
	mutex shared_;
};

} // namespace redlock

#endif
