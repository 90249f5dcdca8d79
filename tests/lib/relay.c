/* SPDX-License-Identifier: MIT */
/* One connection through the proxy. See relay.h. */
#include "relay.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "child.h"
#include "wait.h"

enum { QUEUE_LIMIT = 1 << 20 };

static int relay_open(struct relay *relay, int client, const char *server_socket)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	memcpy(address.sun_path, server_socket, strlen(server_socket) + 1);
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (server < 0 || connect(server, (const struct sockaddr *)&address, sizeof address) != 0) {
		close(server);
		close(client);
		return -1;
	}
	*relay = (struct relay){.open = true, .fd = {client, server}};
	return 0;
}

static void drop_queue(struct relay_queue *queue)
{
	while (queue->first != NULL) {
		struct relay_chunk *chunk = queue->first;
		queue->first = chunk->next;
		free(chunk);
	}
	*queue = (struct relay_queue){.ended = queue->ended};
}

static void close_end(struct relay *relay, int end, bool reset)
{
	struct linger abort = {.l_onoff = 1, .l_linger = 0};
	if (relay->fd[end] < 0)
		return;
	if (reset)
		setsockopt(relay->fd[end], SOL_SOCKET, SO_LINGER, &abort, sizeof abort);
	close(relay->fd[end]);
	relay->fd[end] = -1;
}

static void relay_close(struct relay *relay, bool reset)
{
	if (!relay->open)
		return;
	for (int end = 0; end < 2; end++) {
		close_end(relay, end, reset);
		drop_queue(&relay->queue[end]);
	}
	relay->open = false;
}

static void relay_abandon(struct relay *relay)
{
	if (!relay->open)
		return;
	close_end(relay, RELAY_UP, true);
	drop_queue(&relay->queue[RELAY_DOWN]);
	relay->queue[RELAY_UP].ended = true;
}

static bool held(const struct proxy_faults *faults, int direction)
{
	return direction == RELAY_UP ? faults->hold_up != 0 : faults->hold_down != 0;
}

/* When the first chunk of a direction may go, UINT64_MAX: not now. */
static uint64_t due_ns(const struct relay *relay, const struct proxy_faults *faults, int direction)
{
	const struct relay_queue *queue = &relay->queue[direction];
	if (queue->first == NULL || held(faults, direction))
		return UINT64_MAX;
	return queue->first->due_ns > queue->next_ns ? queue->first->due_ns : queue->next_ns;
}

static void relay_prepare(struct relay *relay, const struct proxy_faults *faults, struct pollfd fds[2],
                          uint64_t *wake_ns)
{
	fds[0] = fds[1] = (struct pollfd){.fd = -1};
	if (!relay->open)
		return;
	for (int direction = 0; direction < 2; direction++) {
		uint64_t due = due_ns(relay, faults, direction);
		fds[direction].fd = relay->fd[direction];
		if (!relay->queue[direction].ended && relay->queue[direction].size < QUEUE_LIMIT)
			fds[direction].events |= POLLIN;
		if (due <= wait_now_ns())
			fds[!direction].events |= POLLOUT;
		else if (due < *wake_ns)
			*wake_ns = due;
	}
	for (int end = 0; end < 2; end++) {
		if (fds[end].events == 0) /* else a hang-up that cannot be passed on yet would spin */
			fds[end].fd = -1;
	}
}

/* Returns false when the connection broke. */
static bool take_in(struct relay *relay, const struct proxy_faults *faults, int direction)
{
	struct relay_queue *queue = &relay->queue[direction];
	unsigned delay_ms = direction == RELAY_UP ? faults->delay_up_ms : faults->delay_down_ms;
	struct relay_chunk *chunk = calloc(1, sizeof *chunk);
	if (chunk == NULL)
		child_die("out of memory in the proxy");
	ssize_t got = recv(relay->fd[direction], chunk->bytes, sizeof chunk->bytes, 0);
	bool dropped = direction == RELAY_DOWN && (faults->drop_down || relay->fd[RELAY_UP] < 0);
	if (got <= 0 || dropped) {
		free(chunk);
		queue->ended = queue->ended || got == 0;
		return got >= 0 || errno == EAGAIN || errno == EINTR;
	}
	chunk->end = (size_t)got;
	chunk->due_ns = wait_now_ns() + (uint64_t)delay_ms * 1000000u;
	if (queue->last != NULL)
		queue->last->next = chunk;
	else
		queue->first = chunk;
	queue->last = chunk;
	queue->size += chunk->end;
	return true;
}

