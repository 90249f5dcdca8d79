/* SPDX-License-Identifier: MIT */
/*
 * libredlock: distributed locks over independent Redis or Valkey servers.
 *
 * Calling sequence, blocking:
 *
 *     struct redlock_options o;
 *     redlock_options_init(&o);                  defaults
 *     o.urls = urls; o.url_count = 5;            the nodes
 *     redlock_open(&o, &client);                 connects in the background
 *     redlock_lock_new(client, "job", 3, NULL, &lock);
 *     if (redlock_acquire(lock) == 0) {          held until redlock_remaining_ms() is 0
 *         ...                                    the work, within that time
 *         redlock_release(lock);                 the handle can be acquired again
 *     }
 *     redlock_lock_free(lock);
 *     redlock_drain(client, 1000);               waits for releases that have no answer yet
 *     redlock_close(client);
 *
 * Calling sequence, inside an event loop: start any number of operations with redlock_start_*(), then
 * call redlock_process(), which sends them. Watch redlock_fd() for reading; when it is readable call
 * redlock_process() again and get results with redlock_next() until it returns 0. No call of this group
 * blocks. The descriptor includes the timers; redlock_timeout_ns() is for loops with timers of their own.
 *
 * A lock is a lease. It is valid by the clock, never by a flag: redlock_remaining_ms() compares the
 * deadline with the clock at every call. Work that must not run late has to check it, and a resource that
 * must be safe from a late worker has to check fencing tokens. See docs/promises.md.
 *
 * Time. Durations are milliseconds (`_ms`). Points in time are nanoseconds of CLOCK_BOOTTIME (`_ns`),
 * which continues during suspend; REDLOCK_NEVER_NS is a point that never comes.
 *
 * Threads. One client may be used by many threads: every call locks it. Concurrent blocking calls share the
 * same connections. One lock handle belongs to one thread at a time, except for the calls that say "any
 * thread", which may be made while the handle exists. The library starts two kinds of threads, with all
 * signals blocked: the keeper, if the caller starts it; and a thread around getaddrinfo(3) while it looks up
 * the name of a node, but not for nodes that are addresses or paths. Nothing waits for the latter, not even
 * redlock_close(): it ends when getaddrinfo(3) returns, and frees its own memory.
 *
 * No call is a cancellation point: after pthread_cancel(3) a thread finishes the call that it is in.
 * redlock_cancel() ends a call that waits.
 *
 * Signals. A blocking call continues after a signal handler has run in its thread. If the client was opened
 * with `interruptible`, as it should be under an interpreter that runs its own handlers later (Python), a
 * signal ends redlock_acquire(), _extend(), _query() and _drain() with REDLOCK_E_INTERRUPTED while they wait,
 * as redlock_cancel() would. This also applies to handlers with SA_RESTART, and when a stopped process
 * continues. redlock_release() continues, for a node timeout at most. A handler that runs before the thread
 * waits, or in another thread, ends nothing: a program that must not miss a signal uses the calls of
 * section 5 and ppoll(2).
 *
 * If a client, a handle or a pointer for a result is NULL, a function returns REDLOCK_E_INVAL, or 0,
 * REDLOCK_NEVER_NS or NULL if it cannot return an error. Functions that free, or fill in defaults, accept
 * NULL.
 *
 * Structs that begin with their size may grow at their end. The caller sets `size` to the sizeof that it was
 * built with, by an init function, or by hand where a result is written. The library never reads or writes
 * beyond it. A size that is too small for the struct is REDLOCK_E_INVAL.
 *
 * Fork. After fork(2) every call in the child fails with REDLOCK_E_FORKED and sends nothing. The child may
 * call redlock_lock_free() and redlock_close() to free memory and descriptors; the parent keeps its locks. If
 * another thread was inside a call of this client when the child was made, they free nothing.
 *
 * Numbers. The values of all enums never change, so that programs that were built earlier keep working.
 *
 * Errors are negative, 0 is success. Out-parameters are last and are written only on success. The library
 * prints nothing, changes no signal handler, and never exits or aborts the process because of what a server
 * says.
 */
#ifndef REDLOCK_H
#define REDLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "results.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- 1. Version and limits ------------------------------------------------------------------------- */

#define REDLOCK_VERSION_MAJOR 0
#define REDLOCK_VERSION_MINOR 1
#define REDLOCK_VERSION_PATCH 0
#define REDLOCK_VERSION "0.1.0"

