/* SPDX-License-Identifier: MIT */
/* Opens and closes a client of one node set. */
#include "client.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/sized.h"
#include "credentials.h"
#include "keeper.h"
#include "life.h"
#include "net/admission.h"
#include "open.h"
#include "options.h"
#include "os/clock.h"
#include "os/random.h"
#include "turn.h"

const char *redlock_version(void)
{
	return REDLOCK_VERSION;
}

__attribute__((format(printf, 3, 4))) static int complain(const struct redlock_options *o, int error,
                                                          const char *format, ...)
{
	va_list args;
	if (o->error_text == NULL || o->error_text_size == 0)
		return error;
	va_start(args, format);
	vsnprintf(o->error_text, o->error_text_size, format, args);
	va_end(args);
	return error;
}

/* For programs: the option that is wrong. */
static const struct redlock_options *blame(const struct redlock_options *o, const char *option)
{
	if (o->error_option != NULL)
		*o->error_option = option;
	return o;
}

/* The options of handles that are made without any. */
static int copy_lock_options(const struct redlock_options *o, struct redlock_lock_options *ret)
{
	redlock_lock_options_init(ret);
	if (o->lock_options != NULL && rl_sized_copy(ret, sizeof *ret, o->lock_options) < 0)
		return complain(blame(o, "lock_options"), REDLOCK_E_INVAL,
		                "the lock options have one that this library does not know");
	ret->token = NULL;
	ret->token_len = 0;
	ret->user = NULL;
	return 0;
}

/* A handle that is made with NULL options must not be refused for what somebody has configured. */
static int try_lock_options(redlock_client *c, const struct redlock_options *o)
{
	struct rl_rules rules;
	int error = rl_life_make_rules(c, &c->lock_options, false, &rules);
	if (error < 0)
		complain(blame(o, "lock_options"), error, "the default lock options: %s", c->refusal);
	c->refusal[0] = '\0';
	return error;
}

static int check_nodes(const struct redlock_options *o)
{
	if (o->urls == NULL && o->url_count > 0)
		return complain(blame(o, "urls"), REDLOCK_E_INVAL, "urls is NULL, and url_count is %zu",
		                o->url_count);
	if (o->url_count < 1 || o->url_count > REDLOCK_MAX_NODES)
		return complain(blame(o, "urls"), REDLOCK_E_INVAL, "1 to %d node URLs are needed, not %zu",
		                REDLOCK_MAX_NODES, o->url_count);
	if (o->quorum != 0 && (o->quorum < rl_quorum_least((unsigned)o->url_count) || o->quorum > o->url_count))
		return complain(blame(o, "quorum"), REDLOCK_E_INVAL,
		                "a quorum of %u among %zu nodes is not between a majority (%u) and all", o->quorum,
		                o->url_count, rl_quorum_least((unsigned)o->url_count));
	return 0;
}

static int check_options(const struct redlock_options *o)
{
	if (o->interruptible != 0 && o->interruptible != 1)
		return complain(blame(o, "interruptible"), REDLOCK_E_INVAL, "interruptible must be 0 or 1");
	if (o->tls_insecure != 0 && o->tls_insecure != 1)
		return complain(blame(o, "tls_insecure"), REDLOCK_E_INVAL, "tls_insecure must be 0 or 1");
	if (rl_options_check_owner(o->owner) < 0)
		return complain(blame(o, "owner"), REDLOCK_E_INVAL,
		                "the owner label is longer than %d bytes or has other characters than "
		                "A-Z a-z 0-9 . _ : @ / + -",
		                REDLOCK_MAX_OWNER);
	if (o->guard < REDLOCK_GUARD_OFF || o->guard > REDLOCK_GUARD_REQUIRE)
		return complain(blame(o, "guard"), REDLOCK_E_INVAL,
		                "the guard is REDLOCK_GUARD_OFF, _AUTO or _REQUIRE");
	if (o->guarded_set != NULL && strlen(o->guarded_set) > RL_SET_ID)
		return complain(blame(o, "guarded_set"), REDLOCK_E_INVAL,
		                "the id of a guarded set has %d characters at most", RL_SET_ID);
	if (o->prefix != NULL && strlen(o->prefix) >= REDLOCK_MAX_NAME)
		return complain(blame(o, "prefix"), REDLOCK_E_INVAL, "the prefix is too long");
	return 0;
}

