/* SPDX-License-Identifier: MIT */
/*
 * Every message of the command: SECTION(name, title), and MESSAGE(identifier, format, next step) for each.
 * The next step is IN_TEXT where the text of the message has it, and NEWS where nothing has to be done.
 * message.h makes of a row what a call needs, troubleshooting.c a line of `redlock help troubleshooting` and
 * of redlock-troubleshooting(7).
 */
/* clang-format off */

SECTION(COMMAND_LINES, "Command lines")
MESSAGE(NO_VERB, "no command '%s'%s; see `redlock help`", IN_TEXT)
MESSAGE(ARGUMENTS, "%s: %s; usage: %s [OPTION...] %s", IN_TEXT)
MESSAGE(ARGUMENT_MORE, "redlock version: too many arguments", "give `redlock version` alone")
MESSAGE(OPTION_LETTER, "%s: -%c %s; see `%s --help`", IN_TEXT)
MESSAGE(OPTION_WORD, "%s: %.*s %s%s; see `%s --help`", IN_TEXT)
MESSAGE(OPTION_VALUE, "%s: --%s %s", "the message says what is allowed")
MESSAGE(OPTION_PLACE, "%s: options go in front of NAME; a command that begins with '-' goes after `--`: %s",
        IN_TEXT)
MESSAGE(OPTIONS_EXCLUDE, "%s: %s and %s exclude each other: %s", "give one of the two")
MESSAGE(NO_COMMAND, "%s: the command is missing; usage: %s [OPTION...] NAME [--] COMMAND [ARG...]", IN_TEXT)
MESSAGE(SHELL_LINE, "%s: -c needs exactly one argument, the shell line", IN_TEXT)
MESSAGE(JSON_OF_RUN, "%s: --json: stdout belongs to the command; give --report-fd N for the report", IN_TEXT)
MESSAGE(REPORT_FD, "%s: --report-fd %d: %s; open it: --report-fd 3 3>FILE", IN_TEXT)
MESSAGE(HOLD_TIMES, "%s: --min-hold is longer than --max-hold",
        "give a shorter --min-hold, or a longer --max-hold")
MESSAGE(RETRY_ALONE, "%s: --retry-failed is for --once-per", "give --once-per too")
MESSAGE(TIMES, "these times cannot work: %s; give a longer --ttl, or a shorter --renew, --kill-after or "
        "--node-timeout", IN_TEXT)
MESSAGE(MAXIMUM_TIMES, "the TTL is the maximum of this node set, and these times cannot work: %s",
        "give a --ttl up to the maximum, with shorter --renew and --kill-after")
MESSAGE(TTL_SHORT, "the TTL%s%s is too short: it must be longer than node timeout%s%s and drift together; give a "
        "longer --ttl or a shorter --node-timeout", IN_TEXT)
MESSAGE(TTL_MAXIMUM, "the TTL is %s, the maximum of this node set; --ttl asks for another one", NEWS)
MESSAGE(NAME_EMPTY, "NAME is empty", "give a NAME")
MESSAGE(NAME_LONG, "NAME and prefix are %zu bytes, at most %d are allowed", "give a shorter NAME or --prefix")
MESSAGE(NAME_SIDE, "NAME is one of the keys that redlock keeps beside a lock's own: with the prefix, it "
        "must not end in :redlock:queue, offers, fence, setnx, last, slots or slot:NUMBER, nor be "
        "redlock:set", "give another NAME")
MESSAGE(NAMES_IN_CLUSTER, "the name cannot be locked there: %s", IN_TEXT)
MESSAGE(NAME_TWICE, "--also %s: this name is given twice; give each name once", IN_TEXT)
MESSAGE(NAMES_LONG, "with --also: the names and their prefixes are longer than %d bytes",
        "give shorter names")
MESSAGE(MANY_NAMES, "with --also: %zu names, at most %d are allowed",
        "give fewer --also, or one lock for all")
MESSAGE(ALSO_EMPTY, "--also: the name is empty", "give a name after --also, or leave it out")
MESSAGE(TOKEN_LENGTH, "TOKEN has %zu bytes, 1 to %d are allowed",
        "give the token that `redlock acquire` printed")
MESSAGE(FENCE_UNGUARDED, "--fence needs a guarded node set, and the guard is off",
        "make a guarded set with `redlock init`, and leave out --guard=off")
