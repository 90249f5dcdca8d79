/* SPDX-License-Identifier: MIT */
/* The page: the node set, the locks, and plots of the last hour as SVG. No script, nothing from elsewhere. */
#include <inttypes.h>
#include <string.h>

#include "../redlock/printable.h"
#include "show.h"

/* A plot is this large, in its own units; it is as wide as its cell. */
enum { WIDTH = 360, HEIGHT = 40 };

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
    "<meta http-equiv=\"refresh\" content=\"10\"><title>redlock</title><style>"
    "body{font:15px/1.4 system-ui,sans-serif;margin:1rem auto;max-width:70rem;padding:0 .6rem;color:#222;"
    "background:#fff}"
    "h1{font-size:1.3rem}h2{font-size:1.05rem}.ok{color:#17632c}.bad{color:#a11}.dim{color:#666}"
    "article{border:1px solid #ccc;border-radius:6px;padding:.5rem .7rem;margin:.5rem 0}"
    "section{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,20rem),1fr));gap:0 .7rem}"
    "b,span{overflow-wrap:anywhere}svg{width:100%;height:40px;display:block;background:#f4f4f4;margin-top:."
    "3rem}"
    "table{border-collapse:collapse;width:100%;margin:.5rem 0;font-size:14px}"
    "th{text-align:left;font-weight:600;color:#666}th,td{padding:.25rem .8rem .25rem 0;vertical-align:top;"
    "border-bottom:1px solid #ddd;overflow-wrap:anywhere}.n{text-align:right;white-space:nowrap;"
    "overflow-wrap:normal}"
    "@media(min-width:44.01rem){td:nth-child(2),td:last-child{white-space:nowrap}td:nth-child(3){min-width:"
    "13rem}}"
    "@media(max-width:44rem){thead{display:none}tr{display:block;border-bottom:1px solid #ccc;padding:.4rem "
    "0}"
    "td{display:inline-block;border:0;padding:0 .8rem 0 0}td.n{text-align:left}td:first-child{display:block;"
    "font-weight:600}td:empty{display:none}td[data-t]::before{content:attr(data-t) ' ';color:#666}}"
    "</style></head><body>\n";

/* ---- text ---- */

