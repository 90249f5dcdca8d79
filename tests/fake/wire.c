/* SPDX-License-Identifier: MIT */
#include "wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct wires wires;

void wires_begin(void)
{
	wires = (struct wires){.read_most = SIZE_MAX, .send_most = SIZE_MAX, .count = 1, .capacity = 16};
	wires.list = buffer_realloc(NULL, wires.capacity * sizeof *wires.list);
	wires.list[0] = (struct wire){.settled = true};
	fake_process = &wires.process;
	fake_world = &wire_world;
}

void wires_end(void)
{
	for (unsigned i = 0; i < FAKE_FDS; i++)
		if (wires.process.fds[i].used)
			fake_world->wrong("was left open", FAKE_FIRST_FD + (int)i);
	for (unsigned i = 0; i < FAKE_LOOKUPS; i++)
		if (wires.process.lookups[i].runs)
			fake_world->wrong("a lookup was left", (int)i);
	for (uint32_t i = 0; i < wires.count; i++) {
		buffer_free(&wires.list[i].up);
		buffer_free(&wires.list[i].down);
	}
	free(wires.list);
	wires.list = NULL;
}

struct wire *wire_last(void)
{
	return &wires.list[wires.count - 1];
}

void wire_say_bytes(struct wire *w, const void *bytes, size_t size)
{
	if (w->open)
		buffer_append(&w->down, bytes, size);
}

void wire_say(struct wire *w, const char *text)
{
	wire_say_bytes(w, text, strlen(text));
}

unsigned wire_ready(const struct wire *w)
{
	bool readable = w->down.length > 0 || w->ended || w->read_error != 0;
	if (w->due_ns > wires.now_ns)
		return 0;
	return (readable ? RL_READABLE : 0u) | (!w->settled || wires.send_most > 0 ? RL_WRITABLE : 0u);
}

/* ---- the world ---- */

static void wrong(const char *what, int fd)
{
	fprintf(stderr, "the library %s: %d\n", what, fd);
	abort();
}

static uint64_t now(void)
{
	return wires.now_ns;
}

static int64_t ahead(void)
{
	return wires.ahead_ns;
}

static int random_bytes(void *buffer, size_t size)
{
	memset(buffer, 0x5a, size);
	return -wires.random_error;
}

static int connect_to(const struct rl_address *address, uint32_t *ret_conn)
{
	if (wires.connect_error != 0)
		return -wires.connect_error;
	if (wires.count == wires.capacity)
		wires.list = buffer_realloc(wires.list, (wires.capacity *= 2) * sizeof *wires.list);
	wires.list[wires.count] = (struct wire){.address = *address, .open = true};
	*ret_conn = wires.count++;
	return 0;
}

static int connected(uint32_t conn)
{
	struct wire *w = &wires.list[conn];
	w->settled = true;
	return w->connect_error != 0 ? -w->connect_error : -wires.connected_error;
}

static ssize_t send_bytes(uint32_t conn, const void *bytes, size_t size)
{
	struct wire *w = &wires.list[conn];
	size_t moved = size < wires.send_most ? size : wires.send_most;
	if (w->broken)
		return -EPIPE;
	if (moved == 0)
		return -EAGAIN;
	buffer_append(&w->up, bytes, moved);
	return (ssize_t)moved;
}

static ssize_t receive(uint32_t conn, void *bytes, size_t size)
{
	struct wire *w = &wires.list[conn];
	if (w->down.length == 0)
		return w->read_error != 0 ? -w->read_error : w->ended ? 0 : -EAGAIN;
	size_t moved = buffer_take(&w->down, bytes, size < wires.read_most ? size : wires.read_most);
	w->read += moved;
	return (ssize_t)moved;
}

static void close_wire(uint32_t conn, bool abort)
{
	wires.list[conn].open = false; /* what was sent is still there to be heard */
	buffer_free(&wires.list[conn].down);
}

static unsigned ready(const struct fake_fd *fd)
{
	return wire_ready(&wires.list[fd->conn]) & fd->events;
}

static int watch(void)
{
	return -wires.watch_error;
}

static int look_up(const char *host, uint16_t port, struct rl_lookup *lookup)
{
	return -wires.lookup_error;
}

static bool has_ended(const struct rl_lookup *lookup)
{
	return !wires.looking_up;
}

static void found(const struct rl_lookup *lookup, struct rl_lookup_result *ret)
{
	*ret = wires.found;
}

static void path(const char *text, struct rl_address *ret)
{
	*ret = fake_address('U', (unsigned char)text[strlen(text) - 1]);
}

const struct fake_world wire_world = {
    .wrong = wrong,
    .now = now,
    .ahead = ahead,
    .random = random_bytes,
    .connect = connect_to,
    .connected = connected,
    .send = send_bytes,
    .receive = receive,
    .close = close_wire,
    .ready = ready,
    .watch = watch,
    .look_up = look_up,
    .has_ended = has_ended,
    .found = found,
    .path = path,
};
