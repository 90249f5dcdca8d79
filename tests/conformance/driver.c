/* SPDX-License-Identifier: MIT */
/*
 * The driver of the conformance suite in C, by blocking calls: the pattern for those of other languages. One
 * line from stdin is one step, one line to stdout its answer; docs/bindings.md has the protocol. A wait that
 * `start` begins has a thread; the keeper renews.
 */
#include <poll.h>
#include <pthread.h>
#include <redlock/redlock.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 64, TABLE = 16, LABEL = 16, SENTENCE = 512, LINE = 8192, DRAIN_MS = 1000 };

struct lock {
	char label[LABEL];
	redlock_lock *handle; /* NULL: its client was closed */
	int client;
	pthread_t waiter;
	bool is_waiting;
	int result;                           /* of the waiter */
	bool is_told[REDLOCK_EVENT_LOST + 1]; /* by kind of event */
};

static struct {
	char label[LABEL];
	redlock_client *handle;
} clients[TABLE];
static struct lock locks[TABLE];
static int client_count, lock_count;

static int fail(int error, const char *why)
{
	printf("error %s %s\n", redlock_error_name(error), why);
	return error;
}

/* errors: the names of all that the library has. */
static void print_errors(void)
{
#define ERROR_NAME(name, value, text) " " #name
	puts("ok" REDLOCK_ERROR_MAP(ERROR_NAME));
#undef ERROR_NAME
}

static int answer(const struct lock *lock, int error)
{
	char why[SENTENCE] = "";
	if (error == 0)
		return puts("ok"), 0;
	if (lock->handle != NULL)
		redlock_last_error(lock->handle, why, sizeof why);
	return fail(error, why);
}

/* Decodes %XX in place; a lone % is the empty word. Returns the length. */
static size_t decode(char *word)
{
	char *to = word;
	for (const char *from = word; *from != '\0';) {
		unsigned byte;
		if (*from == '%' && sscanf(from + 1, "%2x", &byte) == 1) {
			*to++ = (char)byte;
			from += 3;
		} else if (*from != '%') {
			*to++ = *from++;
		} else {
			from++;
		}
	}
	*to = '\0';
	return (size_t)(to - word);
}

static void print_encoded(const char *bytes, size_t len)
{
	printf("ok ");
	for (size_t i = 0; i < len; i++)
		printf((unsigned char)bytes[i] <= ' ' || bytes[i] == '%' || bytes[i] == 127 ? "%%%02X" : "%c",
		       (unsigned char)bytes[i]);
	putchar('\n');
}

static uint64_t milliseconds(const char *word)
{
	return strcmp(word, "forever") == 0 ? REDLOCK_FOREVER : strtoull(word, NULL, 10);
}

/* NAME=VALUE of the protocol as redlock_config(3) has it: times are in ms, `shared=yes` is a mode. A value
 * may have NULs only where it is a token. */
static const char *split(char *word, char *value, size_t size)
{
	static const char *const times[] = {"ttl", "renew", "danger", "max-hold", "node-timeout"};
	char *text = strchr(word, '=');
	*text++ = '\0';
	decode(text);
	snprintf(value, size, "%s", text);
	for (size_t i = 0; i < sizeof times / sizeof *times; i++)
		if (strcmp(word, times[i]) == 0)
			snprintf(value, size, "%sms", text);
	if (strcmp(word, "shared") != 0)
		return word;
	snprintf(value, size, "shared");
	return "mode";
}

/* token=BYTES, decoded in place. */
static bool take_token(char *word, struct redlock_lock_options *options)
{
	static const char prefix[] = "token=";
	if (strncmp(word, prefix, strlen(prefix)) != 0)
		return false;
	options->token = word + strlen(prefix);
	options->token_len = decode(word + strlen(prefix));
	return true;
}

static int find_client(const char *label)
{
	int i = 0;
	while (i < client_count && strcmp(clients[i].label, label) != 0)
		i++;
	return i;
}

static struct lock *find_lock(const char *label)
{
	for (int i = 0; i < lock_count; i++)
		if (strcmp(locks[i].label, label) == 0)
			return &locks[i];
	return NULL;
}

