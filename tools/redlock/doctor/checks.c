/* SPDX-License-Identifier: MIT */
/*
 * The table of checks. A row says what has to be seen, how bad it is, what is wrong and what to do; in both
 * texts a % stands for what the row's function has found. A further check is a row, and the function that
 * looks.
 */
#include "../outcome.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

static const struct node_report *vote_of(const struct doctor *doctor, const struct doctor_node *node)
{
	return &doctor->report.node[index_of(doctor, node)];
}

/* ---- votes, and who the servers are ---- */

LOOK(vote)
{
	UNUSED;
	const struct node_report *v = vote_of(doctor, node);
	size_t length = strlen(v->detail);
	FIND("%.*s", (int)(length - (length > 0 && v->detail[length - 1] == '.')), v->detail);
	found->advice =
	    report_is_protected(v) ? outcome_protected.hint : outcome_of(REDLOCK_E_NOQUORUM, &v->vote, 1).hint;
	enum redlock_vote_code code = v->vote.code;
	bool has_own_row =
	    code == REDLOCK_VOTE_DUPLICATE || code == REDLOCK_VOTE_QUARANTINE || code == REDLOCK_VOTE_LONG_TTL;
	return !report_is_definite(v) && !has_own_row;
}

LOOK(is_silent)
{
	UNUSED;
	FIND("%s", node->why_not[DOCTOR_TIME]);
	return !node->answered && report_is_definite(vote_of(doctor, node));
}

LOOK(is_same_server)
{
	UNUSED;
	char own[64] = "", other[64];
	size_t used = 0;
	if (!doctor_info(node, "run_id", own, sizeof own))
		own[0] = '\0';
	for (unsigned i = 0; i < doctor->nodes && used < sizeof found->detail; i++)
		if (&doctor->node[i] != node && own[0] &&
		    doctor_info(&doctor->node[i], "run_id", other, sizeof other) && strcmp(own, other) == 0)
			used += (size_t)snprintf(found->detail + used, sizeof found->detail - used, "%snode %u %s",
			                         used > 0 ? ", " : "", i + 1, doctor->report.node[i].status.address);
	if (used == 0)
		FIND("another node");
	return used > 0 || vote_of(doctor, node)->vote.code == REDLOCK_VOTE_DUPLICATE;
}

/* ---- fields of INFO ---- */

LOOK(is_replica)
{
	UNUSED;
	char role[16] = "", host[256] = "", port[16] = "";
	(void)doctor_info(node, "role", role, sizeof role);
	(void)doctor_info(node, "master_host", host, sizeof host);
	(void)doctor_info(node, "master_port", port, sizeof port);
	FIND("%s:%s", host, port);
	return strcmp(role, "slave") == 0 && !doctor_is_cluster(node);
}

/* A failover by Sentinels is no accident: the guard keeps the promoted replica from voting too early. */
static bool is_guarded_master(const struct doctor *doctor, const struct doctor_node *node,
                              struct found *found)
{
	if (node->url.master[0] == '\0')
		return false;
	found->advice =
	    "let the nodes be a guarded set (`redlock init`): a replica that takes over is then in quarantine "
	    "before it votes";
	return doctor_guard_latest(doctor) != NULL;
}

LOOK(has_replicas)
{
	UNUSED;
	int64_t count = doctor_info_number(node, "connected_slaves");
	FIND("%lld replica%s", (long long)count, count == 1 ? "" : "s");
	return count > 0 && !doctor_is_cluster(node) && !is_guarded_master(doctor, node, found);
}

/* The second id of its history is that of the master whose it was. */
LOOK(was_replica)
{
	UNUSED;
	char id[64] = "", role[16] = "";
	(void)doctor_info(node, "role", role, sizeof role);
	/* In a guarded set the quarantine is the wait: a process that was admitted has forgotten nothing since.
	 */
	bool is_admitted =
	    doctor->record[index_of(doctor, node)].state == GUARD_ADMITTED_ && doctor->guard.applies;
	return doctor_info(node, "master_replid2", id, sizeof id) && id[strspn(id, "0")] != '\0' &&
	       strcmp(role, "master") == 0 && !doctor_is_cluster(node) && !is_admitted &&
	       !is_guarded_master(doctor, node, found);
}

