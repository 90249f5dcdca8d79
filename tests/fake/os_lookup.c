/* SPDX-License-Identifier: MIT */
/* The process whose calls run, and the names that it looks up. */
#include "os.h"

#include <errno.h>

struct fake_process *fake_process;
const struct fake_world *fake_world;

int rl_lookup_start(const char *host, uint16_t port, struct rl_poller *poller, uint32_t id,
                    struct rl_lookup **ret)
{
	struct rl_lookup *l = fake_process->lookups;
	while (l->runs)
		if (++l == fake_process->lookups + FAKE_LOOKUPS)
			return -EAGAIN;
	*l = (struct rl_lookup){.id = id};
	int error = fake_world->look_up(host, port, l);
	if (error != 0)
		return error;
	l->runs = true;
	*ret = l;
	return 0;
}

bool rl_lookup_take(struct rl_lookup *l, struct rl_poller *poller, struct rl_lookup_result *ret)
{
	if (!l->runs)
		fake_world->wrong("takes a result twice", -1);
	if (!fake_world->has_ended(l))
		return false;
	l->runs = false;
	*ret = (struct rl_lookup_result){.certain = false};
	fake_world->found(l, ret);
	return true;
}

void rl_lookup_leave(struct rl_lookup *l, bool child)
{
	if (!l->runs)
		fake_world->wrong("leaves a lookup that it does not have", -1);
	l->runs = false;
	if (fake_world->left != NULL)
		fake_world->left(l, child);
}
