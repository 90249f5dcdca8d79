/* SPDX-License-Identifier: MIT */
#include "net/url.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <redlock/redlock.h>

#include "core/slice.h"
#include "os/secret.h"

#define DEFAULT_PORT 6379
#define SENTINEL_PORT 26379

struct scheme {
	const char *name;
	enum { TCP, UNIX, SENTINEL, CLUSTER } kind;
	bool tls;
};

static const struct scheme schemes[] = {
    {"redis://", TCP, false},
    {"rediss://", TCP, true},
    {"valkey://", TCP, false},
    {"valkeys://", TCP, true},
    {"unix://", UNIX, false},
    {"redis+sentinel://", SENTINEL, false},
    {"rediss+sentinel://", SENTINEL, true},
    {"valkey+sentinel://", SENTINEL, false},
    {"valkeys+sentinel://", SENTINEL, true},
    {"redis+cluster://", CLUSTER, false},
    {"rediss+cluster://", CLUSTER, true},
    {"valkey+cluster://", CLUSTER, false},
    {"valkeys+cluster://", CLUSTER, true},
};

static const char bad_scheme[] = "the scheme must be redis://, rediss://, valkey://, valkeys://, unix://, "
                                 "redis+sentinel:// or redis+cluster://";
static const char bad_user[] = "the user or password is not valid percent-encoding";
static const char bad_host[] = "the host is missing or not valid";
static const char bad_port[] = "the port must be a number from 1 to 65535";
static const char bad_database[] = RL_URL_BAD_DATABASE;
#define SHOWN(field, name, unit, most, where, bad) " ?" name "=N" unit where ","
static const char bad_query[] = "the only parameters of a URL are:" RL_URL_PARAMETER_MAP(
    SHOWN) " ?sentinel_user=U and ?sentinel_password=P" RL_URL_OF_SENTINELS;
#undef SHOWN
static const char twice[] = "a parameter of the URL is given twice";
enum { MAX_PATH = 107 }; /* so much has the address of a Unix socket room for, besides its end */
static const char long_path[] = "the path of a Unix socket has at most 107 bytes";
#define BLANKS " \t\r\n"
static const char bad_edge[] = "there is a blank before or after the URL";
static const char bad_list[] =
    "there is more than one URL, separated by a comma: give each as a string of its own";
static const char bad_blank[] = "there is a blank in the URL; separate the URLs of several nodes with commas";
static const char bad_slash[] = "a / in the user or password must be written %2F";
static const char bad_brackets[] = "an IPv6 address needs brackets: redis://[::1]:6379";
static const char bad_place[] = "only unix:// has ?db=N; with a host, write redis://host:6379/N";
static const char bad_escape[] = "the path of a Unix socket is not valid percent-encoding";
static const char bad_path[] = "the path of a Unix socket must begin with / (unix:///run/redis.sock)";
static const char bad_master[] =
    "the name of the Sentinels' master is missing or not valid: redis+sentinel://host1,host2:26379/NAME";
static const char many_hosts[] =
    "a URL has at most 7 Sentinels or servers of a cluster, and their list at most 200 bytes";
static const char bad_cluster[] =
    "after the servers of a cluster nothing may follow but /: it has database 0 alone";
static const char unended_cluster[] =
    "put / before the comma, where the servers of the cluster end and the next URL begins";
static const char bad_sentinel[] = "only redis+sentinel:// has parameters sentinel_...";
static const char no_memory[] = "out of memory";

static char *copy(struct rl_slice s)
{
	char *text = malloc(s.size + 1);
	if (text == NULL)
		return NULL;
	memcpy(text, s.bytes, s.size);
	text[s.size] = '\0';
	return text;
}

static int hex_value(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c != '\0' ? strchr(digits, tolower((unsigned char)c)) : NULL;
	return at != NULL ? (int)(at - digits) : -1;
}