void page_text(FILE *out, const char *text)
{
	static const struct {
		char byte;
		const char *entity;
	} entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
	char shown[1024];
	printable(text, strlen(text), shown, sizeof shown);
	for (const char *at = shown; *at != '\0'; at++) {
		const char *entity = NULL;
		for (size_t e = 0; e < sizeof entities / sizeof entities[0]; e++)
			if (entities[e].byte == *at)
				entity = entities[e].entity;
		if (entity != NULL)
			fputs(entity, out);
		else
			putc(*at, out);
	}
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* ---- plots ---- */

struct plot {
	const struct moment *history;
	unsigned index;
	float (*value)(const struct moment *, unsigned index); /* below 0: unknown */
	bool (*bad)(const struct moment *, unsigned index);    /* drawn as a red line from top to bottom */
	const char *one, *many, *none;                         /* the unit */
};

static float highest(const struct plot *p)
{
	float most = 0;
	for (unsigned i = 0; i < HISTORY_COUNT; i++)
		if (p->history[i].at_s != 0 && p->value(&p->history[i], p->index) > most)
			most = p->value(&p->history[i], p->index);
	return most;
}

/* Writes "last hour, at most 3 locks", or "last hour: no lock". */
static void put_caption(FILE *out, const struct plot *p, float most)
{
	if (most > 0)
		fprintf(out, most < 1000 ? "last hour, at most %.3g %s" : "last hour, at most %.0f %s", (double)most,
		        (unsigned)most == 1 ? p->one : p->many);
	else
		fprintf(out, "last hour: %s", p->none);
}

/* The moments of the history are HISTORY_STEP_S apart: one unit each. */
static void put_plot(FILE *out, const struct plot *p)
{
	float most = highest(p);
	bool on = false;
	fprintf(out, "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\"><title>", WIDTH,
	        HEIGHT);
	put_caption(out, p, most);
	fputs("</title><path fill=\"none\" stroke=\"#1b6ca8\" vector-effect=\"non-scaling-stroke\" d=\"", out);
	for (unsigned i = 0; i < HISTORY_COUNT; i++) {
		float value = p->history[i].at_s != 0 ? p->value(&p->history[i], p->index) : -1;
		if (value >= 0)
			fprintf(out, "%c%u %.1fh1", on ? 'L' : 'M', i,
			        (double)(HEIGHT - 1 - (most > 0 ? value / most * (HEIGHT - 4) : 0)));
		on = value >= 0;
	}
	fputs("\"/><path stroke=\"#a11\" d=\"", out);
	for (unsigned i = 0; i < HISTORY_COUNT; i++)
		if (p->history[i].at_s != 0 && p->bad(&p->history[i], p->index))
			fprintf(out, "M%u 0v%d", i, HEIGHT);
	fputs("\"/></svg><span class=\"dim\">", out);
	put_caption(out, p, most);
	fputs("</span>", out);
}

static float round_trip(const struct moment *m, unsigned index)
{
	return (m->up >> index & 1) != 0 ? m->round_trip_ms[index] : -1;
}

static bool is_down(const struct moment *m, unsigned index)
{
	return (m->up >> index & 1) == 0;
}

static float waiters(const struct moment *m, unsigned index)
{
	return m->waiting[index];
}

static bool never(const struct moment *m, unsigned index)
{
	(void)m, (void)index;
	return false;
}

static float all_locks(const struct moment *m, unsigned index)
{
	(void)index;
	return m->locks;
}

static float all_waiters(const struct moment *m, unsigned index)
{
	(void)index;
	return m->waiters;
}

/* ---- parts ---- */

static void put_node(FILE *out, const struct look *look, const struct moment *history, unsigned i)
{
	const struct look_node *n = &look->node[i];
	fprintf(out, "<article><b>%u ", i + 1);
	page_text(out, n->address);
	fprintf(out, "</b><br><span class=\"%s\">", n->up ? "ok" : "bad");
	fputs(n->up ? "up" : redlock_vote_text(n->vote), out);
	fputs("</span>", out);
	if (n->up)
		fprintf(out, n->round_trip_s < 1 ? ", %.3g ms" : ", %.0f ms", n->round_trip_s * 1000);
	if (n->answered) { /* without a sign where there is no difference */
		long ahead_ms = (long)(n->ahead_s * 1000 + (n->ahead_s < 0 ? -0.5 : 0.5));
		fprintf(out, ahead_ms == 0 ? ", clock %ld ms" : ", clock %+ld ms", ahead_ms);
	}
	if (n->version[0] != '\0')
		fputs(", ", out), page_text(out, n->version);
	if (n->guarded)
		fputs(", guarded", out);
	if (n->quarantined)
		fprintf(out, ", <span class=\"bad\">quarantine, %.0f s more</span>", n->quarantine_s);
	if (n->answered && n->evicting == 1)
		fputs(", <span class=\"bad\">removes keys when memory is full</span>", out);
	put_plot(out, &(struct plot){history, i, round_trip, is_down, "ms", "ms", "no answer"});
	fputs("</article>\n", out);
}

/* The holder for people, where no label names it. Its value is not shown: it may be a token. */
static const char *holder_of_kind(const char *kind)
{
	static const struct {
		const char *kind, *text;
	} texts[] = {{"token", "a holder without label"},
	             {"value", "another program"},
	             {"setnx-time", "a client of the old SETNX protocol"},
	             {"redisson", "a Redisson client"},
	             {"shared", "clients that share it"},
	             {"other-type", "a key of a foreign type"}};
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		if (strcmp(texts[i].kind, kind) == 0)
			return texts[i].text;
	return kind;
}

static void put_holder(FILE *out, const struct look_lock *l)
{
	char seen[32], left[32];
	fputs("<span class=\"ok\">held</span> by ", out);
	page_text(out, l->owner[0] != '\0' ? l->owner : holder_of_kind(l->kind));
	fprintf(out, " on %u node%s, seen for %s, ", l->votes, plural(l->votes),
	        ls_time_text((uint64_t)(l->since_s * 1000), seen, sizeof seen));
	if (l->remaining_s < 0)
		fputs("<span class=\"bad\">no expiry</span>", out);
	else
		fprintf(out, "%s left", ls_time_text((uint64_t)(l->remaining_s * 1000), left, sizeof left));
}

static void put_lock(FILE *out, const struct look *look, const struct moment *history, unsigned i)
{
	const struct look_lock *l = &look->lock[i];
	fputs("<article><b>", out);
	page_text(out, l->name);
	fputs("</b><br>", out);
	if (l->held)
		put_holder(out, l);
	else if (!l->known)
		fputs("<span class=\"bad\">unknown: too few nodes answer, or remember</span>", out);
	else if (l->votes > 0)
		fprintf(out, "not held; a key on %u node%s", l->votes, plural(l->votes));
	else
		fputs("free", out);
	if (l->waiting > 0)
		fprintf(out, ", %" PRId64 " waiting", l->waiting);
	if (l->fence > 0)
		fprintf(out, ", fencing number %" PRIu64, l->fence);
	put_plot(out, &(struct plot){history, i, waiters, never, "waiting", "waiting", "nobody waiting"});
	fputs("</article>\n", out);
}

static void put_named(FILE *out, const struct look *look, const struct moment *history)
{
	if (look->locks == 0)
		return;
	fputs("<h2>Named by --lock</h2>\n<section>\n", out);
	for (unsigned i = 0; i < look->locks; i++)
		put_lock(out, look, history, i);
	fputs("</section>\n", out);
}

static void put_totals(FILE *out, const struct list_view *list, const struct moment *history)
{
	if (list->at_s == 0)
		return;
	fprintf(out, "<section><article><b>%zu lock%s</b>", list->locks, plural(list->locks));
	put_plot(out, &(struct plot){history, 0, all_locks, never, "lock", "locks", "no lock"});
	fprintf(out, "</article>\n<article><b>%" PRIu64 " waiting</b>", list->waiting);
	put_plot(out, &(struct plot){history, 0, all_waiters, never, "waiting", "waiting", "nobody waiting"});
	fputs("</article></section>\n", out);
}

void show_page(FILE *out, const struct look *look, const struct moment history[HISTORY_COUNT],
               const struct list_view *list)
{
	bool reachable = look->up >= look->quorum;
	fputs(head, out);
	fprintf(out, "<h1>redlock: <span class=\"%s\">%s</span></h1><p>%u of %u nodes up, %u needed.</p>\n",
	        reachable ? "ok" : "bad", reachable ? "quorum reachable" : "no quorum", look->up, look->count,
	        look->quorum);
	fputs("<h2>Nodes</h2><section>\n", out);
	for (unsigned i = 0; i < look->count; i++)
		put_node(out, look, history, i);
	fputs("</section>\n", out);
	put_named(out, look, history);
	fputs("<h2>All locks</h2>\n", out);
	put_totals(out, list, history);
	page_list(out, list);
	fprintf(out,
	        "<p class=\"dim\">Looked at the nodes in %.0f ms. <a href=\"metrics\">metrics</a> "
	        "<a href=\"locks.json\">locks.json</a></p></body></html>\n",
	        look->took_s * 1000);
}
