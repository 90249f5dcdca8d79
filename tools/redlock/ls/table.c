/* SPDX-License-Identifier: MIT */
/* Rows as a table for people, which fits the terminal. Other readers get all of it, in all columns. */
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "../printable.h"
#include "ls.h"

enum { CELL_MAX = 1024, GAP = 2, CUT = 3 };

/* ---- cells ---- */

/* Names the side keys of a lock that nobody holds. */
static void sides_text(const struct ls_row *row, char *buffer, size_t size)
{
	size_t used = 0;
	buffer[0] = '\0';
	for (int side = 0; side < LS_SIDES && used < size; side++)
		if (row->side[side].nodes > 0)
			used += (size_t)snprintf(buffer + used, size - used, "%s%s", used > 0 ? "," : "key ",
			                         ls_side_words[side]);
}

/* The life of the lock; of a remainder that of the side key that lives longest. */
static int64_t life_of(const struct ls_row *row)
{
	int64_t longest_ms = row->pttl_ms;
	for (int side = 0; side < LS_SIDES && ls_row_is_remainder(row); side++)
		if (row->side[side].nodes > 0 && (longest_ms == -2 || row->side[side].pttl_ms == -1 ||
		                                  (longest_ms != -1 && row->side[side].pttl_ms > longest_ms)))
			longest_ms = row->side[side].pttl_ms;
	return longest_ms;
}

static void name_cell(const struct ls_row *row, char *cell)
{
	printable(row->name, strlen(row->name), cell, CELL_MAX);
}

static void kind_cell(const struct ls_row *row, char *cell)
{
	if (row->slots > 0)
		snprintf(cell, CELL_MAX, "%s %u/%u", row->kind, row->slot, row->slots);
	else
		snprintf(cell, CELL_MAX, "%s", row->kind);
}

static void holder_cell(const struct ls_row *row, char *cell)
{
	if (row->holder != NULL)
		harmless(row->holder, cell, CELL_MAX);
	else
		sides_text(row, cell, CELL_MAX);
}

static void held_cell(const struct ls_row *row, char *cell)
{
	char time[32];
	if (row->held_ms > 0)
		snprintf(cell, CELL_MAX, "%s%s", row->held_is_exact ? "" : ">",
		         ls_time_text(row->held_ms, time, sizeof time));
}

static void votes_cell(const struct ls_row *row, char *cell)
{
	if (!ls_row_is_remainder(row))
		snprintf(cell, CELL_MAX, "%u/%u", row->votes, row->nodes);
}

static void ttl_cell(const struct ls_row *row, char *cell)
{
	int64_t ms = life_of(row);
	if (ms == -1)
		snprintf(cell, CELL_MAX, "never");
	else if (ms >= 0)
		ls_time_text((uint64_t)ms, cell, CELL_MAX);
}

static void waiters_cell(const struct ls_row *row, char *cell)
{
	if (row->waiting > 0)
		snprintf(cell, CELL_MAX, "%" PRIu64, row->waiting);
}

static void fence_cell(const struct ls_row *row, char *cell)
{
	if (row->fence > 0)
		snprintf(cell, CELL_MAX, "%" PRIu64, row->fence);
}

static void odd_cell(const struct ls_row *row, char *cell)
{
	ls_odd_text(row, cell, CELL_MAX);
}

static const struct column {
	const char *title;
	void (*write)(const struct ls_row *row, char *cell); /* leaves an empty cell as it is */
	bool to_the_right;
	bool may_go; /* where the terminal is too small, if all of its cells are empty */
} columns[] = {
    {"NAME", name_cell, false, false},     {"KIND", kind_cell, false, false},
    {"HOLDER", holder_cell, false, false}, {"HELD", held_cell, true, true},
    {"VOTES", votes_cell, true, false},    {"TTL", ttl_cell, true, false},
    {"WAITERS", waiters_cell, true, true}, {"FENCE", fence_cell, true, true},
    {"ODD", odd_cell, false, true},
};
enum { COLUMNS = sizeof columns / sizeof columns[0], NAME_COLUMN = 0, HOLDER_COLUMN = 2 };
enum { LEAST_NAME = 16, LEAST_HOLDER = 12 };

static const char *cell_of(const struct ls_row *row, size_t column, char *cell)
{
	cell[0] = '\0';
	columns[column].write(row, cell);
	return cell[0] ? cell : "-";
}

/* ---- widths ---- */

/* The columns that a character takes on a terminal. */
static size_t width_of(uint32_t point)
{
	static locale_t unicode;
	if (point < 0x80)
		return 1;
	if (unicode == NULL)
		unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
	if (unicode == NULL)
		return 1;
	locale_t before = uselocale(unicode);
	int width = wcwidth((wchar_t)point);
	uselocale(before);
	return width >= 0 ? (size_t)width : 1;
}

/* The bytes of a text that fit, and how many columns these take. */
static size_t fitting(const char *text, size_t most, size_t *ret_width)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t length = strlen(text), at = 0, used = 0;
	uint32_t point;
	while (at < length) {
		size_t step = utf8_decode(bytes + at, length - at, &point);
		size_t width = step > 0 ? width_of(point) : 1;
		if (used + width > most)
			break;
		used += width;
		at += step > 0 ? step : 1;
	}
	*ret_width = used;
	return at;
}

