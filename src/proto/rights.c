/* SPDX-License-Identifier: MIT */
/* The rights that a user of the servers needs for all operations, as ACL SETUSER has them. */
#include <stdio.h>
#include <string.h>

#include "proto/ops.h"

/* The rights of the commands that open a connection (net/handshake.c), and of the two forms of a script. */
static const char opening_rights[] = "select client|id client|kill info command|info asking wait";
static const char script_rights[] = "eval evalsha";

struct rights {
	char text[512];
	size_t used;
};

static bool has_right(const struct rights *r, const char *right, size_t size)
{
	for (const char *at = r->text; (at = strchr(at, '+')) != NULL;)
		if (strcspn(++at, " ") == size && memcmp(at, right, size) == 0)
			return true;
	return false;
}

/* Appends those of a list that are not there yet. */
static void add_rights(struct rights *r, const char *list)
{
	while (list != NULL && *list != '\0') {
		size_t size = strcspn(list, " ");
		if (!has_right(r, list, size))
			r->used += (size_t)snprintf(r->text + r->used, sizeof r->text - r->used, "%s+%.*s",
			                            r->used > 0 ? " " : "", (int)size, list);
		list += size + (list[size] == ' ');
	}
}

static void add_operations(struct rights *r, bool scripts, bool look)
{
	for (unsigned i = 0; i < RL_OP_COUNT; i++) {
		const struct rl_op *op = &rl_ops[i];
		if ((op->change == RL_CHANGE_LOOK) == look)
			add_rights(r, scripts ? op->rights : op->plain_rights);
	}
}

int redlock_acl_rights(int scripts, char *ret_text, size_t size)
{
	struct rights r = {.used = 0};
	if (ret_text == NULL)
		return REDLOCK_E_INVAL;
	add_operations(&r, scripts != 0, false);
	add_rights(&r, scripts != 0 ? script_rights : "");
	add_rights(&r, opening_rights);
	add_operations(&r, scripts != 0, true);
	snprintf(ret_text, size, "%s", r.text);
	return (int)r.used;
}
