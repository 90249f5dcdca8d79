/* SPDX-License-Identifier: MIT */
/*
 * The cost of waiting at best when the release hands the lock over: the script that ends a claim on a node
 * gives the key to the next in the queue of that node, and tells it. A vote is an answer or a message. Votes
 * that stay split are given back. No leases, no validity, no dead waiters: a bound, not a lock. Options:
 * common/options.h.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "link.h"
#include "result.h"
#include "wire.h"

#define STALLED_NS 20000000u /* since the last vote: the others went to somebody else */

static const char enter_script[] =
    "if redis.call('set',KEYS[1],ARGV[1],'NX','PX',30000) then return 1 end "
    "redis.call('rpush',KEYS[2],ARGV[1]) redis.call('pexpire',KEYS[2],30000) return 0";
static const char leave_script[] =
    "redis.call('lrem',KEYS[2],0,ARGV[1]) if redis.call('get',KEYS[1])~=ARGV[1] then return 0 end "
    "local n=redis.call('lpop',KEYS[2]) "
    "if n then redis.call('set',KEYS[1],n,'PX',30000) redis.call('publish',string.sub(n,1,8),n) "
    "else redis.call('del',KEYS[1]) end return 1";
static char enter_sha[41], leave_sha[41];
static _Atomic uint64_t *attempts;

struct claimant {
	struct links links;
	struct link heard[MAX_NODES];
	char token[LINK_TOKEN + 1];
};

static void open_nothing(const struct options *o, _Atomic uint64_t *count)
{
	(void)o;
	attempts = count;
}

static void subscribe(struct link *l, const char *token)
{
	char answer[128];
	link_send(l, "*2\r\n$9\r\nSUBSCRIBE\r\n$8\r\n%.8s\r\n", token);
	if (recv(l->fd, answer, sizeof answer, 0) <= 0)
		die("SUBSCRIBE");
}

static void *claimant(const struct options *o)
{
	struct claimant *c = calloc(1, sizeof *c);
	if (c == NULL)
		die("calloc");
	if (o->count != 1) /* a channel is a process's */
		die("rawhand: one thread only");
	links_open(&c->links, o);
	links_load(&c->links, enter_script, enter_sha);
	links_load(&c->links, leave_script, leave_sha);
	link_sign(c->token);
	for (unsigned i = 0; i < o->node_count; i++) {
		c->heard[i].fd = wire_dial(o->nodes[i]);
		subscribe(&c->heard[i], c->token);
	}
	return c;
}

static void send_all(struct claimant *c, const char *sha)
{
	for (unsigned i = 0; i < c->links.count; i++)
		link_send(&c->links.all[i],
		          "*6\r\n$7\r\nEVALSHA\r\n$40\r\n%s\r\n$1\r\n2\r\n$15\r\n" TURNS_NAME
		          "\r\n$5\r\nqueue\r\n$16\r\n%s\r\n",
		          sha, c->token);
}

/* True when a message with our token is there. Older messages are dropped. */
static bool hears(struct link *l, const char *token)
{
	ssize_t got = recv(l->fd, l->in + l->size, LINK_BYTES - l->size, MSG_DONTWAIT);
	l->size += got > 0 ? (size_t)got : 0;
	l->in[l->size] = '\0';
	bool found = strstr(l->in, token) != NULL;
	if (l->size > LINK_BYTES / 2)
		l->size = 0;
	return found;
}

static uint32_t take_votes(struct claimant *c, int wait_ms)
{
	struct pollfd watched[2 * MAX_NODES];
	unsigned count = c->links.count;
	uint32_t yes = 0;
	for (unsigned i = 0; i < count; i++) {
		struct link *l = &c->links.all[i];
		watched[i] = (struct pollfd){.fd = l->owed > 0 ? l->fd : -1, .events = POLLIN};
		watched[count + i] = (struct pollfd){.fd = c->heard[i].fd, .events = POLLIN};
	}
	if (poll(watched, (nfds_t)count * 2, wait_ms) <= 0)
		return 0;
	for (unsigned i = 0; i < count; i++) {
		if (watched[i].revents != 0 && link_vote(&c->links.all[i]) == 1)
			yes |= 1u << i;
		if (watched[count + i].revents != 0 && hears(&c->heard[i], c->token))
			yes |= 1u << i;
	}
	return yes;
}

static bool stalled(uint32_t yes, uint64_t last_ns)
{
	return turns_stopping || (yes != 0 && clock_now() - last_ns > STALLED_NS);
}

static bool enter(struct claimant *c)
{
	uint32_t yes = 0;
	uint64_t last_ns = clock_now();
	link_sign(c->token);
	++*attempts;
	send_all(c, enter_sha);
	while (!stalled(yes, last_ns)) {
		uint32_t more = take_votes(c, 10);
		if ((more & ~yes) != 0)
			last_ns = clock_now();
		yes |= more;
		if ((unsigned)__builtin_popcount(yes) >= c->links.quorum)
			return true;
	}
	send_all(c, leave_sha);
	return false;
}

static bool acquire(void *of)
{
	struct claimant *c = of;
	while (!enter(c)) {
		if (turns_stopping)
			return false;
		(void)poll(NULL, 0, rand() % 5);
	}
	return true;
}

/* Waits for a quorum, as the library's release does. */
static void release(void *of)
{
	struct claimant *c = of;
	uint32_t done = 0;
	uint64_t last_ns = clock_now();
	send_all(c, leave_sha);
	while ((unsigned)__builtin_popcount(done) < c->links.quorum && clock_now() - last_ns < STALLED_NS)
		done |= take_votes(c, 10);
}

static void close_nothing(void)
{
}

int main(int argc, char **argv)
{
	static const struct turns_kind kind = {open_nothing, claimant, acquire, release, NULL, close_nothing};
	return turns_main(argc, argv, &kind);
}
