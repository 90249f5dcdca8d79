/* SPDX-License-Identifier: MIT */
/*
 * The cost of waiting with nothing between a program and the sockets, when a release wakes one waiter, in
 * order of arrival, which then acquires: a quorum of SET NX, and BLPOP on the first node, which the release
 * there feeds. No dead waiters, no validity, no errors: not a lock, but a lower bound of its cost. Options:
 * common/options.h.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "link.h"
#include "wire.h"

#define FALLBACK "0.1" /* seconds; a message may find nobody */

static const char release_script[] =
    "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0";
static const char wake_script[] =
    "local r=0 if redis.call('get',KEYS[1])==ARGV[1] then r=redis.call('del',KEYS[1]) end "
    "if redis.call('llen',KEYS[2])==0 then redis.call('lpush',KEYS[2],1) redis.call('pexpire',KEYS[2],1000) "
    "end "
    "return r";
static char release_sha[41], wake_sha[41];
static _Atomic uint64_t *attempts;

struct claimant {
	struct links links;
	int woken_fd;
	bool contended;
	char token[LINK_TOKEN + 1];
};

static void open_nothing(const struct options *o, _Atomic uint64_t *count)
{
	(void)o;
	attempts = count;
}

static void *claimant(const struct options *o)
{
	struct claimant *c = calloc(1, sizeof *c);
	if (c == NULL)
		die("calloc");
	links_open(&c->links, o);
	links_load(&c->links, release_script, release_sha);
	links_load(&c->links, wake_script, wake_sha);
	c->woken_fd = wire_dial(o->nodes[0]);
	return c;
}

static bool have_quorum(struct links *l)
{
	unsigned yes = 0, no = 0;
	while (yes < l->quorum && no <= l->count - l->quorum) {
		struct pollfd watched[MAX_NODES];
		for (unsigned i = 0; i < l->count; i++)
			watched[i] = (struct pollfd){.fd = l->all[i].owed > 0 ? l->all[i].fd : -1, .events = POLLIN};
		if (poll(watched, l->count, 1000) <= 0)
			return false;
		for (unsigned i = 0; i < l->count; i++) {
			int vote = watched[i].revents != 0 ? link_vote(&l->all[i]) : -1;
			yes += vote == 1;
			no += vote == 0;
		}
	}
	return yes >= l->quorum;
}

static bool try_once(struct claimant *c)
{
	link_sign(c->token);
	++*attempts;
	for (unsigned i = 0; i < c->links.count; i++)
		link_send(&c->links.all[i],
		          "*6\r\n$3\r\nSET\r\n$15\r\n" TURNS_NAME
		          "\r\n$16\r\n%s\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n30000\r\n",
		          c->token);
	return have_quorum(&c->links);
}

static void give_back(struct claimant *c, unsigned first)
{
	for (unsigned i = first; i < c->links.count; i++)
		link_send(&c->links.all[i],
		          "*5\r\n$7\r\nEVALSHA\r\n$40\r\n%s\r\n$1\r\n1\r\n$15\r\n" TURNS_NAME "\r\n$16\r\n%s\r\n",
		          release_sha, c->token);
}

static void wait_for_message(struct claimant *c)
{
	static const char pop[] = "*3\r\n$5\r\nBLPOP\r\n$4\r\nwake\r\n$3\r\n" FALLBACK "\r\n";
	char answer[128];
	if (send(c->woken_fd, pop, sizeof pop - 1, 0) < 0 || recv(c->woken_fd, answer, sizeof answer, 0) <= 0)
		die("BLPOP");
}

/* A claimant that has found others once asks no more before it is its turn. */
static bool acquire(void *of)
{
	struct claimant *c = of;
	for (;;) {
		if (c->contended)
			wait_for_message(c);
		if (turns_stopping)
			return false;
		if (try_once(c))
			return true;
		give_back(c, 0);
		c->contended = true;
	}
}

/* The message last: the other nodes are free by then. */
static void release(void *of)
{
	struct claimant *c = of;
	give_back(c, 1);
	link_send(&c->links.all[0],
	          "*6\r\n$7\r\nEVALSHA\r\n$40\r\n%s\r\n$1\r\n2\r\n$15\r\n" TURNS_NAME
	          "\r\n$4\r\nwake\r\n$16\r\n%s\r\n",
	          wake_sha, c->token);
	(void)have_quorum(&c->links);
}

static void close_nothing(void)
{
}

int main(int argc, char **argv)
{
	static const struct turns_kind kind = {open_nothing, claimant, acquire, release, NULL, close_nothing};
	return turns_main(argc, argv, &kind);
}