/* Decodes %XX in place. False where it is broken or hides a NUL. */
static bool decode(char *text)
{
	char *to = text;
	for (const char *at = text; *at != '\0'; at++) {
		int high = 0;
		int low = 0;
		if (*at == '%') {
			high = hex_value(at[1]);
			low = high >= 0 ? hex_value(at[2]) : -1;
			if (low < 0 || (high == 0 && low == 0))
				return false;
			at += 2;
			*to++ = (char)(high * 16 + low);
		} else {
			*to++ = *at;
		}
	}
	*to = '\0';
	return true;
}

static const char *copy_secret(struct rl_slice s, char **ret)
{
	*ret = rl_secret_copy(s.bytes, s.size);
	if (*ret == NULL)
		return no_memory;
	return decode(*ret) ? NULL : bad_user;
}

static bool parse_number(struct rl_slice s, unsigned most, unsigned *ret)
{
	unsigned long value = 0;
	if (s.size == 0 || s.size > 5)
		return false;
	for (size_t i = 0; i < s.size; i++) {
		if (!isdigit((unsigned char)s.bytes[i]))
			return false;
		value = value * 10 + (unsigned long)(s.bytes[i] - '0');
	}
	*ret = (unsigned)value;
	return value <= most;
}

/* Splits `s` at the first `mark`: `s` keeps the part before it, and `ret_behind` gets the part after it. */
static bool split(struct rl_slice *s, char mark, struct rl_slice *ret_behind)
{
	const char *at = s->size > 0 ? memchr(s->bytes, mark, s->size) : NULL;
	if (at == NULL)
		return false;
	*ret_behind = (struct rl_slice){at + 1, (size_t)(s->bytes + s->size - at - 1)};
	s->size = (size_t)(at - s->bytes);
	return true;
}

static const char *parse_user(struct rl_slice info, struct rl_endpoint *e)
{
	struct rl_slice password;
	bool has_password = split(&info, ':', &password);
	const char *bad = NULL;
	if (info.size > 0)
		bad = copy_secret(info, &e->user);
	if (bad == NULL && has_password && password.size > 0)
		bad = copy_secret(password, &e->password);
	return bad;
}

static bool host_is_plain(struct rl_slice host)
{
	if (host.size == 0 || host.size > 253)
		return false;
	for (size_t i = 0; i < host.size; i++)
		if (!isgraph((unsigned char)host.bytes[i]) || strchr("/?#@[]\\\"'<>", host.bytes[i]) != NULL)
			return false;
	return true;
}

/* An IPv6 address without its brackets, maybe with a port. */
static bool is_bare_v6(struct rl_slice host)
{
	unsigned colons = 0;
	for (size_t i = 0; i < host.size; i++) {
		if (!isxdigit((unsigned char)host.bytes[i]) && strchr(":.%", host.bytes[i]) == NULL)
			return false;
		colons += host.bytes[i] == ':';
	}
	return colons > 1;
}

/* host, host:port, [v6], [v6]:port. `number` is the default port. */
static const char *parse_host(struct rl_slice host, unsigned number, struct rl_endpoint *e)
{
	struct rl_slice port = {NULL, 0};
	bool has_port;
	if (host.size > 0 && host.bytes[0] == '[') {
		struct rl_slice behind;
		host.bytes++;
		host.size--;
		if (!split(&host, ']', &behind))
			return bad_host;
		has_port = behind.size > 0;
		if (has_port && behind.bytes[0] != ':')
			return bad_host;
		if (has_port)
			port = (struct rl_slice){behind.bytes + 1, behind.size - 1};
	} else if (is_bare_v6(host)) {
		return bad_brackets;
	} else {
		has_port = split(&host, ':', &port);
	}
	if (!host_is_plain(host))
		return bad_host;
	if (has_port && (!parse_number(port, 65535, &number) || number == 0))
		return bad_port;
	e->port = (uint16_t)number;
	e->host = copy(host);
	return e->host != NULL ? NULL : no_memory;
}

