/* SPDX-License-Identifier: MIT */
/* Names of resources. */
#include "resource.h"

#include <string.h>

static const char long_name[] =
    "nightly report of all the branches whose names are so long that one reply does not fit into one segment "
    "of the network, although nobody would really call a lock like that, except where names are made by "
    "programs out of paths, and paths out of names";

struct bytes resource_name(unsigned resource)
{
	static const struct bytes names[SIM_MAX_RESOURCES] = {
	    {"stock", 5},
	    {"a name\r\nwith \0 in it", 20},
	    {long_name, sizeof long_name - 1},
	    {"\xc3\xa9t\xc3\xa9", 5},
	};
	return names[resource];
}

struct bytes resource_key(const struct plan *plan, unsigned resource, char buffer[SIM_MAX_KEY])
{
	size_t size = 0;
	if (plan->prefix != NULL) {
		size = strlen(plan->prefix);
		memcpy(buffer, plan->prefix, size);
	}
	struct bytes name = resource_name(resource);
	memcpy(buffer + size, name.at, name.size);
	return (struct bytes){buffer, size + name.size};
}
