/* SPDX-License-Identifier: MIT */
/*
 * The data of the core: the rules of a lock, its state, the events that it takes and the effects that it has.
 * All of the core reads it; lock.h says what the core does with it.
 */
#ifndef RL_CORE_STATE_H
#define RL_CORE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include <redlock/redlock.h>

#include "core/observe.h"
#include "core/quorum.h"
#include "core/time.h"
#include "core/vote.h"

/* The facts that the answer to an operation reports besides yes and no, as bits. */
enum {
	RL_TELLS_QUEUE = 1,   /* the waiters in a queue: waiting, pttl_ms, place */
	RL_TELLS_WAITERS = 2, /* whether somebody waits: it gives something back */
	RL_TELLS_KEY = 4,     /* whether the key is ours; the node knows the token */
	RL_TELLS_FINDING = 8, /* what the node has under the name */
	RL_TELLS_DRAWN = 16   /* values only where a number is drawn; else yes or no is all */
};

/*
 * The questions that a node can be asked: X(name, its word in a trace line, what its answer tells the core).
 * First the operations of the public header, under their numbers, then those that a kind asks instead. Each
 * is a row of the table of operations (proto/ops.c).
 */
#define RL_OP_MAP(X)                                                                                         \
	X(NONE, "nothing", 0)                                                                                    \
	X(ACQUIRE, "acquire", RL_TELLS_DRAWN)                                                                    \
	X(EXTEND, "extend", 0)                                                                                   \
	X(RELEASE, "release", RL_TELLS_WAITERS)                                                                  \
	X(QUERY, "query", RL_TELLS_FINDING)                                                                      \
	X(PROBE, "probe", 0)                                                                                     \
	X(ENTER, "enter", RL_TELLS_QUEUE)                                                                        \
	X(LEAVE, "leave", RL_TELLS_WAITERS)                                                                      \
	X(HAND, "hand over", RL_TELLS_WAITERS)                                                                   \
	X(MEET, "meet", 0)                                                                                       \
	X(ADMIT, "admit", 0)                                                                                     \
	X(RAISE, "raise", 0)                                                                                     \
	X(CLAIM_ALL, "claim all", 0)                                                                             \
	X(ENTER_ALL, "enter for all", RL_TELLS_QUEUE)                                                            \
	X(EXTEND_ALL, "extend all", 0)                                                                           \
	X(RELEASE_ALL, "release all", RL_TELLS_WAITERS)                                                          \
	X(SETNX, "acquire by time", 0)                                                                           \
	X(SETNX_EXTEND, "extend by time", 0)                                                                     \
	X(SETNX_RELEASE, "release by time", 0)                                                                   \
	X(SETNX_QUERY, "query by time", RL_TELLS_KEY | RL_TELLS_FINDING)                                         \
	X(SLOT, "acquire a slot", 0)                                                                             \
	X(SLOT_ENTER, "enter for a slot", RL_TELLS_QUEUE)                                                        \
	X(SLOT_RELEASE, "release a slot", RL_TELLS_WAITERS)                                                      \
	X(SHARE, "share", RL_TELLS_QUEUE)                                                                        \
	X(SHARE_EXTEND, "extend share", 0)                                                                       \
	X(SHARE_RELEASE, "release share", RL_TELLS_WAITERS)                                                      \
	X(SHARE_QUERY, "query share", RL_TELLS_KEY | RL_TELLS_FINDING)                                           \
	X(UPGRADE, "upgrade", 0)

enum {
#define RL_OP_ENUM(name, word, tells) RL_OP_##name,
	RL_OP_MAP(RL_OP_ENUM)
#undef RL_OP_ENUM
	    RL_OP_COUNT
};
_Static_assert(RL_OP_PROBE == (int)REDLOCK_OP_PROBE, "the public operations come first");

/* Returns what an answer to the operation tells the core: RL_TELLS_ bits. */
static inline unsigned rl_state_tells(unsigned operation)
{
#define RL_OP_TELLS(name, word, tells) [RL_OP_##name] = (tells),
	static const uint8_t all[] = {RL_OP_MAP(RL_OP_TELLS)};
#undef RL_OP_TELLS
	return all[operation];
}