MESSAGE(SETNX_GUARDED,
        "--compat setnx does not work with a guard, which %s asks for: give --guard=off for this lock", IN_TEXT)
MESSAGE(RFLOCK_FO, "rflock: -F and -o exclude each other, as for flock(1)", "give one of them")
MESSAGE(RFLOCK_UNLOCK, "rflock: -u unlocks a descriptor; the command would run without any lock",
        "leave out -u, or the command")
MESSAGE(RFLOCK_C, "rflock: %s requires exactly one command argument", "put the shell line into apostrophes")
MESSAGE(RFLOCK_FD, "rflock: bad file descriptor: '%s'; with a file give a command too", IN_TEXT)
MESSAGE(BREAK_OPTIONS, "redlock break: --waiters and --holder exclude each other: a queue has no holder",
        "give one of them")
MESSAGE(BREAK_ASKS, "redlock break: there is no terminal to ask on: give --yes", IN_TEXT)
MESSAGE(LS_EVERY, "ls: --every is for --follow", "give --follow too")
MESSAGE(ELECT_EMPTY, "redlock elect: NAME is empty", "give the name of the election")
MESSAGE(ELECT_LONG, "redlock elect: NAME is too long for the name of a file; give --status-file FILE",
        IN_TEXT)
MESSAGE(CONFIG_VERB, "redlock config: '%s' is not an action; give show", IN_TEXT)
MESSAGE(COMPLETION_SHELL, "redlock completion: %s: give %s", IN_TEXT)
MESSAGE(CLUSTER_VERB, "cluster: '%s' is not one of start, stop, status", IN_TEXT)

SECTION(CONFIGURATION, "Configuration, nodes and passwords")
MESSAGE(NO_NODES, "no nodes: %sset REDLOCK_URLS (comma list of redis://host:6379), or `url` in the "
        "configuration; to try it here: `redlock cluster start`, then %slocal", IN_TEXT)
MESSAGE(CLUSTER_NAME, "no nodes: the configuration has %s; choose one: %s%s", IN_TEXT)
MESSAGE(NODE_SETS, "names are spread over the node sets %s, and this is not about one name: give one set: %s%.*s",
        IN_TEXT)
MESSAGE(NAMES_IN_SETS, "the node set of the name: %s", "see NODE SETS in redlock(1)")
MESSAGE(NAME_ELSEWHERE, "warning: '%s' belongs to node set %s: clients of all sets do not look at [cluster %s]",
        "give -C the section with `quorums`, or leave -C out")
MESSAGE(QUORUM_OF_SETS, "--quorum: each node set of `quorums` has its own in the configuration",
        "leave out --quorum, or name the nodes with -r")
MESSAGE(FENCE_OF_SETS, "--fence: fencing tokens need one node set: a name that moves to another set would begin "
        "to count again", "give the nodes of one set with -r")
MESSAGE(URL_LIST, "%s: %s",
        "redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], rediss://, unix:///PATH, with commas between them")
MESSAGE(NODE_URL, "%s%s%s%s%s", "correct the URL; `redlock config show` tells where it comes from")
MESSAGE(LOCAL_ALONE, "%s: `local` stands for all nodes of the local cluster and cannot be mixed with "
        "others", "give local alone, or the URLs of its nodes: `redlock cluster status` shows them")
MESSAGE(ONE_NODE, "one node, from REDIS_URL: the lock is only as safe as that server; set REDLOCK_URLS "
        "for a quorum", IN_TEXT)
MESSAGE(CONFIG_VALUE, "%s: %s: %s", "correct that line or variable")
MESSAGE(CONFIG_REFUSED, "%s",
        "correct the file that is named; `redlock config show` tells which files are read")
MESSAGE(CONFIG_WARNING, "warning: %s", "correct the line: it has no effect")
MESSAGE(LOGIN, "%s%s%s", "correct that file or option")
MESSAGE(PASSWORD_SEEN, "hint: a password on the command line can be seen by other users for a moment; "
        "--password-file or REDLOCK_URLS is safer", IN_TEXT)
MESSAGE(PASSWORD_WARNS, "warning: --password-file %s", "chmod 600, and the owner who uses it")
MESSAGE(PASSWORD_FILE, "--password-file %s; the old password stays in use",
        "mend the file: new connections need it")
