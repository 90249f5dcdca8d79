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
#include "safe_dir.h"
#include "signals.h"
#include "values.h"

enum { LOCK_RETRY_MS = 20 };

static const char lock_name[] = "cluster.lock";

static int dir_error(const char *path, const char *name, const char *problem)
{
	complain(MSG(CLUSTER_DIR), path, name, problem);
	return EXIT_CONFIG;
}

static int os_error(const char *path, const char *name, int error)
{
	(void)dir_error(path, name, strerror(error));
	return exit_code_of_errno(error);
}

/* ---- the directory ---- */

static bool is_directory(const char *path)
{
	struct stat info;
	return path != NULL && *path == '/' && stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* The user's runtime directory where there is one, else a directory with the user's number in its name. */
static int open_parent(struct cluster_dir *dir)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR"), *tmp = getenv("TMPDIR");
	bool own = is_directory(runtime);
	char parent[PATH_MAX], name[32] = "redlock";
	dir->parent_fd = safe_dir_open(own ? runtime : tmp != NULL && *tmp == '/' ? tmp : "/tmp", own, parent);
	if (dir->parent_fd < 0)
		return exit_code_of_errno(errno);
	if (!own)
		snprintf(name, sizeof name, "redlock-%lu", (unsigned long)getuid());
	int length = snprintf(dir->base, sizeof dir->base, "%s/%s", parent, name);
	if (length < 0 || (size_t)length >= CLUSTER_SOCKET_MAX - sizeof "/cluster/node-31/redis.sock")
		return dir_error(dir->base, "",
		                 "this directory's name is too long for Unix sockets; "
		                 "set TMPDIR or XDG_RUNTIME_DIR to a shorter one");
	snprintf(dir->path, sizeof dir->path, "%.*s/cluster", length, dir->base);
	return EXIT_OK;
}

static const char *base_name(const struct cluster_dir *dir)
{
	return strrchr(dir->base, '/') + 1;
}

/* Opens a directory that nobody else can write to or look into, if it is there; with `make` it is made. */
static int open_private(int *fd, int at, const char *name, const char *path, bool make)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	if (make && mkdirat(at, name, 0700) < 0 && errno != EEXIST)
		return os_error(path, "", errno);
	*fd = safe_dir_private(at, name, path);
	return *fd >= 0 || errno == ENOENT ? EXIT_OK : exit_code_of_errno(errno);
}

static int read_nodes(struct cluster_dir *dir)
{
	unsigned nodes = 0;
	int code = open_private(&dir->path_fd, dir->base_fd, "cluster", dir->path, false);
	dir->nodes = 0;
	if (code != EXIT_OK || dir->path_fd < 0)
		return code;
	FILE *file = safe_file(dir->path_fd, "nodes", O_RDONLY);
	if (file == NULL)
		return errno == ENOENT ? EXIT_OK : os_error(dir->path, "/nodes", errno);
	if (fscanf(file, "%3u", &nodes) != 1 || nodes < 1 || nodes > REDLOCK_MAX_NODES) {
		fclose(file);
		return dir_error(dir->path, "/nodes",
		                 "does not say how many nodes there are; run `redlock cluster stop`");
	}
	fclose(file);
	dir->nodes = nodes;
	return EXIT_OK;
}

int cluster_dir_find(struct cluster_dir *dir)
{
	memset(dir, 0, sizeof *dir);
	dir->parent_fd = dir->base_fd = dir->path_fd = dir->lock_fd = -1;
	int code = open_parent(dir);
	if (code == EXIT_OK)
		code = open_private(&dir->base_fd, dir->parent_fd, base_name(dir), dir->base, false);
	return code == EXIT_OK && dir->base_fd >= 0 ? read_nodes(dir) : code;
}