#define REDLOCK_MAX_NODES 31
#define REDLOCK_MAX_NAME 65536 /* bytes of a resource name, prefix included; some endings are reserved */
#define REDLOCK_MAX_TOKEN 512  /* bytes of a token, owner label or caller's value included */
#define REDLOCK_MAX_OWNER 128  /* bytes of an owner label */
#define REDLOCK_MIN_TTL_MS 10
#define REDLOCK_MAX_TTL_MS 2592000000ull /* 30 days */
#define REDLOCK_FOREVER UINT64_MAX       /* as a wait: no limit */
#define REDLOCK_NEVER_NS UINT64_MAX

/* The version of the library that is loaded, "MAJOR.MINOR.PATCH". */
REDLOCK_API const char *redlock_version(void);

/* ---- 2. Errors and votes: redlock/results.h ---------------------------------------------------------- */

/* ---- 3. Client ---------------------------------------------------------------------------------------- */

typedef struct redlock_client redlock_client;
typedef struct redlock_lock redlock_lock;

/*
 * Options of redlock_open(). Always call redlock_options_init() first. If a caller sets an option that this
 * library is too old to know, redlock_open() returns REDLOCK_E_INVAL. The client copies everything.
 */
enum redlock_guard { REDLOCK_GUARD_OFF = 0, REDLOCK_GUARD_AUTO = 1, REDLOCK_GUARD_REQUIRE = 2 };

struct redlock_options {
	size_t size;
	const char *const *urls;  /* redis:// valkey:// rediss:// valkeys:// (both TLS) unix://, see the manual */
	size_t url_count;         /* 1 to REDLOCK_MAX_NODES; use an odd number */
	const char *user;         /* for nodes whose URL names none; NULL: the default user */
	const char *password;     /* for nodes whose URL has none; NULL: none */
	const char *prefix;       /* put before every name; NULL: none */
	const char *owner;        /* label put behind tokens as "|owner", A-Za-z0-9._:@/+- ; NULL: none. Tokens
	                             of REDLOCK_COMPAT_SETNX_SAFE have none. */
	unsigned quorum;          /* 0: a majority, N/2+1. More may be asked for, less is refused. */
	uint32_t node_timeout_ms; /* 0: 200 ms, at most ttl/3. It matters only when no quorum answers. */
	uint32_t drift_ppm;       /* allowance for clock rates, parts per million of the TTL; 10000 */
	uint32_t drift_ms;        /* plus this; 2 */
	/* Called with one line per transition of any lock, and per warning about a node's clock, while the client
	 * is locked: it must be quick and must not call the library. Names and tokens are not in the line; nodes
	 * are numbered from 0. NULL: no trace. */
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
	int tls_insecure;          /* 1: accept any certificate. Anyone on the network path can impersonate the
	                              server. */
	int interruptible;         /* 1: signals end blocking calls, see "Signals" above; 0 */
	/* The cause of a failure of redlock_open(), for programs; error_text is for people. Each may be NULL. */
	int *error_node;           /* receives the index of the node, from 0; -1: no particular node */
	const char **error_option; /* receives a constant: the option of this struct, "urls" ...; NULL: none */
	/* Whether nodes that may have forgotten locks are kept out, by the record of a guarded node set that each
	 * of them has (`redlock init`). REQUIRE: only nodes with a record of this set vote. AUTO: the same, if
	 * the client sees a record while it connects; otherwise as OFF, which is unsafe where a majority of nodes
	 * has lost its records. OFF, the default: records are ignored. */
	int guard; /* REDLOCK_GUARD_ */
};

/* Fill in the defaults. The first of the two is for other languages: it writes the first `size` bytes of the
 * struct, those that the caller knows. Any thread. */
REDLOCK_API void redlock_options_init_sized(struct redlock_options *options, size_t size);
static inline void redlock_options_init(struct redlock_options *options)
{
	redlock_options_init_sized(options, sizeof(*options));
}

