/* SPDX-License-Identifier: MIT */
/*
 * The second link of a node over a fake socket, and a server that sends the right answers, or any bytes. Each
 * message that is heard was sent as a message after the confirmation, by the server that the first link has
 * reached, in that order, and once; the link sends nothing but its opening and PINGs; and nothing of it
 * breaks the first link.
 *
 * Input: a letter for each step, then what it needs; see step().
 */
#include "fuzz.h"

#include <errno.h>

#include "core/time.h"
#include "net/node.h"
#include "wire.h"

#define CHANNEL "redlock:wake:0123456789abcdef"
#define OPENING "*2\r\n$4\r\nINFO\r\n$6\r\nserver\r\n*2\r\n$9\r\nSUBSCRIBE\r\n$29\r\n" CHANNEL "\r\n"
#define PING "*1\r\n$4\r\nPING\r\n"

enum { MOST_STEPS = 400, MOST_MESSAGES = 512, NODE_ID = 3 };

struct world {
	struct feed feed;
	struct rl_node node;
	uint64_t now_ns;
	uint32_t first, ear;     /* numbers of wires; 0: none yet */
	char process, ear_knows; /* the last digit of the server, and of whom the listener was told; 0: not yet */
	bool confirmed, odd;     /* of the listener's connection: SUBSCRIBE; it said something else, too */
	uint32_t said[MOST_MESSAGES];
	unsigned said_count, heard_count;
	size_t sent; /* of the listener's bytes, those that were looked at */
};

static struct wire *ear_of(struct world *w)
{
	return &wires.list[w->ear];
}

static void say_id(struct wire *to, char digit)
{
	char text[] = "$49\r\nrun_id:000000000000000000000000000000000000000x\r\n\r\n";
	*strchr(text, 'x') = digit;
	wire_say(to, text);
}

/* ---- what an event loop does ---- */

/* A new connection of the listener begins anew. */
static void meet(struct world *w)
{
	for (uint32_t i = w->ear + 1; i < wires.count; i++)
		if (i > w->first) {
			w->ear = i;
			w->ear_knows = 0;
			w->confirmed = w->odd = false;
			w->said_count = w->heard_count = 0;
			w->sent = 0;
		}
}

static void check_sent(struct world *w)
{
	const struct buffer *up = &ear_of(w)->up;
	for (; w->sent < up->length; w->sent++) {
		const char *want = w->sent < sizeof OPENING - 1
		                       ? &OPENING[w->sent]
		                       : &PING[(w->sent - (sizeof OPENING - 1)) % (sizeof PING - 1)];
		must(buffer_front(up)[w->sent] == *want);
	}
}

static void hear(struct world *w)
{
	struct rl_heard heard;
	while (rl_node_hear(&w->node, &heard, w->now_ns)) {
		trace("  heard %u\n", heard.number);
		must(rl_node_hears(&w->node));
		must(w->odd || (w->confirmed && w->ear_knows == w->process));
		must(w->odd || (w->heard_count < w->said_count && w->said[w->heard_count] == heard.number));
		w->heard_count++;
	}
}

static void turn(struct world *w)
{
	struct rl_answer answer;
	for (unsigned i = 0; i < FAKE_FDS; i++) {
		const struct fake_fd *fd = &wires.process.fds[i];
		unsigned events = fake_ready(&wires.process, fd);
		if (events != 0 && fd->id % RL_WATCH_LINKS == NODE_ID)
			rl_link_ready(&w->node.link, fd->id, events, w->now_ns);
		else if (events != 0)
			rl_node_listener_ready(&w->node, fd->id, events, w->now_ns);
		hear(w);
		must(!rl_node_next(&w->node, &answer, w->now_ns));
	}
	rl_submit_flush(&w->node);
	meet(w);
	check_sent(w);
}

static void tick(struct world *w)
{
	rl_node_tick(&w->node, w->now_ns);
	rl_node_listener_tick(&w->node, w->now_ns);
	must(rl_node_listener_deadline(&w->node) > w->now_ns);
	turn(w);
}

/* The first link connects, and its server is the one with this digit. */
static void greet(struct world *w, char digit)
{
	size_t read_most = wires.read_most;
	wires.read_most = SIZE_MAX; /* all of it: time may jump after this */
	w->first = wires.count;
	w->process = digit;
	w->node.link.backoff.failures = 0;
	rl_node_connect(&w->node, w->now_ns);
	must(wires.count == w->first + 1);
	turn(w);
	wire_say(&wires.list[w->first], ":7\r\n");
	say_id(&wires.list[w->first], digit);
	wire_say(&wires.list[w->first], "*2\r\n*-1\r\n*-1\r\n");
	turn(w);
	turn(w);
	wires.read_most = read_most;
}

