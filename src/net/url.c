/* SPDX-License-Identifier: MIT */
#include "net/url.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <redlock/url.h>

#include "core/sized.h"
#include "core/slice.h"
#include "os/secret.h"

#define DEFAULT_PORT 6379

struct scheme {
	const char *name;
	bool is_unix;
	bool tls;
};

static const struct scheme schemes[] = {
    {"redis://", false, false}, {"valkey://", false, false}, {"unix://", true, false},
    {"rediss://", false, true}, {"valkeys://", false, true},
};

static const char bad_scheme[] = "the scheme must be redis://, rediss://, valkey://, valkeys:// or unix://";
static const char bad_user[] = "the user or password is not valid percent-encoding";
static const char bad_host[] = "the host is missing or not valid";
static const char bad_port[] = "the port must be a number from 1 to 65535";
static const char bad_database[] = RL_URL_BAD_DATABASE;
#define SHOWN(field, name, unit, most, where, bad) " ?" name "=N" unit where
static const char bad_query[] = "the only parameters of a URL are:" RL_URL_PARAMETER_MAP(SHOWN);
#undef SHOWN
static const char twice[] = "a parameter of the URL is given twice";
enum { MAX_PATH = 107 }; /* so much has the address of a Unix socket room for, besides its end */
static const char long_path[] = "the path of a Unix socket has at most 107 bytes";
static const char bad_blank[] = "there is a blank in the URL; separate the URLs of several nodes with commas";
static const char bad_slash[] = "a / in the user or password must be written %2F";
static const char bad_brackets[] = "an IPv6 address needs brackets: redis://[::1]:6379";
static const char bad_place[] = "only unix:// has ?db=N; with a host, write redis://host:6379/N";
static const char bad_escape[] = "the path of a Unix socket is not valid percent-encoding";
static const char bad_path[] = "the path of a Unix socket must begin with / (unix:///run/redis.sock)";
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