void cluster_dir_close(struct cluster_dir *dir)
{
	int *fds[] = {&dir->lock_fd, &dir->path_fd, &dir->base_fd, &dir->parent_fd};
	for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

/* ---- the lock ---- */

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
static bool is_current(const struct cluster_dir *dir)
{
	struct stat by_fd, by_name;
	return fstat(dir->lock_fd, &by_fd) == 0 &&
	       fstatat(dir->base_fd, lock_name, &by_name, AT_SYMLINK_NOFOLLOW) == 0 &&
	       by_fd.st_dev == by_name.st_dev && by_fd.st_ino == by_name.st_ino;
}

static int lock_once(struct cluster_dir *dir, bool *ret_again)
{
	int code = open_private(&dir->base_fd, dir->parent_fd, base_name(dir), dir->base, true);
	*ret_again = false;
	if (code != EXIT_OK)
		return code;
	dir->lock_fd = openat(dir->base_fd, lock_name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (dir->lock_fd < 0) {
		*ret_again = dir->base_fd < 0 || errno == ENOENT; /* `stop` has removed the directory */
		return *ret_again ? EXIT_OK : os_error(dir->base, "/cluster.lock", errno);
	}
	int error = wait_for_lock(dir->lock_fd);
	*ret_again = error == 0 && !is_current(dir);
	if (error == 0 && !*ret_again)
		return EXIT_OK;
	close(dir->lock_fd);
	dir->lock_fd = -1;
	if (error == EINTR && signals_caught())
		return EXIT_SIGNAL + signals_caught();
	return error ? os_error(dir->base, "/cluster.lock", error) : EXIT_OK;
}

int cluster_dir_lock(struct cluster_dir *dir)
{
	int code = cluster_dir_find(dir);
	bool again = true;
	while (code == EXIT_OK && again)
		code = lock_once(dir, &again);
	return code == EXIT_OK ? read_nodes(dir) : code;
}

/* ---- contents ---- */

int cluster_dir_create(struct cluster_dir *dir, unsigned nodes)
{
	int code = open_private(&dir->path_fd, dir->base_fd, "cluster", dir->path, true);
	if (code != EXIT_OK)
		return code;
	FILE *file = safe_file(dir->path_fd, "nodes.new", O_WRONLY | O_CREAT | O_TRUNC);
	bool written = file != NULL && fprintf(file, "%u\n", nodes) > 0;
	if (file != NULL && fclose(file) != 0)
		written = false;
	/* By rename, so that a reader never sees half of it. */
	if (!written || renameat(dir->path_fd, "nodes.new", dir->path_fd, "nodes") < 0)
		return os_error(dir->path, "/nodes", errno);
	dir->nodes = nodes;
	return EXIT_OK;
}

void cluster_dir_remove(struct cluster_dir *dir)
{
	unlinkat(dir->path_fd, "nodes.new", 0);
	unlinkat(dir->path_fd, "nodes", 0);
	unlinkat(dir->path_fd, "guard", 0);
	unlinkat(dir->base_fd, "cluster", AT_REMOVEDIR);
	unlinkat(dir->base_fd, lock_name, 0);
	unlinkat(dir->parent_fd, base_name(dir), AT_REMOVEDIR); /* stays when something else is in it */
}

bool cluster_dir_is_guarded(void)
{
	struct cluster_dir dir;
	/* In doubt the set counts as guarded: a set without a guard reports that, and a guarded set must not be
	 * used without its guard. */
	bool in_doubt = cluster_dir_find(&dir) != EXIT_OK;
	bool guarded = dir.nodes > 0 && (faccessat(dir.path_fd, "guard", F_OK, 0) == 0 || errno != ENOENT);
	cluster_dir_close(&dir);
	return in_doubt || guarded;
}

int cluster_dir_guard(bool guarded)
{
	struct cluster_dir dir;
	bool done = true;
	int code = cluster_dir_find(&dir);
	if (code == EXIT_OK && dir.nodes > 0 && guarded) {
		FILE *file = safe_file(dir.path_fd, "guard", O_WRONLY | O_CREAT | O_TRUNC);
		done = file != NULL && fclose(file) == 0;
	} else if (dir.path_fd >= 0) {
		done = unlinkat(dir.path_fd, "guard", 0) == 0 || errno == ENOENT;
	}
	if (!done) {
		code = exit_code_of_errno(errno);
		complain(MSG(LOCAL_GUARD), dir.path, strerror(errno));
	}
	cluster_dir_close(&dir);
	return code;
}

int cluster_dir_urls(struct text_list *ret)
{
	struct cluster_dir dir;
	int code = cluster_dir_find(&dir);
	if (code == EXIT_OK && dir.nodes == 0) {
		complain(MSG(NO_LOCAL_CLUSTER), dir.path);
		code = EXIT_CONFIG;
	}
	for (unsigned i = 1; code == EXIT_OK && i <= dir.nodes; i++) {
		struct cluster_server server;
		cluster_server_init(&server, dir.path_fd, dir.path, i);
		char url[CLUSTER_URL_MAX];
		cluster_server_url(&server, url, sizeof url);
		if (!text_list_add(ret, url)) {
			complain(MSG(NO_MEMORY));
			code = EXIT_INTERNAL;
		}
	}
	cluster_dir_close(&dir);
	return code;
}