/* Returns false when the connection broke. */
static bool pass_on(struct relay *relay, struct proxy_faults *faults, int direction)
{
	struct relay_queue *queue = &relay->queue[direction];
	struct relay_chunk *chunk = queue->first;
	size_t size = faults->trickle ? 1 : chunk->end - chunk->at;
	ssize_t sent = send(relay->fd[!direction], chunk->bytes + chunk->at, size, MSG_NOSIGNAL);
	if (sent < 0)
		return errno == EAGAIN || errno == EINTR;
	*(direction == RELAY_UP ? &faults->up_bytes : &faults->down_bytes) += (unsigned)sent;
	queue->next_ns = faults->trickle ? wait_now_ns() + 1000000u : 0;
	queue->size -= (size_t)sent;
	chunk->at += (size_t)sent;
	if (chunk->at == chunk->end) {
		queue->first = chunk->next;
		if (queue->first == NULL)
			queue->last = NULL;
		free(chunk);
	}
	return true;
}

static void relay_move(struct relay *relay, struct proxy_faults *faults, const struct pollfd fds[2])
{
	bool alive = relay->open;
	for (int direction = 0; direction < 2 && alive; direction++) {
		struct relay_queue *queue = &relay->queue[direction];
		if (fds[direction].revents & (POLLIN | POLLHUP | POLLERR))
			alive = queue->ended || take_in(relay, faults, direction);
		if (alive && due_ns(relay, faults, direction) <= wait_now_ns())
			alive = pass_on(relay, faults, direction);
		if (queue->ended && queue->first == NULL)
			alive = false; /* all was passed on: pass on the end too */
	}
	if (!alive)
		relay_close(relay, false);
}

static int poll_timeout(uint64_t wake_ns)
{
	uint64_t now_ns = wait_now_ns();
	if (wake_ns == UINT64_MAX)
		return -1;
	return wake_ns <= now_ns ? 0 : (int)((wake_ns - now_ns) / 1000000 + 1);
}

bool relays_wait(struct relays *relays, const struct proxy_faults *faults, int wake_fd)
{
	uint64_t wake_ns = UINT64_MAX;
	relays->fds[0] = (struct pollfd){.fd = relays->listener, .events = POLLIN};
	relays->fds[1] = (struct pollfd){.fd = wake_fd, .events = POLLIN};
	for (int i = 0; i < RELAYS; i++)
		relay_prepare(&relays->list[i], faults, &relays->fds[2 + 2 * i], &wake_ns);
	poll(relays->fds, 2 + 2 * RELAYS, poll_timeout(wake_ns));
	return relays->fds[1].revents != 0;
}

static void accept_pair(struct relays *relays, struct proxy_faults *faults)
{
	int client = accept4(relays->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (client < 0)
		return;
	for (int i = 0; i < RELAYS && !faults->refuse; i++) {
		if (relays->list[i].open)
			continue;
		if (relay_open(&relays->list[i], client, relays->server_socket) == 0)
			faults->accepted++;
		return;
	}
	close(client);
}

static void count_open(const struct relays *relays, struct proxy_faults *faults)
{
	unsigned open = 0;
	for (int i = 0; i < RELAYS; i++)
		open += relays->list[i].open && relays->list[i].fd[RELAY_UP] >= 0;
	faults->open = open;
}

void relays_move(struct relays *relays, struct proxy_faults *faults)
{
	for (int i = 0; i < RELAYS; i++) {
		if (relays->vary != NULL)
			relays->vary(faults);
		relay_move(&relays->list[i], faults, &relays->fds[2 + 2 * i]);
	}
	if (relays->fds[0].revents != 0)
		accept_pair(relays, faults);
	count_open(relays, faults);
}

void relays_close(struct relays *relays, struct proxy_faults *faults, enum proxy_close how)
{
	for (int i = 0; i < RELAYS; i++) {
		if (how == PROXY_ABANDON)
			relay_abandon(&relays->list[i]);
		else
			relay_close(&relays->list[i], how == PROXY_RESET);
	}
	count_open(relays, faults);
}
