# SPDX-License-Identifier: MIT
"""
Hand-written mutants of waiting in turn: the loss of one rule of docs/decisions/waiting.md each. Rows as in patches.py.
"""

WAITING_DEFECTS = {
	39: "who waits asks too much, too seldom, or at the wrong node",
	40: "a turn is lost, taken by somebody else, or passed on by who needs it",
	41: "what is not heard is taken for heard",
}

ACQUIRE = "src/core/acquire.c"
ENTER = "src/core/enter.c"
GATE = "src/core/queue.c"
PACE = "src/core/pace.c"
PLACE = "src/core/queue.c"
PLACES = "src/places.c"
LISTENER = "src/net/listener.c"
ENTER_LUA = "ops/enter.lua"
TIDY_LUA = "ops/lib/queue.lua"
TELL_LUA = "ops/lib/queue.lua"
STAND_LUA = "ops/lib/queue.lua"
LEAVE_LUA = "ops/leave.lua"
WAKE_LUA = "ops/lib/queue.lua"
VACATE_LUA = "ops/vacate.lua"
PATTERN = '"^(..)(%x+)%.(%d+) ([^;]*);()"'
BACKTRACKS = '"^(..)(%x+)%.(%d+)([^;]*);()"'

WAITING_ROWS = [
	# ---- 21 ----
	("queue: a woken head goes first for ever", 21, TELL_LUA,
		"told and not (now and (told <= now or told > now + 60000))", "told"),
	("queue: who is gone is waited for", 21, TELL_LUA, "elseif heard and heard ~= 0 then", "elseif heard then"),
	("queue: who was not told misses its turn", 21, TELL_LUA,
		'mark = not told and now and string.format("0%d", now + 5000)', "mark = not told and turn and now and now + patience"),
	("queue: who could not be told is waited for for ever", 21, TELL_LUA, "done = stands or not told", "done = true"),
	("queue: it ends although its waiters ask", 21, ENTER_LUA,
		'if both[2] then redis.call("pexpire", KEYS.queue, 60000) end\n', ""),
	# ---- 39 ----
	("waiters ask all nodes", 39, ENTER,
		"rl_acquire_ask(l, e->now_ns, rl_queue_gate_bit(l), fx);", "rl_acquire_ask(l, e->now_ns, rl_round_nodes(l), fx);"),
	("keys on their way out are not asked for again", 39, ENTER,
		"return rl_queue_gate_vote(l) == REDLOCK_KIND_YES && now < until", "return l->phase == RL_IDLE && now < until"),
	("a silent gate has a whole node timeout", 39, ENTER,
		"l->rules->node_timeout_ns / GATE_PATIENCE, 2", "l->rules->node_timeout_ns, 2"),
	("a gate that fails is not passed over", 39, GATE,
		"l->queue.passed = (uint8_t)((l->queue.passed + 1) % l->rules->node_count);", "l->queue.passed = 0;"),
	("a gate that was passed over is never tried again", 39, GATE,
		"if (rl_time_stamp_ms(e->now_ns) - l->queue.passed_ms >= COMES_BACK_NS / RL_NS_PER_MS << l->queue.vain)", "if (e->now_ns == RL_TIME_NEVER)"),
	("polls in line do not back off", 39, PACE,
		"clamp(since / PART * l->queue.place, RL_PACE_LEAST_NS * l->queue.place)", "clamp(0, RL_PACE_LEAST_NS * l->queue.place)"),
	("all in line poll as the first one does", 39, PACE,
		"clamp(since / PART * l->queue.place, RL_PACE_LEAST_NS * l->queue.place)", "clamp(since / PART, RL_PACE_LEAST_NS)"),
	("nobody asks when the key expires", 39, PACE,
		"rl_time_sub(l->queue.free_at_ns, now));\n}", "RL_TIME_NEVER);\n}"),
	("all who wait poll at one moment", 39, PACE,
		"return ns / 2 + (ns > 0 ? entropy % ns : 0);", "return ns + 0 * entropy;"),
	("the last tries ask the gate alone", 39, PACE,
		"return rl_time_sub(l->wait_until_ns, now) < LAST_TRIPS * trip;", "return trip == 0 && now == 0;"),
	("who is woken asks the gate alone", 39, ENTER,
		"if (!l->queue.woken) {\n\t\task_gate", "if (!l->queue.woken || l->queue.woken) {\n\t\tl->queue.woken = false;\n\t\task_gate"),
	("no place is ever taken", 39, ENTER, "(e->around.hears & rl_queue_gate_bit(l)) != 0;\n\tfx->queue.call", "e->around.hears == ~0u;\n\tfx->queue.call"),
	("handles of one client have a place each", 39, PLACES,
		"until = l->core.phase == RL_HELD ? rl_hold_pass_until(&l->core) : RL_TIME_NEVER;", "until = rl_hold_pass_until(&l->core);"),
	("an endless entry keeps the server busy", 39, TIDY_LUA, PATTERN, BACKTRACKS),
	# ---- 40 ----
	("who has just released overtakes", 40, ACQUIRE, "l->queue.contended &= l->rules->wait_ns > 0;", "l->queue.contended = false;"),
	("that others wait is forgotten with the grant", 40, ACQUIRE,
		"l->claim.open = false;\n\tl->extends = 0;", "l->claim.open = false;\n\tl->queue.contended &= l->queue.stage != RL_STAGE_ALL;\n\tl->extends = 0;"),
	("a message before the answer is forgotten", 40, ENTER,
		"l->queue.woken = true;\n\tl->queue.changed_ns", "l->queue.woken = l->phase == RL_PAUSED;\n\tl->queue.changed_ns"),
	("a message for the last call wakes this one", 40, ENTER, " ||\n\t    e->message.call != l->queue.call) {", ") {"),
	("a message of another node wakes", 40, ENTER, "!l->queue.placed || e->node != l->queue.gate ||\n\t    e->message.call", "!l->queue.placed || e->message.call"),
	("a turn that nobody needs is kept", 40, ENTER,
		"rl_queue_give_up(l, UINT32_C(1) << e->node, e->message.call, fx);\n\t\treturn;", "return;"),
	("a failed attempt wakes the next one", 40, ACQUIRE,
		"rl_acquire_give_back(l, fx);\n\tuint64_t left", "rl_acquire_give_back(l, fx);\n\trl_enter_leave(l, fx);\n\tuint64_t left"),
	("the place stays when the wait ends with a release", 40, PLACE, "fx->queue.quits = true;\n\tfx->queue.call = l->queue.call;", "fx->queue.call = l->queue.call;"),
	("the place stays when the wait ends", 40, PLACE,
		"rl_queue_give_up(l, rl_queue_gate_bit(l), l->queue.call, fx);\n\t\treturn;", "return;"),
	("the next handle of the client is not told", 40, PLACES,
		"p->next = waiter_of(p->first, before);", "(void)before;\n\tp->next = NULL;"),
	("a place is that of a handle, not of a call", 40, PLACES, "lock->slot * RL_CALLS + call);", "lock->slot * RL_CALLS + 0 * call);"),
	("queue: any client that asks takes a free key", 40, ENTER_LUA, 'if free and (mine or line == "") and redis', "if free and redis"),
	("queue: the last one goes first", 40, STAND_LUA, "or line .. entry", "or entry .. line"),
	("queue: the mark of who was refused stays", 40, STAND_LUA, 'local mark, ends = "",',
		'local mark, ends = mine and told and string.format("%d", told) or "",'),
	("queue: a release wakes nobody", 40, LEAVE_LUA, 'if line ~= "" and ARGV.bars ~= "2" and open', 'if line == "" and open'),
	("queue: who gives up wakes although it is held", 40, LEAVE_LUA,
		'local free = ours or not both[1] and redis.pcall("pttl", KEYS.name) == -2', "local free = true"),
	("queue: what cannot be kept is told", 40, LEAVE_LUA, '~= "number" then', '== 7 then'),
	("queue: only the owner hears of waiters", 40, VACATE_LUA, "return both[2] and -1 or 0", "return 0"),
	# ---- 41 ----
	("a place is taken where nothing is heard", 41, ENTER, "(e->around.hears & rl_queue_gate_bit(l)) != 0;\n\tfx->queue.call",
		"((e->around.hears | ~e->around.hears) & rl_queue_gate_bit(l)) != 0;\n\tfx->queue.call"),
	("who hears nothing any more waits on", 41, ENTER,
		"some_time(l, e));\n\tif (l->phase == RL_PAUSED)", "some_time(l, e));\n\tif (l->phase == RL_PAUSED && e->message.front)"),
	("another server's messages are heard", 41, LISTENER,
		"return l->stands && is_known(l->asking) && is_same_server(l);", "return l->stands && is_known(l->asking);"),
	("a PING without an answer is forgotten", 41, LISTENER, "? rl_time_add(l->asked_ns, ANSWER_NS)", "? UINT64_MAX"),
	("nobody asks whether a listener still hears", 41, LISTENER, ": rl_time_add(link->progress_ns, QUIET_NS);", ": UINT64_MAX;"),
	("what a client has given back itself wakes it", 41, ENTER, "if (!first || rl_queue_gate_vote(l) != REDLOCK_KIND_NO)", "if (!first)"),
	("who is told of a key asks as often as it is told", 41, ENTER,
		"rl_time_min(l->wait.retry_at_ns, rl_time_max(least, about))", "e->now_ns"),
	("a gate that answers late stays passed over", 41, GATE, "l->queue.passed = (uint8_t)i;", ""),
	("who always comes back to a slow gate", 41, GATE, "if (l->queue.back || redlock_vote_kind", "if (redlock_vote_kind"),
	("nobody hears of the end of a key", 41, LISTENER, "return ret->gone && rl_listener_hears(l);", "return false;"),
	("a listener that broke is heard", 41, LISTENER, "l->stands = false;\n\trl_outbox_clear", "rl_outbox_clear"),
]
