/* SPDX-License-Identifier: MIT */
/* Every error code has a name and a sentence of its own; any other number is safe to ask about. */
#include <limits.h>

#include <redlock/redlock.h>

#include "unit.h"

struct error {
	int value;
	const char *name;
};

static const struct error errors[] = {
#define ERROR(name, value, text) {value, #name},
    REDLOCK_ERROR_MAP(ERROR)
#undef ERROR
};

TEST(every_error_is_named)
{
	assert_string_equal(redlock_error_name(0), "OK");
	assert_string_equal(redlock_strerror(0), "success");
	for (unsigned i = 0; i < COUNT(errors); i++) {
		assert_true(errors[i].value < 0);
		assert_string_equal(redlock_error_name(errors[i].value), errors[i].name);
		assert_true(strlen(redlock_strerror(errors[i].value)) > 10);
		for (unsigned j = 0; j < i; j++) {
			assert_int_not_equal(errors[i].value, errors[j].value);
			assert_string_not_equal(redlock_strerror(errors[i].value), redlock_strerror(errors[j].value));
		}
	}
}

TEST(numbers_stay)
{
	static const struct error promised[] = {
	    {-1, "BUSY"},    {-2, "NOQUORUM"},   {-3, "LOST"},      {-4, "GONE"},  {-5, "CANCELLED"},
	    {-6, "INVAL"},   {-7, "URL"},        {-8, "DUPLICATE"}, {-9, "STATE"}, {-10, "LIMIT"},
	    {-11, "NOMEM"},  {-12, "SYSTEM"},    {-13, "FORKED"},   {-14, "TLS"},  {-15, "INTERRUPTED"},
	    {-16, "CONFIG"}, {-17, "UNRENEWED"},
	};
	assert_int_equal(COUNT(promised), COUNT(errors));
	for (unsigned i = 0; i < COUNT(promised); i++)
		assert_string_equal(redlock_error_name(promised[i].value), promised[i].name);
}

TEST(unknown_numbers_are_safe)
{
	static const int unknown[] = {1, -18, -100, INT_MAX, INT_MIN};
	for (unsigned i = 0; i < COUNT(unknown); i++) {
		assert_string_equal(redlock_error_name(unknown[i]), "UNKNOWN");
		assert_string_equal(redlock_strerror(unknown[i]), "unknown error code");
	}
}

TEST(constants_have_names)
{
	assert_int_equal(redlock_constant("MIN_TTL_MS"), REDLOCK_MIN_TTL_MS);
	assert_int_equal(redlock_constant("DEFAULT_DANGER"), REDLOCK_DEFAULT_DANGER);
	assert_int_equal(redlock_constant("sizeof redlock_options"), sizeof(struct redlock_options));
	assert_int_equal(redlock_constant("sizeof redlock_event"), sizeof(struct redlock_event));
	assert_int_equal(redlock_constant("offset redlock_event.user"), offsetof(struct redlock_event, user));
	assert_int_equal(redlock_constant("offset redlock_node_status.address"),
	                 offsetof(struct redlock_node_status, address));
	assert_int_equal(redlock_constant("offset redlock_wait.holder"), offsetof(struct redlock_wait, holder));
	assert_int_equal(redlock_constant("offset redlock_finding.value"),
	                 offsetof(struct redlock_finding, value));
	assert_int_equal(redlock_constant("offset redlock_terms.danger_ms"),
	                 offsetof(struct redlock_terms, danger_ms));
	assert_int_equal(redlock_constant("NONE"), 0);
	assert_int_equal(redlock_constant(NULL), 0);
	assert_int_equal(redlock_constant_find("FOREVER", NULL), REDLOCK_E_INVAL);
}

TESTS()