/* client LABEL URL... NAME=VALUE... */
static void open_client(char **words, int count)
{
	char why[SENTENCE] = "", value[SENTENCE];
	const char *urls[WORDS];
	struct redlock_options options;
	int error = 0;
	redlock_options_init(&options);
	options.error_text = why;
	options.error_text_size = sizeof why;
	options.urls = urls;
	for (int i = 1; i < count && error == 0; i++) {
		if (strstr(words[i], "://") != NULL) {
			urls[options.url_count++] = words[i];
		} else {
			const char *name = split(words[i], value, sizeof value);
			error = redlock_options_set(&options, name, value);
		}
	}
	if (error == 0)
		error = redlock_open(&options, &clients[client_count].handle);
	if (error == 0)
		error = redlock_keeper_start(clients[client_count].handle);
	redlock_options_clear(&options);
	if (error < 0) {
		fail(error, why);
		return;
	}
	snprintf(clients[client_count++].label, LABEL, "%s", words[0]);
	puts("ok");
}

/* NAME, or a list: NAME,NAME and NAME, and the empty one of a single comma. */
static int make(redlock_client *client, char *list, const struct redlock_lock_options *options,
                redlock_lock **ret_lock)
{
	struct redlock_name names[WORDS];
	size_t count = 0;
	if (strchr(list, ',') == NULL)
		return redlock_lock_new_bytes(client, list, decode(list), options, ret_lock);
	for (char *rest = list, *name; (name = strtok_r(rest, ",", &rest)) != NULL; count++) {
		names[count].bytes = name;
		names[count].len = decode(name);
	}
	return redlock_lock_new_many_bytes(client, names, count, options, ret_lock);
}

/* lock CLIENT LABEL NAME,... NAME=VALUE... */
static void make_lock(char **words, int count)
{
	struct lock *lock = &locks[lock_count];
	char why[SENTENCE] = "", value[SENTENCE];
	struct redlock_lock_options options;
	int error = 0;
	redlock_lock_options_init(&options);
	*lock = (struct lock){.client = find_client(words[0])};
	options.user = lock;
	for (int i = 3; i < count && error == 0; i++) {
		if (take_token(words[i], &options))
			continue;
		const char *name = split(words[i], value, sizeof value);
		error = redlock_lock_options_set(&options, name, value, why, sizeof why);
	}
	redlock_client *client = clients[lock->client].handle;
	if (error == 0 && (error = make(client, words[2], &options, &lock->handle)) < 0)
		redlock_client_last_error(client, why, sizeof why);
	if (error < 0) {
		fail(error, why);
		return;
	}
	snprintf(lock->label, LABEL, "%s", words[1]);
	lock_count++;
	puts("ok");
}

/* Notices may come in any order, and are kept until the lock is acquired again. */
static void take_notices(redlock_client *client)
{
	struct redlock_event event = {.size = sizeof event};
	while (redlock_next(client, &event) == 1)
		((struct lock *)event.user)->is_told[event.kind] = true;
}

static void forget_notices(struct lock *lock)
{
	take_notices(clients[lock->client].handle);
	memset(lock->is_told, 0, sizeof lock->is_told);
}

static int acquire(struct lock *lock, const char *wait)
{
	if (lock->handle == NULL)
		return REDLOCK_E_STATE;
	forget_notices(lock);
	int error = redlock_lock_set_wait(lock->handle, milliseconds(wait));
	return error < 0 ? error : redlock_acquire(lock->handle);
}

static void *wait_for(void *data)
{
	struct lock *lock = data;
	lock->result = redlock_acquire(lock->handle);
	return NULL;
}

static void join(struct lock *lock)
{
	if (lock->is_waiting)
		pthread_join(lock->waiter, NULL);
	lock->is_waiting = false;
}

static int start(struct lock *lock, const char *wait)
{
	forget_notices(lock);
	int error = redlock_lock_set_wait(lock->handle, milliseconds(wait));
	lock->is_waiting = error == 0 && pthread_create(&lock->waiter, NULL, wait_for, lock) == 0;
	return error;
}

/* lost LOCK MS, danger LOCK MS: waits so long for the notice. */
static void wait_for_notice(struct lock *lock, int kind, int ms)
{
	redlock_client *client = clients[lock->client].handle;
	struct pollfd fd = {.fd = redlock_notice_fd(client), .events = POLLIN};
	do {
		take_notices(client);
	} while (!lock->is_told[kind] && poll(&fd, 1, ms) > 0);
	puts(lock->is_told[kind] ? "ok yes" : "ok no");
}

