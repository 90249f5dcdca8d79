/* SPDX-License-Identifier: MIT */
#include "fake_os.h"

#include <errno.h>

#include "fuzz.h"
#include "os/random.h"
#include "os/resolve.h"

enum { FIRST_FD = 100 };

struct fake_os fake_os;

void fake_os_begin(void)
{
	fake_os = (struct fake_os){.fd = -1, .last_fd = FIRST_FD, .read_most = SIZE_MAX, .send_most = SIZE_MAX};
}

void fake_os_end(void)
{
	must(fake_os.fd == -1 && !fake_os.looking_up); /* no descriptor is left, and no lookup */
	rl_buffer_free(&fake_os.in);
	rl_buffer_free(&fake_os.out);
}

void fake_os_say(const void *bytes, size_t size)
{
	must(rl_buffer_reserve(&fake_os.in, size));
	if (size > 0)
		memcpy(fake_os.in.bytes + fake_os.in.size, bytes, size);
	fake_os.in.size += size;
}

bool fake_os_readable(void)
{
	return fake_os.in_head < fake_os.in.size || fake_os.ended || fake_os.read_error != 0;
}

/* ---- what src/net calls ---- */

int rl_socket_connect(const struct rl_address *address, int *ret_fd)
{
	must(address->length > 0 && fake_os.fd == -1);
	if (fake_os.connect_error != 0)
		return -fake_os.connect_error;
	fake_os.fd = *ret_fd = ++fake_os.last_fd;
	fake_os.connections++;
	fake_os.watched = false;
	fake_os.in.size = fake_os.in_head = fake_os.out.size = fake_os.bytes_read = 0;
	fake_os.ended = fake_os.send_broken = false;
	fake_os.read_error = 0;
	return 0;
}

int rl_socket_connected(int fd)
{
	must(fd == fake_os.fd);
	return -fake_os.connected_error;
}

ssize_t rl_socket_send(int fd, const void *bytes, size_t size, bool more)
{
	(void)more;
	must(fd == fake_os.fd && size > 0);
	if (fake_os.send_broken)
		return -EPIPE;
	size_t moved = size < fake_os.send_most ? size : fake_os.send_most;
	if (moved == 0)
		return -EAGAIN;
	must(rl_buffer_reserve(&fake_os.out, moved));
	memcpy(fake_os.out.bytes + fake_os.out.size, bytes, moved);
	fake_os.out.size += moved;
	return (ssize_t)moved;
}

ssize_t rl_socket_receive(int fd, void *bytes, size_t size)
{
	must(fd == fake_os.fd && size > 0);
	size_t waiting = fake_os.in.size - fake_os.in_head;
	size_t moved = waiting < size ? waiting : size;
	if (moved > fake_os.read_most)
		moved = fake_os.read_most;
	if (waiting == 0 && fake_os.read_error != 0)
		return -fake_os.read_error;
	if (waiting == 0)
		return fake_os.ended ? 0 : -EAGAIN;
	memcpy(bytes, fake_os.in.bytes + fake_os.in_head, moved);
	trace("  received: %.*s\n", (int)moved, fake_os.in.bytes + fake_os.in_head);
	fake_os.in_head += moved;
	fake_os.bytes_read += moved;
	return (ssize_t)moved;
}

static void end_connection(int fd)
{
	must(fd == fake_os.fd);
	fake_os.fd = -1;
}

void rl_socket_close(int fd)
{
	end_connection(fd);
}

void rl_socket_abort(int fd)
{
	end_connection(fd);
}

int rl_poller_watch(struct rl_poller *poller, int fd, uint32_t id, uint32_t events, bool known)
{
	(void)poller;
	must(fd == fake_os.fd && fake_os.watched == known && (events & RL_READABLE) != 0);
	if (fake_os.watch_error != 0)
		return -fake_os.watch_error;
	fake_os.watched = true;
	fake_os.watched_events = events;
	fake_os.watch_id = id;
	return 0;
}

void rl_poller_forget(struct rl_poller *poller, int fd)
{
	(void)poller;
	must(fd == fake_os.fd); /* before it is closed */
	fake_os.watched = false;
}

bool rl_resolve_literal(const char *host, uint16_t port, struct rl_address *ret)
{
	(void)host, (void)port, (void)ret;
	return false;
}

int rl_resolve_path(const char *path, struct rl_address *ret)
{
	(void)path;
	ret->length = 8;
	return 0;
}

int rl_lookup_start(const char *host, uint16_t port, struct rl_poller *poller, uint32_t id,
                    struct rl_lookup **ret)
{
	(void)host, (void)port, (void)poller;
	must(!fake_os.looking_up); /* one at a time */
	if (fake_os.watch_error != 0)
		return -fake_os.watch_error;
	fake_os.looking_up = true;
	fake_os.lookup_watch_id = id;
	*ret = (struct rl_lookup *)&fake_os; /* any pointer */
	return 0;
}

bool rl_lookup_take(struct rl_lookup *lookup, struct rl_poller *poller, struct rl_lookup_result *ret)
{
	(void)poller;
	must(lookup == (struct rl_lookup *)&fake_os && fake_os.looking_up);
	fake_os.looking_up = false;
	*ret = (struct rl_lookup_result){.why = "no such name", .certain = fake_os.lookup_certain};
	if (fake_os.lookup_fails)
		return true;
	ret->addresses.count = 1;
	ret->addresses.list[0] = (struct rl_address){.length = 8, .bytes = {fake_os.lookup_address}};
	return true;
}

void rl_lookup_leave(struct rl_lookup *lookup, bool child)
{
	(void)child;
	must(lookup == (struct rl_lookup *)&fake_os && fake_os.looking_up);
	fake_os.looking_up = false;
}

int rl_random_bytes(void *buffer, size_t size)
{
	if (fake_os.random_error != 0)
		return -fake_os.random_error;
	memset(buffer, 0x5a, size);
	return 0;
}