struct rl_policy;

/* The caller's settings. Constant for the life of a handle. */
struct rl_rules {
	unsigned node_count;
	unsigned quorum;
	const struct rl_policy *policy; /* its kind: a row of kinds.h */
	uint32_t drift_ppm;
	uint32_t slots; /* how many there are; 0: it is not one of several */
	uint64_t ttl_ns;
	uint64_t node_timeout_ns;
	uint64_t drift_base_ns;
	uint64_t min_validity_ns;
	uint64_t wait_ns;
	uint64_t noquorum_wait_ns;
	uint64_t quarantine_wait_ns; /* beyond both of these, for nodes in quarantine */
	uint64_t retry_min_ns;
	uint64_t retry_max_ns;
	uint64_t renew_ns;    /* 0: never */
	uint64_t danger_ns;   /* 0: no notice */
	uint64_t max_hold_ns; /* 0: no cap */
	uint64_t sticky_ns;   /* for so long after a grant a released lock is kept; 0: never */
	uint64_t
	    max_extends;  /* 0: no cap; as wide as the others: no padding, and rules can be compared as bytes */
	uint64_t follows; /* 1: nobody asked for the TTL, which becomes the longest that the node set permits */
};

enum rl_phase {
	RL_IDLE,      /* nothing claimed */
	RL_ACQUIRING, /* an attempt is out */
	RL_PAUSED,    /* between two attempts */
	RL_HELD,      /* granted, and the clock has not reached valid_until_ns */
	RL_LOST,      /* was held; terminal until released */
	RL_RELEASING, /* a release is out */
	RL_KEPT,      /* its caller has released it, and the client keeps it for its next acquire: keep.h */
	RL_LOOKING,   /* an attempt was refused, and the nodes are asked by whom */
	RL_INSISTING, /* its votes are split, and some are asked for again */
	RL_WATCHING,  /* between two looks */
	RL_RAISING    /* a quorum has granted, with different numbers: the lower ones are raised */
};

/* Whether an extend also makes a lock exclusive, or shared again. */
enum rl_turn { RL_TURN_NONE, RL_TURN_UP, RL_TURN_DOWN };

/* Numbers of calls: an old message for a place is told from a new one. */
#define RL_CALLS 4096u

/* Which nodes an attempt asks: enter.h. */
enum rl_stage { RL_STAGE_ALL, RL_STAGE_GATE, RL_STAGE_CLAIM };

/* The owner of the key that a node has under the name. Keys of others: RL_KEY_OTHERS + a number below
 * REDLOCK_MAX_NODES that is the same for keys that cannot be told apart. */
enum rl_whose { RL_KEY_UNKNOWN, RL_KEY_NONE, RL_KEY_OURS, RL_KEY_OTHERS };

/* The last look that an attempt had at the keys. */
struct rl_look {
	uint32_t seq;
	uint32_t out;    /* bit per node: no answer yet */
	uint32_t before; /* bit per node: its value comes before our token */
	uint8_t place;   /* of the first node that had a key, in the order that contenders share */
	uint8_t pauses;  /* so often the pause before the next one has grown */
};

/* One operation asked of all nodes. It stays, closed, after its decision, so that late votes are recorded. An
 * acquire whose votes are split stays open, with the deadline of each stage in turn. */
struct rl_round {
	uint32_t seq;
	uint8_t operation; /* enum redlock_operation */
	uint8_t ask;       /* how it is asked and weighed: a row of the policy */
	bool open;
	bool background;                       /* a renewal: nobody waits for its result */
	uint8_t turn;                          /* enum rl_turn */
	uint8_t votes[REDLOCK_KIND_FATAL + 1]; /* how many there are, by kind */
	uint8_t generation;                    /* of the node set's configuration that they go by; 0: none yet */
	bool asked_ttl;                        /* the TTL is one that the caller of an extend asked for */
	uint64_t t0_ns;                        /* before the first byte was sent */
	uint64_t leapt_ns;                     /* since then so much more time has passed than its clock shows */
	uint64_t deadline_ns;
	uint64_t ttl_ns;
};

/* One node's vote in the round, and whose key it had at the last look. Of an upgrade: NONE, if the node said
 * that our token is not in the key. */
