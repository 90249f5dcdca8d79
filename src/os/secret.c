/* SPDX-License-Identifier: MIT */
#include "os/secret.h"

#include <string.h>
#include <sys/mman.h>

struct pages {
	size_t size;
	char text[];
};

char *rl_secret_copy(const char *bytes, size_t size)
{
	const size_t whole = sizeof(struct pages) + size + 1;
	struct pages *pages = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return NULL;
	(void)madvise(pages, whole, MADV_DONTDUMP); /* without it the rest still holds */
	pages->size = whole;
	memcpy(pages->text, bytes, size);
	return pages->text;
}

void rl_secret_free(char *secret)
{
	if (secret == NULL)
		return;
	struct pages *pages = (struct pages *)(void *)(secret - offsetof(struct pages, text));
	const size_t whole = pages->size;
	explicit_bzero(pages, whole);
	(void)munmap(pages, whole);
}
