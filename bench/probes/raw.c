/* SPDX-License-Identifier: MIT */
/*
 * The yardstick: acquire and release over N servers with nothing between the program and the sockets. One
 * thread, one connection per server, -c locks in flight, whose commands share one send per server and turn.
 * No library, no timers, no error handling worth the name: what this takes, the kernel and the servers take.
 * A server that hangs is not waited for, and what queues for it is capped; one that is gone is left out.
 * Figures of redlock are ratios to it, measured in the same run (bench/run). Options: common/options.h;
 * with -w a release is sent and not waited for.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "result.h"
#include "wire.h"

#define RING ((uint32_t)1 << 17) /* commands that may wait for their answers */
#define MOST_QUEUED ((size_t)8 << 20)

enum state { IDLE, ACQUIRING, RELEASING };

struct lock {
	struct wire wire;
	enum state state;
	uint32_t round; /* answers to earlier ones are late */
	unsigned yes, no;
	uint64_t begin_ns, held_ns;
};

struct asked {
	uint32_t lock, round;
};

struct node {
	int fd; /* -1: gone */
	char *out;
	size_t out_size, out_capacity;
	char in[65536];
	size_t in_size;
	bool text; /* the next line is that of a text */
	char pass[PASS_SIZE];
	struct asked *ring;
	uint32_t head, tail;
};

static struct options options; /* of this phase: warming up, or measuring */
static struct result result;
static struct node nodes[MAX_NODES];
static unsigned alive, quorum;
static int poller;
static struct lock *locks;
static uint64_t running;

static void flush_all(void);

/* ---- One lock ---- */

static void queue(struct node *n, const char *bytes, size_t size, uint32_t lock)
{
	if (n->fd < 0 || n->tail - n->head >= RING || n->out_size > MOST_QUEUED)
		return;
	if (n->out_size + size > n->out_capacity) {
		n->out_capacity = 2 * (n->out_size + size);
		/* NOLINTNEXTLINE(bugprone-suspicious-realloc-usage): without memory this ends */
		n->out = realloc(n->out, n->out_capacity);
		if (n->out == NULL)
			die("realloc");
	}
	memcpy(n->out + n->out_size, bytes, size);
	n->out_size += size;
	n->ring[n->tail++ % RING] = (struct asked){lock, locks[lock].round};
}

static unsigned asked_nodes(void)
{
	return options.thrifty ? quorum : options.node_count;
}

static void begin_round(struct lock *l, enum state state)
{
	bool acquire = state == ACQUIRING;
	l->state = state;
	l->round++;
	l->yes = l->no = 0;
	for (unsigned i = 0; i < asked_nodes(); i++) {
		struct node *n = &nodes[((size_t)(l - locks) + i) % options.node_count];
		if (acquire && options.guard)
			memcpy(l->wire.set_pass, n->pass, PASS_SIZE);
		queue(n, acquire ? l->wire.set : l->wire.release, acquire ? l->wire.set_size : l->wire.release_size,
		      (uint32_t)(l - locks));
	}
}

static void begin_pair(struct lock *l)
{
	l->state = IDLE;
	if (result_over(&result, &options, running))
		return;
	running++;
	wire_sign(&l->wire);
	l->begin_ns = clock_now();
	begin_round(l, ACQUIRING);
}

static void end_pair(struct lock *l)
{
	running--;
	samples_add(&result.acquire, l->held_ns - l->begin_ns);
	samples_add(&result.pair, clock_now() - l->begin_ns);
	begin_pair(l);
}

static void vote(struct lock *l, bool yes)
{
	yes ? l->yes++ : l->no++;
	unsigned asked = asked_nodes(), answers = alive < asked ? alive : asked;
	bool decided = l->yes >= quorum || l->no > asked - quorum || l->yes + l->no >= answers;
	if (l->state == ACQUIRING && decided) {
		result.failed += l->yes < quorum;
		l->held_ns = clock_now();
		begin_round(l, RELEASING);
		if (options.no_wait) {
			flush_all();
			end_pair(l);
		}
	} else if (l->state == RELEASING && decided) {
		end_pair(l);
	}
}

/* ---- Nodes ---- */