/* ---- nodes ---- */

/* As fast as NTP slews clocks, whatever drift is allowed for. */
enum { SLEW_PPM = 500 };

/* The option with the file that `why` begins with; NULL: it is about none of them. */
static const char *option_of_file(const struct redlock_options *o, const char *why)
{
	const struct {
		const char *name, *path;
	} files[] = {
	    {"tls_ca_file", o->tls_ca_file},
	    {"tls_ca_dir", o->tls_ca_dir},
	    {"tls_cert_file", o->tls_cert_file},
	    {"tls_key_file", o->tls_key_file},
	};
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		size_t size = files[i].path != NULL ? strlen(files[i].path) : 0;
		if (size > 0 && strncmp(why, files[i].path, size) == 0 && why[size] == ':')
			return files[i].name;
	}
	return NULL;
}

static int need_tls(redlock_client *c, const struct redlock_options *o)
{
	char why[160] = "";
	const struct rl_tls_options tls = {
	    .ca_file = o->tls_ca_file,
	    .ca_dir = o->tls_ca_dir,
	    .cert_file = o->tls_cert_file,
	    .key_file = o->tls_key_file,
	    .name = o->tls_name,
	    .insecure = o->tls_insecure != 0,
	};
	if (c->nodes.tls == NULL)
		c->nodes.tls = rl_tls_context_new(&tls, why, sizeof why);
	return c->nodes.tls != NULL ? 0 : complain(blame(o, option_of_file(o, why)), REDLOCK_E_TLS, "%s", why);
}

/* Takes the endpoint. The node of a cluster is its first server, under the name of the cluster. */
static int open_node(redlock_client *c, struct rl_endpoint *endpoint)
{
	struct rl_endpoint seed;
	unsigned index = c->nodes.count;
	bool ok = true;
	if (!endpoint->is_cluster) {
		c->nodes.count++;
		ok = rl_node_open(&c->nodes.list[index], endpoint, c->nodes.tls, &c->loop.poller, index);
		return ok ? 0 : REDLOCK_E_NOMEM;
	}
	ok = rl_url_seed(endpoint, 0, &seed);
	if (ok) {
		char *address = seed.address;
		seed.address = endpoint->address;
		endpoint->address = address;
		c->nodes.count++;
		ok = rl_node_open(&c->nodes.list[index], &seed, c->nodes.tls, &c->loop.poller, index) &&
		     rl_cluster_add(&c->nodes.clusters, c->nodes.list, index, endpoint);
	}
	rl_url_free(endpoint);
	return ok ? 0 : REDLOCK_E_NOMEM;
}

/* The first node that is the same server, or one of a cluster whose URL has this server; else the node
 * itself.
 */
static unsigned find_twin(const redlock_client *c, unsigned index)
{
	const struct rl_clusters *cs = c->nodes.clusters;
	for (unsigned i = 0; i < index; i++)
		if (rl_dial_same(&c->nodes.list[i].link.dial, &c->nodes.list[index].link.dial))
			return i;
	for (unsigned i = 0; i < rl_cluster_count(cs); i++)
		for (unsigned k = 0; k <= index; k++)
			if (cs->servers[i]->id != k &&
			    rl_dial_same(&cs->servers[i]->link.dial, &c->nodes.list[k].link.dial))
				return cs->servers[i]->id < k ? cs->servers[i]->id : k;
	return index;
}