LOOK(evicts)
{
	UNUSED;
	char policy[32] = "";
	(void)doctor_info(node, "maxmemory_policy", policy, sizeof policy);
	FIND("%s", policy);
	return doctor_info_number(node, "maxmemory") > 0 && strcmp(policy, "noeviction") != 0;
}

LOOK(has_evicted)
{
	UNUSED;
	int64_t count = doctor_info_number(node, "evicted_keys");
	FIND("%lld", (long long)count);
	return count > 0;
}

LOOK(fails_to_write)
{
	UNUSED;
	static const char *const fields[] = {"aof_last_write_status", "aof_last_bgrewrite_status",
	                                     "rdb_last_bgsave_status"};
	char text[32];
	for (unsigned f = 0; f < sizeof fields / sizeof fields[0]; f++)
		if (doctor_info(node, fields[f], text, sizeof text) && strcmp(text, "ok") != 0) {
			FIND("%s is %s", fields[f], text);
			return true;
		}
	return false;
}

LOOK(keeps)
{
	UNUSED;
	return doctor_persistence(node) == (enum doctor_persistence)check->argument;
}

LOOK(writes_no_log)
{
	UNUSED;
	return !node->sees[DOCTOR_CONFIG] && doctor_info_number(node, "aof_enabled") == 0;
}

LOOK(has_version)
{
	UNUSED;
	char text[512], version[80];
	(void)doctor_defects(node, check->argument != 0, text, sizeof text);
	FIND("%s %s", doctor_version(node, version, sizeof version), text);
	return text[0] != '\0';
}

LOOK(tells_events)
{
	UNUSED;
	FIND("%s", node->settings[DOCTOR_EVENTS]);
	return found->detail[0] != '\0';
}

/* ---- clocks and answers ---- */

LOOK(clock_stands)
{
	UNUSED;
	char text[64];
	return (node->sees[DOCTOR_TIME] && doctor_clock_stands(node)) ||
	       (doctor_info(node, "monotonic_clock", text, sizeof text) && strstr(text, "@ inf ") != NULL);
}

LOOK(clock_runs_off)
{
	UNUSED;
	uint64_t elapsed_ns;
	int64_t gain_ns = doctor_clock_gain_ns(node, &elapsed_ns);
	FIND("%s %.1f ms in %.0f ms", gain_ns < 0 ? "lost" : "gained", (double)llabs(gain_ns) / 1e6,
	     (double)elapsed_ns / 1e6);
	return (double)llabs(gain_ns) > (double)elapsed_ns * doctor->allowed_rate && !doctor_clock_stands(node);
}

LOOK(is_slow)
{
	UNUSED;
	double rtt_ms = (double)node->clock.rtt_ns / 1e6;
	FIND("%.1f ms, of a node timeout of %llu ms", rtt_ms,
	     (unsigned long long)doctor->session->node_timeout_ms);
	return rtt_ms * 2 > (double)doctor->session->node_timeout_ms;
}

/* ---- rights and keys ---- */

LOOK(lacks)
{
	UNUSED;
	return doctor_rights(doctor, node, (enum doctor_group)check->argument, found->detail,
	                     sizeof found->detail)[0] != '\0';
}

/* Scripts, or what takes their place: with both lacking, or one. */
LOOK(lacks_scripts)
{
	UNUSED;
	char steps[128];
	(void)doctor_rights(doctor, node, DOCTOR_STEPS, steps, sizeof steps);
	(void)doctor_rights(doctor, node, DOCTOR_SCRIPTS, found->detail, sizeof found->detail);
	return found->detail[0] != '\0' && (steps[0] != '\0') == (check->argument != 0);
}

/* The queue is made of scripts. */
LOOK(lacks_queue)
{
	char scripts[64];
	return doctor_rights(doctor, node, DOCTOR_SCRIPTS, scripts, sizeof scripts)[0] == '\0' &&
	       lacks(doctor, node, check, found);
}

LOOK(was_cut_short)
{
	UNUSED;
	FIND("%llu", (unsigned long long)node->keys.seen);
	return !node->keys.whole;
}

/* ---- where the servers are ---- */

LOOK(is_plain)
{
	UNUSED;
	return !node->local && !node->url.tls;
}

