/* SPDX-License-Identifier: MIT */
/* The command line of the programs in bench/. See options.h. */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void die(const char *what)
{
	perror(what);
	exit(1);
}

static void usage(const char *program)
{
	fprintf(stderr,
	        "usage: %s [-n PAIRS] [-t SECONDS] [-c COUNT] [-k BYTES] [-r MS] [-h US] [-l MS] [-u USER] [-w] "
	        "[-g] [-G] [-F] [-S] [-K SLOTS] [-s MS] [-M] [-T] [-q SETS] "
	        "[-o FILE] NODE...\n",
	        program);
	exit(64);
}

static void take(struct options *o, int option, const char *program)
{
	switch (option) {
	case 'n':
		o->pairs = strtoull(optarg, NULL, 10);
		break;
	case 't':
		o->seconds = strtod(optarg, NULL);
		break;
	case 'c':
		o->count = (unsigned)strtoul(optarg, NULL, 10);
		break;
	case 'k':
		o->name_size = strtoul(optarg, NULL, 10);
		break;
	case 'r':
		o->rest_ms = (unsigned)strtoul(optarg, NULL, 10);
		break;
	case 'h':
		o->hold_us = strtoull(optarg, NULL, 10);
		break;
	case 'l':
		o->ttl_ms = strtoull(optarg, NULL, 10);
		break;
	case 'u':
		o->user = optarg;
		break;
	case 'a':
		o->counts = true;
		break;
	case 'w':
		o->no_wait = true;
		break;
	case 'g':
		o->gate = true;
		break;
	case 'F':
		o->fence = o->guard = true;
		break;
	case 'S':
		o->shared = true;
		break;
	case 'K':
		o->slots = (unsigned)strtoul(optarg, NULL, 10);
		break;
	case 's':
		o->sticky_ms = strtoull(optarg, NULL, 10);
		break;
	case 'M':
		o->many = true;
		break;
	case 'q':
		o->sets = (unsigned)strtoul(optarg, NULL, 10);
		break;
	case 'G':
		o->guard = true;
		break;
	case 'T':
		o->thrifty = true;
		break;
	case 'o':
		o->samples_path = optarg;
		break;
	default:
		usage(program);
	}
}

static struct options parse(int argc, char **argv)
{
	struct options o = {.pairs = UINT64_MAX, .count = 1, .name_size = MIN_NAME};
	int option;
	while ((option = getopt(argc, argv, "+n:t:c:k:r:h:l:u:K:s:q:awgGFSMTo:")) != -1)
		take(&o, option, argv[0]);
	o.nodes = argv + optind;
	o.node_count = (unsigned)(argc - optind);
	bool endless = o.pairs == UINT64_MAX && o.seconds <= 0;
	if (endless || o.pairs == 0 || o.count == 0 || o.name_size < 8 || o.name_size > 65536 ||
	    o.node_count == 0)
		usage(argv[0]);
	return o;
}

struct options options_parse(int argc, char **argv)
{
	struct options o = parse(argc, argv);
	if (o.node_count > MAX_NODES)
		usage(argv[0]);
	return o;
}

struct options options_parse_command(int argc, char **argv)
{
	return parse(argc, argv);
}

struct options options_warm_up(const struct options *options)
{
	struct options warm = *options;
	warm.pairs = options->count * 4 > WARM_UP_PAIRS ? options->count * 4 : WARM_UP_PAIRS;
	warm.seconds = 0;
	warm.gate = false;
	warm.samples_path = NULL;
	return warm;
}

struct options options_per_thread(const struct options *options)
{
	struct options each = *options;
	if (options->pairs != UINT64_MAX)
		each.pairs = (options->pairs + options->count - 1) / options->count;
	each.gate = false;
	return each;
}

void options_name(const struct options *options, unsigned number, char *ret_name)
{
	char tail[MIN_NAME + 1];
	int size = snprintf(tail, sizeof tail, "%03x%05x", (unsigned)getpid() & 0xfff, number & 0xfffff);
	memset(ret_name, 'n', options->name_size);
	memcpy(ret_name + options->name_size - (size_t)size, tail, (size_t)size);
}
