/* SPDX-License-Identifier: MIT */
/*
 * Limits, and the options of clients and lock handles. A part of redlock.h, which includes it. Each option is
 * a field with its default; most programs set `urls`, `ttl_ms`, `wait_ms` and `renew_ms`.
 */
#ifndef REDLOCK_OPTIONS_H
#define REDLOCK_OPTIONS_H

#include "results.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Limits ---- */

#define REDLOCK_MAX_NODES 31
#define REDLOCK_MAX_SETS 16    /* node sets of one client: sets.h */
#define REDLOCK_MAX_NAME 65536 /* bytes of a resource name, prefix included; some endings are reserved */
#define REDLOCK_MAX_TOKEN 512  /* bytes of a token, owner label or caller's value included */
#define REDLOCK_MAX_OWNER 128  /* bytes of an owner label */
#define REDLOCK_MAX_NAMES 64   /* of one lock: redlock_lock_new_many() in kinds.h */
#define REDLOCK_MAX_SLOTS 64   /* of one name: see kinds.h */
#define REDLOCK_MIN_TTL_MS 10
#define REDLOCK_MAX_TTL_MS 2592000000UL /* 30 days */
#define REDLOCK_FOREVER UINT64_MAX      /* as a wait: no limit */
#define REDLOCK_NEVER_NS UINT64_MAX
/* As ttl_ms: 30 s, or the maximum of a guarded set if that is shorter. Another value than REDLOCK_FOREVER,
 * which is refused as a TTL. */
#define REDLOCK_DEFAULT_TTL (UINT64_MAX - 1)
#define REDLOCK_DEFAULT_DANGER UINT64_MAX /* as danger_ms: a sixth of the TTL */

/*
 * The value of a macro or enum of these headers by its name without the prefix: "MAX_NODES", "FOREVER",
 * "VERSION_MINOR", "E_BUSY" (a negative one as an int64_t), "VOTE_TIMEOUT", "EVENT_LOST", "OP_ACQUIRE",
 * "GUARD_AUTO", "SHARED"; and the size of a struct in this library: "sizeof redlock_options"; and where
 * the fields are that such a language has to read or write itself: "offset redlock_event.user". For languages
 * that do not read C headers, and for programs that check when they start that the library is not older than
 * the header that they were built with. redlock_constant() returns 0 for an unknown name;
 * redlock_constant_find() tells it from 0. Any thread. Errors of the latter: INVAL (unknown, or NULL).
 */
REDLOCK_API uint64_t redlock_constant(const char *name);
REDLOCK_API REDLOCK_MUST_CHECK int redlock_constant_find(const char *name, uint64_t *ret_value);

/* ---- Of clients ---- */

/*
 * Options of redlock_open(). Always call redlock_options_init() first. If a caller sets an option that this
 * library is too old to know, redlock_open() returns REDLOCK_E_INVAL. The client copies everything.
 */
enum redlock_guard { REDLOCK_GUARD_OFF = 0, REDLOCK_GUARD_AUTO = 1, REDLOCK_GUARD_REQUIRE = 2 };

struct redlock_node_set;

