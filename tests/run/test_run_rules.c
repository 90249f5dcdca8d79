/* SPDX-License-Identifier: MIT */
/* The tables of `redlock run`: row by row against docs/run.md, and what must be true of them as a whole. */
#include "run/rules.h"

#include "unit.h"

/* ---- Words ---- */

#define WORDS(name, words, text) words,
static const char *const run_states[] = {RUN_STATE_MAP(WORDS)};
static const char *const run_events[] = {RUN_EVENT_MAP(WORDS)};
static const char *const guard_states[] = {GUARD_STATE_MAP(WORDS)};
static const char *const guard_events[] = {GUARD_EVENT_MAP(WORDS)};
#undef WORDS

#define CODE(name, words) words,
static const char *const run_codes[] = {RUN_CODE_MAP(CODE)};
#undef CODE

#define ACTION(name, bit, words) words,
static const char *const run_actions[] = {RUN_ACTION_MAP(ACTION)};
static const char *const guard_actions[] = {GUARD_ACTION_MAP(ACTION)};
#undef ACTION

static const char *action_words(unsigned actions, const char *const *names, size_t count, char *buffer)
{
	buffer[0] = '\0';
	for (size_t i = 0; i < count; i++)
		if (actions & 1u << i) {
			strcat(buffer, buffer[0] ? "; " : "");
			strcat(buffer, names[i]);
		}
	return buffer;
}

static void run_row(const struct run_rule *rule, char *line, size_t size)
{
	char actions[256];

	snprintf(line, size, "| %s | %s | %s | %s | %s |\n", run_states[rule->state], run_events[rule->event],
	         action_words(rule->actions, run_actions, COUNT(run_actions), actions), run_states[rule->next],
	         run_codes[rule->code]);
}

static void guard_row(const struct guard_rule *rule, char *line, size_t size)
{
	char actions[256];

	snprintf(line, size, "| %s | %s | %s | %s |\n", guard_states[rule->state], guard_events[rule->event],
	         action_words(rule->actions, guard_actions, COUNT(guard_actions), actions),
	         guard_states[rule->next]);
}

/* ---- The page ---- */

static FILE *open_page(const char *section)
{
	FILE *page = fopen(RUN_PAGE, "r");
	char line[512];

	assert_non_null(page);
	while (fgets(line, sizeof(line), page))
		if (strcmp(line, section) == 0)
			return page;
	fail_msg("docs/run.md has no line %s", section);
	return page;
}

/* The next row of the table of this section, after its two header lines. False: the table has ended. */
static bool next_row(FILE *page, char *line, size_t size)
{
	while (fgets(line, (int)size, page)) {
		if (line[0] == '#')
			return false;
		if (line[0] == '|' && strncmp(line, "| state |", 9) != 0 && strncmp(line, "|---", 4) != 0)
			return true;
	}
	return false;
}

TEST(supervisor_is_as_the_page_says)
{
	FILE *page = open_page("## The supervisor, row by row\n");
	char wanted[512], row[512];

	for (size_t i = 0; i < run_rule_count; i++) {
		assert_true(next_row(page, wanted, sizeof(wanted)));
		run_row(run_step(run_rules[i].state, run_rules[i].event), row, sizeof(row));
		assert_string_equal(row, wanted);
	}
	assert_false(next_row(page, wanted, sizeof(wanted)));
	fclose(page);
}

TEST(guard_is_as_the_page_says)
{
	FILE *page = open_page("## The guard, row by row\n");
	char wanted[512], row[512];

	for (size_t i = 0; i < guard_rule_count; i++) {
		assert_true(next_row(page, wanted, sizeof(wanted)));
		guard_row(guard_step(guard_rules[i].state, guard_rules[i].event), row, sizeof(row));
		assert_string_equal(row, wanted);
	}
	assert_false(next_row(page, wanted, sizeof(wanted)));
	fclose(page);
}

/* ---- The whole ---- */

static bool has_processes(enum run_state state)
{
	return state >= RUN_HELD && state <= RUN_LOST;
}

TEST(no_rule_is_hidden_by_another)
{
	for (size_t i = 0; i < run_rule_count; i++)
		assert_ptr_equal(run_step(run_rules[i].state, run_rules[i].event), &run_rules[i]);
	for (size_t i = 0; i < guard_rule_count; i++)
		assert_ptr_equal(guard_step(guard_rules[i].state, guard_rules[i].event), &guard_rules[i]);
	assert_null(run_step(RUN_ENDED, RUN_ON_GRANTED));
	assert_null(guard_step(GUARD_DONE, GUARD_ON_LAUNCH));
}

