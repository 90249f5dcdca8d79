/* SPDX-License-Identifier: MIT */
/*
 * Configuration files. What is taken lies in its range and has a source; what is wrong is said once, with the
 * line. Input: the file.
 */
#include "fuzz.h"

#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include <redlock/redlock.h>

#include "config.h"
#include "exit_codes.h"

static unsigned complaints;

/* The linker gives us the complaints of config.c: they are checked, not printed. */
void __wrap_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
void __wrap_say(const struct settings *settings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void __wrap_complain(const char *format, ...)
{
	char line[1024];
	va_list arguments;
	va_start(arguments, format);
	must(vsnprintf(line, sizeof line, format, arguments) > 0);
	va_end(arguments);
	must(strncmp(line, "/proc/self/fd/", 14) == 0);
	complaints++;
}

void __wrap_say(const struct settings *settings, const char *format, ...)
{
	(void)settings;
	must(strstr(format, "can be read by others") != NULL);
}

/* A file that is never on a disk. */
static int write_file(const uint8_t *bytes, size_t size)
{
	char path[64];
	int fd = memfd_create("config", MFD_CLOEXEC);
	must(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	must(setenv("REDLOCK_CONFIG", path, 1) == 0);
	return fd;
}

static void check_values(const struct settings *settings)
{
	must(settings->ttl_ms >= REDLOCK_MIN_TTL_MS && settings->ttl_ms <= REDLOCK_MAX_TTL_MS);
	must(settings->quorum <= REDLOCK_MAX_NODES);
	must(settings->run_busy_code <= 255);
	must(settings->wait_ms <= REDLOCK_MAX_TTL_MS || settings->wait_ms == REDLOCK_FOREVER);
	must(settings->urls.count == settings->url_sources.count);
	must(!settings->config && !settings->help && !settings->json);
	for (size_t i = 0; i < settings->source_count; i++)
		must(settings->sources[i].rank == RANK_DEFAULT || settings->sources[i].where != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct settings settings;
	int code, fd = write_file(bytes, size);
	complaints = 0;
	settings_init(&settings);
	code = config_apply(&settings);
	must(code == EXIT_OK || code == EXIT_CONFIG);
	must(complaints == (code == EXIT_OK ? 0 : 1));
	if (code == EXIT_OK)
		check_values(&settings);
	settings_clear(&settings);
	close(fd);
	return 0;
}