MESSAGE(PASSWORD_NEW, "--password-file %s has changed: logging in again", NEWS)
MESSAGE(RELOGIN, "node %u %s: %s; this connection keeps the old user and password",
        "check that the server knows the password of the file; this run goes on")
MESSAGE(ASKPASS, "--askpass: there is no terminal; give --password-file", IN_TEXT)
MESSAGE(ASKPASS_EMPTY, "--askpass: no password was given", "type it, or give --password-file")
MESSAGE(INSECURE, "warning: --insecure: anyone on the network path can read and change the traffic",
        "leave out --insecure, and give --cacert")
MESSAGE(GUARD_MEMORY, "not remembered that these nodes are a guarded set: state directory %s: %s",
        "give this user a state directory that it may write: XDG_STATE_HOME")
MESSAGE(GUARD_BARRED, "the user may not read whether %u of the nodes are in a guarded set: without a "
        "guard, see `redlock help acl`", IN_TEXT)
MESSAGE(ANONYMOUS, "warning: %u of the nodes do not say who they are (permit +info): one server under two "
        "names would have two votes", "permit +info on these nodes: `redlock help acl`")

SECTION(LOCKS, "Locks: acquire, extend, release, check, status")
MESSAGE(HINT, "hint: %s", NEWS)
MESSAGE(LIBRARY, "%s", "the text of a result above: see its row")
MESSAGE(FAILED, "%s '%s': %s", "the text of a result above: see its row")
MESSAGE(FAILED_ALL, "%s: %s", "the same")
MESSAGE(NO_QUORUM, "no quorum: %u of %u nodes voted, %s%u %s%s",
        "the causes follow; the hints below have the next steps, the first one to mend first; `redlock status` shows each node")
MESSAGE(DEGRADED, "degraded: %u of %u nodes %s, %u votes are needed%s%s",
        "mend the nodes that are named before another one fails: the job goes on as long as a quorum renews")
MESSAGE(SAME_SERVER, "node %u %s and node %u %s are the same server, which has one vote",
        "list each server once")
MESSAGE(NODE, "node %u %s: %s",
        "a no: somebody else has the key, or of a renewal, the node has lost it. Other answers: their row above")
MESSAGE(NODE_TIMED, "node %u %s: %s (%.0f us)", "the same, with the time of the answer")
MESSAGE(VOTE, "node %u %s: %s%s%s",
        "a no: the node has lost the key (it was started anew: `redlock doctor`; its clock was set; it was flushed or "
        "evicts keys; `redlock break`: syslog), or `redlock status NAME` shows another holder. Other answers: their row above")
MESSAGE(BUSY, "%s '%s': busy: %s%s",
        "wait (-w TIME); a TTL that rises again in `redlock ls --follow NAME` is that of a living holder: see at "
        "the host and process of its label what it does; if it only falls, the holder is gone, and the lock ends with it; "
        "`redlock break NAME` ends it now")
MESSAGE(BUSY_SLOTS, "%s '%s': busy: none of its %u slots is free; slot 0: %s; all: `redlock status NAME`",
        "-w TIME waits; `redlock break NAME --holder TOKEN` ends a dead holder, whose token status shows")
MESSAGE(BUSY_WAS, "%s '%s': was busy, and is free now", "try again")
MESSAGE(BUSY_UNKNOWN, "%s '%s': busy: another client holds it; which one is unknown: only %u of %u nodes "
        "answered%s%s", "mend the nodes that did not answer; `redlock status NAME` asks again")
MESSAGE(BUSY_OWN, "%s '%s': busy: held by this token already",
        "the acquire has succeeded before: use the token, or release it first")
MESSAGE(INSTEAD, "%s '%s': %s", "`redlock status NAME` shows what is there")
MESSAGE(GONE_FREE, "%s '%s': not held by this token: nobody holds it",
        "it has expired or was released: acquire it again")
MESSAGE(GONE_OTHER, "%s '%s': not held by this token: %s", "stop the work: another client has the lock")
MESSAGE(GONE_PARTLY, "%s '%s': not held by this token: it is on %u of the %u nodes that answered, %u are "
        "needed", "it is lost, or was never whole: acquire it again")
MESSAGE(VALID, "valid for %llu ms", NEWS)
MESSAGE(CONFIRMED, "confirmed by %u of %u nodes", NEWS)
MESSAGE(UNCONFIRMED, "node %u %s did not confirm and may keep the key until its TTL ends: %s",
        "nothing: the key ends with its TTL")
