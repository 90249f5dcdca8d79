// SPDX-License-Identifier: MIT
/*
 * The driver of tests/conformance for redlock.hpp, by blocking calls: docs/bindings.md has the protocol. A
 * wait that `start` begins has a thread; the keeper renews, and tells a loss.
 */
#include "redlock.hpp"

#include <condition_variable>
#include <future>
#include <iostream>
#include <map>
#include <sstream>

namespace {

using std::chrono::milliseconds;
using words = std::vector<std::string>;

std::string decode(const std::string &word)
{
	std::string text;
	for (std::size_t i = 0; word != "%" && i < word.size(); i++)
		if (word[i] != '%')
			text += word[i];
		else
			text += static_cast<char>(std::stoi(word.substr(i + 1, 2), nullptr, 16)), i += 2;
	return text;
}

std::string encode(const std::string &bytes)
{
	std::string text;
	for (const char c : bytes)
		text += c == '%' ? "%25" : c == ' ' ? "%20" : c == '\0' ? "%00" : std::string(1, c);
	return text;
}

milliseconds ms(const std::string &word)
{
	return milliseconds(std::stoll(word));
}

words split(const std::string &text, char at)
{
	words parts;
	std::istringstream in(text);
	for (std::string part; std::getline(in, part, at);)
		if (!part.empty())
			parts.push_back(part);
	return parts;
}

std::string wrong(const std::error_code &ec, const std::string &why)
{
	return std::string("error ") + redlock_error_name(ec.value()) + " " + why;
}

/** The options NAME=VALUE of a lock. `token` must stay until the lock is made. */
redlock::lock_options lock_options(redlock::lock_options o, std::map<std::string, std::string> &given)
{
	for (auto &[name, value] : given) {
		if (name == "ttl")
			o.ttl(ms(value));
		else if (name == "renew")
			o.renew(ms(value));
		else if (name == "danger")
			o.danger(ms(value));
		else if (name == "max-hold")
			o->max_hold_ms = std::stoull(value);
		else if (name == "fence")
			o.fence();
		else if (name == "reentrant")
			o.reentrant();
		else if (name == "token")
			value = decode(value), o->token = value.data(), o->token_len = value.size();
	}
	return o;
}

/** A lock of the scenario, as a program has it: a shared_mutex, a semaphore, or a mutex. */
class claim {
public:
	/** A list may have one name, or none. */
	claim(redlock::client &c, const words &names, bool is_list, std::map<std::string, std::string> given)
	{
		redlock::lock_options o = lock_options(c.defaults(), given);
		const bool shared = given.count("shared") != 0, slots = given.count("slots") != 0;
		if (shared && !is_list) {
			o->slots = slots ? static_cast<unsigned>(std::stoul(given["slots"])) : 0;
			both_ = std::make_unique<redlock::shared_mutex>(c, names[0], o);
		} else if (slots && !is_list) {
			slots_ = std::make_unique<redlock::semaphore>(c, names[0], std::stoul(given["slots"]), o);
		} else {
			o->mode = shared ? REDLOCK_SHARED : REDLOCK_EXCLUSIVE;
			o->slots = slots ? static_cast<unsigned>(std::stoul(given["slots"])) : 0;
			one_ = is_list ? std::make_unique<redlock::mutex>(c, names, o)
			               : std::make_unique<redlock::mutex>(c, names[0], o);
		}
		any().on_lost([this] {
			const std::lock_guard<std::mutex> guard(mutex_);
			lost_ = true;
			told_.notify_all();
		});
		any().on_danger([this] {
			const std::lock_guard<std::mutex> guard(mutex_);
			danger_ = true;
			told_.notify_all();
		});
	}
	claim(const claim &) = delete;
	~claim() { finish(); }

	std::string step(const std::string &verb, const std::string &argument)
	{
		std::error_code ec;
		if (verb == "acquire")
			return acquire(argument);
		if (verb == "start")
			return waits_ = std::async(std::launch::async, [=] { return acquire(argument); }), "";
		if (verb == "finish")
			return finish();
		if (verb == "cancel")
			return any().cancel(), "";
		if (verb == "release")
			return any().unlock(ec), ec ? wrong(ec, any().last_error()) : "";
		if (verb == "extend")
			return any().extend(ms(argument)), "";
		if (verb == "upgrade")
			return both().try_upgrade() ? "" : "error BUSY";
		if (verb == "downgrade")
			return both().downgrade(), "";
		if (verb == "owned")
			return any().owned() ? "yes" : "no";
		if (verb == "lost")
			return wait_for(lost_, ms(argument)) ? "yes" : "no";
		if (verb == "danger")
			return wait_for(danger_, ms(argument)) ? "yes" : "no";
		if (verb == "remaining")
			return std::to_string(any().remaining().count());
		if (verb == "fence")
			return std::to_string(any().fence());
		if (verb == "slot")
			return std::to_string(slots_->slot());
		if (verb == "obstacle")
			return std::to_string(any().obstacle());
		if (verb == "token")
			return encode(any().token());
		return votes();
	}