static bool cut_end(struct rl_slice *s, const char *end)
{
	size_t size = strlen(end);
	bool there = s->size >= size && memcmp(s->bytes + s->size - size, end, size) == 0;
	if (there)
		s->size -= size;
	return there;
}

#define GIVEN(field, name, unit, most, where, bad) bool field;
struct given {
	RL_URL_PARAMETER_MAP(GIVEN)
};
#undef GIVEN

/* Takes a parameter that has a text. False: the parameter is another one. */
static bool parse_text(struct rl_slice name, struct rl_slice value, struct rl_endpoint *e,
                       const char **ret_bad)
{
	bool user = rl_slice_same(name, rl_slice_of("sentinel_user"));
	char **field = user ? &e->sentinel_user : &e->sentinel_password;
	if (!user && !rl_slice_same(name, rl_slice_of("sentinel_password")))
		return false;
	*ret_bad = *field != NULL ? twice : copy_secret(value, field);
	return true;
}

/* Why a parameter must not be after this URL; NULL: it may. `where` is of the map. */
static const char *misplaced(const struct rl_endpoint *e, bool is_sentinel, const char *where)
{
	if (where[0] == '\0')
		return NULL;
	if (strcmp(where, RL_URL_UNIX) == 0)
		return e->is_unix ? NULL : bad_place;
	return strcmp(where, RL_URL_OF_SENTINELS) != 0 || is_sentinel ? NULL : bad_sentinel;
}

/* Parses one of the pairs after the ?. */
static const char *parse_parameter(struct rl_slice pair, struct given *given, bool is_sentinel,
                                   struct rl_endpoint *e)
{
	struct rl_slice value;
	const char *wrong;
	if (!split(&pair, '=', &value))
		return bad_query;
	if (parse_text(pair, value, e, &wrong))
		return is_sentinel ? wrong : bad_sentinel;
#define TAKE(field, name, unit, most, where, bad)                                                            \
	if (rl_slice_same(pair, (struct rl_slice){name, sizeof(name) - 1})) {                                    \
		wrong = misplaced(e, is_sentinel, where);                                                            \
		if (wrong != NULL)                                                                                   \
			return wrong;                                                                                    \
		if (given->field)                                                                                    \
			return twice;                                                                                    \
		given->field = true;                                                                                 \
		return cut_end(&value, unit) && parse_number(value, most, &e->field) ? NULL : (bad);                 \
	}
	RL_URL_PARAMETER_MAP(TAKE)
#undef TAKE
	return bad_query;
}

/* Takes the parameters off the end of a URL. */
static const char *parse_parameters(struct rl_slice *url, bool is_sentinel, struct rl_endpoint *e)
{
	struct rl_slice pair, next;
	struct given given = {0};
	const char *bad = NULL;
	for (bool more = split(url, '?', &next); more && bad == NULL;) {
		pair = next;
		more = split(&pair, '&', &next);
		bad = parse_parameter(pair, &given, is_sentinel, e);
	}
	return bad;
}

static const char *parse_tcp(struct rl_slice rest, struct rl_endpoint *e)
{
	struct rl_slice database = {NULL, 0};
	if (memchr(rest.bytes, '#', rest.size) != NULL)
		return bad_query;
	bool has_database = split(&rest, '/', &database) && database.size > 0;
	if (has_database && memchr(database.bytes, '@', database.size) != NULL)
		return bad_slash;
	if (has_database && !parse_number(database, RL_URL_MAX_DATABASE, &e->database))
		return bad_database;
	return parse_host(rest, DEFAULT_PORT, e);
}

