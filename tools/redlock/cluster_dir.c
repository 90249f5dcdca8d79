/* SPDX-License-Identifier: MIT */
/* Where the files of the local cluster are, and who may touch them. */
#include "cluster_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <redlock/redlock.h>

#include "clock.h"
#include "cluster_server.h"
#include "exit_codes.h"
#include "message.h"
#include "signals.h"
#include "values.h"

enum { LOCK_RETRY_MS = 20 };

static int path_error(const char *path, const char *problem)
{
	complain("%s: %s", path, problem);
	return EXIT_CONFIG;
}

/* ---- The directory ---- */

/* The user's runtime directory where there is one, else a directory with the user's number in its name. */
static int choose_base(struct cluster_dir *dir)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	const char *tmp = getenv("TMPDIR");
	struct stat info;
	int length;

	if (runtime && *runtime == '/' && stat(runtime, &info) == 0 && S_ISDIR(info.st_mode))
		length = snprintf(dir->base, sizeof(dir->base), "%s/redlock", runtime);
	else
		length = snprintf(dir->base, sizeof(dir->base), "%s/redlock-%lu", tmp && *tmp == '/' ? tmp : "/tmp",
		                  (unsigned long)getuid());
	if (length < 0 || (size_t)length >= CLUSTER_SOCKET_MAX - sizeof("/cluster/node-31/redis.sock"))
		return path_error(dir->base, "this directory's name is too long for Unix sockets; "
		                             "set TMPDIR or XDG_RUNTIME_DIR to a shorter one");
	snprintf(dir->path, sizeof(dir->path), "%.*s/cluster", length, dir->base);
	snprintf(dir->lock_path, sizeof(dir->lock_path), "%.*s/cluster.lock", length, dir->base);
	return EXIT_OK;
}

/* A directory of this user that nobody else can write to or look into. No symlink is followed. */
static int check_private(const char *path)
{
	struct stat info;

	if (lstat(path, &info) < 0)
		return path_error(path, strerror(errno));
	if (!S_ISDIR(info.st_mode))
		return path_error(path, "is not a directory; remove it");
	if (info.st_uid != getuid())
		return path_error(path,
		                  "belongs to another user; set TMPDIR or XDG_RUNTIME_DIR to a directory of yours");
	if (info.st_mode & 077)
		return path_error(path, "is open to other users; chmod 700 it, after a look at what is in it");
	return EXIT_OK;
}

static int make_private(const char *path)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return path_error(path, strerror(errno));
	return check_private(path);
}

static int read_nodes(struct cluster_dir *dir)
{
	char path[PATH_MAX + 8];
	FILE *file;
	unsigned nodes = 0;

	dir->nodes = 0;
	snprintf(path, sizeof(path), "%s/nodes", dir->path);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? EXIT_OK : path_error(path, strerror(errno));
	if (fscanf(file, "%3u", &nodes) != 1 || nodes < 1 || nodes > REDLOCK_MAX_NODES) {
		fclose(file);
		return path_error(path, "does not say how many nodes there are; run `redlock cluster stop`");
	}
	fclose(file);
	dir->nodes = nodes;
	return EXIT_OK;
}

int cluster_dir_find(struct cluster_dir *dir)
{
	struct stat info;
	int code;

	memset(dir, 0, sizeof(*dir));
	dir->lock_fd = -1;
	code = choose_base(dir);
	if (code != EXIT_OK)
		return code;
	if (lstat(dir->base, &info) < 0 && errno == ENOENT)
		return EXIT_OK;
	code = check_private(dir->base);
	return code == EXIT_OK ? read_nodes(dir) : code;
}

/* ---- The lock ---- */

/* Waits for the lock, but not through a signal. */
static int wait_for_lock(int fd)
{
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return errno;
		if (signals_caught())
			return EINTR;
		clock_sleep_ms(LOCK_RETRY_MS);
	}
	return 0;
}

/* `stop` removes the lock file while others wait for it: what was locked then is a file without a name. */
static bool is_current(int fd, const char *path)
{
	struct stat by_fd, by_path;

	return fstat(fd, &by_fd) == 0 && stat(path, &by_path) == 0 && by_fd.st_dev == by_path.st_dev &&
	       by_fd.st_ino == by_path.st_ino;
}

static int lock_once(struct cluster_dir *dir, bool *ret_again)
{
	int error, code = make_private(dir->base);

	*ret_again = false;
	if (code != EXIT_OK)
		return code;
	dir->lock_fd = open(dir->lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (dir->lock_fd < 0) {
		*ret_again = errno == ENOENT;
		return *ret_again ? EXIT_OK : path_error(dir->lock_path, strerror(errno));
	}
	error = wait_for_lock(dir->lock_fd);
	*ret_again = error == 0 && !is_current(dir->lock_fd, dir->lock_path);
	if (error == 0 && !*ret_again)
		return EXIT_OK;
	cluster_dir_unlock(dir);
	if (error == EINTR && signals_caught())
		return EXIT_SIGNAL + signals_caught();
	return error ? path_error(dir->lock_path, strerror(error)) : EXIT_OK;
}

int cluster_dir_lock(struct cluster_dir *dir)
{
	int code = cluster_dir_find(dir);
	bool again = true;

	while (code == EXIT_OK && again)
		code = lock_once(dir, &again);
	return code == EXIT_OK ? read_nodes(dir) : code;
}

void cluster_dir_unlock(struct cluster_dir *dir)
{
	if (dir->lock_fd >= 0)
		close(dir->lock_fd);
	dir->lock_fd = -1;
}

/* ---- Contents ---- */

int cluster_dir_create(struct cluster_dir *dir, unsigned nodes)
{
	char path[PATH_MAX + 8], temporary[PATH_MAX + 16];
	FILE *file;
	int code = make_private(dir->path);

	if (code != EXIT_OK)
		return code;
	snprintf(path, sizeof(path), "%s/nodes", dir->path);
	snprintf(temporary, sizeof(temporary), "%s.new", path);
	file = fopen(temporary, "we");
	if (!file)
		return path_error(temporary, strerror(errno));
	fprintf(file, "%u\n", nodes);
	/* By rename, so that a reader never sees half of it. */
	if (fclose(file) != 0 || rename(temporary, path) < 0)
		return path_error(path, strerror(errno));
	dir->nodes = nodes;
	return EXIT_OK;
}

void cluster_dir_remove(struct cluster_dir *dir)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/nodes.new", dir->path);
	unlink(path);
	snprintf(path, sizeof(path), "%s/nodes", dir->path);
	unlink(path);
	rmdir(dir->path);
	unlink(dir->lock_path);
	cluster_dir_unlock(dir);
	rmdir(dir->base); /* stays when something else is in it */
}

int cluster_dir_urls(struct text_list *ret)
{
	struct cluster_dir dir;
	int code = cluster_dir_find(&dir);

	if (code == EXIT_OK && dir.nodes == 0) {
		complain("local: no local cluster in %s; start one: redlock cluster start", dir.path);
		code = EXIT_CONFIG;
	}
	for (unsigned i = 1; code == EXIT_OK && i <= dir.nodes; i++) {
		struct cluster_server server;
		char url[CLUSTER_URL_MAX];

		cluster_server_init(&server, dir.path, i);
		cluster_server_url(&server, url, sizeof(url));
		if (!text_list_add(ret, url)) {
			complain("out of memory");
			code = EXIT_INTERNAL;
		}
	}
	return code;
}