MESSAGE(KEPT, "%s%u of %u nodes may keep the key '%s'%s until its TTL ends%s: %s",
        "nothing: the key ends with its TTL; the node that is named may be slow")
MESSAGE(VALUE_USED, "warning: a release of this value may still be on its way and would delete the next "
        "key: do not use the value again, take a new one; not confirmed: %s", IN_TEXT)
MESSAGE(TOKEN_MORE, "%s '%s': the token is also that of %u more name%s, %s: give %s with --also", IN_TEXT)
MESSAGE(TOKEN_LATE, "stdout did not take the token before the lock ended",
        "let the reader of stdout take it sooner, or give a longer --ttl")
MESSAGE(TOKEN_UNREAD, "cannot write the token to stdout; the lock was given back",
        "the reader of stdout has gone, or its disk is full")
MESSAGE(TOKEN_UNKNOWN, "cannot read the token of the lock; it was given back", "tell the authors of redlock")
MESSAGE(WAITING, "waiting%s for '%s'%s%s", NEWS)
MESSAGE(QUARANTINE_WAIT, "waiting %.1f s for '%s': until then, nodes that may have forgotten locks do not "
        "vote (--guard); it goes on by itself then, also with -n", NEWS)
MESSAGE(QUARANTINE_LIMIT, "waiting %.1f s for '%s', and no longer (-w): nodes that may have forgotten locks do not "
        "vote for another %.1f s (--guard)", "give a longer -w, or none: it goes on by itself when they vote")
MESSAGE(SELF_WAIT, "'%s' is held by the command that this one runs under: it would wait for itself",
        "give --reentrant, or another NAME")
MESSAGE(TRACE, "trace: %s", NEWS)

SECTION(JOBS, "Jobs and leaders: run, elect, rflock")
MESSAGE(ACQUIRED, "acquired '%s' after %.3f s", NEWS)
MESSAGE(RENEWED, "'%s' is renewed", NEWS)
MESSAGE(LATE, "'%s' could not be renewed so far; %s gets TERM in %.1f s",
        "mend the nodes that are named before that time")
MESSAGE(LATE_WARN, "'%s' could not be renewed so far; it ends in %.1f s",
        "mend the nodes that are named: the command goes on without the lock")
MESSAGE(NEAR_END, "'%s' was not renewed in time, so %s must stop: %s",
        "mend the nodes that are named in the lines above; half of the work may have been done")
MESSAGE(TOO_LATE, "the lock '%s' had no time left: the command was not started",
        "it took long to acquire: give a longer --ttl, or find out what stood still")
MESSAGE(LOST, "the lock '%s' is lost; %s", "half of the work may have been done: see the row of exit code 79")
MESSAGE(LOST_KILLED, "the lock '%s' is lost; %s is killed",
        "half of the work may have been done: see the row of exit code 79")
MESSAGE(LOST_ENDED, "the lock '%s' is lost; it ended before %s did",
        "half of the work may have been done: see the row of exit code 79")
MESSAGE(LOST_AFTER, "'%s' was lost before %s; %s had already ended",
        "the work was done under the lock; mend the nodes that are named")
MESSAGE(RELEASE_LOST, "the lock '%s' was lost before its release: another client may have held it",
        "see that no other client's work was mixed with it; give a longer --ttl")
MESSAGE(CLOCK_SET, "this machine's wall clock was set forward by %.1f s: that much more time may have "
        "passed", "find out what set the clock: a time daemon should slew it")
MESSAGE(MAX_HOLD, "--max-hold is reached: %s gets TERM, and KILL in %.1f s",
        "give a longer --max-hold, or find out why it hangs")
MESSAGE(OVERDUE, "the guard process did not stop %s in time: everything is killed",
        "find out what stopped the guard process: a debugger, STOP, or a machine without memory")
MESSAGE(GUARD_KILLED, "the guard process was killed: %s is killed, the lock given back",
        "find out who sent KILL (dmesg: out of memory?)")
MESSAGE(LEFTOVERS, "the command has ended, processes that it started have not: '%s' is held until they "
        "are gone", "end the processes, or let the command wait for them")
MESSAGE(UNSEEN, "a process that the command started cannot be stopped, as /proc does not show it; redlock "
        "waits for its end", "mount /proc without hidepid, and in the PID namespace of the command")
