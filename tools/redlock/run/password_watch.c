/* SPDX-License-Identifier: MIT */
#include "password_watch.h"

#include <string.h>
#include <sys/stat.h>

#include "../clock.h"
#include "../message.h"
#include "../password.h"
#include "../printable.h"

enum {
	LOOK_NS = 100000000,   /* not more often */
	QUIET_NS = 1000000000, /* a file that nobody has written to for so long is complete */
	QUIET_SECONDS = 2,     /* the same by the wall clock, in whole seconds */
	ANSWERS_SECONDS = 10   /* a node that has not refused the new password by then has taken it */
};

/* Only of a regular file: what comes from a pipe cannot be read again. */
static bool version_of(const char *path, struct password_version *ret)
{
	struct stat status;
	if (stat(path, &status) < 0 || !S_ISREG(status.st_mode))
		return false;
	ret->device = status.st_dev;
	ret->inode = status.st_ino;
	ret->size = (unsigned long long)status.st_size;
	ret->written = status.st_mtim;
	ret->changed = status.st_ctim;
	return true;
}

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool same(const struct password_version *a, const struct password_version *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       same_time(a->written, b->written) && same_time(a->changed, b->changed);
}

void password_watch_begin(struct password_watch *watch, const struct settings *settings)
{
	*watch = (struct password_watch){.settings = settings};
	if (settings->password_file != NULL && !settings->ask_password &&
	    version_of(settings->password_file, &watch->used))
		watch->path = settings->password_file;
	watch->seen = watch->used;
}

/* A node that was logged in and refuses the new password keeps its connection, until that ends. */
static void tell_refusals(struct password_watch *watch, redlock_client *client, uint64_t now_ns)
{
	if (watch->told_ns == 0)
		return;
	for (unsigned i = 0; i < redlock_node_count(client); i++) {
		struct redlock_node_status status = {.size = sizeof status};
		if (redlock_node_status(client, i, &status) < 0 || !status.connected ||
		    status.last_failure != REDLOCK_VOTE_AUTH)
			continue;
		char shown[PRINTABLE_MAX];
		say_now(watch->settings, MSG(RELOGIN), i + 1, status.address,
		        printable(status.last_error, strlen(status.last_error), shown, sizeof shown));
		watch->told_ns = 0;
	}
	if (watch->told_ns != 0 && now_ns - watch->told_ns > ANSWERS_SECONDS * 1000000000ull)
		watch->told_ns = 0;
}

static bool is_quiet(const struct password_watch *watch, uint64_t now_ns)
{
	return now_ns - watch->seen_ns >= QUIET_NS || time(NULL) - watch->seen.written.tv_sec >= QUIET_SECONDS;
}

static void use(struct password_watch *watch, redlock_client *client, uint64_t now_ns)
{
	struct password_version after;
	char why[256] = "";
	struct redlock_options options;
	redlock_options_init(&options);
	options.error_text = why;
	options.error_text_size = sizeof why;
	bool loaded = password_load(watch->path, &options);
	bool unchanged = version_of(watch->path, &after) && same(&after, &watch->seen);
	/* Out of memory: the next look tries again. */
	bool used = unchanged &&
	            (!loaded || redlock_set_credentials(client, watch->settings->user, options.password) == 0);
	if (used)
		watch->used = watch->seen;
	if (used && !loaded)
		say_now(watch->settings, MSG(PASSWORD_FILE), password_problem(&options));
	if (used && loaded) {
		watch->told_ns = now_ns;
		if (watch->settings->verbose)
			say_now(watch->settings, MSG(PASSWORD_NEW), watch->path);
	}
	redlock_options_clear(&options);
}

void password_watch_look(struct password_watch *watch, redlock_client *client)
{
	uint64_t now_ns = clock_ns();
	if (watch->path == NULL || now_ns - watch->looked_ns < LOOK_NS)
		return;
	watch->looked_ns = now_ns;
	tell_refusals(watch, client, now_ns);
	struct password_version now;
	if (!version_of(watch->path, &now) || same(&now, &watch->used))
		return;
	if (!same(&now, &watch->seen)) {
		watch->seen = now;
		watch->seen_ns = now_ns;
	}
	if (is_quiet(watch, now_ns))
		use(watch, client, now_ns);
}
