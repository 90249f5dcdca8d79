/* SPDX-License-Identifier: MIT */
/* The checks whose warnings the operator accepts: `redlock doctor` shows these warnings and does not count
 * them. Errors cannot be accepted, so a check that finds nothing but errors is refused. */
#include <string.h>

#include "doctor.h"

#include "../exit_codes.h"
#include "../message.h"
#include "../suggest.h"

/* The next word of a comma list, with its length, or NULL. `text` is the rest of the list before and after.
 */
static const char *next_word(const char **text, size_t *ret_length)
{
	static const char between[] = ", \t";
	const char *word = *text + strspn(*text, between);
	*ret_length = strcspn(word, between);
	*text = word + *ret_length;
	return *ret_length > 0 ? word : NULL;
}

bool doctor_is_accepted(const struct settings *settings, const char *check)
{
	size_t length;
	for (size_t i = 0; i < settings->accept.count; i++)
		for (const char *rest = settings->accept.items[i], *word; (word = next_word(&rest, &length)) != NULL;)
			if (strlen(check) == length && memcmp(check, word, length) == 0)
				return true;
	return false;
}

static void suggest_check(void *user, const char *check, const char *text, const char *advice)
{
	(void)text, (void)advice;
	suggest(user, check);
}

/* The configuration and the command line have different sentences and exit codes for a wrong value. */
static int refuse(const struct settings *settings, const char *problem)
{
	const struct setting_source *source = settings_source(settings, accept_options.specs[0].field);
	if (source == NULL || source->rank == RANK_COMMAND_LINE) {
		complain(MSG(OPTION_VALUE), "redlock doctor", accept_options.specs[0].name, problem);
		return EXIT_USAGE;
	}
	complain(MSG(CONFIG_VALUE), source->where, accept_options.specs[0].name, problem);
	return EXIT_CONFIG;
}

static int check_word(const struct settings *settings, const char *word)
{
	char problem[256];
	unsigned levels = doctor_levels(word);
	struct suggestion suggestion = {.word = word};
	if (levels == 0) {
		doctor_each_check(suggest_check, &suggestion);
		snprintf(problem, sizeof problem, "%s: doctor has no such check%s", word,
		         suggestion_text(&suggestion, ""));
		return refuse(settings, problem);
	}
	if ((levels & 1U << DOCTOR_ERROR) != 0 && (levels & 1U << DOCTOR_WARNING) == 0) {
		snprintf(problem, sizeof problem, "%s: this check finds errors, and only warnings can be accepted",
		         word);
		return refuse(settings, problem);
	}
	return EXIT_OK;
}

int doctor_check_accept(const struct settings *settings)
{
	char copy[64];
	size_t length;
	int code = EXIT_OK;
	for (size_t i = 0; i < settings->accept.count && code == EXIT_OK; i++)
		for (const char *rest = settings->accept.items[i], *word;
		     code == EXIT_OK && (word = next_word(&rest, &length)) != NULL;) {
			snprintf(copy, sizeof copy, "%.*s", (int)length, word);
			code = check_word(settings, copy);
		}
	return code;
}