MESSAGE(NO_PROC, "/proc does not show the processes of this PID namespace: what the command starts could "
        "not be stopped when the lock ends; nothing was run. `mount -t proc proc /proc` makes one", IN_TEXT)
MESSAGE(EXECUTE, "cannot execute '%s': %s",
        "check the path and the rights of the command, and that it is a program")
MESSAGE(LACKS, "the user lacks the rights %s: permit them on each node: ACL SETUSER %s %s", IN_TEXT)
MESSAGE(RIGHTS, "not started: this user could take the lock, but not renew or release it",
        "`redlock help acl` has the rights; the votes name the commands")
MESSAGE(NOT_AGAIN, "not run again within %s: the last run %s", NEWS)
MESSAGE(MARK_REFUSED, "not started: too few nodes told or took the marker %s: %s",
        "mend the nodes that are named; `redlock last NAME` shows what the others know")
MESSAGE(MARK_LOST, "too few nodes took the marker %s: %s",
        "`redlock last NAME` may show an older run; mend the nodes that are named")
MESSAGE(METRICS, "--metrics-textfile %s: %s; the metrics of this run are not written",
        "make room there, or mend the rights of its directory")
MESSAGE(REPORT, "--report-fd %d: the report could not be written", "its reader has gone, or its disk is full")
MESSAGE(REENTER_SLOT, "--reentrant: the run above this one holds slot %u of '%s', not the name itself",
        "give another NAME: slots cannot be entered again")
MESSAGE(REENTER_SHARED, "--reentrant: the run above this one shares '%s' with others; give --shared here "
        "too, or not there", IN_TEXT)
MESSAGE(REENTER_SAFE, "--reentrant: the run above this one holds '%s' without --compat setnx-safe",
        "give --compat setnx-safe to the run above")
MESSAGE(REENTER_SETNX, "--reentrant: the run above this one holds '%s' %s --compat setnx; give it to both "
        "or to neither", IN_TEXT)
MESSAGE(REENTER_FENCE, "--reentrant: the run above this one holds '%s' without --fence",
        "give --fence to the run above")
MESSAGE(REENTER_NUMBER, "--reentrant: '%s' is held by a run above the nearest one: its fencing token is "
        "not known here", "leave out --fence: pass the number of the outer run on")
MESSAGE(REENTER_GONE, "--reentrant: the run above this one does not hold '%s' any more, or not on these "
        "nodes", "the run above has lost it, or has other nodes: give both the same")
MESSAGE(REENTER_UNKNOWN, "--reentrant: whether the run above this one holds '%s' is unknown: %s",
        "see the row of that result, above")
MESSAGE(REENTER_NODES, "--reentrant: the nodes cannot be asked: %s",
        "the message says which part of the configuration is wrong")
MESSAGE(STATUS_FILE, "--status-file %s: %s",
        "make room there, or mend the rights of its directory: readers of --is-leader see old news")
MESSAGE(STATUS_SHARED, "warning: --status-file %s: another elector, process %ld, writes it too",
        "readers see now one, now the other: end one of the two, or give each a --status-file of its own")
MESSAGE(LOST_AT_ONCE, "the lock was lost at once: --on-loss runs now, after its end",
        "it took long to start: find out what stood still; another leader may have begun")
MESSAGE(ELECT_ENDS, "this elector of '%s' ends by itself, with exit code %d: %s",
        "the message before this one has the cause: mend it, and start the elector again; after a change of members, "
        "with the new list of nodes")
MESSAGE(ON_LOSS, "--on-loss: %s", "mend the command; the resource may be in the state in which it stopped")
MESSAGE(ON_CHANGE, "--on-change: it took longer than --hook-timeout, and is killed",
        "make the command faster, or --hook-timeout longer")
MESSAGE(RIVAL, "two holders of '%s': on %s the key of %s is renewed while this client holds the lock; compare the "
        "lists of nodes that `redlock config show` prints on each host: the other host may not see this", IN_TEXT)
MESSAGE(RIVAL_MAYBE, "'%s': on %s the key of %s stays while this client holds the lock: that client was killed while "
        "it acquired, or it uses another list of nodes, and holds the lock too; compare the lists that `redlock "
        "config show` prints on each host: the other host may not see this", IN_TEXT)
MESSAGE(HOOK, "--on-%s: %s", "mend the command; its output is above")
MESSAGE(RFLOCK_OPEN, "rflock: cannot open lock file %s: %s",
        "mend the rights of that path, or make its directory")