/*
 * Opens a client: checks the options, and starts connecting to all nodes. It does not wait for connections,
 * nor for names, which it looks up in the background (see "Threads" above). A name that does not resolve is
 * not an error: the votes of that node are missing (REDLOCK_VOTE_NAME), and the client looks the name up
 * again. It also looks it up for each new connection, and when the node says that it is read-only: a node is
 * what its name points to.
 *
 * If two names turn out to be one server, the client finds out when both are connected:
 * REDLOCK_VOTE_DUPLICATE. If a server does not report its identity (INFO forbidden; `run_id` of the node's
 * status is ""), the client may find out late, when the server has a token that it refused under the other
 * name, or not at all: then both vote.
 *
 * Errors: INVAL, URL, DUPLICATE (the same host or address twice: two databases of one server are one server),
 * TLS (a certificate or key that cannot be read, no OpenSSL), NOMEM, SYSTEM.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_open(const struct redlock_options *options,
                                                redlock_client **ret_client);

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

/*
 * Stops the keeper, releases the locks that the client's handles hold, closes the connections, and frees the
 * client. Never blocks: free the handles and call redlock_drain() first. A server that finds its client gone
 * drops the requests that it has not read yet, and the key of a release that is lost in this way stays until
 * its TTL.
 * Lock handles that were not freed stay allocated; any call on them but redlock_lock_free() is
 * REDLOCK_E_STATE. No other thread may be inside a call of this client.
 */
REDLOCK_API void redlock_close(redlock_client *client);

/*
 * Waits until no release is owed to any node, at most `timeout_ms`. A release is owed if a SET was sent
 * and its key may still exist: after a failed attempt, for a freed handle, or after a broken connection.
 * `timeout_ms` 0: does not wait. Returns the number of releases that are still owed, 0 when all are
 * settled, or a negative error (INTERRUPTED, FORKED, SYSTEM). Keys of owed releases may stay until their TTL.
 */
REDLOCK_API int redlock_drain(redlock_client *client, uint64_t timeout_ms);

/* The number of configured nodes and the quorum in force. */
REDLOCK_API unsigned redlock_node_count(const redlock_client *client);
REDLOCK_API unsigned redlock_quorum(const redlock_client *client);

struct redlock_node_status {
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
};

/* Writes what the client knows about node `index` (0 to N-1, in the order of the URLs). Errors: INVAL,
 * FORKED. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_node_status(redlock_client *client, unsigned index,
                                                       struct redlock_node_status *ret_status);

/* What the URL of a node says, without its secrets. */
struct redlock_url {
	size_t size;        /* the caller's: sizeof(struct redlock_url) */
	const char *scheme; /* "redis", "rediss" or "unix": valkey:// means redis://. A constant, never freed */
	int tls;            /* 1: rediss:// or valkeys:// */
	char host[256];     /* name or address, IPv6 without brackets; "" of a Unix socket */
	unsigned port;      /* 0 of a Unix socket */
	char path[256];     /* of a Unix socket, else "". Decoded; a longer path is cut, and cannot be used */
	unsigned database;
	int has_user;
	int has_password;
	char address[320]; /* as messages and redlock_node_status() show it: without user and password */
};

/*
 * Parses the URL of a node as redlock_open() does. Looks nothing up. On failure error_text receives a
 * sentence that says what is wrong and never repeats the password; it may be NULL. Any thread. Errors: URL,
 * INVAL, NOMEM.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_url_parse(const char *url, char *error_text,
                                                     size_t error_text_size, struct redlock_url *ret_url);

/*
 * 1: two URLs name the same server, 0: they do not. Host (in upper or lower case) and port, or path, are
 * compared; user, password, database and TLS may differ. Any thread. Errors: as redlock_url_parse().
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_url_same_server(const char *url, const char *other);

/* ---- 4. Lock handles ---------------------------------------------------------------------------------- */

