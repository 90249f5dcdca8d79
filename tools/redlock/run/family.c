/* SPDX-License-Identifier: MIT */
/* All descendants of the calling process, and those above it. */
#include "family.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flocks.h"

struct process {
	pid_t pid;
	pid_t parent;
	bool descends;
};

struct processes {
	struct process *items;
	size_t count;
	size_t room;
};

/* As much of it as there is room for, as text. */
static bool read_file(int proc, const char *path, char *text, size_t size)
{
	int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t length = read(fd, text, size - 1);
	close(fd);
	text[length > 0 ? length : 0] = '\0';
	return length > 0;
}

/* Reads what /proc says of a process: its number, then the name, which is in parentheses and may have any
 * character in it. NULL: the process is gone; else where the name ends. */
static char *look_at(int proc, const char *pid, char *text, size_t size)
{
	char path[64];
	snprintf(path, sizeof path, "%.20s/stat", pid);
	if (!read_file(proc, path, text, size))
		return NULL;
	char *name_end = strrchr(text, ')');
	return name_end != NULL && strlen(name_end) >= 5 ? name_end : NULL;
}

/* The parent: the second field after the name. 0: the process is gone. */
static pid_t parent_of(int proc, const char *pid)
{
	char text[512];
	const char *name_end = look_at(proc, pid, text, sizeof text);
	return name_end != NULL ? (pid_t)strtol(name_end + 4, NULL, 10) : 0; /* ") S 123": a letter of state */
}

/* The time at which the process began: the 20th field after the name, in ticks since the boot. 0: not known.
 */
static uint64_t birth_of(const char *name_end)
{
	const char *at = name_end;
	for (int field = 0; at != NULL && field < 20; field++)
		at = strchr(at + 1, ' ');
	return at != NULL ? strtoull(at + 1, NULL, 10) : 0;
}

pid_t family_parent(int proc, pid_t pid)
{
	char number[24];
	snprintf(number, sizeof number, "%ld", (long)pid);
	return parent_of(proc, number);
}

bool family_name(pid_t pid, char *name, size_t size)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%ld/comm", (long)pid);
	int comm = open(path, O_RDONLY | O_CLOEXEC);
	if (comm < 0)
		return false;
	ssize_t length = read(comm, name, size - 1);
	close(comm);
	if (length <= 0)
		return false;
	name[length] = '\0';
	name[strcspn(name, "\n")] = '\0';
	return true;
}

uint64_t family_birth(int proc, pid_t pid)
{
	char number[24], text[512];
	snprintf(number, sizeof number, "%ld", (long)pid);
	const char *name_end = look_at(proc, number, text, sizeof text);
	return name_end != NULL ? birth_of(name_end) : 0;
}

/* Whether the process has that name, by its text from /proc, which is cut after the name. */
static bool is_called(char *text, char *name_end, const char *name)
{
	const char *begin = strchr(text, '(');
	*name_end = '\0';
	return begin != NULL && strcmp(begin + 1, name) == 0;
}

/* An ancestor may end meanwhile, and leave its children to a farther one: then the search begins again. */
bool family_is_below(int proc, pid_t pid, uint64_t birth, const char *name)
{
	enum { TRIES = 5 };
	char number[24], text[512];
	int tries = 0;
	for (pid_t at = getppid(); at > 1 && tries < TRIES;) {
		snprintf(number, sizeof number, "%ld", (long)at);
		char *name_end = look_at(proc, number, text, sizeof text);
		if (name_end != NULL && at == pid)
			return birth_of(name_end) == birth && is_called(text, name_end, name);
		tries += name_end == NULL;
		at = name_end != NULL ? (pid_t)strtol(name_end + 4, NULL, 10) : getppid();
	}
	return false;
}

/* A root without it is a user like others. */
static bool has_cap_kill(const char *status)
{
	const unsigned cap_kill = 5;
	unsigned long long effective;
	const char *at = strstr(status, "\nCapEff:");
	return at != NULL && sscanf(at, "\nCapEff: %llx", &effective) == 1 && (effective >> cap_kill & 1) != 0;
}

bool family_may_signal(int proc, pid_t pid)
{
	char path[64], text[4096];
	unsigned long real, effective;
	snprintf(path, sizeof path, "%ld/status", (long)pid);
	if (!read_file(proc, path, text, sizeof text))
		return false;
	const char *ids = strstr(text, "\nUid:");
	uid_t ours, any, saved;
	if (ids == NULL || sscanf(ids, "\nUid: %lu %lu", &real, &effective) != 2 ||
	    getresuid(&ours, &any, &saved) < 0)
		return false;
	const bool any_user = effective == 0 && has_cap_kill(text);
	return any_user || real == ours || real == saved || effective == ours || effective == saved;
}