LOOK(is_hidden)
{
	UNUSED;
	const struct redlock_vote *v = &vote_of(doctor, node)->vote;
	FIND("%s", node->why_not[check->argument]);
	bool is_explained = v->code == REDLOCK_VOTE_AUTH || v->code == REDLOCK_VOTE_SERVICE;
	bool is_elsewhere =
	    check->argument == DOCTOR_GUARD && doctor_is_cluster(node); /* a cluster has no record */
	return node->answered && !node->sees[check->argument] && !is_explained && !is_elsewhere &&
	       !(check->argument == DOCTOR_GUARD && doctor_may_not_read_record(doctor, node, check, found));
}

LOOK(has_no_quorum)
{
	UNUSED;
	FIND("%u of %u nodes would grant one, %u are needed", doctor->report.answered, doctor->nodes,
	     doctor->report.quorum);
	return doctor->report.answered < doctor->report.quorum;
}

LOOK(is_even)
{
	UNUSED;
	FIND(doctor->nodes == 2 ? "%u nodes tolerate no failure: without either there is no lock, as with %u node"
	                        : "%u nodes tolerate no more failures than %u",
	     doctor->nodes, doctor->nodes - 1);
	return doctor->nodes % 2 == 0;
}

LOOK(is_one)
{
	UNUSED;
	return doctor->nodes == 1;
}

LOOK(is_here)
{
	UNUSED;
	unsigned local = 0;
	for (unsigned i = 0; i < doctor->nodes; i++)
		local += doctor->node[i].local;
	FIND("%u of %u nodes", local, doctor->nodes);
	return local > 1;
}

/* ---- the tables ---- */

#define AFTER_A_CRASH                                                                                        \
	"for locks that must survive that: appendonly yes, appendfsync always, no-appendfsync-on-rewrite no; "   \
	"else keep a node that has crashed down for longer than the longest TTL"
#define GIVE "permit it there: ACL SETUSER USER %; `redlock help acl` has the whole rule"
#define ALL(level) DOCTOR_##level, DOCTOR_##level
#define UNSEEN_ROW(name, right, text)                                                                        \
	{"unseen",                                                                                               \
	 DOCTOR_ALWAYS,                                                                                          \
	 ALL(UNSEEN),                                                                                            \
	 is_hidden,                                                                                              \
	 DOCTOR_##name,                                                                                          \
	 text " is not permitted or fails: %",                                                                   \
	 "to see more, permit " right " there"},

