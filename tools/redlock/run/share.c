/* SPDX-License-Identifier: MIT */
/* The deadline in the page; messages between supervisor and guard: packets on a socket pair. */
#include "share.h"

#include <errno.h>
#include <sys/socket.h>

#include "../clock.h"

#define NOISE_NS 1000000 /* of the difference of two clocks, whatever comes between the readings */

/* A reader between the two stores takes the earlier end, and looks again when that has come. */
void share_set_deadline(struct run_share *share, uint64_t deadline_ns, int64_t ahead_ns)
{
	bool is_time = deadline_ns != 0 && deadline_ns != UINT64_MAX;
	atomic_store(&share->deadline_ns, deadline_ns);
	atomic_store(&share->wall_ns, is_time ? deadline_ns + (uint64_t)ahead_ns : UINT64_MAX);
}

/* A clock that was set back is followed, unless there is a new deadline by now: it may be set forward again.
 * Read in the order in which nothing old is compared with a later wall clock. */
uint64_t share_deadline_ns(struct run_share *share)
{
	uint64_t wall_ns = atomic_load(&share->wall_ns);
	uint64_t deadline_ns = atomic_load(&share->deadline_ns);
	if (deadline_ns == 0 || deadline_ns == UINT64_MAX || wall_ns == UINT64_MAX)
		return deadline_ns;
	int64_t ahead_ns = clock_ahead_ns(), by_wall_ns = (int64_t)wall_ns - ahead_ns;
	if (by_wall_ns <= 0)
		return 0;
	if ((uint64_t)by_wall_ns > deadline_ns + NOISE_NS)
		(void)atomic_compare_exchange_strong(&share->wall_ns, &wall_ns, deadline_ns + (uint64_t)ahead_ns);
	return (uint64_t)by_wall_ns < deadline_ns ? (uint64_t)by_wall_ns : deadline_ns;
}

bool link_send(int fd, enum link_kind kind, int value)
{
	const struct link_message message = {.kind = (int32_t)kind, .value = value};
	return send(fd, &message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

int link_receive(int fd, struct link_message *ret_message)
{
	ssize_t got;
	do
		got = recv(fd, ret_message, sizeof *ret_message, MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got == (ssize_t)sizeof *ret_message)
		return 1;
	return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? 0 : -1;
}
