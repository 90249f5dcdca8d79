/* SPDX-License-Identifier: MIT */
/* Whether the server and the model have answered the same. */
#include "differential.h"

#include <stdio.h>
#include <stdlib.h>

#include "proto/answer.h"
#include "proto/method.h"
#include "resp.h"

/* Another server says the same in other words: what counts is what the library makes of it. */
static bool same_error(const struct step *step, const char *a_line, const char *b_line)
{
	char a[256], b[256];
	snprintf(a, sizeof a, "%.*s", (int)strcspn(a_line, "\r") - 1, a_line + 1);
	snprintf(b, sizeof b, "%.*s", (int)strcspn(b_line, "\r") - 1, b_line + 1);
	size_t code = strcspn(a, " ");
	bool same = code == strcspn(b, " ") && strncmp(a, b, code) == 0;
	bool has_forms = step_is(step, "EVAL") || step_is(step, "EVALSHA") || step_is(step, "DELEX") ||
	                 step_is(step, "DELIFEQ");
	for (unsigned form = 0; has_forms && form < RL_FORM_COUNT; form++) {
		struct rl_methods methods = {0};
		same &= rl_method_refuse(&methods, (enum rl_form)form, a) ==
		        rl_method_refuse(&methods, (enum rl_form)form, b);
	}
	return same && rl_answer_of_error(a) == rl_answer_of_error(b);
}

/* Whether a line ends here, of an answer or of a text in it. */
static bool is_end(char c)
{
	return c == '\r' || c == '\n';
}

/* Numbers of `slack_ms` less are the same, as is how long a text is that has them. */
static bool same_numbers(const char *a, const char *b, int64_t slack_ms)
{
	bool begins = strchr(":$", *a) != NULL && *a == *b;
	a += begins;
	b += begins;
	for (begins = true; !is_end(*a) && !is_end(*b); begins = a[-1] == ' ') {
		char *a_end = NULL, *b_end = NULL;
		int64_t less = begins ? strtoll(b, &b_end, 10) - strtoll(a, &a_end, 10) : 0;
		bool numbers = begins && a_end > a && b_end > b;
		if (numbers ? less < -slack_ms || less > slack_ms : *a != *b)
			return false;
		a = numbers ? a_end : a + 1;
		b = numbers ? b_end : b + 1;
	}
	return is_end(*a) && is_end(*b);
}

/* Line by line. */
static bool same_lines(struct diff *d, const struct step *step, int64_t slack_ms)
{
	const char *a = buffer_front(&d->answer), *a_end = a + d->answer.length;
	const char *b = buffer_front(&d->model), *b_end = b + d->model.length;
	while (a < a_end && b < b_end) {
		const char *a_line = memchr(a, '\n', (size_t)(a_end - a)),
		           *b_line = memchr(b, '\n', (size_t)(b_end - b));
		if (a_line == NULL || b_line == NULL)
			return false;
		bool equal = a_line - a == b_line - b && memcmp(a, b, (size_t)(a_line - a)) == 0;
		int64_t off_ms = step->tells_life ? d->off_ms : 0;
		bool number = same_numbers(a, b, slack_ms + off_ms);
		bool error = *a == '-' && *b == '-' && !d->modelled && same_error(step, a, b);
		if (!equal && !number && !error)
			return false;
		a = a_line + 1;
		b = b_line + 1;
	}
	return a == a_end && b == b_end;
}

/* The server's INFO has far more lines than the model's. */
static bool same_info(struct diff *d)
{
	char info[8192];
	size_t size = d->answer.length < sizeof info - 1 ? d->answer.length : sizeof info - 1;
	char identity[64];
	memcpy(info, buffer_front(&d->answer), size);
	info[size] = '\0';
	snprintf(identity, sizeof identity, "\r\nrun_id:%s\r\n", d->redis.run_id);
	return info[0] == '$' && *buffer_front(&d->model) == '$' && strstr(info, "# Server\r\n") != NULL &&
	       strstr(info, "_mode:standalone\r\n") != NULL && strstr(info, identity) != NULL;
}

/* Which of the two commands there are is all that is read of it. */
static bool same_probe(const struct buffer *a, const struct buffer *b)
{
	static const char first[] = "*2\r\n$-1\r\n", last[] = "\r\n$-1\r\n";
	size_t size = sizeof last - 1;
	bool a_first = strncmp(buffer_front(a), first, sizeof first - 1) == 0,
	     b_first = strncmp(buffer_front(b), first, sizeof first - 1) == 0,
	     a_last = memcmp(buffer_front(a) + a->length - size, last, size) == 0,
	     b_last = memcmp(buffer_front(b) + b->length - size, last, size) == 0;
	return a_first == b_first && a_last == b_last;
}

bool same_answer(struct diff *d, const struct step *step, int64_t slack_ms)
{
	enum { REMEMBERED_MS = 1000 };
	if (d->answer.length == d->model.length &&
	    memcmp(buffer_front(&d->answer), buffer_front(&d->model), d->answer.length) == 0)
		return true;
	if (step_is(step, "INFO") && d->answer.length > 100)
		return same_info(d);
	if (step_is(step, "COMMAND") && *buffer_front(&d->answer) == '*')
		return same_probe(&d->answer, &d->model);
	/* Server and model have each written their own end of a quarantine. */
	return same_lines(d, step, step->tells_life ? slack_ms + (step->remembers ? REMEMBERED_MS : 0) : 0);
}