/* Appends "host:port" or "[v6]:port" to the list. */
static const char *add_host(struct rl_slice text, unsigned port, char list[RL_URL_HOSTS + 1])
{
	struct rl_endpoint one = {0};
	size_t used = strlen(list), room = RL_URL_HOSTS + 1 - used;
	const char *bad = parse_host(text, port, &one);
	bool v6 = bad == NULL && strchr(one.host, ':') != NULL;
	int size = bad != NULL ? 0
	                       : snprintf(list + used, room, v6 ? "%s[%s]:%u" : "%s%s:%u", used > 0 ? "," : "",
	                                  one.host, one.port);
	rl_url_free(&one);
	return bad == NULL && (size_t)size >= room ? many_hosts : bad;
}

static const char *parse_master(struct rl_slice name, struct rl_endpoint *e)
{
	for (size_t i = 0; i < name.size; i++)
		if (!isalnum((unsigned char)name.bytes[i]) && strchr(".-_", name.bytes[i]) == NULL)
			return bad_master;
	if (name.size == 0 || name.size > RL_URL_MASTER)
		return bad_master;
	e->master = copy(name);
	return e->master != NULL ? NULL : no_memory;
}

/* host[:port],host[:port]... */
static const char *parse_hosts(struct rl_slice rest, unsigned port, struct rl_endpoint *e)
{
	char list[RL_URL_HOSTS + 1] = "";
	struct rl_slice host, next = rest;
	const char *bad = NULL;
	unsigned count = 0;
	for (bool more = true; more && bad == NULL; count++) {
		host = next;
		more = split(&host, ',', &next);
		bad = count < RL_URL_SEEDS ? add_host(host, port, list) : many_hosts;
	}
	if (bad != NULL)
		return bad;
	e->host = copy(rl_slice_of(list));
	return e->host != NULL ? NULL : no_memory;
}

/* HOSTS[/[0]] */
static const char *parse_cluster(struct rl_slice rest, struct rl_endpoint *e)
{
	struct rl_slice database = {NULL, 0};
	e->is_cluster = true;
	bool more = split(&rest, '/', &database) && database.size > 0;
	if (more && database.bytes[0] == '/' && rest.size > 0 && rest.bytes[rest.size - 1] == ':')
		return unended_cluster;
	if (more && memchr(database.bytes, '@', database.size) != NULL)
		return bad_slash;
	if (more && !rl_slice_same(database, rl_slice_of("0")))
		return bad_cluster;
	return parse_hosts(rest, DEFAULT_PORT, e);
}

/* HOSTS/NAME[/db] */
static const char *parse_sentinels(struct rl_slice rest, struct rl_endpoint *e)
{
	struct rl_slice name, database = {NULL, 0};
	if (!split(&rest, '/', &name))
		return bad_master;
	if (memchr(name.bytes, '@', name.size) != NULL)
		return bad_slash;
	bool has_database = split(&name, '/', &database);
	const char *bad = parse_master(name, e);
	if (bad == NULL && has_database && !parse_number(database, RL_URL_MAX_DATABASE, &e->database))
		bad = bad_database;
	return bad != NULL ? bad : parse_hosts(rest, SENTINEL_PORT, e);
}

static const char *parse_unix(struct rl_slice path, struct rl_endpoint *e)
{
	if (path.size < 2 || path.bytes[0] != '/')
		return strstr(path.bytes, "@/") != NULL ? bad_slash : bad_path;
	e->host = copy(path);
	if (e->host == NULL)
		return no_memory;
	if (!decode(e->host))
		return bad_escape;
	return strlen(e->host) > MAX_PATH ? long_path : NULL;
}

static const char *describe(struct rl_endpoint *e)
{
	bool v6 = strchr(e->host, ':') != NULL;
	size_t size = strlen(e->host) + 64 + RL_URL_MASTER;
	char *text = malloc(size);
	if (text == NULL)
		return no_memory;
	int used = e->is_unix      ? snprintf(text, size, "unix://%s", e->host)
	           : e->is_cluster ? snprintf(text, size, "redis%s+cluster://%s", e->tls ? "s" : "", e->host)
	           : e->master != NULL
	               ? snprintf(text, size, "redis%s+sentinel://%s/%s", e->tls ? "s" : "", e->host, e->master)
	               : snprintf(text, size, v6 ? "redis%s://[%s]:%u" : "redis%s://%s:%u", e->tls ? "s" : "",
	                          e->host, e->port);
	if (e->database > 0)
		snprintf(text + used, size - (size_t)used, e->is_unix ? "?db=%u" : "/%u", e->database);
	e->address = text;
	return NULL;
}

