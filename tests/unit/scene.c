/* SPDX-License-Identifier: MIT */
#include "scene.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "resp.h"
#include "scripts.h"

static void listen_on(struct scene *s)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof address.sun_path, "%s", s->path);
	s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_true(s->listener >= 0);
	assert_int_equal(bind(s->listener, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(listen(s->listener, 4), 0);
}

struct scene *scene_open(const char *before, const char *after)
{
	static struct scene scene;
	struct scene *s = &scene;
	const char *tmp = getenv("TMPDIR");
	char url[160];
	char why[128];
	struct rl_endpoint endpoint;
	memset(s, 0, sizeof *s);
	snprintf(s->dir, sizeof s->dir, "%s/rl-unit.XXXXXX", tmp != NULL && strlen(tmp) < 40 ? tmp : "/tmp");
	assert_non_null(mkdtemp(s->dir));
	snprintf(s->path, sizeof s->path, "%s/socket", s->dir);
	listen_on(s);
	s->peer = -1;
	s->now_ns = rl_time_ms(1000);
	snprintf(url, sizeof url, "unix://%s%s%s", before, s->path, after);
	assert_int_equal(rl_url_parse(url, &endpoint, why, sizeof why), 0);
	assert_int_equal(rl_poller_open(&s->poller), 0);
	assert_true(rl_node_open(&s->node, &endpoint, NULL, &s->poller, 3));
	return s;
}

struct scene *scene_connected(int client_id)
{
	struct scene *s = scene_open("", "");
	rl_node_connect(&s->node, s->now_ns);
	scene_greet(s, client_id);
	return s;
}

void scene_close(struct scene *s)
{
	rl_node_close(&s->node, false);
	rl_poller_close(&s->poller);
	rl_request_free(&s->wire);
	scene_hang_up(s);
	close(s->listener);
	unlink(s->path);
	rmdir(s->dir);
}

/* ---- the node's side ---- */

static void collect(struct scene *s)
{
	static const char *const names[RL_OP_COUNT] = {
#define NAME(name, word, tells) word,
	    RL_OP_MAP(NAME)
#undef NAME
	};
	struct rl_answer answer;
	while (rl_node_next(&s->node, &answer, s->now_ns)) {
		assert_in_range(answer.operation, REDLOCK_OP_ACQUIRE, RL_OP_COUNT - 1);
		size_t room = sizeof s->answers - s->answers_used;
		int n = snprintf(s->answers + s->answers_used, room, "%s #%u %s\n", names[answer.operation],
		                 answer.tag.seq, redlock_vote_name(answer.vote.code));
		assert_true(n > 0 && (size_t)n < room);
		s->answers_used += (size_t)n;
	}
}

static void listen_to(struct scene *s, const struct rl_ready *ready)
{
	struct rl_heard heard;
	rl_node_listener_ready(&s->node, ready->id, ready->events, s->now_ns);
	while (rl_node_hear(&s->node, &heard, s->now_ns))
		s->messages++;
}

void scene_turn(struct scene *s)
{
	for (unsigned turn = 0; turn < 8; turn++) {
		struct rl_ready ready[4];
		int count = rl_poller_look(&s->poller, ready, 4);
		for (int i = 0; i < count; i++) {
			assert_int_equal(RL_WATCH_NODE(ready[i].id), 3);
			if (ready[i].id % RL_WATCH_LINKS != 3) {
				listen_to(s, &ready[i]);
				continue;
			}
			rl_link_ready(&s->node.link, ready[i].id, ready[i].events, s->now_ns);
			collect(s);
		}
		rl_submit_flush(&s->node);
		if (s->node.link.state == RL_LINK_BROKEN)
			collect(s);
	}
	assert_int_not_equal(s->node.link.state, RL_LINK_BROKEN);
}

void scene_at(struct scene *s, uint64_t ms)
{
	s->now_ns = rl_time_ms(ms);
	rl_node_tick(&s->node, s->now_ns);
	rl_node_listener_tick(&s->node, s->now_ns);
	scene_turn(s);
}

const char *scene_answers(struct scene *s)
{
	s->answers[s->answers_used] = '\0';
	s->answers_used = 0;
	return s->answers;
}

enum redlock_vote_code scene_request(struct scene *s, const struct rl_request *request)
{
	s->wire.made = 0;
	return rl_node_submit(&s->node, request, &s->wire, s->now_ns);
}

static enum redlock_vote_code submit(struct scene *s, enum redlock_operation operation, unsigned slot,
                                     uint32_t seq, bool owed)
{
	char token[32];
	struct rl_request request = {.operation = operation,
	                             .tag = {.slot = slot, .seq = seq},
	                             .name = {"job", 3},
	                             .token = {token, (size_t)snprintf(token, sizeof token, "token%u", slot)},
	                             .ttl_ms = 30000,
	                             .owed = owed ? 1u << 3 : 0,
	                             .unqueued = true};
	return scene_request(s, &request);
}

enum redlock_vote_code scene_submit(struct scene *s, enum redlock_operation operation, unsigned slot,
                                    uint32_t seq)
{
	return submit(s, operation, slot, seq, false);
}

enum redlock_vote_code scene_owe(struct scene *s, unsigned slot, uint32_t seq)
{
	return submit(s, REDLOCK_OP_RELEASE, slot, seq, true);
}

/* ---- the server's side ---- */

void scene_accept(struct scene *s)
{
	scene_turn(s);
	s->peer = accept(s->listener, NULL, NULL);
	assert_true(s->peer >= 0);
	assert_int_equal(fcntl(s->peer, F_SETFL, O_NONBLOCK), 0);
	s->heard_size = 0;
	scene_turn(s);
}

void scene_greet(struct scene *s, int client_id)
{
	char bytes[128];
	scene_accept(s);
	expect_heard(s, HELLO);
	snprintf(bytes, sizeof bytes, ":%d\r\n$47\r\nrun_id:%040d\r\n" NO_NATIVE, client_id, 7);
	scene_say(s, bytes);
}

void scene_hang_up(struct scene *s)
{
	if (s->peer >= 0)
		close(s->peer);
	s->peer = -1;
}

void scene_say(struct scene *s, const char *bytes)
{
	size_t size = strlen(bytes);
	assert_int_equal(send(s->peer, bytes, size, MSG_NOSIGNAL), size);
	scene_turn(s);
}

void scene_listen(struct scene *s)
{
	ssize_t got;
	scene_turn(s);
	while ((got = recv(s->peer, s->heard + s->heard_size, sizeof s->heard - s->heard_size, 0)) > 0) {
		s->heard_size += (size_t)got;
		scene_turn(s);
	}
	assert_true(got == 0 || errno == EAGAIN || s->heard_size == sizeof s->heard);
}

static void show_word(char **to, const char *word, size_t size)
{
	for (unsigned i = 0; i < RL_SCRIPT_COUNT; i++) {
		const struct rl_script_text *script = &rl_scripts[i];
		bool text = size == script->length && memcmp(word, script->text, size) == 0;
		bool sha = size == 40 && memcmp(word, script->sha, 40) == 0;
		if (text || sha) {
			word = script->name;
			size = strlen(word);
		}
	}
	memcpy(*to, word, size);
	*to += size;
}

const char *scene_heard(struct scene *s)
{
	char *to = s->text;
	size_t at = 0, size;
	struct words words;
	scene_listen(s);
	while ((size = resp_command(s->heard + at, s->heard_size - at, &words)) > 0) {
		assert_true(size != RESP_WRONG);
		for (unsigned i = 0; i < words.count; i++) {
			if (i > 0)
				*to++ = ' ';
			show_word(&to, words.at[i].at, words.at[i].size);
		}
		*to++ = '\n';
		at += size;
	}
	*to = '\0';
	s->heard_size -= at;
	memmove(s->heard, s->heard + at, s->heard_size);
	return s->text;
}

enum redlock_vote_code scene_large(struct scene *s, enum redlock_operation operation, size_t name_size,
                                   bool owed)
{
	static char name[65536];
	memset(name, 'n', sizeof name);
	assert_true(name_size <= sizeof name);
	struct rl_request request = {.operation = operation,
	                             .tag = {.slot = 1, .seq = 1},
	                             .name = {name, name_size},
	                             .token = {"token1", 6},
	                             .ttl_ms = 1,
	                             .owed = owed ? 1u << 3 : 0,
	                             .unqueued = true};
	return scene_request(s, &request);
}

void scene_narrow(struct scene *s, int bytes)
{
	assert_int_equal(setsockopt(s->node.link.stream.fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes), 0);
}

static bool is_asked(struct scene *s, const char *word, unsigned slot, uint32_t seq)
{
	static const struct {
		const char *word;
		enum redlock_operation operation;
	} asked[] = {{"acquire", REDLOCK_OP_ACQUIRE},
	             {"extend", REDLOCK_OP_EXTEND},
	             {"release", REDLOCK_OP_RELEASE},
	             {"query", REDLOCK_OP_QUERY}};
	for (unsigned i = 0; i < COUNT(asked); i++) {
		if (strcmp(word, asked[i].word) == 0) {
			(void)scene_submit(s, asked[i].operation, slot, seq);
			return true;
		}
	}
	return false;
}

static bool is_done(struct scene *s, const char *word, unsigned number)
{
	if (strcmp(word, "hear") == 0)
		scene_heard(s);
	else if (strcmp(word, "take") == 0)
		scene_answers(s);
	else if (strcmp(word, "turn") == 0)
		scene_turn(s);
	else if (strcmp(word, "hang") == 0)
		scene_hang_up(s);
	else if (strcmp(word, "accept") == 0)
		scene_accept(s);
	else if (strcmp(word, "greet") == 0)
		scene_greet(s, (int)number);
	else if (strcmp(word, "connect") == 0)
		rl_node_connect(&s->node, s->now_ns);
	else if (strcmp(word, "tick") == 0)
		rl_node_tick(&s->node, s->now_ns);
	else if (strcmp(word, "flush") == 0)
		rl_submit_flush(&s->node);
	else
		return false;
	return true;
}

static bool is_time(struct scene *s, const char *word, unsigned ms)
{
	if (strcmp(word, "at") == 0)
		scene_at(s, ms);
	else if (strcmp(word, "now") == 0)
		s->now_ns = rl_time_ms(ms);
	else if (strcmp(word, "pass") == 0)
		s->now_ns += rl_time_ms(ms);
	else if (strcmp(word, "due") == 0)
		s->now_ns = rl_link_deadline(&s->node.link);
	else
		return false;
	return true;
}

void scene_play(struct scene *s, const char *script)
{
	char line[256], *rest = NULL;
	assert_true((size_t)snprintf(line, sizeof line, "%s", script) < sizeof line);
	for (char *step = strtok_r(line, ";", &rest); step != NULL; step = strtok_r(NULL, ";", &rest)) {
		char word[16] = "";
		unsigned number = 0, seq = 0;
		sscanf(step, "%15s %u #%u", word, &number, &seq);
		if (strcmp(word, "owe") == 0)
			(void)scene_owe(s, number, seq);
		else
			assert_true(is_asked(s, word, number, seq) || is_done(s, word, number) ||
			            is_time(s, word, number));
	}
}

struct scene *scene_begin(const char *before, const char *after, const char *script)
{
	struct scene *s = scene_open(before, after);
	scene_play(s, script);
	return s;
}

struct scene *scene_begin_connected(int client_id, const char *script)
{
	struct scene *s = scene_connected(client_id);
	scene_play(s, script);
	return s;
}