static const struct check node_checks[] = {
    {"vote", DOCTOR_ALWAYS, ALL(ERROR), vote, 0, "%", NULL},
    {"silent", DOCTOR_ALWAYS, ALL(WARNING), is_silent, 0,
     "votes, and does not answer questions on a second connection: %", "look at its maxclients and its load"},
    {"same-server", DOCTOR_ALWAYS, ALL(ERROR), is_same_server, 0, "is the same server as %: it has one vote",
     "list every server once; two databases of one server are one server"},
    {"replica", DOCTOR_INFO, ALL(ERROR), is_replica, 0, "is a replica of %: its votes are not its own",
     "give an independent master in its place"},
    {"replicas", DOCTOR_INFO, ALL(WARNING), has_replicas, 0,
     "has %: locks that a replica was not sent yet are forgotten when it takes over",
     "detach them, or let none take over before the longest TTL is over"},
    {"worth", DOCTOR_INFO, ALL(NOTE), doctor_is_worth, 0, "what becomes of a vote: %", NULL},
    {"few-replicas", DOCTOR_INFO, ALL(ERROR), doctor_has_too_few_replicas, 0,
     "%: it grants nothing, as its URL has ?replicas=", "connect its replicas, or lower ?replicas="},
    {"was-replica", DOCTOR_INFO, ALL(WARNING), was_replica, 0,
     "was a replica, and took over: locks of its master may be missing",
     "wait for the longest TTL before it votes; a restart of an idle node clears the mark"},
    {"cluster", DOCTOR_INFO, ALL(ERROR), doctor_is_in_cluster, 0,
     "is a node of a cluster: it cannot vote on every name",
     "give the cluster as redis+cluster://HOST, or an independent master in its place"},
    {"whole-cluster", DOCTOR_ALWAYS, ALL(NOTE), doctor_is_whole_cluster, 0,
     "is a cluster, %: a vote is that of the shard that has the name, and a replica that takes over may lack "
     "the last locks",
     "use it as one node of three or five"},
    {"shards", DOCTOR_ALWAYS, ALL(ERROR), doctor_lacks_shards, 0, "%: names of these slots have no vote",
     "start the servers that are down, or wait until their replicas take over"},
    {"sentinels", DOCTOR_ALWAYS, ALL(WARNING), doctor_has_odd_sentinels, 0,
     "%: unless most of them do, no replica takes over, and in a guarded set the master has no vote",
     "start those that are down; remove the master at one that names another one, and monitor it anew there"},
    {"service", DOCTOR_INFO, ALL(NOTE), doctor_is_service, 0,
     "is %, on which redlock was not tried: it may lack commands, and a failover may lose locks",
     "docs/managed-services.md says what it lacks; use it as one node of three or five"},
    {"eviction", DOCTOR_INFO, ALL(ERROR), evicts, 0,
     "may evict locks: it has a maxmemory, and its policy is %", "CONFIG SET maxmemory-policy noeviction"},
    {"evicted", DOCTOR_INFO, ALL(WARNING), has_evicted, 0,
     "has evicted % keys since it was started, locks maybe among them",
     "give locks a server of their own, with maxmemory-policy noeviction"},
    {"write-error", DOCTOR_INFO, ALL(WARNING), fails_to_write, 0,
     "could not write its files the last time: %", "look for the cause in its log, and at its disk"},
    {"persistence", DOCTOR_CONFIG, DOCTOR_WARNING, DOCTOR_NOTE, keeps, DOCTOR_KEEPS_NOTHING,
     "keeps nothing on disk: when it restarts, all its locks are free", AFTER_A_CRASH},
    {"persistence", DOCTOR_CONFIG, DOCTOR_WARNING, DOCTOR_NOTE, keeps, DOCTOR_KEEPS_SNAPSHOTS,
     "writes snapshots only: after a crash, all locks since the last one are free", AFTER_A_CRASH},
    {"persistence", DOCTOR_CONFIG, DOCTOR_WARNING, DOCTOR_NOTE, keeps, DOCTOR_KEEPS_UNSYNCED,
     "has appendfsync no: when the machine fails, the locks of half a minute and more are free",
     AFTER_A_CRASH},
    {"persistence", DOCTOR_CONFIG, DOCTOR_WARNING, DOCTOR_NOTE, keeps, DOCTOR_KEEPS_SECOND,
     "has appendfsync everysec: when the machine fails, the locks of up to two seconds are free",
     AFTER_A_CRASH},
    {"persistence", DOCTOR_CONFIG, ALL(WARNING), keeps, DOCTOR_KEEPS_UNLESS_REWRITE,
     "has appendfsync always, but no-appendfsync-on-rewrite yes: during a rewrite or a snapshot it syncs "
     "nothing, and locks of that time are free after the machine fails",
     "CONFIG SET no-appendfsync-on-rewrite no"},
    {"persistence", DOCTOR_INFO, DOCTOR_WARNING, DOCTOR_NOTE, writes_no_log, 0,
     "writes no append-only file: after a crash, locks are free", AFTER_A_CRASH},
    {"clock-stands", DOCTOR_ALWAYS, ALL(ERROR), clock_stands, 0,
     "has a clock that stands still: its keys never expire",
     "restart it, with the clock source hpet or acpi_pm if the machine's TSC is not stable"},
    {"clock-rate", DOCTOR_TIME, ALL(ERROR), clock_runs_off, 0,
     "has a clock that runs too fast or too slow, or was set meanwhile: it %; locks end at other times than "
     "their holders expect",
     "let one NTP client alone adjust it, and by slewing; or raise --drift-ppm"},
    {"clock-offset", DOCTOR_TIME, ALL(WARNING), doctor_clock_is_off, 0,
     "has a clock that is at least %: its locks end early or late when somebody sets it right",
     "let NTP keep the clocks, and set this one while no lock is held"},
    {"latency", DOCTOR_TIME, ALL(WARNING), is_slow, 0, "takes % at best: votes will come too late",
     "use nearer nodes, or a longer --node-timeout, and a TTL to go with it"},
    {"rights", DOCTOR_ALWAYS, ALL(ERROR), lacks, DOCTOR_NEEDED, "the user lacks rights that locks need: %",
     GIVE},
    {"rights", DOCTOR_ALWAYS, ALL(ERROR), lacks, DOCTOR_GUARDS,
     "the user lacks rights that a guarded set needs: %", GIVE},
    {"rights", DOCTOR_ALWAYS, ALL(ERROR), lacks_scripts, 1,
     "the user may run neither scripts nor transactions: locks are neither renewed nor released",
     "permit it there: ACL SETUSER USER %, or +watch +multi +exec +getrange; `redlock help acl` has the "
     "whole rule"},
    {"rights", DOCTOR_ALWAYS, ALL(NOTE), lacks_scripts, 0,
     "the user may run no scripts: releases and renewals take two round trips, and waiters have no queue",
     GIVE},
    {"rights", DOCTOR_ALWAYS, ALL(WARNING), lacks, DOCTOR_OPENING,
     "the user lacks %: after a broken connection a key may stay until its TTL, or one server may have two "
     "votes",
     GIVE},
    {"rights", DOCTOR_ALWAYS, ALL(NOTE), lacks_queue, DOCTOR_QUEUE,
     "the user lacks %: waiters have no queue, and ask again and again", GIVE},
    {"rights", DOCTOR_ALWAYS, ALL(WARNING), lacks_queue, DOCTOR_CHANNEL,
     "the user lacks %: waiters have no queue, and who wants alone what others share may never have it",
     GIVE},
    {"rights", DOCTOR_ALWAYS, ALL(NOTE), lacks_queue, DOCTOR_SHARED,
     "the user lacks %: there are no shared locks", GIVE},
    {"rights", DOCTOR_ALWAYS, ALL(NOTE), lacks_queue, DOCTOR_FENCE,
     "the user lacks %: fencing tokens take two round trips", GIVE},
    {"rights", DOCTOR_ALWAYS, ALL(NOTE), lacks_queue, DOCTOR_TOLD,
     "the user lacks %: waiters are not told when another program deletes a key that they wait for", GIVE},
    {"rights", DOCTOR_ALWAYS, ALL(NOTE), lacks, DOCTOR_LOOK,
     "the user lacks %: less is shown of who holds a lock, or requests are longer", GIVE},
    {"endless", DOCTOR_SCAN, ALL(WARNING), doctor_has_endless, 0,
     "has keys under the prefix without expiry, %: such a lock never ends",
     "see `redlock status NAME`, and delete the key if its holder is gone"},
    {"endless", DOCTOR_SCAN, ALL(NOTE), doctor_has_endless_anywhere, 0,
     "has keys without expiry, %; without --prefix it is not known which of them are locks",
     "give locks a prefix of their own"},
    {"sample", DOCTOR_SCAN, ALL(NOTE), was_cut_short, 0,
     "has more keys than there was time to look at: % were seen",
     "`redlock ls --odd` takes the time for all"},
    {"tls", DOCTOR_ALWAYS, ALL(WARNING), is_plain, 0,
     "does not use TLS: anyone on the network path can read and change what is sent, and the password",
     "use rediss://, or a network that nobody else has access to"},
    {"version", DOCTOR_INFO, ALL(WARNING), has_version, 1, "%", "use a newer server"},
    {"version", DOCTOR_INFO, ALL(NOTE), has_version, 0, "%", "do not permit CLIENT UNBLOCK there"},
    {"keyspace-events", DOCTOR_CONFIG, ALL(NOTE), tells_events, 0,
     "publishes keyspace events (%): any client that subscribes to them sees the name of every lock", NULL},
    {"no-record", DOCTOR_GUARD, ALL(WARNING), doctor_has_no_record, 0,
     "has no record of the guarded set, as other nodes have: it has lost it, or was not there at `redlock "
     "init`",
     "redlock init"},
    {"record", DOCTOR_GUARD, ALL(ERROR), doctor_guards_otherwise, 0, "its record of a guarded set %",
     "redlock init says what to do"},
    {"quarantine", DOCTOR_ALWAYS, ALL(WARNING), doctor_is_in_quarantine, 0,
     "is in quarantine, as it may have forgotten locks: it votes %",
     "wait: it votes again by itself, if a node answers that has the record of the set"},
    {"quarantine-over", DOCTOR_GUARD, ALL(NOTE), doctor_has_guard_state, GUARD_OVER_,
     "its quarantine is over: the next guarded client admits it", NULL},
    {"no-counters", DOCTOR_GUARD, ALL(NOTE), doctor_has_counters, DOCTOR_BROUGHT,
     "knows no fencing numbers: clients bring them", "if it stays so: redlock init --new-epoch"},
    {"no-counters", DOCTOR_GUARD, ALL(WARNING), doctor_has_counters, DOCTOR_UNCOUNTED,
     "knows no fencing numbers: missing or damaged, and nobody brings them", "redlock init --new-epoch"},
    {"no-counters", DOCTOR_GUARD, ALL(ERROR), doctor_has_counters, DOCTOR_USED_UP,
     "has used up its fencing numbers: somebody wrote one into its record that is too high",
     "if no lock ever had it: HDEL " GUARD_RECORD_KEY " floor gmax, then redlock init --new-epoch"},
    {"record", DOCTOR_ALWAYS, ALL(WARNING), doctor_may_not_read_record, 0,
     "the user may not read the record of a guarded set: until another node or the memory of this host tells "
     "of "
     "one, this client votes there without a guard: %",
     "permit +hmget ~" GUARD_RECORD_KEY " there; `redlock help acl` has the whole rule"},
    DOCTOR_SOURCE_MAP(UNSEEN_ROW)};

