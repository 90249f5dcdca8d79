/* SPDX-License-Identifier: MIT */
/*
 * Configuration files. Each setting that is taken has a known name and the line where it stands, and options
 * can be loaded from it; what is wrong is said in one sentence, with the file. Input: the file.
 */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include <redlock/redlock.h>

#include "config/words.h"

/* A file that is never on a disk. */
static int write_file(const uint8_t *bytes, size_t size, char path[64])
{
	int fd = memfd_create("config", MFD_CLOEXEC);
	must(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

static void check_settings(const redlock_config *config, const char *path)
{
	struct redlock_setting setting = {.size = sizeof setting};
	char problem[128];
	uint64_t number;
	for (size_t i = 0; redlock_config_setting(config, i, &setting) > 0; i++) {
		const struct rl_word *word = rl_words_find(setting.name);
		must(word != NULL && word->is_key);
		must(rl_words_parse(word, setting.value, &number, problem, sizeof problem));
		must(strncmp(setting.where, path, strlen(path)) == 0 && setting.where[strlen(path)] == ':');
	}
	for (size_t i = 0; redlock_config_cluster(config, i) != NULL; i++)
		must(*redlock_config_cluster(config, i) != '\0');
}

static void check_loaded(struct redlock_options *options)
{
	must(options->url_count >= 1 && options->url_count <= REDLOCK_MAX_NODES);
	must(options->quorum <= REDLOCK_MAX_NODES && options->drift_ppm <= 500000);
	must(options->guard >= REDLOCK_GUARD_OFF && options->guard <= REDLOCK_GUARD_REQUIRE);
	const struct redlock_lock_options *lock = options->lock_options;
	must(lock->ttl_ms >= REDLOCK_MIN_TTL_MS && lock->ttl_ms <= REDLOCK_MAX_TTL_MS);
	must(lock->wait_ms <= REDLOCK_MAX_TTL_MS || lock->wait_ms == REDLOCK_FOREVER);
	must(lock->renew_ms <= REDLOCK_MAX_TTL_MS);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char path[64], why[600] = "";
	redlock_config *config = NULL;
	struct redlock_options options;
	int fd = write_file(bytes, size, path);
	redlock_options_init(&options);
	options.error_text = why;
	options.error_text_size = sizeof why;
	int error = redlock_config_read(&options, NULL, path, &config);
	must(error == 0 || error == REDLOCK_E_CONFIG);
	must((error == 0) == (why[0] == '\0') && (error == 0) == (config != NULL));
	if (error == 0)
		check_settings(config, path);
	else
		must(strncmp(why, path, strlen(path)) == 0);
	redlock_config_free(config);
	int loaded = redlock_options_load(&options, NULL, path);
	must(loaded == 0 || (loaded == REDLOCK_E_CONFIG && why[0] != '\0'));
	if (loaded == 0)
		check_loaded(&options);
	redlock_options_clear(&options);
	must(options.store == NULL && options.url_count == 0);
	close(fd);
	return 0;
}