/* Options of redlock_lock_new(). Always call redlock_lock_options_init() first. */
struct redlock_lock_options {
	size_t size;
	uint64_t ttl_ms;  /* 30000; REDLOCK_MIN_TTL_MS to REDLOCK_MAX_TTL_MS */
	uint64_t wait_ms; /* how long acquire waits for a busy lock: 0 not at all, REDLOCK_FOREVER no limit; 0 */
	uint64_t noquorum_wait_ms; /* of that, for an unreachable quorum; REDLOCK_FOREVER: as wait_ms */
	uint64_t min_validity_ms;  /* accept a grant only if more than this is left; 0 */
	uint64_t retry_min_ms;     /* random delay after an attempt without a quorum: from 50 */
	uint64_t retry_max_ms;     /* to 150 */
	uint64_t renew_ms;    /* extend in the background this long after each grant, or up to a quarter of it
	                         sooner at random, so that not all locks are renewed at once; 0: never. Needs a
	                         running keeper or the caller's event loop. renew_ms + node timeout + drift < ttl. */
	uint64_t danger_ms;   /* notice this long before the validity ends; 0: no notice. Default ttl/6. */
	uint64_t max_hold_ms; /* longest time from the acquire to the end of the last extend; 0: no cap */
	uint32_t max_extends; /* largest number of successful extends; 0: no cap */
	const void *token; /* the caller's own value, used instead of random tokens (LockTake); see "Own values"
	                      below. acquire makes one attempt; extend, release and query work without an
	                      acquire before. NULL: fresh random tokens. */
	size_t token_len;  /* 1 to REDLOCK_MAX_TOKEN */
	void *user;        /* for the caller: redlock_lock_user() returns it */
	uint64_t
	    quarantine_wait_ms; /* how long acquire waits, beyond wait_ms, for nodes of a guarded set that may
	                           have forgotten locks and do not vote yet, if a quorum lacks only such
	                           nodes; also with wait_ms 0. REDLOCK_FOREVER: until the quarantine ends; 0 */
	int fence;     /* 1: each acquisition has a fencing token, redlock_lock_fence(). Needs `guard`, and no own
	                  value; 0 */
	int reentrant; /* 1: redlock_acquire() on a handle that is held and still valid counts up and returns 0.
	                  Each such call needs one more redlock_release(), which counts down and returns 0. Only
	                  the last one releases. A lost handle cannot be acquired again: STATE. Threads that share
	                  the handle need a mutex of the caller around each call: a release that returns STATE,
	                  because the call of another thread has not finished, has not counted down; 0 */
	int compat;    /* REDLOCK_COMPAT_: with clients of the old SETNX protocol, see below; OFF */
	uint32_t slots; /* the number of handles that may hold the name at a time, 1 to REDLOCK_MAX_SLOTS, one in
	                   each slot: redlock_lock_slot() in kinds.h; 0: one holder, and no slots */
	int mode;       /* REDLOCK_SHARED: any number of handles holds it at once, see kinds.h; EXCLUSIVE */
	uint32_t slot;  /* with `slots` and `token`: the slot that extend and query ask for the token; 0 */
};

enum { REDLOCK_EXCLUSIVE = 0, REDLOCK_SHARED = 1 };

/*
 * The old SETNX protocol: the value of the key is a Unix time in seconds at which the lock ends. The key has
 * no expiry. A client that finds a past time takes the lock over with GETSET (redis.io, SETNX, "Handling
 * deadlocks").
 *
 * Any other lock of this library is safe from a client of that protocol that parses values as strictly as
 * int() of Python: it cannot read them at all. A client that reads only the leading digits of a value may
 * take it for a past time, and steal the lock.
 *
 * REDLOCK_COMPAT_SETNX_SAFE: the token is a number in the far future, however a client reads it, so that
 * these clients see a held lock. 66 bits of it are random, and no `owner` label follows it. Excludes `token`
 * and `fence`. The lock is never handed over directly, so that waiters need one more round trip.
 *
 * REDLOCK_COMPAT_SETNX: the lock follows the old protocol. Those clients respect it, and take it over when it
 * ends. This library respects their locks, and takes over those that have ended and have no expiry. Other
 * clients see a time; the token is in a second key, and release, extend and query (also with `token`) use
 * that key. The time is that of the server. The key has an expiry, so that a dead holder does not block other
 * clients for ever. Needs scripts; excludes `fence`, and `guard` of the client (INVAL). Waiters acquire the
 * lock by chance, not in order. It is as weak as the protocol:
 *   - A client whose clock is ahead of that of a server takes the lock over before it ends. The holder
 *     notices at the next extend, which returns LOST.
 *   - A client that counts in milliseconds takes any time in seconds for long past.
 *   - A client that has lost the race for an ended lock leaves its own time in the key. Within a second, if
 *     that time is not later than ours, the library recognises it, and the first renewal (half a second after
 *     the grant) overwrites it. Otherwise the lock is LOST, and an earlier time may let a third client in.
 *   - A client that deletes the key without looking at its time deletes the lock of any other client.
 */
enum { REDLOCK_COMPAT_OFF = 0, REDLOCK_COMPAT_SETNX = 1, REDLOCK_COMPAT_SETNX_SAFE = 2 };
#define REDLOCK_DEFAULT_DANGER UINT64_MAX /* as danger_ms: a sixth of the TTL */