struct redlock_options {
	size_t size;
	const char *const *urls;  /* redis:// valkey:// rediss:// valkeys:// (both TLS) unix:// redis+sentinel://
	                             redis+cluster://, see the manual */
	size_t url_count;         /* 1 to REDLOCK_MAX_NODES; use an odd number */
	const char *user;         /* for nodes whose URL names none; NULL: the default user */
	const char *password;     /* for nodes whose URL has none; NULL: none */
	const char *prefix;       /* put before every name; NULL: none */
	const char *owner;        /* label put after tokens as "|owner", A-Za-z0-9._:@/+- ; NULL: none. Tokens of
	                             REDLOCK_COMPAT_SETNX_SAFE have none. */
	unsigned quorum;          /* 0: a majority, N/2+1. More may be asked for, less is refused. */
	uint32_t node_timeout_ms; /* 0: 200 ms, at most ttl/3. It matters only when no quorum answers. */
	uint32_t drift_ppm;       /* for clock rates: parts per million of the TTL, below 1000000; 10000 */
	uint32_t drift_ms;        /* plus this; 2 */
	/* Called with one line per transition of any lock, and per warning about a node's clock, by the thread
	 * that drives the client then: one that is inside a call, or the keeper. The client is locked meanwhile:
	 * the function must be quick and must not call the library. No two threads are in it at once. Names and
	 * tokens are not in the line; nodes are numbered from 0. NULL: no trace. */
	void (*trace)(void *trace_user, const char *line);
	void *trace_user;
	/* Receives one sentence that names the node and the cause when redlock_open() fails, "" if there is no
	 * more to say than the error. May be NULL. */
	char *error_text;
	size_t error_text_size;
	/* For nodes with TLS. Certificates are verified against the system's authorities and the host of the URL,
	 * unless said otherwise here. TLS 1.2 or newer. Files are PEM, and are read in redlock_open(). */
	const char *tls_ca_file;   /* authorities, instead of the system's; NULL */
	const char *tls_ca_dir;    /* the same as a directory of hashed names (openssl-rehash(1)); NULL */
	const char *tls_cert_file; /* our certificate with its chain, for servers that ask for one; NULL: none */
	const char *tls_key_file;  /* its key; NULL: in tls_cert_file */
	const char *tls_name;      /* the name that certificates must have; NULL: the host of the URL */
	int tls_insecure;          /* 1: accept any certificate; 0. Anyone on the network path can impersonate the
	                              server. */
	int interruptible;         /* 1: signals end blocking calls, see "Signals" in redlock.h; 0 */
	/* The cause of a failure of redlock_open(), for programs; error_text is for people. Each may be NULL. */
	int *error_node;           /* receives the index of the node, from 0; -1: no particular node */
	const char **error_option; /* receives a constant: the option of this struct, "urls" ...; NULL: none */
	/* Whether nodes that may have forgotten locks are kept out, by the record of a guarded node set that each
	 * of them has (`redlock init`). REQUIRE: only nodes with a record of this set vote. AUTO, the default:
	 * the same, once the client has seen a record of this set, until `redlock init --plain` takes the set
	 * back; a set without records is plain. A client looks when it connects, and once a minute while it is
	 * used, together with what it asks anyway. OFF: records are ignored. */
	int guard; /* REDLOCK_GUARD_ */
	/* AUTO: the caller knows that the set is guarded, so that a majority which has lost its records does not
	 * make it plain: `set` of an earlier redlock_guard_status(). NULL: unknown. */
	const char *guarded_set;
	/* The options of handles that redlock_lock_new() makes with NULL options. Its `token` and `user` are
	 * ignored. redlock_open() refuses those that redlock_lock_new() would refuse. NULL: the defaults. */
	const struct redlock_lock_options *lock_options;
	/* The rest is for redlock_options_load() and redlock_options_set(): see config.h. */
	char *warning_text; /* receives what a person should know about a success, "" if nothing. May be NULL */
	size_t warning_text_size;
	int stop_fd; /* when it becomes readable, no file that is a pipe is waited for any longer; -1: none */
	struct redlock_option_store *store; /* the library's: the texts that these options own; NULL */
	/* Node sets over which names are spread, instead of `urls` and `quorum`: see sets.h. NULL: one set. */
	const struct redlock_node_set *sets;
	size_t set_count; /* 1 to REDLOCK_MAX_SETS; 0 */
};

/* Fill in the defaults. The first of the two is for other languages: it writes the first `size` bytes of the
 * struct, those that the caller knows. Any thread. */
REDLOCK_API void redlock_options_init_sized(struct redlock_options *options, size_t size);
static inline void redlock_options_init(struct redlock_options *options)
{
	redlock_options_init_sized(options, sizeof(*options));
}

/* ---- Of lock handles ---- */