MESSAGE(RFLOCK_ANEW, "rflock: %d: cannot open its file anew: %s",
        "the file was removed or may not be read: open it again in the script")
MESSAGE(RFLOCK_FILE, "rflock: %d: %s", "open a file, not a pipe or socket, with that descriptor")
MESSAGE(RFLOCK_PROC, "rflock: /proc does not show who has locked a file; nothing was locked",
        "mount /proc with the processes of this PID namespace")
MESSAGE(RFLOCK_FLOCK, "rflock: the file cannot be locked on this host: flock: %m",
        "use a file on a local file system")
MESSAGE(RFLOCK_KEEPER, "rflock: the process that was to keep the lock was killed",
        "the lock has ended; find out who sent KILL (dmesg: out of memory?)")

SECTION(LISTS, "ls, break, last")
MESSAGE(LS_UNREAD, "node %u %s was not read: %s",
        "what this node alone holds is not in the table; `redlock doctor` finds what is wrong with it")
MESSAGE(LS_FORGETFUL, "%u of %u nodes are in quarantine%s: locks that they have forgotten are not in the table",
        "wait until it is over: by then such locks have ended; until then `redlock status NAME` says unknown")
MESSAGE(LS_BARRED, "the user may not read %llu key%s: locks among them are not in the table",
        "give the --prefix of the keys that the user may read, or the user the pattern ~* (`redlock help acl`)")
MESSAGE(LS_CLUSTER, "ls: a node is a cluster, whose keys are on many servers",
        "list those of one server, with -r redis://HOST:PORT")
MESSAGE(LS_FAILED, "ls: %s", "the text of a result above: see its row")
MESSAGE(OTHER_LIST, "warning: this is not the list of nodes of their guarded set, whose clients may see another "
        "holder: its members are %s", IN_TEXT)
MESSAGE(LS_NODES, "%u of %u nodes answer", "`redlock status` shows the nodes that are missing")
MESSAGE(LAST_UNKNOWN, "too few nodes told the marker %s: %u of %u needed; %s",
        "`redlock status` shows the nodes that are missing")
MESSAGE(BROKE, "%s", "see that the former holder has stopped its work")
MESSAGE(BREAK_KEPT, "node %u %s did not confirm, and may keep the key: %s",
        "repeat the command when that node answers; a key with an expiry ends by itself")
MESSAGE(BREAK_NO, "nothing was changed", NEWS)
MESSAGE(BREAK_WARNS, "the holder may still be working: a run learns at its next renewal that it has lost "
        "the lock (79), and stops its command then; other programs may not notice",
        "stop the former holder's work where it runs: the label of the lock has host and process")
MESSAGE(BREAK_MANY, "break '%s': %zu holders: name one with --holder TOKEN; `redlock status --json` shows "
        "the tokens", IN_TEXT)
MESSAGE(BREAK_OTHER_TOKEN, "break '%s': no node has this token: %s",
        "`redlock status NAME` shows the token of the present holder")
MESSAGE(BREAK_CHANGED, "the key '%s' on node %u %s is not the one that was shown, and stays",
        "see with `redlock status NAME` what is there now, and repeat the command")
MESSAGE(BREAK_FREE, "break '%s': nobody holds it", NEWS)
MESSAGE(BREAK_QUEUE, "%s; clients that wait line up anew", NEWS)
MESSAGE(BREAK_NO_QUEUE, "break '%s': nobody waits for it: no queue on the %u of %u nodes that answered",
        "clients that may not use a queue ask again and again, and are in none: `redlock help acl`")

SECTION(GUARD, "Guarded sets: init")
MESSAGE(INIT_USAGE, "init: %s", IN_TEXT)
MESSAGE(INIT_NOTE, "%s", NEWS)
MESSAGE(INIT_WAITS, "waiting %.1f s: %s", NEWS)
MESSAGE(INIT_NODE, "%s", "mend what the node says, then repeat the command")
MESSAGE(INIT_SILENT, "no answer (%s)%s",
        "start the node, or make it reachable from here; `redlock status` shows it")
MESSAGE(INIT_LOGIN, "%s: %s", "check user and password of that node")
MESSAGE(INIT_RACE, "the records differ from what was written: somebody else is changing them, or +hdel is "
        "missing", "let one `redlock init` run at a time; `redlock help acl` has the rights")