struct rl_ballot {
	uint64_t rtt_ns : 48; /* three days at most */
	uint8_t code;         /* enum redlock_vote_code */
	uint8_t whose;        /* enum rl_whose */
};

/* Numbers that only nodes of a guarded set report, or nodes of a lock with slots. */
struct rl_numbers {
	uint64_t fence;         /* the number of the lock, also while it is raised; 0: it has none */
	uint64_t quarantine_ns; /* when the quarantine that is waited for is over; 0: none is */
	uint64_t patience_ns;   /* what is left of quarantine_wait_ns in this acquire */
	uint64_t of[]; /* each node: with its yes to our token, the number, or the slot plus 1; in quarantine:
	                * when that is over */
};

/* The claim of the current token: what the nodes may have of it. */
struct rl_claim {
	uint32_t seq;        /* of the attempt that the token was sent with */
	uint32_t asked;      /* bit per node: the token was sent to it */
	uint32_t owed;       /* bit per node: the token's key may exist there */
	uint32_t refused;    /* bit per node: it said no to the token */
	uint32_t unanswered; /* bit per node: it has not answered the last request for the token */
	bool open;           /* an attempt is out and was not given back: its votes count */
	uint8_t slot;        /* the one that was granted last, from 0 on */
	uint8_t first;       /* the slot that nodes are to try first */
};

/* The queue of the waiters, as the lock sees it: its gate, our place there, and what has been heard of it
 * (queue.h, enter.h). An acquire that never waits only forgets what the last one knew. */
struct rl_queue {
	uint64_t changed_ns; /* when something was last seen to change for the waiters */
	uint64_t free_at_ns; /* when the key at the gate expires, as far as is known */
	uint64_t offered_ns; /* since when our token may be handed the lock; 0: it may not */
	uint32_t heard;      /* bit per node: it may give our token its key, which was on offer */
	uint32_t looked_ms;  /* when all nodes were last asked, modulo 2^32 */
	uint32_t passed_ms;  /* when a gate was last passed over, modulo 2^32 */
	uint32_t taken_ms;   /* when the key was last seen to end later than before, modulo 2^32 */
	uint16_t place;      /* at the gate; 1: the first, 0: unknown */
	uint16_t call;       /* number of the acquire, modulo RL_CALLS: a place is that of one call */
	uint8_t turn;        /* of the order of nodes, by the name: where it begins */
	uint8_t passed;      /* so many of them were silent, and do not count as the gate */
	uint8_t gate;        /* node */
	uint8_t obstacle; /* of several names: the one that somebody else has, 1: the first; 0: none is known */
	uint8_t line; /* the same: the one that it waits for in a queue, 0: the first; `turn` is that name's */
	enum rl_stage stage : 2;
	unsigned vain : 2;       /* so often in a row a gate was won in vain */
	bool beside : 1;         /* nodes other than the gate may have our place in their queues, too */
	bool contended : 1;      /* others want the lock */
	bool placed : 1;         /* the gate may have our place in its queue */
	bool polls : 1;          /* no message of the gate is heard: the place is kept by asking */
	bool woken : 1;          /* it has said that it is our turn */
	bool back : 1;           /* we have come back to a gate that we had passed over */
	bool behind_readers : 1; /* the key that kept us out is shared */
	bool handed : 1;         /* the attempt was begun by a message that the lock is handed over */
	bool kept_out : 1;       /* a shared lock: a node has said that somebody waits who goes first */
};

struct rl_lock {
	const struct rl_rules *rules; /* lent by the caller, as are votes and findings */
	const struct rl_policy
	    *policy;             /* that of the rules; of a shared lock that was upgraded, what it is alone */
	struct rl_ballot *votes; /* of `round`, one for each node */
	struct rl_ballot *caller_votes;   /* the same: of the caller's last operation, while `round` is a renewal;
	                                   * NULL: no memory for them */
	struct redlock_finding *findings; /* the same; NULL: no memory for them */
	struct rl_numbers *numbers;       /* the same; NULL: the nodes are not guarded, and there are no slots */
	struct rl_round round;
	struct rl_look look;
	struct rl_claim claim;
	struct rl_queue queue;
	uint64_t wait_until_ns;  /* end of the acquire call */
	uint64_t valid_until_ns; /* 0: not held */
	uint64_t renew_at_ns;    /* UINT64_MAX: no renewal due */

