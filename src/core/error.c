/* SPDX-License-Identifier: MIT */
/* The meanings of error codes, made from REDLOCK_ERROR_MAP. */
#include <redlock/redlock.h>

const char *redlock_strerror(int error)
{
	switch (error) {
	case 0:
		return "success";
#define SENTENCE(name, value, text)                                                                          \
	case value:                                                                                              \
		return text;
		REDLOCK_ERROR_MAP(SENTENCE)
#undef SENTENCE
	default:
		return "unknown error code";
	}
}

const char *redlock_error_name(int error)
{
	switch (error) {
	case 0:
		return "OK";
#define NAME(name, value, text)                                                                              \
	case value:                                                                                              \
		return #name;
		REDLOCK_ERROR_MAP(NAME)
#undef NAME
	default:
		return "UNKNOWN";
	}
}