MESSAGE(INIT_NUMBERS, "too few fencing numbers are left above the one in its record, %llu: if no lock "
        "ever had it, delete it there, with HDEL redlock:set floor gmax", IN_TEXT)
MESSAGE(INIT_URLS, "a URL of the list is not valid",
        "redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], one for each node, with commas between them")
MESSAGE(INIT_URL, "init: --%s: not the URL of a node", "redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]")
MESSAGE(INIT_SIZE, "init: a node set has 1 to %d nodes, not %zu", "give that many URLs")
MESSAGE(INIT_REPLACED, "init: --replace: %s is both: a server that was replaced at its address needs no "
        "command, it votes after a quarantine", NEWS)
MESSAGE(INIT_BOTH, "init: --replace: the list of nodes has both %s and %s: to leave out the first, "
        "--remove it", IN_TEXT)
MESSAGE(INIT_NEITHER, "init: --replace: the list of nodes has neither %s nor %s: give the members with -r",
        IN_TEXT)
MESSAGE(INIT_EMPTY, "no node would be left%s",
        "a set has at least one node; `redlock init --plain` takes it back")
MESSAGE(INIT_SAME, "is the same server as node %u: list every server once", IN_TEXT)
MESSAGE(INIT_NEWER, "its record was written by a newer version: use that here", IN_TEXT)
MESSAGE(INIT_RUN_ID, "it does not report its run_id, without which a restart is not seen: permit +info, "
        "or accept that only wipes are seen, with --guard=auto", IN_TEXT)
MESSAGE(INIT_REPLICAS, "it has or had replicas, or is one: detach them and restart it, or accept them "
        "with --guard=auto", IN_TEXT)
MESSAGE(INIT_DAMAGED, "its record is damaged (%s)%s",
        "run `redlock init` with a node that has its record: it writes the others anew")
MESSAGE(INIT_OTHER_SET, "its record is of node set %s with the members %s, and that of node %u of set %s: "
        "give the nodes of one set, or first take the other one back, with `redlock init --plain` and its "
        "members", IN_TEXT)
MESSAGE(INIT_ADD_LISTED,
        "init: --add: %s is in the list of nodes, which are no guarded set yet: make one of all of them with "
        "`redlock init`, or give the others alone with -r",
        IN_TEXT)
MESSAGE(INIT_NO_RECORD, "init: these nodes have no record of a guarded node set; first run: redlock init",
        IN_TEXT)
MESSAGE(INIT_NO_NUMBERS, "%u of %u nodes vote and know their fencing numbers, %s are needed: no lock can "
        "be acquired with --fence before `redlock init --new-epoch`; run that when %s nodes vote", IN_TEXT)
MESSAGE(INIT_QUORUM, "the quorum of this set is %s, not %s: give --quorum %s, or take the set back with "
        "`redlock init --plain` and make it anew", IN_TEXT)
MESSAGE(INIT_ADMITTED, "init: %u of %u nodes are admitted, %s are needed: a new epoch begins when they are",
        "start the other nodes, or wait for the end of their quarantine: `redlock status` shows both")
MESSAGE(INIT_LEAVING, "its record is of node set %s, which %s is leaving, with other members: %s; repeat "
        "the command that began this, `redlock init --replace` or `--remove`", IN_TEXT)
MESSAGE(INIT_MEMBERS, "its record is of node set %s with other members: %s", IN_TEXT)
MESSAGE(INIT_NO_MEMBER, "%s is no member of the set, which has the members %s%s", IN_TEXT)
MESSAGE(INIT_FORMER_TTL, "the maximum TTL is %s: %s; --max-ttl gives another one", IN_TEXT)
MESSAGE(INIT_FORMER, "%s is no member any more: give the members that are left, and --add the new one",
        IN_TEXT)
MESSAGE(INIT_MAXIMUM, "the maximum TTL of this set is %s ms: for another one take the set back with "
        "`redlock init --plain`, and make it anew", IN_TEXT)
MESSAGE(INIT_BEGUN, "the change before this one is not finished; first run: redlock init --finish", IN_TEXT)
MESSAGE(INIT_ALIVE, "it answers: without --dead it is told that it leaves the set",
        "leave out --dead, or stop that server first")
MESSAGE(INIT_FEW, "without %s the other members, %u, are fewer than the quorum of the set, %s: first "
        "--add the new one, then --remove this one (if it is gone for good: --dead)", IN_TEXT)
