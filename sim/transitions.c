/* SPDX-License-Identifier: MIT */
/* The table of the core's transitions. */
#include "transitions.h"

#include <inttypes.h>
#include <stdio.h>

#define BIT(phase) (1u << (phase))
#define IDLE BIT(RL_IDLE)
#define ACQUIRING BIT(RL_ACQUIRING)
#define PAUSED BIT(RL_PAUSED)
#define HELD BIT(RL_HELD)
#define LOST BIT(RL_LOST)
#define RELEASING BIT(RL_RELEASING)
#define LOOKING BIT(RL_LOOKING)
#define INSISTING BIT(RL_INSISTING)
#define WATCHING BIT(RL_WATCHING)
#define RAISING BIT(RL_RAISING)
#define KEPT BIT(RL_KEPT)

/* For each phase and event: the phases that may follow, and why the others cannot. Other combinations are
 * refused, as there is one operation at a time: the phase stays. */
static const struct row {
	unsigned after;
	const char *never;
} table[SIM_PHASES][SIM_EVENTS] = {
    [RL_IDLE] =
        {
            [RL_EV_ACQUIRE] = {IDLE | ACQUIRING | PAUSED,
                               "idle: refused while a query runs; else the first attempt begins, or a "
                               "pause where others wait, and no vote has come yet"},
            [RL_EV_EXTEND] = {IDLE, "with an own token the claim begins when the votes are in"},
            [RL_EV_RELEASE] = {IDLE | RELEASING, "idle: refused without an own token"},
            [RL_EV_QUERY] = {IDLE, "a query changes nothing"},
            [RL_EV_CANCEL] = {IDLE, "a query or extend ends, nothing was held"},
            [RL_EV_REPLY] = {IDLE | HELD,
                             "held: an extend with an own token is confirmed; no attempt is out"},
            [RL_EV_TICK] = {IDLE,
                            "at the end of a round there is no vote that grants; votes grant when they come"},
        },
    [RL_ACQUIRING] =
        {
            [RL_EV_CANCEL] = {IDLE, "cancelling always ends the acquire"},
            [RL_EV_REPLY] = {IDLE | ACQUIRING | PAUSED | HELD | LOOKING | WATCHING | RAISING,
                             "nothing is lost or released that was not held; who leads is seen by a look, "
                             "and nobody does among slots"},
            [RL_EV_TICK] = {IDLE | ACQUIRING | PAUSED | HELD | LOOKING | WATCHING,
                            "the end of a round decides it or asks some again, and a further attempt needs "
                            "a pause; held: a shared one, the gate is not waited for any longer"},
            [RL_EV_WAKE] = {ACQUIRING, "what is out is waited for"},
            [RL_EV_HAND] = {ACQUIRING | HELD, "a vote; or what was handed over is not wanted"},
            [RL_EV_PASS] = {IDLE, "its caller has the lock from another handle"},
        },
    [RL_PAUSED] =
        {
            [RL_EV_CANCEL] = {IDLE, "cancelling always ends the acquire"},
            [RL_EV_REPLY] = {PAUSED, "votes of an attempt that is over decide nothing"},
            [RL_EV_TICK] = {IDLE | ACQUIRING | PAUSED,
                            "the pause is over: another attempt, or no time is left for one, or it is "
                            "another handle's turn first"},
            [RL_EV_WAKE] = {IDLE | ACQUIRING | PAUSED,
                            "our turn: an attempt, or no time is left for one; paused: it is not our gate"},
            [RL_EV_HAND] = {ACQUIRING | PAUSED | HELD,
                            "a vote, which one node's may be enough; paused: it is not wanted"},
            [RL_EV_PASS] = {IDLE, "its caller has the lock from another handle"},
        },
    [RL_HELD] =
        {
            [RL_EV_ACQUIRE] = {HELD | LOST, "refused; lost: the validity has ended unnoticed"},
            [RL_EV_EXTEND] = {HELD | LOST, "begins a round; lost: the validity has ended unnoticed"},
            [RL_EV_RELEASE] = {HELD | RELEASING | KEPT,
                               "held: refused while an operation runs; else begins a round, also "
                               "when the validity has ended, or the client keeps it"},
            [RL_EV_QUERY] = {HELD | LOST, "begins a round; lost: the validity has ended unnoticed"},
            [RL_EV_TURN] = {HELD | LOST, "begins a round; lost: the validity has ended unnoticed"},
            [RL_EV_CANCEL] = {HELD | LOST,
                              "ends an extend or query, not the lock; lost: the validity has ended"},
            [RL_EV_REPLY] = {HELD | LOST, "votes confirm or lose what is held, they do not end the claim"},
            [RL_EV_TICK] = {HELD | LOST, "time renews or loses what is held, it does not end the claim"},
            [RL_EV_WAKE] = {HELD | LOST, "a turn that nobody needs; lost: the validity has ended unnoticed"},
            [RL_EV_HAND] = {HELD | LOST, "a late vote; lost: the validity has ended unnoticed"},
            [RL_EV_LEAP] = {HELD | LOST, "validity ends sooner, or has ended"},
            [RL_EV_PASS] = {HELD, "it has a new caller"},
            [RL_EV_RECALL] = {HELD, "its release will be one at the nodes"},
            [RL_EV_LATE] = {IDLE, "the validity has ended unnoticed"},
        },
    [RL_LOST] =
        {
            [RL_EV_ACQUIRE] = {LOST, "refused: release first"},
            [RL_EV_EXTEND] = {LOST, "a lost lock stays lost"},
            [RL_EV_RELEASE] = {LOST | RELEASING, "lost: refused while an operation runs"},
            [RL_EV_QUERY] = {LOST, "a query changes nothing"},
            [RL_EV_CANCEL] = {LOST, "a lost lock stays lost"},
            [RL_EV_REPLY] = {LOST, "a lost lock stays lost, whatever votes come late"},
            [RL_EV_TICK] = {LOST, "a lost lock stays lost"},
            [RL_EV_LATE] = {IDLE, "its caller has never held it"},
        },
    [RL_RELEASING] =
        {
            [RL_EV_CANCEL] = {RELEASING, "a release is not cancelled"},
            [RL_EV_REPLY] = {IDLE | RELEASING, "a release ends in idle"},
            [RL_EV_TICK] = {IDLE, "the end of the round decides it"},
        },
    [RL_KEPT] =
        {
            [RL_EV_ACQUIRE] = {HELD, "what cannot be entered is given back before"},
            [RL_EV_CANCEL] = {IDLE, "its caller has released it"},
            [RL_EV_REPLY] = {KEPT, "votes that come late change nothing"},
            [RL_EV_TICK] = {IDLE, "nobody has used it for a while"},
            [RL_EV_LEAP] = {IDLE, "nobody relies on it"},
            [RL_EV_PASS] = {HELD, "another handle of the client has acquired it"},
            [RL_EV_RECALL] = {IDLE, "the nodes have it back"},
        },
    [RL_LOOKING] =
        {
            [RL_EV_CANCEL] = {IDLE, "cancelling always ends the acquire"},
            [RL_EV_REPLY] = {IDLE | ACQUIRING | HELD | LOOKING | INSISTING | WATCHING,
                             "nothing is lost or released that was not held"},
            [RL_EV_TICK] = {IDLE | ACQUIRING | INSISTING | WATCHING,
                            "its time is over; votes grant when they come"},
        },
    [RL_INSISTING] =
        {
            [RL_EV_CANCEL] = {IDLE, "cancelling always ends the acquire"},
            [RL_EV_REPLY] = {IDLE | HELD | INSISTING | WATCHING, "who leads insists again only after a look"},
            [RL_EV_TICK] = {IDLE | WATCHING, "its time is over; votes grant when they come"},
        },
    [RL_WATCHING] =
        {
            [RL_EV_CANCEL] = {IDLE, "cancelling always ends the acquire"},
            [RL_EV_REPLY] = {WATCHING, "only the clock goes on, but for a late vote that grants"},
            [RL_EV_TICK] = {IDLE | ACQUIRING | LOOKING, "the pause is over, or the bound is reached"},
        },
    [RL_RAISING] =
        {
            [RL_EV_CANCEL] = {IDLE, "cancelling always ends the acquire"},
            [RL_EV_REPLY] = {IDLE | PAUSED | HELD | RAISING,
                             "the number is confirmed or cannot be; what is tried again begins anew"},
            [RL_EV_TICK] = {IDLE | PAUSED, "its time is over; votes grant when they come"},
        },
};