/* "redis://a redis://b": blanks do not separate URLs. */
static bool are_several(const char *url, const char *separators)
{
	const char *at = strpbrk(url, separators);
	return at != NULL && strstr(at, "://") != NULL;
}

static bool has_blank_edge(const char *url)
{
	size_t size = strlen(url);
	return size > 0 && (strchr(BLANKS, url[0]) != NULL || strchr(BLANKS, url[size - 1]) != NULL);
}

/* Whether the text is the host of a URL, with or without a port, but without the scheme. Such a text has no
 * user or password. */
static bool is_host(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";
	struct rl_endpoint e = {0};
	bool is_name = text[strspn(text, letters)] == '\0';
	bool found =
	    (is_name || strchr(text, ':') != NULL) && parse_host(rl_slice_of(text), DEFAULT_PORT, &e) == NULL;
	rl_url_free(&e);
	return found;
}

/* Returns NULL or the sentence that says what is wrong. */
static const char *parse(const char *url, struct rl_endpoint *e)
{
	const struct scheme *scheme = NULL;
	if (has_blank_edge(url))
		return bad_edge;
	for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
		if (strncasecmp(url, schemes[i].name, strlen(schemes[i].name)) == 0)
			scheme = &schemes[i];
	if (scheme == NULL)
		return bad_scheme;
	if (are_several(url, BLANKS))
		return bad_blank;
	if (scheme->kind <= UNIX && are_several(url, ","))
		return bad_list;
	e->is_unix = scheme->kind == UNIX;
	e->tls = scheme->tls;
	const char *begin = url + strlen(scheme->name);
	struct rl_slice rest = {begin, strlen(begin)};
	/* The user part ends at the last @ before the path: an @ inside a password is met in the wild. */
	size_t authority = e->is_unix ? strcspn(begin, "/?") : strcspn(begin, "/");
	for (size_t i = authority; i-- > 0;) {
		if (begin[i] != '@')
			continue;
		const char *bad = parse_user((struct rl_slice){begin, i}, e);
		if (bad != NULL)
			return bad;
		rest = (struct rl_slice){begin + i + 1, rest.size - i - 1};
		break;
	}
	const char *bad = parse_parameters(&rest, scheme->kind == SENTINEL, e);
	if (bad == NULL)
		bad = scheme->kind == UNIX       ? parse_unix(rest, e)
		      : scheme->kind == SENTINEL ? parse_sentinels(rest, e)
		      : scheme->kind == CLUSTER  ? parse_cluster(rest, e)
		                                 : parse_tcp(rest, e);
	return bad != NULL ? bad : describe(e);
}

int rl_url_parse(const char *url, struct rl_endpoint *ret, char *why, size_t why_size)
{
	struct rl_endpoint e = {0};
	const char *bad = parse(url, &e);
	if (bad == NULL) {
		*ret = e;
		return 0;
	}
	if (bad == bad_scheme && is_bare_v6(rl_slice_of(url)))
		bad = bad_brackets;
	rl_url_free(&e);
	*ret = e;
	if (why_size > 0 && bad == bad_scheme && is_host(url))
		snprintf(why, why_size, "the scheme is missing: redis://%s", url);
	else if (why_size > 0)
		snprintf(why, why_size, "%s", bad);
	return bad == no_memory ? REDLOCK_E_NOMEM : REDLOCK_E_URL;
}

/* A copy of `text`, unless that is NULL. False: out of memory. */
static bool copy_some(const char *text, bool secret, char **ret)
{
	*ret = text == NULL ? NULL : secret ? rl_secret_copy(text, strlen(text)) : copy(rl_slice_of(text));
	return text == NULL || *ret != NULL;
}