static const struct check set_checks[] = {
    {"quorum", DOCTOR_ALWAYS, ALL(ERROR), has_no_quorum, 0, "no lock can be acquired: %", NULL},
    {"endless-lock", DOCTOR_ALWAYS, ALL(ERROR), doctor_is_blocked, 0, "locks that never end: %",
     "`redlock status NAME` shows the holder; if it is gone, `redlock break NAME` ends the lock, or delete "
     "the key on "
     "each node; `redlock ls --odd` finds all of them"},
    {"ttl", DOCTOR_ALWAYS, ALL(ERROR), doctor_exceeds_ttl, 0, "each lock is refused (exit code 76): %",
     "configure a shorter ttl; or, while no lock is held, `redlock init --plain`, then `redlock init "
     "--max-ttl` "
     "with a longer time"},
    {"members", DOCTOR_ALWAYS, ALL(ERROR), doctor_has_other_members, 0,
     "is part of a guarded set whose members are %", "use the list of the set, or change the set"},
    {"even", DOCTOR_ALWAYS, ALL(WARNING), is_even, 0, "%", "use an odd number: three or five"},
    {"one-node", DOCTOR_ALWAYS, ALL(NOTE), is_one, 0,
     "one node: locks are as safe, and as available, as it is", "use three or five"},
    {"same-host", DOCTOR_ALWAYS, ALL(WARNING), doctor_shares_hosts, 0, "%: they fail together",
     "put every node on a machine of its own"},
    {"same-list", DOCTOR_ALWAYS, ALL(NOTE), doctor_names_list, 0,
     "every host must use this list of %: with others two clients may hold a lock", NULL},
    {"rival", DOCTOR_ALWAYS, ALL(WARNING), doctor_has_rivals, 0,
     "another client than the holder keeps its key of %: it was killed while it acquired, or nodes have "
     "forgotten its lock, or it uses another list of nodes, and both hold the lock",
     "see `redlock status NAME`, and whether nodes were started lately; run `redlock config show` on each "
     "host, and compare the lists: where two lists differ, only the host whose quorum is smaller may see "
     "this"},
    {"this-machine", DOCTOR_ALWAYS, ALL(NOTE), is_here, 0,
     "% are on this machine: good for trying locks, and they fail together", NULL},
    {"record", DOCTOR_ALWAYS, ALL(ERROR), doctor_sees_no_records, 0,
     "the records of the guarded set could be read on %: it is not known whether they are there",
     "mend what is said of the nodes, and run redlock doctor again: redlock init is no help"},
    {"no-guard", DOCTOR_ALWAYS, ALL(ERROR), doctor_has_no_guard, 1,
     "no node has a record of a guarded set, and %: no lock can be acquired", "redlock init"},
    {"no-guard", DOCTOR_ALWAYS, ALL(NOTE), doctor_has_no_guard, 0,
     "is not guarded: a node that restarts without its keys votes at once", "redlock init"},
    {"guard-off", DOCTOR_ALWAYS, ALL(WARNING), doctor_ignores_guard, 0,
     "is guarded, and this client ignores the record of set %, as its guard is off: it may enter while "
     "another "
     "client holds the lock",
     "leave out guard = off"},
    {"memory", DOCTOR_ALWAYS, ALL(WARNING), doctor_cannot_remember, 0,
     "this host cannot remember that it is guarded, in %: if the records are lost, this client votes without "
     "a guard",
     "make room there, or give this user a state directory that it may write: XDG_STATE_HOME or "
     "STATE_DIRECTORY"},
    {"no-counters", DOCTOR_ALWAYS, ALL(WARNING), doctor_counts_nothing, 0,
     "% nodes know no fencing numbers: no lock can be acquired with --fence, other locks can",
     "before a lock is acquired with --fence: redlock init --new-epoch"},
    {"members-change", DOCTOR_ALWAYS, ALL(WARNING), doctor_is_changing, 0,
     "a change of members is not finished: the former list is accepted too",
     "give all clients the new list, then redlock init --finish"},
    {"own-clock", DOCTOR_ALWAYS, ALL(WARNING), doctor_own_clock_is_off, 0, "the clock of this machine is %",
     "let NTP keep all clocks, and compare them with one that is known to be right"},
};