	/** Ends what waits. */
	void cancel()
	{
		any().cancel();
		if (waits_.valid())
			waits_.wait();
	}

private:
	redlock::mutex &any() { return both_ ? both_->shared() : slots_ ? *slots_ : *one_; }
	redlock::shared_mutex &both()
	{
		if (both_)
			return *both_;
		throw redlock::error(REDLOCK_E_STATE, "a redlock::mutex has no upgrade");
	}

	std::string acquire(const std::string &wait)
	try {
		forget_notices();
		if (wait == "forever")
			return any().lock(), "";
		return any().try_lock_for(ms(wait)) ? "" : wrong(redlock::errc::busy, any().last_error());
	} catch (const redlock::error &e) {
		return wrong(e.code(), e.what());
	}

	std::string finish() { return waits_.valid() ? waits_.get() : ""; }

	void forget_notices()
	{
		const std::lock_guard<std::mutex> guard(mutex_);
		lost_ = danger_ = false;
	}

	bool wait_for(const bool &notice, milliseconds wait)
	{
		std::unique_lock<std::mutex> guard(mutex_);
		return told_.wait_for(guard, wait, [&] { return notice; });
	}

	std::string votes()
	{
		std::string all;
		for (const redlock::vote &vote : any().votes())
			all += (all.empty() ? "" : " ") + std::string(vote.name);
		return all;
	}

	std::mutex mutex_; // of the two notices, which the keeper's thread sets
	std::condition_variable told_;
	bool lost_ = false, danger_ = false;
	std::unique_ptr<redlock::shared_mutex> both_; // one of the three
	std::unique_ptr<redlock::semaphore> slots_;
	std::unique_ptr<redlock::mutex> one_;
	std::future<std::string> waits_;
};

/** A client and its locks, which go first. After `close` only the results of its waits are left. */
struct owner {
	std::unique_ptr<redlock::client> client;
	std::map<std::string, std::unique_ptr<claim>> claims;
	std::map<std::string, std::string> finished;

	void close()
	{
		for (auto &[label, one] : claims)
			one->cancel(), finished[label] = one->step("finish", "");
		claims.clear();
		client.reset();
	}
	~owner() { close(); }
};

std::map<std::string, owner> owners;

std::string open(const words &step)
{
	words urls;
	std::map<std::string, std::string> given;
	for (auto word = step.begin() + 2; word != step.end(); ++word) {
		const auto at = word->find('=');
		if (word->find("://") != std::string::npos)
			urls.push_back(*word);
		else
			given[word->substr(0, at)] = decode(word->substr(at + 1));
	}
	redlock::options o(urls);
	for (const auto &[name, value] : given)
		o.set(name, name == "node-timeout" ? value + "ms" : value);
	auto client = std::make_unique<redlock::client>(o);
	client->start_keeper();
	owners[step[1]].client = std::move(client);
	return "";
}

std::string make(const words &step)
{
	std::map<std::string, std::string> given;
	for (auto word = step.begin() + 4; word != step.end(); ++word)
		given[word->substr(0, word->find('='))] = word->substr(word->find('=') + 1);
	words names = split(step[3], ',');
	for (std::string &name : names)
		name = decode(name);
	owner &its = owners.at(step[1]);
	its.claims[step[2]] =
	    std::make_unique<claim>(*its.client, names, step[3].find(',') != std::string::npos, std::move(given));
	return "";
}

std::string known_errors()
{
	using redlock::errc;
	std::string names;
	for (const errc code :
	     {errc::busy, errc::no_quorum, errc::lost, errc::gone, errc::cancelled, errc::invalid, errc::url,
	      errc::duplicate, errc::state, errc::limit, errc::no_memory, errc::system, errc::forked, errc::tls,
	      errc::interrupted, errc::config, errc::unrenewed})
		names += (names.empty() ? "" : " ") + std::string(redlock_error_name(static_cast<int>(code)));
	return names;
}

std::string answer(const words &step)
{
	if (step[0] == "errors")
		return known_errors();
	if (step[0] == "client")
		return open(step);
	if (step[0] == "lock")
		return make(step);
	if (step[0] == "close")
		return owners.at(step[1]).close(), "";
	for (auto &[label, its] : owners) {
		if (const auto found = its.claims.find(step[1]); found != its.claims.end())
			return found->second->step(step[0], step.size() > 2 ? step[2] : "");
		if (const auto found = its.finished.find(step[1]); found != its.finished.end())
			return found->second;
	}
	return "error PROTOCOL no such lock";
}

} // namespace

int main()
{
	for (std::string line; std::getline(std::cin, line);) {
		std::string value;
		try {
			value = answer(split(line, ' '));
		} catch (const redlock::error &e) {
			value = wrong(e.code(), e.what());
		}
		const bool failed = value.compare(0, 6, "error ") == 0;
		std::cout << (failed ? "" : value.empty() ? "ok" : "ok ") << value << std::endl;
	}
	owners.clear();
	return 0;
}