/*
 * Own values. "Unique per claimant" is not enough: a value should be unique per acquisition. A release that
 * is still on its way to a slow node when the value is acquired again would delete the new key, and let
 * another client in. So, for a value that is used again:
 *
 * In one client this is safe. One handle at a time uses the value: acquire is BUSY while another handle with
 * the same name and value has not been released. A failed attempt deletes a key only where the node answered
 * that this attempt set it; other keys stay until their TTL (`lingering`). A node on which an older request
 * with the value may still arrive has no vote (REDLOCK_VOTE_STALE): an older attempt there is not answered
 * yet, or a connection that broke could not be ended with CLIENT KILL. The request is presumed gone a minute
 * after the node answers again.
 *
 * Another client or process may acquire the value once this one has returned 0 from redlock_drain(), with no
 * node `lingering`, or has ended without a release of the value and without a handle that held it.
 *
 * If a process was killed while it released, there is no time after which the value is safe: take a new
 * value.
 *
 * A release of a value releases it for all clients that use the value, also after the validity of the
 * releasing client.
 */

/* As those of redlock_options. Any thread. */
REDLOCK_API void redlock_lock_options_init_sized(struct redlock_lock_options *options, size_t size);
static inline void redlock_lock_options_init(struct redlock_lock_options *options)
{
	redlock_lock_options_init_sized(options, sizeof(*options));
}

/* The terms of a lock: the options in force, with the defaults filled in, and the times that follow. */
struct redlock_terms {
	size_t size; /* the caller's: sizeof(struct redlock_terms) */
	uint64_t ttl_ms;
	uint64_t node_timeout_ms;  /* at this TTL; rounded down to whole milliseconds */
	uint64_t drift_ms;         /* of this TTL; rounded up */
	uint64_t validity_ms;      /* ttl - drift: the validity of a lock that takes no time to acquire */
	uint64_t noquorum_wait_ms; /* REDLOCK_FOREVER: no limit */
	uint64_t renew_ms;         /* 0: never */
	uint64_t danger_ms;        /* 0: no notice */
};

/*
 * The terms that a lock would have: with options of a client that is not open yet, or in an open client. NULL
 * options are the defaults. Nothing is sent. The functions do not check whether these times leave room for an
 * answer, node timeout + drift < ttl; redlock_lock_new() does. Any thread. Errors: INVAL (a TTL out of its
 * range, an option that this library does not know); the second also FORKED.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_terms(const struct redlock_options *options,
                                                 const struct redlock_lock_options *lock_options,
                                                 struct redlock_terms *ret_terms);
REDLOCK_API REDLOCK_MUST_CHECK int redlock_client_terms(redlock_client *client,
                                                        const struct redlock_lock_options *options,
                                                        struct redlock_terms *ret_terms);

/* The terms of a handle. Any thread. Errors: INVAL, STATE, FORKED. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_terms(const redlock_lock *lock,
                                                      struct redlock_terms *ret_terms);

/*
 * Makes a handle for the resource `name` (1 to REDLOCK_MAX_NAME bytes with the prefix, any bytes). Refused
 * are names, prefix included, that end as the keys which redlock keeps beside a lock's own: :redlock:queue,
 * :redlock:offers, :redlock:fence, :redlock:setnx, :redlock:slots, :redlock:slot: and a number; and the name
 * redlock:set. Users of the other lock would overwrite them.
 *
 * Nothing is sent. `options` may be NULL for the defaults. One handle is one claimant: two handles of one
 * name exclude each other. Errors: INVAL (also TTL too short for node timeout and drift), NOMEM, FORKED.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_new(redlock_client *client, const void *name, size_t name_len,
                                                    const struct redlock_lock_options *options,
                                                    redlock_lock **ret_lock);

/* `user` of the options. Any thread. */
REDLOCK_API void *redlock_lock_user(const redlock_lock *lock);

/* Frees the handle. A lock that is held, or being acquired, is released without waiting. */
REDLOCK_API void redlock_lock_free(redlock_lock *lock);

/* Frees the handle and leaves the key on the servers, for a holder of the token. */
REDLOCK_API void redlock_lock_leave(redlock_lock *lock);