/* Options of redlock_lock_new(). Always call redlock_lock_options_init() first. */
struct redlock_lock_options {
	size_t size;
	uint64_t ttl_ms;  /* REDLOCK_MIN_TTL_MS to REDLOCK_MAX_TTL_MS. A guarded set refuses a TTL that is longer
	                     than its maximum. REDLOCK_DEFAULT_TTL: 30000. Where the maximum is shorter, the
	                     handle takes the maximum as soon as it is known, and keeps it: a default danger_ms
	                     becomes a sixth of it, the node timeout a third at most, and a renew_ms that is
	                     a third of 30000, or does not fit, a third. If min_validity_ms or danger_ms does
	                     not fit, the handle stays as it is, and is refused.
	                     redlock_lock_terms() returns what it has. */
	uint64_t wait_ms; /* how long acquire waits for a busy lock: 0 not at all, REDLOCK_FOREVER no limit; 0 */
	uint64_t noquorum_wait_ms; /* of that, for an unreachable quorum; REDLOCK_FOREVER: as wait_ms */
	uint64_t min_validity_ms;  /* accept a grant only if more than this is left; 0 */
	uint64_t retry_min_ms;     /* random delay after an attempt without a quorum: from 50 */
	uint64_t retry_max_ms;     /* to 150 */
	uint64_t renew_ms;    /* extend in the background this long after each grant, or up to a quarter of it
	                         sooner at random, so that not all locks are renewed at once; 0: never. Needs a
	                         running keeper or the caller's event loop. renew_ms + node timeout + drift < ttl. */
	uint64_t danger_ms;   /* notice this long before the validity ends; 0: no notice. Default ttl/6. */
	uint64_t max_hold_ms; /* longest time from the acquire to the end of the last extend, at least the TTL;
	                         0: no cap */
	uint32_t max_extends; /* largest number of successful extends; 0: no cap */
	const void *token; /* the caller's own value, used instead of random tokens (LockTake); see "Own values"
	                      in tokens.h. acquire makes one attempt; extend, release and query work without an
	                      acquire before. NULL: fresh random tokens. */
	size_t token_len;  /* 1 to REDLOCK_MAX_TOKEN; 0 without a `token` */
	void *user;        /* for the caller: redlock_lock_user() returns it */
	uint64_t
	    quarantine_wait_ms; /* how long acquire waits, beyond wait_ms, for nodes of a guarded set that may
	                           have forgotten locks and do not vote yet, if a quorum lacks only such
	                           nodes; also with wait_ms 0. REDLOCK_FOREVER: until the quarantine ends; 0 */
	int fence;      /* 1: each acquisition has a fencing token, redlock_lock_fence(). No node without a
	                   record gives one, as with REDLOCK_GUARD_REQUIRE. Excludes REDLOCK_GUARD_OFF, and an own
	                   value; 0 */
	int reentrant;  /* 1: redlock_acquire() on a handle that is held and still valid counts up and returns 0.
	                   Each such call needs one more redlock_release(), which counts down and returns 0. Only
	                   the last one releases. A lost handle cannot be acquired again: STATE. Threads that share
	                   the handle need a mutex of the caller around each call: a release that returns STATE,
	                   because the call of another thread has not finished, has not counted down; 0 */
	int compat;     /* REDLOCK_COMPAT_: with clients of the old SETNX protocol, see kinds.h; OFF */
	uint32_t slots; /* the number of handles that may hold the name at a time, 1 to REDLOCK_MAX_SLOTS, one in
	                   each slot: redlock_lock_slot() in kinds.h; 0: one holder, and no slots */
	int mode;       /* REDLOCK_SHARED: any number of handles holds it at once, see kinds.h; EXCLUSIVE */
	uint32_t slot;  /* with `slots` and `token`: the slot that extend and query ask for the token; 0 */
	uint64_t
	    sticky_ms; /* for so long after a grant, a lock that is released may stay with the client, so that the
	                  next acquire of its name by any handle of this client asks no node; see "Sticky locks"
	                  in kinds.h. Ignored for locks that are not plain and exclusive; 0: never */
};

enum { REDLOCK_EXCLUSIVE = 0, REDLOCK_SHARED = 1 };

enum { REDLOCK_COMPAT_OFF = 0, REDLOCK_COMPAT_SETNX = 1, REDLOCK_COMPAT_SETNX_SAFE = 2 };

/* As those of redlock_options. Any thread. */
REDLOCK_API void redlock_lock_options_init_sized(struct redlock_lock_options *options, size_t size);
static inline void redlock_lock_options_init(struct redlock_lock_options *options)
{
	redlock_lock_options_init_sized(options, sizeof(*options));
}

#ifdef __cplusplus
}
#endif

#endif