static size_t text_width(const char *text)
{
	size_t width;
	(void)fitting(text, SIZE_MAX, &width);
	return width;
}

struct layout {
	size_t width[COLUMNS]; /* 0: the column is left out */
	bool is_empty[COLUMNS];
	size_t screen; /* 0: no limit */
};

static size_t total(const struct layout *layout)
{
	size_t all = 0;
	for (size_t c = 0; c < COLUMNS; c++)
		if (layout->width[c] > 0)
			all += layout->width[c] + (all > 0 ? GAP : 0);
	return all;
}

/* Cuts the wider of the two columns that may be cut, until the table fits or neither can be cut further. */
static void shrink(struct layout *layout)
{
	size_t *name = &layout->width[NAME_COLUMN], *holder = &layout->width[HOLDER_COLUMN];
	while (total(layout) > layout->screen) {
		bool cut_name = *name > LEAST_NAME && (*name >= *holder || *holder <= LEAST_HOLDER);
		if (!cut_name && *holder <= LEAST_HOLDER)
			return;
		*(cut_name ? name : holder) -= 1;
	}
}

static void lay_out(struct layout *layout, const struct ls_rows *rows, size_t screen)
{
	char cell[CELL_MAX];
	*layout = (struct layout){.screen = screen};
	for (size_t c = 0; c < COLUMNS; c++) {
		layout->width[c] = strlen(columns[c].title);
		layout->is_empty[c] = true;
		for (size_t i = 0; i < rows->count; i++) {
			size_t width = text_width(cell_of(&rows->list[i], c, cell));
			layout->is_empty[c] &= strcmp(cell, "") == 0;
			layout->width[c] = width > layout->width[c] ? width : layout->width[c];
		}
	}
	if (screen == 0)
		return;
	for (size_t c = 0; c < COLUMNS && total(layout) > screen; c++)
		if (columns[c].may_go && layout->is_empty[c])
			layout->width[c] = 0;
	shrink(layout);
}

/* ---- lines ---- */

/* Appends a cell to the line, cut where it is too wide. */
static size_t put_cell(char *line, size_t used, const char *text, const struct column *column, size_t width)
{
	size_t shown, whole = text_width(text);
	size_t most = whole > width && width > CUT ? width - CUT : width;
	size_t bytes = fitting(text, most, &shown);
	const char *dots = bytes < strlen(text) && width > CUT ? "..." : "";
	shown += strlen(dots);
	int pad = width > shown ? (int)(width - shown) : 0;
	return used + (size_t)sprintf(line + used, "%*s%.*s%s%*s", column->to_the_right ? pad : 0, "", (int)bytes,
	                              text, dots, column->to_the_right ? 0 : pad, "");
}

/* `row` NULL: the titles. */
static void put_row(const struct layout *layout, const struct ls_row *row, const char *end)
{
	char cell[CELL_MAX], line[COLUMNS * (CELL_MAX + GAP) * 2];
	size_t used = 0, shown;
	for (size_t c = 0; c < COLUMNS; c++) {
		if (layout->width[c] == 0)
			continue;
		if (used > 0)
			used += (size_t)sprintf(line + used, "%*s", GAP, "");
		used = put_cell(line, used, row != NULL ? cell_of(row, c, cell) : columns[c].title, &columns[c],
		                layout->width[c]);
	}
	while (used > 0 && line[used - 1] == ' ')
		line[--used] = '\0';
	size_t bytes = fitting(line, layout->screen > 0 ? layout->screen : SIZE_MAX, &shown);
	printf("%.*s%s", (int)bytes, line, end);
}

void ls_table(const struct ls_rows *rows, size_t width, size_t lines, const char *end)
{
	struct layout layout;
	lay_out(&layout, rows, width);
	put_row(&layout, NULL, end);
	for (size_t i = 0; i < rows->count && i < lines; i++)
		put_row(&layout, &rows->list[i], end);
}

const char *ls_line(const struct ls_row *row, char *buffer, size_t size)
{
	char name[CELL_MAX], kind[CELL_MAX], holder[CELL_MAX], votes[CELL_MAX], ttl[CELL_MAX], odd[CELL_MAX];
	snprintf(buffer, size, "%s '%s', %s, votes %s, ttl %s%s%s", cell_of(row, 1, kind), cell_of(row, 0, name),
	         cell_of(row, HOLDER_COLUMN, holder), cell_of(row, 4, votes), cell_of(row, 5, ttl),
	         row->odd != 0 ? ", " : "", ls_odd_text(row, odd, sizeof odd));
	return buffer;
}

void ls_screen(size_t *ret_width, size_t *ret_lines)
{
	struct winsize size = {0};
	const char *columns_text = getenv("COLUMNS");
	unsigned long set = columns_text != NULL ? strtoul(columns_text, NULL, 10) : 0;
	bool is_terminal = isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
	*ret_width = !is_terminal ? 0 : set > 0 && set < 100000 ? set : size.ws_col > 0 ? size.ws_col : 80;
	*ret_lines = !is_terminal ? 0 : size.ws_row > 0 ? size.ws_row : 24;
}