static int add_node(redlock_client *c, const struct redlock_options *o, const char *url)
{
	char why[256] = "";
	struct rl_endpoint endpoint;
	unsigned number = c->nodes.count + 1;
	if (url == NULL)
		return complain(blame(o, "urls"), REDLOCK_E_URL, "node %u has no URL", number);
	int error = rl_url_parse(url, &endpoint, why, sizeof why);
	if (error < 0)
		return complain(blame(o, "urls"), error, "the URL of node %u: %s", number, why);
	error = rl_credentials_lend(&endpoint, o->user, o->password) ? 0 : REDLOCK_E_NOMEM;
	if (error == 0 && endpoint.tls)
		error = need_tls(c, o);
	if (error < 0) {
		rl_url_free(&endpoint);
		return error;
	}
	error = open_node(c, &endpoint);
	const struct rl_node *n = &c->nodes.list[number - 1];
	c->nodes.replicated |= error == 0 && n->link.endpoint.replicas > 0;
	c->nodes.listening |= error == 0 && n->sentinels != NULL;
	unsigned twin = error == 0 ? find_twin(c, number - 1) : number - 1;
	if (twin < number - 1)
		return complain(blame(o, "urls"), REDLOCK_E_DUPLICATE, "node %u and node %u are the same server, %s",
		                twin + 1, number, n->link.endpoint.address);
	return error;
}

static int add_nodes(redlock_client *c, const struct redlock_options *o)
{
	c->nodes.list = calloc(o->url_count, sizeof *c->nodes.list);
	if (c->nodes.list == NULL)
		return REDLOCK_E_NOMEM;
	for (size_t i = 0; i < o->url_count; i++) {
		int error = add_node(c, o, o->urls[i]);
		if (error < 0 && o->error_node != NULL)
			*o->error_node = (int)i;
		if (error < 0)
			return error;
	}
	c->nodes.quorum = o->quorum != 0 ? o->quorum : rl_quorum_least(c->nodes.count);
	return 0;
}

static int add_guard(redlock_client *c, const struct redlock_options *o)
{
	const struct rl_endpoint *endpoints[REDLOCK_MAX_NODES];
	c->nodes.look_ns = UINT64_MAX;
	if ((o->guard == REDLOCK_GUARD_REQUIRE || o->guarded_set != NULL) && c->nodes.clusters != NULL)
		return complain(
		    blame(o, "guard"), REDLOCK_E_INVAL,
		    "a guarded set cannot have a cluster as a node, and fencing tokens need such a set: leave "
		    "out guard and fence");
	if (o->guard == REDLOCK_GUARD_OFF || c->nodes.clusters != NULL)
		return 0;
	for (unsigned i = 0; i < c->nodes.count; i++)
		endpoints[i] = &c->nodes.list[i].link.endpoint;
	c->nodes.set = rl_set_new(endpoints, c->nodes.count, c->nodes.quorum, o->guard == REDLOCK_GUARD_REQUIRE);
	if (c->nodes.set != NULL && o->guarded_set != NULL)
		rl_set_assume_guarded(c->nodes.set, o->guarded_set);
	if (c->nodes.set != NULL)
		c->nodes.set->clocks = (struct rl_offset_rules){
		    .drift_ppm = c->drift_ppm > SLEW_PPM ? c->drift_ppm : SLEW_PPM,
		    .drift_ns = rl_time_ms(c->drift_ms),
		};
	for (unsigned i = 0; i < c->nodes.count; i++)
		if (c->nodes.set == NULL || !rl_admission_new(&c->nodes.list[i], c->nodes.set))
			return REDLOCK_E_NOMEM;
	return 0;
}

/* ---- open and close ---- */

static void init(redlock_client *c, const struct redlock_options *o)
{
	rl_loop_init(&c->loop, o->interruptible != 0);
	rl_registry_init(&c->handles);
	rl_places_init(&c->places, &c->nodes, &c->random);
	c->node_timeout_ms = o->node_timeout_ms;
	c->drift_ppm = o->drift_ppm;
	c->drift_ms = o->drift_ms;
	c->trace = o->trace;
	c->trace_user = o->trace_user;
	if (o->owner != NULL && o->owner[0] != '\0')
		snprintf(c->owner, sizeof c->owner, "|%s", o->owner);
	c->owner_size = strlen(c->owner);
}

