/* SPDX-License-Identifier: MIT */
/* Child processes that never outlive the test. See child.h. */
#include "child.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_DESCRIPTOR = 1024 };

void child_die(const char *what)
{
	fprintf(stderr, "test helper: %s (%s)\n", what, strerror(errno));
	_exit(99);
}

int child_listen(int flags, int *ret_port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
	if (bind(fd, (struct sockaddr *)&address, length) != 0 || listen(fd, 64) != 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &length) != 0)
		child_die("no port to listen on");
	*ret_port = ntohs(address.sin_port);
	return fd;
}

pid_t child_fork(void)
{
	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid < 0)
		child_die("fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent) /* it ended before prctl */
			_exit(99);
	}
	return pid;
}

void child_detach(const int *keep, size_t keep_count)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	for (int fd = 3; fd < MAX_DESCRIPTOR; fd++) {
		bool kept = false;
		for (size_t i = 0; i < keep_count; i++)
			kept = kept || keep[i] == fd;
		if (!kept)
			close(fd);
	}
}

static int wait_status(pid_t pid, int options)
{
	int status = 0;
	while (waitpid(pid, &status, options) < 0) {
		if (errno != EINTR)
			child_die("waitpid");
	}
	return status;
}

int child_join(pid_t pid)
{
	int status = wait_status(pid, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void child_kill(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	wait_status(pid, 0);
}

void child_pause(pid_t pid)
{
	kill(pid, SIGSTOP);
	if (!WIFSTOPPED(wait_status(pid, WUNTRACED)))
		child_die("a child ended instead of being stopped");
}

void child_resume(pid_t pid)
{
	kill(pid, SIGCONT);
	if (!WIFCONTINUED(wait_status(pid, WCONTINUED)))
		child_die("a child ended instead of going on");
}

static size_t read_all(int fd, char *output, size_t size)
{
	size_t length = 0;
	char chunk[512];
	for (;;) {
		ssize_t got = read(fd, chunk, sizeof chunk);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return length;
		size_t room = size - 1 - length;
		size_t take = (size_t)got < room ? (size_t)got : room;
		memcpy(output + length, chunk, take);
		length += take;
	}
}

int child_run(const char *const *argv, char *output, size_t size)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		child_die("pipe2");
	pid_t pid = child_fork();
	if (pid == 0) {
		dup2(ends[1], 1);
		dup2(ends[1], 2);
		unsetenv("LD_PRELOAD"); /* valgrind's and others' helpers are not meant for it */
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(ends[1]);
	size_t length = read_all(ends[0], output, size);
	close(ends[0]);
	while (length > 0 && output[length - 1] == '\n')
		length--;
	output[length] = '\0';
	return child_join(pid);
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *position)
{
	(void)info;
	(void)type;
	(void)position;
	return remove(path);
}

void child_remove_tree(const char *path)
{
	nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void wait_and_remove(int fd, const char *path)
{
	char byte;
	child_detach(&fd, 1);
	while (read(fd, &byte, 1) < 0 && errno == EINTR) {
	}
	child_remove_tree(path);
	_exit(0);
}

/* Not a child of the test but of nobody: ctest ends a test that takes too long with all its descendants. */
int child_janitor(const char *path)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		child_die("pipe2");
	pid_t pid = fork();
	if (pid < 0)
		child_die("fork");
	if (pid == 0) {
		setsid();
		signal(SIGTERM, SIG_IGN);
		if (fork() == 0)
			wait_and_remove(ends[0], path);
		_exit(0);
	}
	close(ends[0]);
	wait_status(pid, 0);
	return ends[1];
}