/* ---- findings ---- */

void doctor_expand(const char *text, const char *detail, char *buffer, size_t size)
{
	const char *mark = text != NULL ? strchr(text, '%') : NULL;
	if (mark == NULL)
		snprintf(buffer, size, "%s", text != NULL ? text : "");
	else
		snprintf(buffer, size, "%.*s%s%s", (int)(mark - text), text, detail, mark + 1);
}

/* Writes the name of the user, where the nodes have the same one, into advice that asks for rights of USER.
 */
static void name_user(const char *user, char *advice, size_t size)
{
	static const char before[] = "SETUSER ", word[] = "USER";
	char rest[GUARD_MOVE_MAX + 256];
	char *at = strstr(advice, "SETUSER USER ");
	if (at == NULL)
		return;
	at += strlen(before);
	snprintf(rest, sizeof rest, "%s", at + strlen(word));
	snprintf(at, size - (size_t)(at - advice), "%s%s", user, rest);
}

void doctor_each_check(void (*visit)(void *user, const char *check, const char *text, const char *advice),
                       void *user)
{
	for (size_t i = 0; i < sizeof node_checks / sizeof node_checks[0]; i++)
		visit(user, node_checks[i].name, node_checks[i].text, node_checks[i].advice);
	for (size_t i = 0; i < sizeof set_checks / sizeof set_checks[0]; i++)
		visit(user, set_checks[i].name, set_checks[i].text, set_checks[i].advice);
}

