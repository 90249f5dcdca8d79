/* SPDX-License-Identifier: MIT */
/* The seam: sockets. Descriptors are numbers of the process whose calls run; the lowest free one comes next.
 */
#include "os/socket.h"

#include <errno.h>

#include "world.h"

static struct fd_slot *slot_of(int fd)
{
	struct actor *a = sim_world->current;
	int i = fd - SIM_FIRST_FD;
	if (i >= 0 && i < SIM_MAX_FDS && a->fds[i].used)
		return &a->fds[i];
	check_fail(sim_world, VIOLATION_DESCRIPTOR, "c%u uses descriptor %d", a->index, fd);
	return NULL;
}

int rl_socket_connect(const struct rl_address *address, int *ret_fd)
{
	struct world *w = sim_world;
	struct actor *a = w->current;
	int i = 0;
	while (i < SIM_MAX_FDS && a->fds[i].used)
		i++;
	if (i == SIM_MAX_FDS || a->dying)
		return -EMFILE;
	if (address->length == 0)
		return -EINVAL;
	uint32_t conn;
	bool nobody = address->bytes[0] == SIM_ADDRESS_NOBODY;
	bool local = address->bytes[0] == SIM_ADDRESS_UNIX;
	int error = nobody ? link_connect_nobody(w, a->index, address->bytes[1], &conn)
	                   : link_connect(w, a->index, address->bytes[1], local, &conn);
	if (error != 0)
		return error;
	a->fds[i] = (struct fd_slot){.used = true, .conn = conn};
	*ret_fd = SIM_FIRST_FD + i;
	return 0;
}

int rl_socket_connected(int fd)
{
	const struct fd_slot *slot = slot_of(fd);
	if (slot == NULL)
		return -EBADF;
	const struct conn *c = &sim_world->links.conns[slot->conn];
	return c->state == CONN_CONNECTING ? 0 : -c->connect_error;
}

ssize_t rl_socket_send(int fd, const void *bytes, size_t size, bool more)
{
	(void)more;
	const struct fd_slot *slot = slot_of(fd);
	if (slot == NULL)
		return -EBADF;
	if (sim_world->current->dying)
		return -EPIPE;
	return link_client_send(sim_world, slot->conn, bytes, size);
}

ssize_t rl_socket_receive(int fd, void *bytes, size_t size)
{
	const struct fd_slot *slot = slot_of(fd);
	if (slot == NULL)
		return -EBADF;
	if (sim_world->current->dying)
		return -EPIPE;
	return link_client_receive(sim_world, slot->conn, bytes, size);
}

void rl_socket_close(int fd)
{
	struct fd_slot *slot = slot_of(fd);
	if (slot == NULL)
		return;
	slot->used = false;
	link_client_close(sim_world, slot->conn);
}

void rl_socket_abort(int fd)
{
	struct fd_slot *slot = slot_of(fd);
	if (slot == NULL)
		return;
	slot->used = false;
	link_client_abort(sim_world, slot->conn);
}