/* host, host:port, [v6], [v6]:port */
static const char *parse_host(struct rl_slice host, struct rl_endpoint *e)
{
	struct rl_slice port = {NULL, 0};
	bool has_port;
	unsigned number = DEFAULT_PORT;
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

/* Parses one of the pairs after the ?. */
static const char *parse_parameter(struct rl_slice pair, struct given *given, struct rl_endpoint *e)
{
	struct rl_slice value;
	if (!split(&pair, '=', &value))
		return bad_query;
#define TAKE(field, name, unit, most, where, bad)                                                            \
	if (rl_slice_same(pair, (struct rl_slice){name, sizeof(name) - 1})) {                                    \
		if (!e->is_unix && sizeof(where) > 1)                                                                \
			return bad_place;                                                                                \
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
static const char *parse_parameters(struct rl_slice *url, struct rl_endpoint *e)
{
	struct rl_slice pair, next;
	struct given given = {0};
	const char *bad = NULL;
	for (bool more = split(url, '?', &next); more && bad == NULL;) {
		pair = next;
		more = split(&pair, '&', &next);
		bad = parse_parameter(pair, &given, e);
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
	return parse_host(rest, e);
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
	size_t size = strlen(e->host) + 64;
	char *text = malloc(size);
	if (text == NULL)
		return no_memory;
	int used = e->is_unix ? snprintf(text, size, "unix://%s", e->host)
	                      : snprintf(text, size, v6 ? "redis%s://[%s]:%u" : "redis%s://%s:%u",
	                                 e->tls ? "s" : "", e->host, e->port);
	if (e->database > 0)
		snprintf(text + used, size - (size_t)used, e->is_unix ? "?db=%u" : "/%u", e->database);
	e->address = text;
	return NULL;
}

/* "redis://a redis://b": blanks do not separate URLs. */
static bool are_several(const char *url)
{
	const char *blank = strpbrk(url, " \t\r\n");
	return blank != NULL && strstr(blank, "://") != NULL;
}

/* Whether the text is the host of a URL, with or without a port, but without the scheme. Such a text has no
 * user or password. */
static bool is_host(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";
	struct rl_endpoint e = {0};
	bool is_name = text[strspn(text, letters)] == '\0';
	bool found = (is_name || strchr(text, ':') != NULL) && parse_host(rl_slice_of(text), &e) == NULL;
	rl_url_free(&e);
	return found;
}

/* Returns NULL or the sentence that says what is wrong. */
static const char *parse(const char *url, struct rl_endpoint *e)
{
	const struct scheme *scheme = NULL;
	for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
		if (strncasecmp(url, schemes[i].name, strlen(schemes[i].name)) == 0)
			scheme = &schemes[i];
	if (scheme == NULL)
		return bad_scheme;
	if (are_several(url))
		return bad_blank;
	e->is_unix = scheme->is_unix;
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
	const char *bad = parse_parameters(&rest, e);
	if (bad == NULL)
		bad = e->is_unix ? parse_unix(rest, e) : parse_tcp(rest, e);
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
	rl_url_free(&e);
	*ret = e;
	if (why_size > 0 && bad == bad_scheme && is_host(url))
		snprintf(why, why_size, "the scheme is missing: redis://%s", url);
	else if (why_size > 0)
		snprintf(why, why_size, "%s", bad);
	return bad == no_memory ? REDLOCK_E_NOMEM : REDLOCK_E_URL;
}

bool rl_url_copy(const struct rl_endpoint *e, struct rl_endpoint *ret)
{
	*ret = *e;
	ret->host = copy(rl_slice_of(e->host));
	ret->address = copy(rl_slice_of(e->address));
	ret->user = e->user != NULL ? rl_secret_copy(e->user, strlen(e->user)) : NULL;
	ret->password = e->password != NULL ? rl_secret_copy(e->password, strlen(e->password)) : NULL;
	bool ok = ret->host != NULL && ret->address != NULL && (e->user == NULL || ret->user != NULL) &&
	          (e->password == NULL || ret->password != NULL);
	if (!ok)
		rl_url_free(ret);
	return ok;
}

void rl_url_free(struct rl_endpoint *e)
{
	rl_secret_free(e->user);
	rl_secret_free(e->password);
	free(e->host);
	free(e->address);
	*e = (struct rl_endpoint){0};
}

bool rl_url_same_address(const struct rl_endpoint *a, const struct rl_endpoint *b)
{
	if (a->is_unix != b->is_unix)
		return false;
	return a->is_unix ? strcmp(a->host, b->host) == 0
	                  : a->port == b->port && strcasecmp(a->host, b->host) == 0;
}

/* ---- what a caller may know ---- */

int redlock_url_parse(const char *url, char *error_text, size_t error_text_size, struct redlock_url *ret)
{
	struct rl_endpoint e;
	if (url == NULL || ret == NULL)
		return REDLOCK_E_INVAL;
	int error = rl_url_parse(url, &e, error_text, error_text != NULL ? error_text_size : 0);
	if (error < 0)
		return error;
	struct redlock_url parts = {
	    .scheme = e.is_unix ? "unix"
	              : e.tls   ? "rediss"
	                        : "redis",
	    .tls = e.tls,
	    .port = e.port,
	    .database = e.database,
	    .has_user = e.user != NULL,
	    .has_password = e.password != NULL,
	};
	snprintf(e.is_unix ? parts.path : parts.host, sizeof parts.path, "%s", e.host);
	snprintf(parts.address, sizeof parts.address, "%s", e.address);
	rl_url_free(&e);
	return rl_sized_return(ret, &parts, sizeof parts);
}

int redlock_url_same_server(const char *url, const char *other)
{
	struct rl_endpoint a = {0}, b = {0};
	if (url == NULL || other == NULL)
		return REDLOCK_E_INVAL;
	int result = rl_url_parse(url, &a, NULL, 0);
	if (result == 0)
		result = rl_url_parse(other, &b, NULL, 0);
	if (result == 0)
		result = rl_url_same_address(&a, &b);
	rl_url_free(&a);
	rl_url_free(&b);
	return result;
}
