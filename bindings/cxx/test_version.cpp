// SPDX-License-Identifier: MIT
// A program that was compiled with the header of another version is told so in a sentence.
#include <cstring>

#include <redlock/redlock.h>
#undef REDLOCK_VERSION
#define REDLOCK_VERSION "9.8.7"

#include "redlock.hpp"

int main()
{
	try {
		const redlock::client client({"redis://127.0.0.1:1"});
	} catch (const redlock::error &e) {
		return std::strstr(e.what(), "compiled for redlock 9.8.7, but libredlock ") != nullptr ? 0 : 2;
	}
	return 1;
}