static bool add(struct processes *all, pid_t pid, pid_t parent)
{
	if (all->count == all->room) {
		size_t room = all->room ? 2 * all->room : 512;
		struct process *items = realloc(all->items, room * sizeof *items);
		if (items == NULL)
			return false;
		all->items = items;
		all->room = room;
	}
	all->items[all->count++] = (struct process){.pid = pid, .parent = parent};
	return true;
}

static bool add_entry(struct processes *all, int proc, const char *name)
{
	if (name[0] < '1' || name[0] > '9')
		return true;
	pid_t parent = parent_of(proc, name);
	return parent <= 0 || add(all, (pid_t)strtol(name, NULL, 10), parent);
}

/* All processes of the machine that can be seen. Out of memory: those that fit. opendir(3) would need a
 * second descriptor. */
static void list_all(struct processes *all, int proc)
{
	_Alignas(struct dirent64) char entries[8192];
	ssize_t size = lseek(proc, 0, SEEK_SET);
	while (size >= 0 && (size = getdents64(proc, entries, sizeof entries)) > 0) {
		const struct dirent64 *entry;
		for (ssize_t at = 0; at < size; at += entry->d_reclen) {
			entry = (const struct dirent64 *)(entries + at);
			if (!add_entry(all, proc, entry->d_name))
				return;
		}
	}
}

static bool is_descendant(const struct processes *all, pid_t parent, pid_t ancestor)
{
	if (parent == ancestor)
		return true;
	for (size_t i = 0; i < all->count; i++)
		if (all->items[i].descends && all->items[i].pid == parent)
			return true;
	return false;
}

static void take(struct process *process, const int *signals, size_t count)
{
	process->descends = true;
	for (size_t s = 0; s < count; s++)
		(void)kill(process->pid, signals[s]); /* gone, or another user's: run.md says which */
}

/* One round over the list; ids need not be in the order of birth, so that it takes several. */
static int signal_more(struct processes *all, pid_t ancestor, const int *signals, size_t count)
{
	int found = 0;
	for (size_t i = 0; i < all->count; i++) {
		struct process *process = &all->items[i];
		if (process->descends || !is_descendant(all, process->parent, ancestor))
			continue;
		found++;
		take(process, signals, count);
	}
	return found;
}

/* No zombie: that needs no signal. */
static bool has_living_child(void)
{
	siginfo_t ended = {.si_pid = 0};
	return waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0;
}

static bool is_shown(const struct processes *all, pid_t pid)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->items[i].pid == pid)
			return true;
	return false;
}

int family_open(void)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char self[32] = "", seen[32] = "";
	snprintf(self, sizeof self, "%ld", (long)getpid());
	if (proc >= 0 && (readlinkat(proc, "self", seen, sizeof seen - 1) < 0 || strcmp(self, seen) != 0)) {
		close(proc);
		proc = -1;
	}
	return proc;
}

bool family_shows(int proc, pid_t parent)
{
	char path[64];
	snprintf(path, sizeof path, "%ld/stat", (long)parent);
	int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0 && parent_of(proc, "self") == parent;
}

bool family_signal(int proc, pid_t child, const int *signals, size_t count)
{
	struct processes all = {NULL, 0, 0};
	list_all(&all, proc);
	int found = child > 0 && !is_shown(&all, child);
	for (size_t s = 0; s < count && found > 0; s++)
		(void)kill(child, signals[s]);
	int more;
	do
		found += more = signal_more(&all, getpid(), signals, count);
	while (more > 0);
	free(all.items);
	return found > 0 || !has_living_child();
}

static void leave_out_session(struct processes *all)
{
	const pid_t session = getsid(0);
	size_t left = 0;
	for (size_t i = 0; i < all->count; i++)
		if (getsid(all->items[i].pid) != session)
			all->items[left++] = all->items[i];
	all->count = left;
}

bool family_signal_holders(int proc, const struct flocks_lock *lock, const int *signals, size_t count)
{
	struct processes all = {NULL, 0, 0};
	list_all(&all, proc);
	leave_out_session(&all);
	int found = 0;
	for (size_t i = 0; i < all.count; i++) {
		if (!flocks_has_copy(proc, all.items[i].pid, lock))
			continue;
		found++;
		take(&all.items[i], signals, count);
	}
	while (found > 0 && signal_more(&all, 0, signals, count) > 0)
		;
	free(all.items);
	return found > 0;
}