static const char *const phases[SIM_PHASES] = {
    [RL_IDLE] = "idle",       [RL_ACQUIRING] = "acquiring", [RL_PAUSED] = "paused",
    [RL_HELD] = "held",       [RL_LOST] = "lost",           [RL_RELEASING] = "releasing",
    [RL_LOOKING] = "looking", [RL_INSISTING] = "insisting", [RL_WATCHING] = "watching",
    [RL_RAISING] = "raising", [RL_KEPT] = "kept",
};

static const char *const events[SIM_EVENTS] = {
    [RL_EV_ACQUIRE] = "acquire", [RL_EV_EXTEND] = "extend", [RL_EV_RELEASE] = "release",
    [RL_EV_QUERY] = "query",     [RL_EV_CANCEL] = "cancel", [RL_EV_REPLY] = "reply",
    [RL_EV_TICK] = "tick",       [RL_EV_WAKE] = "wake",     [RL_EV_HAND] = "hand",
    [RL_EV_LEAP] = "clock",      [RL_EV_PASS] = "pass",     [RL_EV_TURN] = "turn",
    [RL_EV_LATE] = "late",       [RL_EV_RECALL] = "recall",
};

/* Possible, but too seldom to be waited for: a release that is refused, because an extend runs, in the very
 * step that notices that the validity has ended; and split votes that are decided by one that comes between
 * two looks; and a message for an acquire that did not wait, while the votes of another one are split; and
 * one of a hand-over that comes when the validity that it is a part of has ended, before the clock was looked
 * at; and numbers that differ when split votes are decided, or that others of the handle's calls find while
 * they are raised; and a number that cannot be raised by an acquire that has no time to try again. And a
 * shared lock is turned only by who holds it. And only a caller with a grant is late, whose loop has most
 * often noticed the loss before. And a lock is passed on only to who waits, by who holds it. And only a lock
 * that is held or kept is asked for, and of one that is kept nothing else is asked. */
