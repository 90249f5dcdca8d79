/* SPDX-License-Identifier: MIT */
/* A server in memory that says yes to everything: requests go in, answers come out. */
#ifndef BUDGET_SERVER_H
#define BUDGET_SERVER_H

#include <stdbool.h>
#include <stddef.h>

enum { ANSWER_BYTES = 1 << 20 };

struct server {
	unsigned number;
	bool silent;
	size_t head, tail;
	char answers[ANSWER_BYTES];
};

void server_take(struct server *server, const char *bytes, size_t size);
size_t server_give(struct server *server, char *bytes, size_t size);
bool server_has_answers(const struct server *server);

/* The connection was closed. */
void server_reset(struct server *server);

#endif