	/* A lock either is waited for or is held: its times share memory, because a process may have a hundred
	 * thousand locks. A grant reads the times of the wait before it writes those of the hold. */
	union {
		/* Until the grant. */
		struct {
			uint64_t quorum_until_ns; /* end of patience without a quorum; 0: the last attempt had one */
			uint64_t retry_at_ns;     /* PAUSED: until then */
			uint64_t began_ns;        /* when the acquire call began */
			uint64_t trip_ns;         /* how long the last attempt took */
		} wait;
		/* From the grant on. */
		struct {
			uint64_t sticky_until_ns;   /* HELD, KEPT: a release after this is one at the nodes */
			union {                     /* a kept lock is not passed on */
				uint64_t pass_until_ns; /* HELD: so long the claim may be passed on within the client */
				uint64_t keep_until_ns; /* KEPT: then the nodes get it back */
			};
			uint64_t hold_until_ns; /* HELD: the cap of max_hold_ns as a point in time; LOST: when the
			                           validity ended */
			uint64_t held_ns;       /* HELD, LOST: since when it has held the lock */
		} hold;
	};
	uint32_t last_seq; /* of the operations that were sent */
	uint32_t extends;  /* since the grant */

	/* A process may have a hundred thousand of these: what is small shares a word. */
	enum rl_phase phase : 4;
	enum redlock_operation waiting : 4; /* a query or probe: it begins after the renewal that is out */
	unsigned passes : 9;                /* so often the claim was passed on */
	bool warned : 1;                    /* the notice of danger was given for this validity */
	int8_t verdict;                     /* of the last attempt that had its full time; 0: none yet */
};

enum rl_event_kind {
	RL_EV_ACQUIRE,
	RL_EV_EXTEND,
	RL_EV_RELEASE,
	RL_EV_QUERY,
	RL_EV_TURN,
	RL_EV_CANCEL,
	RL_EV_REPLY,
	RL_EV_TICK,
	RL_EV_WAKE,
	RL_EV_HAND,
	RL_EV_LEAP,
	RL_EV_PASS,
	RL_EV_RECALL, /* a waiter elsewhere wants what is held or kept, or can no longer ask for it */
	RL_EV_LATE,   /* the caller learns of its grant after the validity: the acquire fails */
	RL_EV_GUARDED,
	RL_EV_SHORTER /* a node refuses the TTL of the round; that of the rules is shorter. Is REDLOCK_E_STATE if
	               * the node is not asked any more */
};

/*
 * One event of a lock. The client fills in `around` for each event. The fields of the other groups belong to
 * the kinds of event that their comments name, and are 0 in the others.
 */
struct rl_event {
	enum rl_event_kind kind;
	unsigned node; /* REPLY, SHORTER, WAKE, HAND */
	uint64_t now_ns;
	uint64_t leap_ns;      /* LEAP: so much more time has passed than the clock shows */
	uint64_t permitted_ns; /* GUARDED: the longest TTL that the node set permits */

	/* The client and its node set at this moment. */
	struct {
		uint32_t hears;       /* bit per node: a message of that node about our turn would arrive */
		bool ordered;         /* each node that works has said who it is, so all clients have this order */
		uint64_t entropy;     /* any random bits: each draw is by these */
		uint64_t behind_ns;   /* until then another handle of this client is first for the lock; 0: none is */
		uint64_t heir_ns;     /* when this client last heard who comes next; 0: it has not */
		const uint8_t *order; /* the nodes in the order that all contenders share; NULL: as numbered */
		struct rl_slice token; /* the token of this handle: the one that was signed last */
	} around;

	/* The request of the caller. */
	struct {
		uint64_t ttl_ns; /* EXTEND; 0: as acquired */
		int result;      /* CANCEL: what the cancelled operation returns */
		bool probe;      /* QUERY: whether the nodes would take the lock, not what they have */
		bool up;         /* TURN: from shared to exclusive; else back */
		bool passes;     /* RELEASE: another handle of this client may get it */
		bool keeps;      /* RELEASE: the client may keep it: nobody waits for it, and who will is heard */
	} asked;

