/* SPDX-License-Identifier: MIT */
/* The page's table of all locks. On a narrow screen the style makes a card of each row. */
#include <inttypes.h>
#include <string.h>

#include "../redlock/clock.h"
#include "show.h"

enum { TEXT = 32, ODD_TEXT = 160 };

/* A cell of numbers; `title` stands before it where there is no head. `text` "": it is left empty. */
static void put_cell(FILE *out, const char *title, const char *text)
{
	fprintf(out, "<td class=\"n\" data-t=\"%s\">%s</td>", title, text);
}

static void put_holder(FILE *out, const struct ls_row *row)
{
	fputs("<td>", out);
	if (row->state == STANDING_SPLIT)
		fputs("several", out);
	else if (row->owner != NULL)
		page_text(out, row->owner);
	else if (strcmp(row->kind, "shared") == 0)
		page_text(out, row->holder);
	else if (!ls_row_is_remainder(row))
		fputs("<span class=\"dim\">no label</span>", out);
	fputs("</td>", out);
}

/* Numbers that are 0 are left out: they are no news. */
static void put_number(FILE *out, const char *title, uint64_t number)
{
	char text[TEXT] = "";
	if (number > 0)
		snprintf(text, sizeof text, "%" PRIu64, number);
	put_cell(out, title, text);
}

static void put_times(FILE *out, const struct ls_row *row)
{
	char held[TEXT] = "", votes[TEXT] = "", left[TEXT] = "", time[TEXT];
	if (row->held_ms > 0)
		snprintf(held, sizeof held, "%s%s", row->held_is_exact ? "" : "&ge; ",
		         ls_time_text(row->held_ms, time, sizeof time));
	if (!ls_row_is_remainder(row))
		snprintf(votes, sizeof votes, "%u/%u", row->votes, row->nodes);
	if (row->pttl_ms == -1)
		snprintf(left, sizeof left, "never");
	else if (row->pttl_ms >= 0)
		ls_time_text((uint64_t)row->pttl_ms, left, sizeof left);
	put_cell(out, "held", held);
	put_cell(out, "votes", votes);
	put_cell(out, "ends in", left);
}

static void put_row(FILE *out, const struct ls_row *row)
{
	char odd[ODD_TEXT];
	fputs("<tr><td>", out);
	page_text(out, row->name);
	fprintf(out, "</td><td>%s", row->kind);
	if (row->slots > 0)
		fprintf(out, " %u of %u", row->slot, row->slots);
	fputs("</td>", out);
	put_holder(out, row);
	put_times(out, row);
	put_number(out, "waiting", row->waiting);
	put_number(out, "fence", row->fence);
	fprintf(out, "<td class=\"bad\">%s</td></tr>\n", ls_odd_text(row, odd, sizeof odd));
}

static void put_missing(FILE *out, const struct list_view *list)
{
	for (unsigned i = 0; i < list->missing_count; i++) {
		fputs("<p class=\"bad\">", out);
		page_text(out, list->missing[i].address);
		fputs(" does not tell its locks: ", out);
		page_text(out, list->missing[i].why);
		fputs("</p>\n", out);
	}
}

static void put_caption(FILE *out, const struct list_view *list)
{
	size_t left_out = list->rows.count - list->shown_count;
	fprintf(out, "<p class=\"dim\">Listed %.0f s ago, in %.1f s.", (double)(clock_ns() - list->at_ns) / 1e9,
	        list->took_s);
	if (!list->known)
		fputs(" <span class=\"bad\">Too few nodes tell their locks now: this is what was known.</span>", out);
	if (left_out > 0)
		fprintf(out, " %zu more are not shown: see <code>redlock ls</code>.", left_out);
	if (!list->complete)
		fprintf(out, " There are more than %d names: the list ends there.", LIST_NAMES_MOST);
	fputs("</p>\n", out);
}

void page_list(FILE *out, const struct list_view *list)
{
	put_missing(out, list);
	if (list->at_s == 0) {
		fputs("<p class=\"dim\">Not listed yet.</p>\n", out);
		return;
	}
	if (list->shown_count > 0) {
		fputs("<table><thead><tr><th>Name<th>Kind<th>Holder<th class=\"n\">Held<th class=\"n\">Votes"
		      "<th class=\"n\">Ends in<th class=\"n\">Waiting<th "
		      "class=\"n\">Fence<th>Odd</tr></thead><tbody>\n",
		      out);
		for (size_t i = 0; i < list->shown_count; i++)
			put_row(out, list->shown[i]);
		fputs("</tbody></table>\n", out);
	}
	put_caption(out, list);
}
