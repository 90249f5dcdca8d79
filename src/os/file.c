/* SPDX-License-Identifier: MIT */
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATIENCE_MS = 10000 };

/* A FIFO may have no writer yet. Returns 0 once the descriptor can be read, or is at its end. */
static int await(int fd, int stop_fd)
{
	struct pollfd watched[] = {{.fd = fd, .events = POLLIN}, {.fd = stop_fd, .events = POLLIN}};
	int count;
	do
		count = poll(watched, 2, stop_fd < 0 ? PATIENCE_MS : -1);
	while (count < 0 && errno == EINTR);
	if (count < 0)
		return errno;
	if (watched[0].revents != 0)
		return 0;
	return count == 0 ? ETIMEDOUT : ECANCELED;
}

static int read_some(int fd, size_t max, struct rl_file *file)
{
	ssize_t got;
	while ((got = read(fd, file->bytes + file->size, max + 1 - file->size)) > 0)
		file->size += (size_t)got;
	if (file->size > max)
		return EFBIG;
	return got < 0 ? errno : 0;
}

static int read_all(int fd, bool waits, size_t max, int stop_fd, struct rl_file *file)
{
	int error;
	do {
		error = waits ? await(fd, stop_fd) : 0;
		if (error == 0)
			error = read_some(fd, max, file);
	} while (error == EINTR || error == EAGAIN);
	return error;
}

/* The group may read a file of root. */
static bool is_exposed(const struct stat *status)
{
	mode_t closed = status->st_uid == 0 ? S_IWGRP | S_IXGRP | S_IRWXO : S_IRWXG | S_IRWXO;
	return S_ISREG(status->st_mode) && (status->st_mode & closed) != 0;
}

static int read_open(int fd, size_t max, int stop_fd, struct rl_file *file)
{
	struct stat status;
	if (fstat(fd, &status) < 0)
		return errno;
	if (S_ISDIR(status.st_mode))
		return EISDIR;
	if (S_ISBLK(status.st_mode))
		return EINVAL;
	file->is_exposed = is_exposed(&status);
	file->bytes = malloc(max + 2);
	if (file->bytes == NULL)
		return ENOMEM;
	int error = read_all(fd, !S_ISREG(status.st_mode), max, stop_fd, file);
	file->bytes[file->size] = '\0';
	return error;
}

int rl_file_read(const char *path, size_t max, int stop_fd, struct rl_file *ret)
{
	struct rl_file file = {0};
	/* O_NONBLOCK: to open a FIFO without a writer would wait for one. */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	int error = read_open(fd, max, stop_fd, &file);
	close(fd);
	if (error == 0)
		*ret = file;
	else
		rl_file_free(&file);
	return error;
}

void rl_file_free(struct rl_file *file)
{
	if (file->bytes != NULL)
		explicit_bzero(file->bytes, file->size);
	free(file->bytes);
	*file = (struct rl_file){0};
}
