/* SPDX-License-Identifier: MIT */
#include "broken.h"

/* A node confirms extends of keys that it lacks. */
static const struct script_edit extend[] = {{"extend", "redis.call(\"get\", KEYS[1]) ~= ARGV[1]",
                                             "(redis.call(\"get\", KEYS[1]) or ARGV[1]) ~= ARGV[1]"},
                                            {0}};

/* A node lets in each client that asks, also past those in line. */
static const struct script_edit turns[] = {
    {"enter", "(mine or line == \"\")", "true"},
    {"guarded_enter", "(mine or line == \"\")", "true"},
    {"enter_all", "(mine or line == \"\")", "true"},
    {"guarded_enter_all", "(mine or line == \"\")", "true"},
    {"slot_enter", "(mine or line == \"\")", "true"},
    {"share", "(not writer or found and found < writer)", "true"},
    {"guarded_share", "(not writer or found and found < writer)", "true"},
    {0}};

/* A queue waits for clients that are gone. */
static const struct script_edit heads[] = {
    {NULL, "told and not (now and (told <= now or told > now + 60000))", "told"},
    {NULL, "elseif heard and heard ~= 0 then", "elseif heard then"},
    {0}};

/* A node that has forgotten its keys votes at once. */
static const struct script_edit quarantine[] = {
    {"meet", "ttl + math.max(math.ceil(ttl / 4), 1000) + math.ceil(ttl / 100) + 2", "0"}, {0}};

/* A node is asked to admit itself while its quarantine lasts, and does so. */
static const struct script_edit admit[] = {{"meet", "verdict = left > 0 and 3 or 4", "verdict, left = 4, 0"},
                                           {"admit", "(tonumber(r[2]) or math.huge) <= now", "true"},
                                           {0}};

/* A node does not compare the pass. */
static const struct script_edit pass[] = {{NULL, ", \"prev\")", ", \"prev\") or true"}, {0}};

/* RAISE says yes, and raises nothing. */
static const struct script_edit fence[] = {
    {"raise", "if most < number then", "if false then"},
    {"raise", "if count < number or count > math.max(most, number) then", "if false then"},
    {0}};

/* A node takes the free ones of several names. */
#define EACH_SET "redis.pcall(\"set\", KEYS[i], ARGV[1], \"px\", ARGV[2])"
#define EACH_FREE_SET "(redis.pcall(\"set\", KEYS[i], ARGV[1], \"px\", ARGV[2], \"nx\") or {})"
#define OF_LINE "local free = left == -2"
static const struct script_edit some[] = {
    {"claim_all", "if left_ ~= -2 then", "if false then"},
    {"guarded_claim_all", "if left_ ~= -2 then", "if false then"},
    {"enter_all", "if way == 0 and redis.call(\"pttl\", KEYS[i]) ~= -2 then", "if false then"},
    {"guarded_enter_all", "if way == 0 and redis.call(\"pttl\", KEYS[i]) ~= -2 then", "if false then"},
    {"enter_all", OF_LINE, "local free = true"},
    {"guarded_enter_all", OF_LINE, "local free = true"},
    {NULL, EACH_SET, EACH_FREE_SET},
    {0}};

/* A node tells each slot as the first one. */
static const struct script_edit counting[] = {{"slot", "\"1 0 \" .. first .. \" \"", "\"1 0 0 \""},
                                              {"slot", "\"1 0 \" .. slot .. \" \"", "\"1 0 0 \""},
                                              {0}};

/* A node shares a lock that has an exclusive holder. */
#define SHARE_IT(moment)                                                                                     \
	"if both[1] then return \"1 0 0 \" .. " moment " .. \" \" .. ARGV[1] end\nlocal writer, has"
static const struct script_edit shared[] = {{"share", "local writer, has", SHARE_IT("0")},
                                            {"guarded_share", "local writer, has", SHARE_IT("moment")},
                                            {0}};

/* A node deletes a time, also that of another client. */
static const struct script_edit unasked[] = {
    {"setnx_release", "if ours then redis.call(",
     "ours = ours or tonumber(is or \"\")\nif ours then redis.call("},
    {0}};

const struct script_edit *broken_scripts(enum sim_break broken)
{
	static const struct script_edit *const edits[BREAK_COUNT] = {
	    [BREAK_EXTEND] = extend,     [BREAK_TURNS] = turns,
	    [BREAK_HEADS] = heads,       [BREAK_QUARANTINE] = quarantine,
	    [BREAK_FENCE] = fence,       [BREAK_SOME] = some,
	    [BREAK_COUNTING] = counting, [BREAK_SHARED] = shared,
	    [BREAK_UNASKED] = unasked,   [BREAK_PASS] = pass,
	    [BREAK_ADMIT] = admit,
	};
	return edits[broken];
}
