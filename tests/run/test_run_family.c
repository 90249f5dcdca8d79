/* SPDX-License-Identifier: MIT */
/* Those above a process: whom it is below, and who may stop it. */
#include "run/family.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

/* A process that waits for its end, with another user's rights if it has them to give away. */
static pid_t make_other(uid_t user)
{
	int ready[2];
	char byte;
	assert_int_equal(pipe(ready), 0);
	const pid_t pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setresuid(user, user, user) < 0 || write(ready[1], "", 1) < 0)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_true(pid > 0 && read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end_other(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST(root_and_the_same_user_may_signal)
{
	const int proc = family_open();
	assert_true(proc >= 0);
	assert_true(family_may_signal(proc, getpid()));
	const pid_t same = make_other(geteuid());
	assert_true(family_may_signal(proc, same));
	end_other(same);
	assert_false(family_may_signal(proc, same)); /* it is gone */
	close(proc);
}

TEST(another_user_may_not)
{
	enum { NOBODY = 65534 };
	const int proc = family_open();
	if (geteuid() != 0) {
		close(proc);
		skip();
	}
	const pid_t other = make_other(NOBODY);
	assert_false(family_may_signal(proc, other));
	end_other(other);
	close(proc);
}

TEST(an_ancestor_is_known_by_birth_and_name)
{
	const int proc = family_open();
	char name[32];
	const pid_t self = getpid();
	const uint64_t birth = family_birth(proc, self);
	assert_int_equal(prctl(PR_GET_NAME, name), 0);
	const pid_t pid = fork();
	if (pid == 0)
		_exit(family_is_below(proc, self, birth, name) && !family_is_below(proc, self, birth + 1, name) &&
		              !family_is_below(proc, self, birth, "another")
		          ? 0
		          : 1);
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_false(family_is_below(proc, self, birth, name)); /* it is no ancestor of its own */
	close(proc);
}

TESTS()