static unsigned levels_among(const struct check *checks, size_t count, const char *name)
{
	unsigned levels = 0;
	for (size_t i = 0; i < count; i++)
		if (strcmp(checks[i].name, name) == 0)
			levels |= 1U << checks[i].level | 1U << checks[i].local_level;
	return levels;
}

unsigned doctor_levels(const char *check)
{
	return levels_among(node_checks, sizeof node_checks / sizeof node_checks[0], check) |
	       levels_among(set_checks, sizeof set_checks / sizeof set_checks[0], check);
}

void doctor_check(const struct doctor *doctor, int node,
                  void (*visit)(void *user, const struct doctor_finding *finding), void *user)
{
	bool set = node < 0;
	const char *login = doctor->session->user;
	const struct doctor_node *seen = set ? NULL : &doctor->node[node];
	const struct check *checks = set ? set_checks : node_checks;
	size_t count =
	    set ? sizeof set_checks / sizeof set_checks[0] : sizeof node_checks / sizeof node_checks[0];
	for (size_t c = 0; c < count; c++) {
		struct found found = {"", NULL};
		const struct check *check = &checks[c];
		if (seen != NULL && doctor_check_shards(seen, check, visit, user))
			continue;
		if (seen != NULL && check->needs != DOCTOR_ALWAYS && !seen->sees[check->needs])
			continue;
		if (!check->look(doctor, seen, check, &found))
			continue;
		struct doctor_finding finding = {
		    .check = check->name, .level = seen != NULL && seen->local ? check->local_level : check->level};
		doctor_expand(check->text, found.detail, finding.text, sizeof finding.text);
		doctor_expand(found.advice != NULL ? found.advice : check->advice, found.detail, finding.advice,
		              sizeof finding.advice);
		name_user(login, finding.advice, sizeof finding.advice);
		visit(user, &finding);
	}
}