/* The lock is given back, and redlock exits, only when no process of the command is left. */
TEST(release_waits_for_the_last_process)
{
	for (size_t i = 0; i < run_rule_count; i++) {
		const struct run_rule *rule = &run_rules[i];

		if (has_processes(rule->state) && !has_processes(rule->next))
			assert_int_equal(rule->event, RUN_ON_ALL_GONE);
		if (rule->actions & (RUN_DO_RELEASE | RUN_DO_EXIT))
			assert_false(has_processes(rule->next));
		assert_int_equal(rule->next == RUN_ENDED, (rule->actions & RUN_DO_EXIT) != 0);
	}
}

TEST(the_command_starts_once_and_only_under_the_lock)
{
	for (size_t i = 0; i < run_rule_count; i++) {
		const struct run_rule *rule = &run_rules[i];

		assert_int_equal((rule->actions & RUN_DO_START) != 0,
		                 rule->event == RUN_ON_GRANTED && rule->state == RUN_WAITING);
		if (has_processes(rule->next) && !has_processes(rule->state))
			assert_true(rule->actions & RUN_DO_START);
	}
}

/* From each state with processes the events that mean danger are answered by stopping them. */
TEST(nothing_keeps_running_without_the_lock)
{
	for (enum run_state s = RUN_HELD; s <= RUN_LOST; s++) {
		assert_non_null(run_step(s, RUN_ON_ALL_GONE) ? run_step(s, RUN_ON_ALL_GONE)
		                                             : run_step(s, RUN_ON_CHILD_EXITED));
		assert_true(run_step(s, RUN_ON_OVERDUE)->actions & RUN_DO_TAKE_OVER);
		assert_true(run_step(s, RUN_ON_GUARD_GONE)->actions & RUN_DO_TAKE_OVER);
		if (s != RUN_CHILD_GONE)
			assert_int_equal(run_step(s, RUN_ON_TOO_LATE)->next, RUN_LOST);
		if (s != RUN_LOST)
			assert_true(run_step(s, RUN_ON_LOSS)->actions & RUN_DO_DISOWN);
	}
}

static bool is_stopped_for_loss(enum run_state state)
{
	return state == RUN_DANGER || state == RUN_LOST;
}

/* Random walks: a loss is told by 79 whatever comes after it, and every walk can come to its end. */
TEST(a_loss_is_never_forgotten)
{
	struct rng rng = {.state = 88172645463325252u};

	for (int walk = 0; walk < 20000; walk++) {
		enum run_state now = RUN_WAITING;
		enum run_code code = RUN_CODE_KEEP;
		bool lost = false;

		for (int i = 0; i < 60 && now != RUN_ENDED; i++) {
			const struct run_rule *rule = run_step(now, (enum run_event)rng_below(&rng, RUN_EVENT_COUNT));

			if (!rule)
				continue;
			if (rule->code != RUN_CODE_KEEP)
				code = rule->code;
			lost = lost || is_stopped_for_loss(rule->next);
			if (is_stopped_for_loss(now))
				assert_true(is_stopped_for_loss(rule->next) || rule->next == RUN_RELEASING);
			now = rule->next;
			if (lost)
				assert_int_equal(code, RUN_CODE_LOST);
		}
	}
}

TEST(every_state_leads_to_the_end)
{
	bool ends[RUN_STATE_COUNT] = {[RUN_ENDED] = true};

	for (int round = 0; round < RUN_STATE_COUNT; round++)
		for (size_t i = 0; i < run_rule_count; i++)
			ends[run_rules[i].state] |= ends[run_rules[i].next];
	for (int s = 0; s < RUN_STATE_COUNT; s++)
		assert_true(ends[s]);
}

/* `--print`: the tables, for docs/run.md. */
static int print_tables(void)
{
	char row[512];

	puts("| state | event | redlock does | next | exit code |\n|---|---|---|---|---|");
	for (size_t i = 0; i < run_rule_count; i++) {
		run_row(&run_rules[i], row, sizeof(row));
		fputs(row, stdout);
	}
	puts("\n| state | event | the guard does | next |\n|---|---|---|---|");
	for (size_t i = 0; i < guard_rule_count; i++) {
		guard_row(&guard_rules[i], row, sizeof(row));
		fputs(row, stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--print") == 0)
		return print_tables();
	return group_run(__FILE__);
}
