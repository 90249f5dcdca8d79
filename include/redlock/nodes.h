/* SPDX-License-Identifier: MIT */
/*
 * The nodes of a client: their status, credentials, the rights that a user needs, leaps of the clock. A part
 * of redlock.h, which includes it.
 */
#ifndef REDLOCK_NODES_H
#define REDLOCK_NODES_H

#include "redlock.h" /* NOLINT(misc-header-include-cycle): it is a header by itself, too */

#ifdef __cplusplus
extern "C" {
#endif

/* The number of configured nodes and the quorum in force; 0 in a child process. Any thread. */
REDLOCK_API unsigned redlock_node_count(const redlock_client *client);
REDLOCK_API unsigned redlock_quorum(const redlock_client *client);

struct redlock_node_status {
	size_t size;                         /* the caller's: sizeof(struct redlock_node_status) */
	char address[256];                   /* as configured, without user and password */
	int connected;                       /* 1: ready for commands */
	enum redlock_vote_code last_failure; /* why the last connection or command failed; PENDING: never */
	char last_error[160];                /* its text, "" if none; never contains a secret. A server may have
	                                        chosen the text: escape it before you print or log it */
	char run_id[41];    /* the server's identity when last connected, "" if unknown (INFO forbidden) */
	unsigned waiting;   /* commands sent or queued and not answered */
	int unsent;         /* 1: some of these commands, or of the owed releases, have not left. 2: a release has
	                       left, but may have to be sent again in another form, because another node has
	                       refused this form */
	unsigned owed;      /* releases that are not answered, or wait for a connection */
	unsigned lingering; /* keys whose release is not certain: they may stay until their TTL */
	unsigned replicas;  /* ?replicas= of its URL: so many must acknowledge what a vote relies on */
};

/* Writes what the client knows about node `index` (0 to N-1, in the order of the URLs). Errors: INVAL,
 * FORKED. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_node_status(redlock_client *client, unsigned index,
                                                       struct redlock_node_status *ret_status);

/*
 * Changes user and password of the nodes whose URL names none, as `user` and `password` of the options; a
 * URL with a user or password keeps its own. NULL user: the default user; NULL password: none. Both are
 * copied, and the old copies are wiped. New connections use the new credentials, and the client at once tries
 * again a node that refused the old ones. Open connections log in again, one node after the other, while the
 * client is driven (by calls, the event loop or the keeper): the client logs in when the node has answered
 * all requests, and new requests to it wait for the login, 5 s at most. If a server refuses the new
 * credentials, its connection stays as it was, and no vote is lost by that alone: redlock_node_status() then
 * has `last_failure` AUTH, and PENDING again once a login is accepted. If both user and password are NULL,
 * open connections stay as they are. Never blocks. Any thread. Errors: FORKED, NOMEM (nothing has changed).
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_set_credentials(redlock_client *client, const char *user,
                                                           const char *password);

/* How much more time may have passed since the client was opened than CLOCK_BOOTTIME shows: the sum by which
 * the wall clock was set forward, as it is after a virtual machine was paused. Held locks then end that much
 * sooner; REDLOCK_EVENT_DANGER and _LOST come as always. Any thread. */
REDLOCK_API uint64_t redlock_leapt_ms(redlock_client *client);

/* The state of the nodes' guard, as far as this client has seen it (`guard` of its options). */
enum redlock_guard_state { REDLOCK_SET_UNKNOWN = 0, REDLOCK_SET_PLAIN = 1, REDLOCK_SET_GUARDED = 2 };

struct redlock_guard_status {
	size_t size;         /* the caller's: sizeof(struct redlock_guard_status) */
	int state;           /* REDLOCK_SET_; UNKNOWN: too few nodes have answered, or the guard is OFF */
	char set[17];        /* GUARDED: the id of the set, for `guarded_set` of other clients; else "" */
	unsigned records;    /* nodes that have a record of a node set */
	unsigned without;    /* nodes that have none, or one that says that the set was taken back */
	unsigned barred;     /* nodes whose record this user may not read */
	uint64_t max_ttl_ms; /* the longest TTL of a lock of the set; 0: no limit, or not known */
};

/* Writes what the client has seen so far. Sends nothing and does not wait. Any thread. Errors: INVAL,
 * FORKED. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_guard_status(redlock_client *client,
                                                        struct redlock_guard_status *ret_status);

/*
 * The rights that a user of the servers needs, in the form that ACL SETUSER takes ("+set +get ..."): first
 * the rights for locks; then those for the commands that open a connection, without which less is known but
 * nodes still vote; then those for redlock_query() alone. `scripts` 0: for a user that may not run scripts.
 * Writes at most `size` bytes with the NUL, and returns the length of the whole text, as snprintf(3) does.
 * Error: INVAL.
 */
REDLOCK_API int redlock_acl_rights(int scripts, char *ret_text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