static bool seldom(enum rl_phase before, enum rl_event_kind event, enum rl_phase after)
{
	return (event == RL_EV_RECALL && after == before && before != RL_HELD) ||
	       (before == RL_KEPT && after == before && event != RL_EV_REPLY) ||
	       (event == RL_EV_LATE && (before == RL_HELD || after == before)) ||
	       (event == RL_EV_PASS && after == before && before != RL_HELD) ||
	       (event == RL_EV_TURN && after == before && before != RL_HELD) ||
	       (before == RL_HELD && event == RL_EV_RELEASE && after == RL_LOST) ||
	       (before == RL_WATCHING && event == RL_EV_REPLY && after == RL_HELD) ||
	       (before == RL_HELD && event >= RL_EV_WAKE && after == RL_LOST) ||
	       (before == RL_LOST && event == RL_EV_HAND && after == RL_LOST) ||
	       (before >= RL_LOOKING && event >= RL_EV_WAKE && after == before) ||
	       (before >= RL_LOOKING && event == RL_EV_REPLY && after == RL_RAISING) ||
	       (before == RL_RAISING && (after == RL_IDLE || (event != RL_EV_REPLY && after == RL_RAISING)));
}

static struct row row_of(int before, int event)
{
	struct row refused = {BIT(before), event == RL_EV_LEAP ? "it ends nobody's patience"
	                                                       : "refused: one operation at a time"};
	return table[before][event].after != 0 ? table[before][event] : refused;
}

bool transition_expected(enum rl_phase before, enum rl_event_kind event, enum rl_phase after)
{
	return (row_of((int)before, (int)event).after & BIT(after)) != 0 || seldom(before, event, after);
}

void transitions_print(const struct transitions *t)
{
	for (int before = 0; before < SIM_PHASES; before++)
		for (int event = 0; event < SIM_EVENTS; event++) {
			printf("  %-9s  %-7s ", phases[before], events[event]);
			for (int after = 0; after < SIM_PHASES; after++)
				if (t->seen[before][event][after] != 0 ||
				    transition_expected((enum rl_phase)before, (enum rl_event_kind)event,
				                        (enum rl_phase)after))
					printf(" -> %s %" PRIu64, phases[after], t->seen[before][event][after]);
			printf("   (%s)\n", row_of(before, event).never);
		}
}

int transitions_missing(const struct transitions *t)
{
	int missing = 0;
	for (int before = 0; before < SIM_PHASES; before++)
		for (int event = 0; event < SIM_EVENTS; event++)
			for (int after = 0; after < SIM_PHASES; after++) {
				if ((row_of(before, event).after & BIT(after)) == 0 || t->seen[before][event][after] != 0 ||
				    seldom((enum rl_phase)before, (enum rl_event_kind)event, (enum rl_phase)after))
					continue;
				printf("never happened: the core's transition %s, %s -> %s\n", phases[before], events[event],
				       phases[after]);
				missing++;
			}
	return missing;
}