/*
 * Acquires the lock: SET name token NX PX ttl on all nodes at once, granted if a quorum agrees and the
 * validity ttl - elapsed - drift is left. Before this returns or retries, it releases the votes of a failed
 * attempt. Source: redis.io, "Distributed Locks with Redis". Blocks up to wait_ms.
 *
 * The holder may hand the lock over to a waiter. Then "elapsed" counts from the waiter's last request before
 * that, so that up to three eighths of the TTL may be gone, and the lock is extended at once in the
 * background, unless max_extends is set. Another handle of this client may also pass the lock on, with the
 * remaining validity: within 5 ms, and an eighth of the TTL, after the nodes have granted it.
 *
 * With wait_ms 0: one node timeout for the attempt, and one more at most to ask which client holds the lock.
 * BUSY means that a quorum of nodes has the same foreign key. If not, the votes are split among contenders:
 * these agree on one of them, which acquires the lock, and retry for up to five node timeouts. Then BUSY
 * means that the votes stayed split, maybe because of keys of a client that died. redlock_lock_finding()
 * shows which of the two it was. The caller's own value is tried once, and the nodes are not asked for a
 * holder.
 *
 * Errors: BUSY (also at once, if another handle of this client claims the same own value), NOQUORUM,
 * DUPLICATE, CANCELLED, INTERRUPTED, STATE (held, or lost and not released yet), SYSTEM, FORKED.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_acquire(redlock_lock *lock);

/*
 * Extends the lock by compare-and-PEXPIRE on all nodes; it never shortens and never re-creates a key.
 * `ttl_ms` 0: as acquired; else node timeout + drift < ttl as in redlock_lock_new(). The new deadline is the
 * later of the old one and start + ttl - drift.
 * Errors: NOQUORUM (not confirmed; the old validity still counts), LOST (the validity has ended, or a quorum
 * no longer has the lock; until a release), GONE (own token, never acquired here: no quorum has it), LIMIT,
 * CANCELLED and INTERRUPTED (not confirmed), STATE (not held), INVAL, SYSTEM, FORKED.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_extend(redlock_lock *lock, uint64_t ttl_ms);

/*
 * Releases by compare-and-delete on all nodes. Blocks until a quorum has answered, one node timeout at
 * most. Whatever the function returns, the handle does not hold the lock afterwards. 0 means that the keys
 * were there and are gone. It is no proof that the validity had not ended before.
 *
 * If another handle of this client waits for the lock, with the same TTL and renew_ms, the lock may be passed
 * on to it at once: then nothing is sent, the function returns 0, and this handle has no token any more. This
 * applies only to plain exclusive locks, and not if redlock_lock_token() has returned the token
 * (docs/decisions/passing-on.md).
 *
 * Errors: GONE (already expired or taken over), NOQUORUM (too few nodes answered to know that: keys may stay
 * until their TTL), STATE (nothing to release), SYSTEM, FORKED.
 */
REDLOCK_API int redlock_release(redlock_lock *lock);

/*
 * Asks all nodes what they have under this name; redlock_lock_finding() returns the answers. Returns 0 if a
 * quorum has the key with this handle's token (with the caller's own token: as soon as that is known), GONE
 * if not, NOQUORUM if too few nodes answered. Errors: also CANCELLED, INTERRUPTED, NOMEM, STATE, SYSTEM,
 * FORKED.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_query(redlock_lock *lock);

/*
 * Asks all nodes whether they would grant this lock now, without acquiring it or leaving a key: each is
 * sent SET ... XX, which writes only to existing keys, for a key that does not exist (the name, followed by
 * 40 random digits). So it finds a replica, a server that is full or refuses writes, and a user without the
 * right to SET or to such names. It does not check whether the name itself is free. For health checks.
 * Returns 0 if a quorum would, NOQUORUM if not; each node's reason is its vote. Waits for all nodes, one
 * node timeout at most. Errors: also CANCELLED, INTERRUPTED, STATE (held, or has its own token), NOMEM,
 * SYSTEM, FORKED.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_probe(redlock_lock *lock);

/* Ends a waiting or running acquire, extend, upgrade, downgrade, query or probe of this handle with
 * CANCELLED, and releases the votes of an acquire. Any thread. 0, also if nothing ran. Errors: FORKED, STATE.
 */
REDLOCK_API int redlock_cancel(redlock_lock *lock);

/* How long the lock may be relied on, by the clock; 0: under a millisecond, not held, or lost. Any thread. */
REDLOCK_API uint64_t redlock_remaining_ms(const redlock_lock *lock);

/* The same as a point in time: CLOCK_BOOTTIME in nanoseconds, 0 if not held. Any thread. It moves to an
 * earlier time if the wall clock is set forward while the lock is held: see redlock_leapt_ms(). */
