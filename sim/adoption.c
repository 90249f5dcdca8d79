/* SPDX-License-Identifier: MIT */
/* Tokens that go from one application to another. */
#include "adoption.h"

#include <string.h>

#include "world.h"

void adoption_offer(struct world *w, const struct handle *h)
{
	struct adoption *place = &w->adoptions[prng_below(&w->work, SIM_ADOPTIONS)];
	if (h->token_size >= sizeof place->token)
		return;
	*place = (struct adoption){.open = true, .resource = h->resource};
	memcpy(place->token, h->token, h->token_size);
}

bool adoption_take(struct world *w, struct handle *h)
{
	struct adoption *place = &w->adoptions[prng_below(&w->work, SIM_ADOPTIONS)];
	if (!place->open || !prng_chance(&w->work, 500))
		return false;
	place->open = false;
	h->resource = place->resource;
	memcpy(h->own_token, place->token, sizeof place->token);
	h->options.token = h->own_token;
	return true;
}