MESSAGE(INIT_LEFT, "it left this set in configuration %s, and the newest record of the other nodes is of configuration "
        "%s: they came back with older data; if no other server has a newer record, leave it out again: redlock "
        "init --replace %s %s --dead, or --remove %s --dead", IN_TEXT)
MESSAGE(INIT_TAKEN_BACK, "it was taken back to plain in configuration %s of this set, and the newest record of the other "
        "nodes is of configuration %s: they came back with older data; run redlock init --plain, and then redlock init "
        "if the set is to be guarded", IN_TEXT)
MESSAGE(INIT_LEAVES, "%s leaves the set, and must be told: add --remove and its URL, or --dead if it is "
        "gone for good", IN_TEXT)
MESSAGE(INIT_UNTOLD, "no answer (%s): it must be told that it leaves the set; if it is gone for good: "
        "--dead", IN_TEXT)
MESSAGE(INIT_UNCARRIED, "no fencing numbers are carried, as too few nodes know them: before `redlock init "
        "--new-epoch` no lock can be acquired with --fence", IN_TEXT)

SECTION(CLUSTER, "The local cluster, bench")
MESSAGE(NO_LOCAL_CLUSTER, "local: no local cluster in %s; start one: redlock cluster start", IN_TEXT)
MESSAGE(NO_SERVER, "redis-server is not installed: apt-get install redis-server", IN_TEXT)
MESSAGE(CLUSTER_USE, "to use it: export REDLOCK_URLS=local; to end it: redlock cluster stop", NEWS)
MESSAGE(CLUSTER_URLS, "for programs with the library: export REDLOCK_URLS='%s'", NEWS)
MESSAGE(CLUSTER_SIZE, "the local cluster has %u nodes, not %u; first run: redlock cluster stop", IN_TEXT)
MESSAGE(CLUSTER_NONE, "no local cluster was running", NEWS)
MESSAGE(CLUSTER_ENDED, "ended %u server%s, removed %s", NEWS)
MESSAGE(CLUSTER_START, "no local cluster; to start one: redlock cluster start", IN_TEXT)
MESSAGE(LOCAL_GUARD, "%s/guard: %s: the nodes have their records, but `-r local` does not know; mend "
        "that, and repeat redlock init", IN_TEXT)
MESSAGE(CLUSTER_DIR, "%s%s: %s",
        "mend the rights or the contents of that path; XDG_RUNTIME_DIR, else TMPDIR, names another one")
MESSAGE(DIR, "%.*s: %s%s", "mend the rights of that path, or make its parent")
MESSAGE(SERVER_CONFIG, "node %u: cannot write its configuration: %s",
        "make room in that file system, or mend the rights of the directory")
MESSAGE(SERVER_PROCESS, "node %u: cannot start a process: %s",
        "raise the limit of processes (`ulimit -u`), or free memory")
MESSAGE(SERVER_START, "node %u did not start: %s",
        "the last line of the server's log says why: most often a port in use, or a full disk")
MESSAGE(SERVER_KEPT, "node %u: process %ld was kept: %s",
        "`redlock cluster stop` ends all servers of the cluster, `redlock cluster start` starts new ones")
MESSAGE(SERVER_STAYS, "node %u: process %ld does not end",
        "end that process with kill(1), then `redlock cluster stop` again")
MESSAGE(DIRECTORY_STAYS, "node %u: its directory stays: %s", "remove the directory by hand")
MESSAGE(BENCH_FAILED, "warning: %llu pairs failed and are not counted; the last: %s",
        "`redlock doctor` finds what is wrong with the nodes")

SECTION(MACHINE, "This machine")
MESSAGE(NO_MEMORY, "out of memory",
        "free memory, or raise the limit of this process (`ulimit -v`, MemoryMax of the unit)")
MESSAGE(START, "cannot start: %s", "raise the limits of this process: `ulimit -a` shows them")
MESSAGE(NOTHING_FOUND, "nothing in `redlock help troubleshooting` is about '%s'",
        "give one word of the message, as TIMEOUT, or the line alone, without \"hint:\"")
MESSAGE(DROPPED, "%u message%s before this one dropped: stderr was full, and nobody read it for a second",
        "read stderr, or send it to a file; --syslog keeps all messages")
MESSAGE(OUTPUT, "cannot write the output: %s", "the reader of stdout has gone, or its disk is full")