REDLOCK_API uint64_t redlock_deadline_ns(const redlock_lock *lock);

/* Copies the token of the current or last acquisition, followed by a NUL, and writes its length: 0 before the
 * first acquire, and after a release that passed the lock on. REDLOCK_MAX_TOKEN+1 bytes suffice. Another
 * client that knows the token may extend the lock; an extend by this handle never shortens it. Errors: INVAL
 * (buffer too small), FORKED. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_lock_token(const redlock_lock *lock, void *buffer, size_t size,
                                                      size_t *ret_len);

/* Votes, keys on the nodes, and the holder and queue during a wait: redlock/inspect.h, included below. */

/* ---- 5. Event loops ----------------------------------------------------------------------------------- */

enum redlock_operation {
	REDLOCK_OP_NONE = 0,
	REDLOCK_OP_ACQUIRE = 1,
	REDLOCK_OP_EXTEND = 2,
	REDLOCK_OP_RELEASE = 3,
	REDLOCK_OP_QUERY = 4,
	REDLOCK_OP_PROBE = 5,
	REDLOCK_OP_UPGRADE = 6,
	REDLOCK_OP_DOWNGRADE = 7
};

enum redlock_event_kind {
	REDLOCK_EVENT_DONE = 1,   /* an operation that was started with redlock_start_*() has ended */
	REDLOCK_EVENT_DANGER = 2, /* validity ends in danger_ms and was not extended */
	REDLOCK_EVENT_LOST = 3    /* the lock is lost; not sent after a release */
};

struct redlock_event {
	redlock_lock *lock;
	enum redlock_event_kind kind;
	enum redlock_operation operation; /* DONE: which */
	int result;                       /* DONE: 0 or the error that the blocking call would return */
};

/* As the blocking calls, but these only start the operation: the result comes from redlock_next(). Nothing is
 * sent before the next redlock_process(). One operation runs on a handle at a time, and the program must get
 * its event before it starts the next one. Errors at once: STATE, INVAL, LOST, LIMIT, NOMEM, FORKED; then no
 * event follows. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_start_acquire(redlock_lock *lock);
REDLOCK_API REDLOCK_MUST_CHECK int redlock_start_extend(redlock_lock *lock, uint64_t ttl_ms);
REDLOCK_API REDLOCK_MUST_CHECK int redlock_start_release(redlock_lock *lock);
REDLOCK_API REDLOCK_MUST_CHECK int redlock_start_query(redlock_lock *lock);
REDLOCK_API REDLOCK_MUST_CHECK int redlock_start_probe(redlock_lock *lock);

/* A descriptor that is readable when redlock_process() has work to do; it includes the timers. Never read
 * or close it. It stays the same for the life of the client. While another thread is in a blocking call or
 * a keeper runs, that thread does the work: then watch redlock_notice_fd() instead. */
REDLOCK_API int redlock_fd(const redlock_client *client);

/* The latest time for the next redlock_process() (CLOCK_BOOTTIME ns): 0 if there is something to send or an
 * event to get now, REDLOCK_NEVER_NS if only the descriptor matters. */
REDLOCK_API uint64_t redlock_timeout_ns(redlock_client *client);

/* Receives, decides, runs timers and sends. Never blocks. Errors: FORKED, SYSTEM. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_process(redlock_client *client);

/* Gets one event. Returns 1 and writes it, or 0 if there is none. Events of freed handles are dropped.
 * Errors: FORKED. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_next(redlock_client *client, struct redlock_event *ret_event);

/* ---- 6. Keeper ---------------------------------------------------------------------------------------- */

/*
 * Starts the keeper, a thread that drives the client while no call does, so that locks with renew_ms are
 * renewed and DANGER and LOST are noticed in time. It blocks all signals.
 * Errors: STATE (already running), SYSTEM, FORKED.
 */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_keeper_start(redlock_client *client);

/* Stops the thread and waits for its end. Returns 0, also if none runs. */
REDLOCK_API int redlock_keeper_stop(redlock_client *client);

/* A descriptor that is readable while redlock_next() has an event: for programs that use the blocking calls
 * and a keeper, and poll for DANGER and LOST. Never read or close it. Errors: SYSTEM, FORKED. */
REDLOCK_API REDLOCK_MUST_CHECK int redlock_notice_fd(redlock_client *client);

#ifdef __cplusplus
}
#endif

#include "ask.h"
#include "inspect.h"
#include "kinds.h"

#endif
