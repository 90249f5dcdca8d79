/* SPDX-License-Identifier: MIT */
/* Counts, times, memory of a run. See result.h. */
#include "result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* Without a limit on the pairs: more than any machine does in a run. Untouched pages cost nothing. */
#define MOST_SAMPLES ((size_t)1 << 23)

uint64_t clock_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static double cpu_seconds(void)
{
	struct rusage r;
	getrusage(RUSAGE_SELF, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

/* A line of /proc/self/status in kB: "VmRSS:" is what is in memory now, "VmHWM:" the most so far. */
static long memory_kb(const char *key)
{
	char line[256];
	long kb = 0;
	FILE *f = fopen("/proc/self/status", "r");
	if (f == NULL)
		die("/proc/self/status");
	while (fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, key, strlen(key)) == 0)
			kb = strtol(line + strlen(key), NULL, 10);
	fclose(f);
	return kb;
}

static void samples_open(struct samples *s, uint64_t most)
{
	s->count = 0;
	s->capacity = most < MOST_SAMPLES ? (size_t)most : MOST_SAMPLES;
	s->ns = malloc(s->capacity * sizeof *s->ns);
	if (s->ns == NULL)
		die("malloc");
	if (most < MOST_SAMPLES)
		memset(s->ns, 0xff, s->capacity * sizeof *s->ns);
}

void samples_add(struct samples *s, uint64_t ns)
{
	if (s->count < s->capacity)
		s->ns[s->count++] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

void samples_join(struct samples *to, const struct samples *from)
{
	for (size_t i = 0; i < from->count; i++)
		samples_add(to, from->ns[i]);
}

void result_begin(struct result *r, const struct options *o)
{
	*r = (struct result){0};
	samples_open(&r->acquire, o->pairs);
	samples_open(&r->pair, o->pairs);
	if (o->gate) {
		char line[16];
		fputs("READY\n", stderr);
		if (fgets(line, sizeof line, stdin) == NULL)
			die("gate");
	}
	r->begin_kb = memory_kb("VmRSS:");
	r->begin_cpu_s = cpu_seconds();
	r->begin_ns = clock_now();
	r->end_ns = o->seconds > 0 ? r->begin_ns + (uint64_t)(o->seconds * 1e9) : UINT64_MAX;
}

bool result_over(const struct result *r, const struct options *o, uint64_t running)
{
	return r->pair.count + r->failed + running >= o->pairs || clock_now() >= r->end_ns;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static void print_samples(const char *name, struct samples *s)
{
	static const struct {
		const char *name;
		double share;
	} points[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}};
	printf(",\"%s\":", name);
	if (s->count == 0) {
		fputs("null", stdout);
		return;
	}
	qsort(s->ns, s->count, sizeof *s->ns, by_value);
	putchar('{');
	for (size_t i = 0; i < sizeof points / sizeof points[0]; i++)
		printf("\"%s\":%.1f,", points[i].name, s->ns[(size_t)((double)s->count * points[i].share)] / 1e3);
	printf("\"max\":%.1f}", s->ns[s->count - 1] / 1e3);
}

static void write_samples(const struct samples *s, const char *path)
{
	FILE *f = fopen(path, "wb");
	if (f == NULL || fwrite(s->ns, sizeof *s->ns, s->count, f) != s->count || fclose(f) != 0)
		die(path);
}

void result_print(struct result *r, const struct options *o, const char *more)
{
	double seconds = (double)(clock_now() - r->begin_ns) / 1e9;
	double cpu_s = cpu_seconds() - r->begin_cpu_s;
	long most_kb = memory_kb("VmHWM:"); /* before the samples are sorted and written */
	double pairs = r->pair.count > 0 ? (double)r->pair.count : 1;
	printf("{\"pairs\":%zu,\"failed\":%llu,\"seconds\":%.3f,\"pairs_per_s\":%.1f,\"cpu_us_per_pair\":%.3f,"
	       "\"peak_kb\":%ld,\"growth_kb\":%ld",
	       r->pair.count, (unsigned long long)r->failed, seconds, (double)r->pair.count / seconds,
	       cpu_s * 1e6 / pairs, most_kb, most_kb - r->begin_kb);
	print_samples("acquire_us", &r->acquire);
	print_samples("pair_us", &r->pair);
	printf("%s}\n", more);
	if (o->samples_path != NULL)
		write_samples(&r->pair, o->samples_path);
}

void result_close(struct result *r)
{
	free(r->acquire.ns);
	free(r->pair.ns);
}