static void destroy(redlock_client *c, bool child)
{
	rl_nodes_close(&c->nodes, child);
	rl_registry_close(&c->handles);
	rl_loop_close(&c->loop, child);
	rl_forkmark_clear(&c->forkmark);
	free(c->prefix);
	free(c);
}

static int fail(redlock_client *c, const struct redlock_options *o, int error)
{
	if (error == REDLOCK_E_NOMEM)
		complain(o, error, "out of memory");
	destroy(c, false);
	return error;
}

static int open_resources(redlock_client *c, const struct redlock_options *o)
{
	if (o->prefix != NULL) {
		c->prefix = strdup(o->prefix);
		if (c->prefix == NULL)
			return REDLOCK_E_NOMEM;
		c->prefix_size = strlen(c->prefix);
	}
	int error = rl_forkmark_set(&c->forkmark);
	if (error == 0)
		error = rl_poller_open(&c->loop.poller);
	if (error == 0)
		error = rl_random_bytes(&c->entropy, sizeof c->entropy);
	if (error == 0)
		return 0;
	return complain(o, REDLOCK_E_SYSTEM,
	                "the system refuses a descriptor, a timer, memory or random bytes: %s", strerror(-error));
}

int rl_client_make(const struct redlock_options *o, redlock_client **ret)
{
	int error = check_options(o);
	if (error < 0)
		return error;
	redlock_client *c = calloc(1, sizeof *c);
	if (c == NULL) {
		complain(o, REDLOCK_E_NOMEM, "out of memory");
		return REDLOCK_E_NOMEM;
	}
	init(c, o);
	error = copy_lock_options(o, &c->lock_options);
	if (error == 0)
		error = open_resources(c, o);
	if (error == 0)
		*ret = c;
	else
		fail(c, o, error);
	return error;
}

int rl_client_open(const struct redlock_options *o, bool is_part, redlock_client **ret)
{
	redlock_client *c = NULL;
	int error = check_nodes(o);
	if (error == 0)
		error = rl_client_make(o, &c);
	if (error != 0)
		return error;
	c->is_part = is_part;
	error = add_nodes(c, o);
	if (error == 0)
		error = add_guard(c, o);
	if (error == 0)
		error = try_lock_options(c, o);
	if (error < 0)
		return fail(c, o, error);
	rl_loop_look(&c->loop);
	c->loop.leap_ns = 0; /* leaps count from now on */
	c->loop.looked_ns = c->loop.now_ns;
	rl_nodes_sort(&c->nodes);
	rl_nodes_connect(&c->nodes, c->loop.now_ns);
	rl_turn_settle(c);
	*ret = c;
	return 0;
}

static void detach_handles(redlock_client *c)
{
	for (redlock_lock *lock = rl_registry_next(&c->handles, 0), *next; lock != NULL; lock = next) {
		next = rl_registry_next(&c->handles, lock->slot + 1);
		rl_life_detach(lock, true);
	}
}

void rl_client_release(redlock_client *c)
{
	bool child = rl_forkmark_is_child(&c->forkmark);
	if (child && rl_loop_is_whole(&c->loop))
		detach_handles(c); /* a child has one thread */
	if (child)
		return;
	rl_loop_enter_now(&c->loop);
	detach_handles(c);
	rl_turn_settle(c);
	rl_loop_leave(&c->loop);
}

void rl_client_close(redlock_client *c)
{
	bool child = rl_forkmark_is_child(&c->forkmark);
	if (child && !rl_loop_is_whole(&c->loop))
		return;
	if (!child) {
		rl_keeper_end(c);
		rl_loop_look(&c->loop);
	}
	detach_handles(c);
	if (!child) {
		rl_nodes_end_login(&c->nodes);
		rl_turn_settle(c);
	}
	destroy(c, child);
}