	/* The answer of a node. A message that hands the lock over (HAND) counts as a vote, too. */
	struct {
		struct rl_vote vote; /* REPLY; not PENDING. HAND: for which token, and how many wait if it is known */
		uint32_t seq;        /* REPLY, SHORTER: of the operation that is answered */
		unsigned operation;  /* REPLY: what the node was asked, RL_OP_ */
		uint32_t twins;      /* REPLY, HAND: bit per node that is, or was in this round, the same server */
		uint8_t generation;  /* REPLY: of the node set's configuration of a yes; 0: no guard */
		bool identified;     /* REPLY: each node has said who it is */
		bool more;           /* REPLY: others of the same moment follow; the last one decides */
	} reply;

	/* A message for a waiter, or for a holder while others wait. */
	struct {
		uint64_t offered_ns; /* HAND: the number of the offer that was taken */
		uint16_t call;       /* WAKE, HAND: the call whose place it was */
		bool deaf;           /* WAKE: no turn; nothing is heard of the node any more. RECALL: nobody waits */
		bool front;          /* WAKE: no turn; no handle of the client is before this one any more */
		bool gone;           /* WAKE: no turn; the key that the node had is gone */
	} message;
};

/* The effects of a step: the client sends the request, and reports what has ended. */
struct rl_effects {
	/* The request to the nodes. */
	struct {
		unsigned operation; /* RL_OP_; NONE: nothing is sent */
		uint32_t nodes;     /* bit per node that it goes to */
		uint32_t enter;     /* of those: by its queue (ENTER) */
		uint32_t seq;       /* 0: nobody waits for the answers */
		uint64_t ttl_ns;    /* of an acquire or extend */
		uint32_t owed;      /* of a release: bit per node where the key may exist. With the caller's own
		                     * value, of a release that nobody waits for: where it does */
		bool sign;          /* before it is sent: make a fresh token */
		bool draws;         /* a yes has a fencing number */
		bool again;         /* the round that was sent before, and its token */
		bool keeps;         /* SLOT_RELEASE: all slots of the token but the one that is held */
	} send;

	/* The part of that request that is for the queue: our place there, and our offer. */
	struct {
		uint64_t offered_ns; /* of `enter`: the number of our offer, or RL_QUEUE_POLLS; 0: no offer */
		uint16_t call;       /* the call whose place is taken or given up */
		bool stands;         /* `enter` takes a place, or keeps it, at the gate */
		bool beside;         /* `enter` does so at the other nodes, too */
		bool quits;          /* our place is given up */
		bool tidies;         /* nothing but our place is given up: the token is not released */
		bool bars;           /* LEAVE: the token may not be handed over any more */
		bool quiet;          /* nobody is woken, as this client goes on */
	} queue;

	/* The operation of the caller that has ended. */
	struct {
		enum redlock_operation operation; /* NONE: nothing ended */
		int result;
		uint64_t began_ns; /* of an acquire: when it began; 0: by a pass */
	} done;

	uint32_t observed; /* RL_OBSERVE_ and RL_COUNT_ bits */
	bool declines;     /* HAND: what was handed over is not wanted, and has to be released */
	bool twin; /* the node of this REPLY took the token under another name: it is another one of the nodes */
};

/* Whether the keys of a granted claim are counted on: for the nodes it is held. */
static inline bool rl_state_holds(const struct rl_lock *lock)
{
	return lock->phase == RL_HELD || lock->phase == RL_KEPT;
}

/* Whether an attempt is out, or one is paused for. */
static inline bool rl_state_acquires(const struct rl_lock *lock)
{
	return lock->phase == RL_ACQUIRING || lock->phase == RL_PAUSED || lock->phase >= RL_LOOKING;
}

/* Whether an operation that somebody waits for is under way. */
static inline bool rl_state_is_busy(const struct rl_lock *lock)
{
	return rl_state_acquires(lock) || lock->waiting != REDLOCK_OP_NONE ||
	       (lock->round.open && !lock->round.background);
}

#endif
