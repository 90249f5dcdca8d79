/* SPDX-License-Identifier: MIT */
/* All descendants of a process. */
#include "family.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* The parent of a process: the second field behind the name, which is in parentheses and may have any
 * character in it. 0: the process is gone. */
static pid_t parent_of(const char *pid)
{
	char path[64], text[512];
	const char *name_end;
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (length <= 0)
		return 0;
	text[length] = '\0';
	name_end = strrchr(text, ')');
	if (!name_end || strlen(name_end) < 5)
		return 0;
	return (pid_t)strtol(name_end + 4, NULL, 10); /* ") S 123": a letter of state before it */
}

static bool add(struct processes *all, pid_t pid, pid_t parent)
{
	if (all->count == all->room) {
		size_t room = all->room ? 2 * all->room : 512;
		struct process *items = realloc(all->items, room * sizeof(*items));

		if (!items)
			return false;
		all->items = items;
		all->room = room;
	}
	all->items[all->count++] = (struct process){.pid = pid, .parent = parent};
	return true;
}

/* All processes of the machine that can be seen. Out of memory: those that fit. */
static int list_all(struct processes *all)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	if (!proc)
		return -1;
	while ((entry = readdir(proc)) != NULL) {
		pid_t parent;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		parent = parent_of(entry->d_name);
		if (parent > 0 && !add(all, (pid_t)strtol(entry->d_name, NULL, 10), parent))
			break;
	}
	closedir(proc);
	return 0;
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

/* One round over the list; ids need not be in the order of birth, so that it takes several. */
static int signal_more(struct processes *all, pid_t ancestor, const int *signals, size_t count)
{
	int found = 0;

	for (size_t i = 0; i < all->count; i++) {
		struct process *process = &all->items[i];

		if (process->descends || !is_descendant(all, process->parent, ancestor))
			continue;
		process->descends = true;
		found++;
		for (size_t s = 0; s < count; s++)
			(void)kill(process->pid, signals[s]); /* gone, or another user's: run.md says which */
	}
	return found;
}

int family_signal(pid_t ancestor, const int *signals, size_t count)
{
	struct processes all = {NULL, 0, 0};
	int found = 0, more;

	if (list_all(&all) < 0)
		return -1;
	do
		found += more = signal_more(&all, ancestor, signals, count);
	while (more > 0);
	free(all.items);
	return found;
}
