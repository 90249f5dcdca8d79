// SPDX-License-Identifier: MIT
// A program that was compiled with the header of another version, or finds an older build of its own, is told
// so in a sentence.
#include <cstring>

#include <redlock/redlock.h>
#undef REDLOCK_VERSION
#define REDLOCK_VERSION "9.8.7"

#include "redlock.hpp"

static bool is_older;

/* The library's function of this name, for the header: structs of an older build are smaller. */
extern "C" std::uint64_t redlock_constant(const char *name)
{
	return is_older && name[0] == 's' ? 8 : 4096;
}

static bool is_told(const char *sentence)
{
	try {
		const redlock::client client({"redis://127.0.0.1:1"});
	} catch (const redlock::error &e) {
		return std::strstr(e.what(), sentence) != nullptr;
	}
	return false;
}

int main()
{
	const bool version = is_told("compiled for redlock 9.8.7, but libredlock ");
	is_older = true;
	return version && is_told("but an older build of libredlock ") ? 0 : 1;
}