bool rl_url_copy(const struct rl_endpoint *e, struct rl_endpoint *ret)
{
	*ret = *e;
	bool ok = copy_some(e->host, false, &ret->host);
	ok = copy_some(e->address, false, &ret->address) && ok;
	ok = copy_some(e->master, false, &ret->master) && ok;
	ok = copy_some(e->user, true, &ret->user) && ok;
	ok = copy_some(e->password, true, &ret->password) && ok;
	ok = copy_some(e->sentinel_user, true, &ret->sentinel_user) && ok;
	ok = copy_some(e->sentinel_password, true, &ret->sentinel_password) && ok;
	if (!ok)
		rl_url_free(ret);
	return ok;
}

void rl_url_free(struct rl_endpoint *e)
{
	rl_secret_free(e->user);
	rl_secret_free(e->password);
	rl_secret_free(e->sentinel_user);
	rl_secret_free(e->sentinel_password);
	free(e->master);
	free(e->host);
	free(e->address);
	*e = (struct rl_endpoint){0};
}

unsigned rl_url_count_hosts(const struct rl_endpoint *e)
{
	bool several = e->master != NULL || e->is_cluster;
	unsigned count = several;
	for (const char *at = e->host; several && (at = strchr(at, ',')) != NULL; at++)
		count++;
	return count;
}

/* One of the list, as it was written there by add_host(). */
static struct rl_slice host_at(const struct rl_endpoint *e, unsigned index)
{
	struct rl_slice rest, one = rl_slice_of(e->host);
	bool more = split(&one, ',', &rest);
	for (; index > 0 && more; index--) {
		one = rest;
		more = split(&one, ',', &rest);
	}
	return one;
}

bool rl_url_seed(const struct rl_endpoint *e, unsigned index, struct rl_endpoint *ret)
{
	struct rl_endpoint one = {0};
	bool ok = parse_host(host_at(e, index), DEFAULT_PORT, &one) == NULL &&
	          rl_url_server(e, one.host, one.port, ret);
	rl_url_free(&one);
	return ok;
}

bool rl_url_server(const struct rl_endpoint *e, const char *host, uint16_t port, struct rl_endpoint *ret)
{
	*ret = (struct rl_endpoint){.tls = e->tls,
	                            .port = port,
	                            .replicas = e->replicas,
	                            .lent_user = e->lent_user,
	                            .lent_password = e->lent_password};
	bool ok = copy_some(host, false, &ret->host);
	ok = copy_some(e->user, true, &ret->user) && ok;
	ok = copy_some(e->password, true, &ret->password) && ok;
	ok = ok && describe(ret) == NULL;
	if (!ok)
		rl_url_free(ret);
	return ok;
}

bool rl_url_sentinel(const struct rl_endpoint *e, unsigned index, struct rl_endpoint *ret)
{
	*ret = (struct rl_endpoint){.tls = e->tls && !e->sentinel_plain};
	bool ok = parse_host(host_at(e, index), SENTINEL_PORT, ret) == NULL;
	ok = copy_some(e->sentinel_user, true, &ret->user) && ok;
	ok = copy_some(e->sentinel_password, true, &ret->password) && ok;
	ok = ok && describe(ret) == NULL;
	if (!ok)
		rl_url_free(ret);
	return ok;
}

bool rl_url_same_address(const struct rl_endpoint *a, const struct rl_endpoint *b)
{
	if (a->is_unix != b->is_unix || a->is_cluster != b->is_cluster ||
	    (a->master == NULL) != (b->master == NULL))
		return false;
	if (a->master != NULL && strcmp(a->master, b->master) != 0)
		return false;
	return a->is_unix ? strcmp(a->host, b->host) == 0
	                  : a->port == b->port && strcasecmp(a->host, b->host) == 0;
}
