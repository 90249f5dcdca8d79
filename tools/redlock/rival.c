/* SPDX-License-Identifier: MIT */
/* Compares looks at the keys of one lock, to find a second client that holds it. */
#include "rival.h"

#include <stdio.h>
#include <string.h>

/* Keys without expiry are told of by other words, and the times of setnx clients are no tokens. */
static bool is_living_token(const struct redlock_finding *finding)
{
	enum holder_kind kind = holder_kind_of(finding);
	return finding->known && finding->pttl_ms > 0 &&
	       (kind == HOLDER_TOKEN || kind == HOLDER_VALUE || kind == HOLDER_REDISSON || kind == HOLDER_SHARED);
}

/* Without a holder: a key on too few nodes, where no node is missing that the rest of a quorum could be on.
 */
static bool is_below_quorum(const struct standing *standing)
{
	return standing->state == STANDING_LEFTOVER && standing->known == standing->nodes;
}

bool rivals_note(struct rivals *rivals, const struct standing *standing, uint64_t now_ns)
{
	*rivals = (struct rivals){.is_held = standing->state == STANDING_HELD, .at_ns = now_ns, .looks = 1};
	if (!rivals->is_held && !is_below_quorum(standing))
		return false;
	for (unsigned i = 0; i < standing->nodes; i++) {
		const struct redlock_finding *finding = &standing->finding[i];
		bool is_holders = rivals->is_held && holder_same(finding, &standing->finding[standing->best]);
		if (is_holders || !is_living_token(finding))
			continue;
		rivals->nodes |= UINT64_C(1) << i;
		rivals->value[i] = holder_identity(finding);
		rivals->pttl_ms[i] = finding->pttl_ms;
	}
	return rivals->nodes != 0;
}

/* The life of a key that stood sinks as time passes; that of one that was set anew or renewed does not. Half
 * of the time is far from both. */
static bool has_sunk(const struct rivals *before, const struct rivals *later, unsigned node)
{
	int64_t passed_ms = (int64_t)((later->at_ns - before->at_ns) / 1000000);
	return later->pttl_ms[node] < before->pttl_ms[node] - passed_ms / 2;
}

bool rivals_compare(struct rivals *rivals, const struct rivals *later)
{
	uint64_t kept = rivals->is_held == later->is_held ? rivals->nodes & later->nodes : 0;
	rivals->looks++;
	for (unsigned i = 0; i < REDLOCK_MAX_NODES; i++) {
		uint64_t bit = UINT64_C(1) << i;
		if ((kept & bit) == 0)
			continue;
		if (rivals->value[i] != later->value[i])
			kept &= ~bit;
		else if (has_sunk(rivals, later, i))
			rivals->stood |= bit;
		else
			rivals->renewed |= bit;
		if (rivals->looks >= RIVAL_LOOKS)
			rivals->stood |= bit;
		rivals->pttl_ms[i] = later->pttl_ms[i];
	}
	rivals->at_ns = later->at_ns;
	rivals->nodes = kept;
	rivals->stood &= kept;
	rivals->renewed &= kept;
	return kept != 0;
}

uint64_t rivals_on(const struct rivals *rivals)
{
	return rivals->is_held ? rivals->stood : rivals->stood & rivals->renewed;
}

bool rivals_want_look(const struct rivals *rivals)
{
	return rivals->looks < RIVAL_LOOKS && rivals->nodes != 0 && rivals->stood != rivals->nodes;
}

const char *rivals_nodes_text(uint64_t nodes, char *buffer, size_t size)
{
	size_t used = (size_t)snprintf(buffer, size, "node%s", (nodes & (nodes - 1)) != 0 ? "s" : "");
	const char *before = " ";
	for (unsigned i = 0; i < REDLOCK_MAX_NODES && used < size; i++) {
		if ((nodes >> i & 1) == 0)
			continue;
		used += (size_t)snprintf(buffer + used, size - used, "%s%u", before, i + 1);
		before = ", ";
	}
	return buffer;
}