/* Ends what waits, and releases what is held. */
static void close_client(int number)
{
	redlock_client *client = clients[number].handle;
	for (struct lock *lock = locks; client != NULL && lock < locks + lock_count; lock++)
		if (lock->client == number) {
			redlock_cancel(lock->handle);
			join(lock);
			redlock_lock_free(lock->handle);
			lock->handle = NULL;
		}
	if (client != NULL)
		redlock_drain(client, DRAIN_MS);
	redlock_close(client);
	clients[number].handle = NULL;
}

static void print_number(struct lock *lock, int (*get)(const redlock_lock *, unsigned *))
{
	unsigned found = 0;
	int error = get(lock->handle, &found);
	if (error < 0)
		answer(lock, error);
	else
		printf("ok %u\n", found);
}

static void print_votes(const struct lock *lock)
{
	struct redlock_vote vote = {.size = sizeof vote};
	printf("ok");
	for (unsigned i = 0; redlock_lock_vote(lock->handle, i, &vote) == 0; i++)
		printf(" %s", redlock_vote_name(vote.code));
	putchar('\n');
}

static void print_token(const struct lock *lock)
{
	char token[REDLOCK_MAX_TOKEN + 1];
	size_t len = 0;
	if (redlock_lock_token(lock->handle, token, sizeof token, &len) == 0)
		print_encoded(token, len);
}

static void print_owned(const struct lock *lock)
{
	int error = redlock_query(lock->handle);
	if (error == 0 || error == REDLOCK_E_GONE)
		puts(error == 0 ? "ok yes" : "ok no");
	else
		answer(lock, error);
}

/* A step about one lock. */
static void step(const char *verb, struct lock *lock, const char *argument)
{
	if (strcmp(verb, "acquire") == 0)
		answer(lock, acquire(lock, argument));
	else if (strcmp(verb, "start") == 0)
		answer(lock, start(lock, argument));
	else if (strcmp(verb, "finish") == 0)
		join(lock), answer(lock, lock->result);
	else if (strcmp(verb, "cancel") == 0)
		answer(lock, redlock_cancel(lock->handle));
	else if (strcmp(verb, "release") == 0)
		answer(lock, redlock_release(lock->handle));
	else if (strcmp(verb, "extend") == 0)
		answer(lock, redlock_extend(lock->handle, milliseconds(argument)));
	else if (strcmp(verb, "upgrade") == 0)
		answer(lock, redlock_upgrade(lock->handle));
	else if (strcmp(verb, "downgrade") == 0)
		answer(lock, redlock_downgrade(lock->handle));
	else if (strcmp(verb, "owned") == 0)
		print_owned(lock);
	else if (strcmp(verb, "remaining") == 0)
		printf("ok %llu\n", (unsigned long long)redlock_remaining_ms(lock->handle));
	else if (strcmp(verb, "fence") == 0)
		printf("ok %llu\n", (unsigned long long)redlock_lock_fence(lock->handle));
	else if (strcmp(verb, "slot") == 0)
		print_number(lock, redlock_lock_slot);
	else if (strcmp(verb, "obstacle") == 0)
		print_number(lock, redlock_lock_obstacle);
	else if (strcmp(verb, "token") == 0)
		print_token(lock);
	else if (strcmp(verb, "votes") == 0)
		print_votes(lock);
	else if (strcmp(verb, "lost") == 0)
		wait_for_notice(lock, REDLOCK_EVENT_LOST, atoi(argument));
	else if (strcmp(verb, "danger") == 0)
		wait_for_notice(lock, REDLOCK_EVENT_DANGER, atoi(argument));
	else
		puts("error PROTOCOL unknown step");
}

int main(void)
{
	char line[LINE];
	while (fgets(line, sizeof line, stdin) != NULL) {
		char *words[WORDS] = {NULL};
		int count = 0;
		for (char *word = strtok(line, " \n"); word != NULL && count < WORDS; word = strtok(NULL, " \n"))
			words[count++] = word;
		struct lock *lock = count > 1 ? find_lock(words[1]) : NULL;
		if (count == 1 && strcmp(words[0], "errors") == 0)
			print_errors();
		else if (count > 1 && strcmp(words[0], "client") == 0)
			open_client(words + 1, count - 1);
		else if (count > 3 && strcmp(words[0], "lock") == 0)
			make_lock(words + 1, count - 1);
		else if (count > 1 && strcmp(words[0], "close") == 0)
			close_client(find_client(words[1])), puts("ok");
		else if (lock != NULL)
			step(words[0], lock, words[2]);
		else
			puts("error PROTOCOL no such lock");
		fflush(stdout);
	}
	for (int i = 0; i < client_count; i++)
		close_client(i);
	return 0;
}