/* ---- steps ---- */

static void say_message(struct world *w, uint32_t slot)
{
	char text[96], digits[16];
	int size = snprintf(digits, sizeof digits, "%u", slot);
	snprintf(text, sizeof text, "*3\r\n$7\r\nmessage\r\n$29\r\n" CHANNEL "\r\n$%d\r\n%s\r\n", size, digits);
	/* one that comes while the first link is down is not kept */
	if (w->confirmed && w->said_count < MOST_MESSAGES && rl_node_hears(&w->node))
		w->said[w->said_count++] = slot;
	else
		w->odd = true;
	wire_say(ear_of(w), text);
}

static void say(struct world *w)
{
	unsigned what = feed_below(&w->feed, 7);
	struct wire *to = ear_of(w);
	switch (what) {
	case 0:
	case 1:
		w->odd |= w->ear_knows != 0;
		w->ear_knows = what == 0 ? w->process : 'f';
		say_id(to, w->ear_knows);
		break;
	case 2:
		w->odd |= w->ear_knows == 0 || w->confirmed;
		w->confirmed = true;
		wire_say(to, "*3\r\n$9\r\nsubscribe\r\n$29\r\n" CHANNEL "\r\n:1\r\n");
		turn(w);
		break;
	case 3:
		say_message(w, feed_bool(&w->feed) ? feed_byte(&w->feed) : (uint32_t)feed_u64(&w->feed));
		break;
	case 4:
		wire_say(to, "*2\r\n$4\r\npong\r\n$0\r\n\r\n");
		break;
	case 5:
		wire_say(to, "-NOPERM no\r\n");
		break;
	default:
		wire_say(to, "-BUSY no\r\n");
		break;
	}
}

static void step(struct world *w)
{
	const uint8_t *bytes;
	size_t size;
	unsigned which = (feed_byte(&w->feed) + 1000u - 'a') % 10;
	trace("step %c: first %d, listener %s\n", (int)('a' + which), (int)w->node.link.state,
	      rl_node_hears(&w->node) ? "hears" : "does not");
	switch (which) {
	case 0: /* a: somebody waits */
		rl_node_listen(&w->node, CHANNEL, w->now_ns);
		turn(w);
		break;
	case 1: /* b */
		turn(w);
		break;
	case 2: /* c: what servers say */
		if (w->ear != 0)
			say(w);
		break;
	case 3: /* d: any bytes */
		size = feed_take(&w->feed, feed_byte(&w->feed), &bytes);
		w->odd = true;
		if (w->ear != 0)
			wire_say_bytes(ear_of(w), bytes, size);
		break;
	case 4: /* e */
		w->now_ns += rl_time_ms((uint64_t)feed_byte(&w->feed) * 50);
		tick(w);
		break;
	case 5: /* f */
		wires.read_most = 1 + feed_byte(&w->feed);
		wires.send_most = SIZE_MAX;
		break;
	case 6: /* g */
		if (w->ear != 0)
			ear_of(w)->ended = true;
		turn(w);
		break;
	case 7: /* h: another process takes over, or the same one is connected anew */
		rl_link_fail(&w->node.link, REDLOCK_VOTE_CLOSED, "the end");
		turn(w);
		must(!rl_node_hears(&w->node));
		w->odd = true; /* bytes on their way may come before or after it */
		greet(w, (char)('0' + feed_below(&w->feed, 2)));
		break;
	case 8: /* i: new credentials, of which this URL takes none */
		rl_node_renew(&w->node, w->now_ns);
		turn(w);
		break;
	case 9: /* j */
		wires.connect_error = feed_bool(&w->feed) ? ECONNREFUSED : 0;
		turn(w);
		wires.connect_error = 0;
		break;
	}
	must(w->node.link.state == RL_LINK_OPEN);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct world w;
	static struct rl_poller poller;
	struct rl_endpoint endpoint;
	char why[128];
	memset(&w, 0, sizeof w);
	w.feed = (struct feed){bytes, size};
	w.now_ns = rl_time_ms(1000);
	wires_begin();
	must(rl_url_parse("unix:///n", &endpoint, why, sizeof why) == 0);
	must(rl_node_open(&w.node, &endpoint, NULL, &poller, NODE_ID));
	greet(&w, '0');
	for (unsigned i = 0; i < MOST_STEPS && w.feed.left > 0; i++)
		step(&w);
	rl_node_close(&w.node, (size & 1) != 0);
	wires_end();
	return 0;
}