static void answer(struct node *n, bool yes)
{
	struct asked asked = n->ring[n->head++ % RING];
	if (locks[asked.lock].round == asked.round)
		vote(&locks[asked.lock], yes);
}

static void lose(struct node *n)
{
	close(n->fd);
	n->fd = -1;
	n->out_size = 0;
	alive--;
	while (n->head != n->tail)
		answer(n, false);
}

/* Answers are one line, but for those to the claim of a guarded set: a text that begins with the verdict. */
static void take_line(struct node *n, const char *line)
{
	if (line[0] == '$' && line[1] != '-') {
		n->text = true;
		return;
	}
	answer(n, n->text ? line[0] == '1' : line[0] == '+' || (line[0] == ':' && line[1] == '1'));
	n->text = false;
}

static void parse(struct node *n)
{
	char *at = n->in;
	char *end = n->in + n->in_size;
	for (char *line_end; (line_end = memchr(at, '\n', (size_t)(end - at))) != NULL; at = line_end + 1)
		take_line(n, at);
	n->in_size = (size_t)(end - at);
	memmove(n->in, at, n->in_size);
}

static void receive(struct node *n)
{
	ssize_t got = recv(n->fd, n->in + n->in_size, sizeof n->in - n->in_size, 0);
	if (got > 0) {
		n->in_size += (size_t)got;
		parse(n);
	} else if (got == 0 || errno != EAGAIN) {
		lose(n);
	}
}

static void flush_all(void)
{
	for (unsigned i = 0; i < options.node_count; i++) {
		struct node *n = &nodes[i];
		if (n->fd < 0 || n->out_size == 0)
			continue;
		ssize_t sent = send(n->fd, n->out, n->out_size, MSG_NOSIGNAL);
		if (sent < 0 && errno == EAGAIN)
			continue;
		size_t gone = sent > 0 ? (size_t)sent : n->out_size; /* lost: recv() will say so */
		n->out_size -= gone;
		memmove(n->out, n->out + gone, n->out_size);
	}
}

static void turn(void)
{
	struct epoll_event events[MAX_NODES];
	int count = epoll_wait(poller, events, MAX_NODES, 1000);
	for (int i = 0; i < count; i++) {
		struct node *n = &nodes[events[i].data.u32];
		if (n->fd >= 0)
			receive(n);
	}
	flush_all();
}

static void open_nodes(struct shas *shas)
{
	poller = epoll_create1(0);
	alive = options.node_count;
	quorum = alive / 2 + 1;
	for (unsigned i = 0; i < options.node_count; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
		nodes[i].fd = wire_connect(options.nodes[i], shas);
		if (options.guard)
			wire_read_pass(nodes[i].fd, nodes[i].pass);
		nodes[i].ring = malloc(RING * sizeof *nodes[i].ring);
		if (nodes[i].ring == NULL || fcntl(nodes[i].fd, F_SETFL, O_NONBLOCK) < 0 ||
		    epoll_ctl(poller, EPOLL_CTL_ADD, nodes[i].fd, &event) < 0)
			die("node");
	}
}

static bool waiting(void)
{
	for (unsigned i = 0; i < options.node_count; i++)
		if (nodes[i].fd >= 0 && nodes[i].head != nodes[i].tail)
			return true;
	return false;
}

static void run(const struct options *phase)
{
	options = *phase;
	result_begin(&result, &options);
	for (unsigned i = 0; i < options.count; i++)
		begin_pair(&locks[i]);
	flush_all();
	while (running > 0)
		turn();
}

int main(int argc, char **argv)
{
	struct options asked = options_parse(argc, argv);
	struct options warm_up = options_warm_up(&asked);
	struct shas shas;
	options = asked;
	open_nodes(&shas);
	locks = calloc(options.count, sizeof *locks);
	if (locks == NULL)
		die("calloc");
	for (unsigned i = 0; i < options.count; i++)
		wire_make(&locks[i].wire, &options, i, &shas);
	run(&warm_up);
	while (waiting())
		turn();
	result_close(&result);
	run(&asked);
	result_print(&result, &asked, "");
	result_close(&result);
	for (unsigned i = 0; i < asked.count; i++)
		wire_free(&locks[i].wire);
	free(locks);
	return 0;
}
