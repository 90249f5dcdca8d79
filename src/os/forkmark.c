/* SPDX-License-Identifier: MIT */
#include "os/forkmark.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

int rl_forkmark_set(struct rl_forkmark *mark)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	mark->pid = getpid();
	mark->page = NULL;
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return -errno;
	if (madvise(page, size, MADV_WIPEONFORK) < 0) {
		munmap(page, size); /* a kernel before 4.14: ask for the process id each time */
		return 0;
	}
	mark->page = page;
	*mark->page = 1;
	return 0;
}

bool rl_forkmark_is_child(const struct rl_forkmark *mark)
{
	return mark->page != NULL ? *mark->page == 0 : mark->pid != getpid();
}

void rl_forkmark_clear(struct rl_forkmark *mark)
{
	if (mark->page != NULL)
		munmap((void *)mark->page, (size_t)sysconf(_SC_PAGESIZE));
	mark->page = NULL;
}
