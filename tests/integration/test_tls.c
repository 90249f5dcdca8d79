/* SPDX-License-Identifier: MIT */
/* TLS beside OpenSSL itself: sessions, endings, stalls at any byte, and an error queue that stays the
 * program's. */
#include <stdio.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "child.h"
#include "fixture.h"
#include "tlspeer.h"

static char dir[64];
static char ca_file[96];

static redlock_client *open_with(const char *const *urls, unsigned count, const char *client_name)
{
	char cert[96], key[96];
	struct redlock_options options = fixture_client(urls, count);
	options.tls_ca_file = ca_file;
	if (client_name != NULL) {
		snprintf(cert, sizeof cert, "%s/%s.crt", dir, client_name);
		snprintf(key, sizeof key, "%s/%s.key", dir, client_name);
		options.tls_cert_file = cert;
		options.tls_key_file = key;
	}
	return fixture_open_with(&options);
}

static struct redlock_node_status status_of(redlock_client *client, unsigned node)
{
	struct redlock_node_status status = {.size = sizeof status};
	expect_ok(NULL, redlock_process(client));
	assert_int_equal(ERR_peek_error(), 0); /* whatever was met, the queue of this thread is left empty */
	expect_ok(NULL, redlock_node_status(client, node, &status));
	return status;
}

static bool says(redlock_client *client, unsigned node, const char *text)
{
	return strstr(status_of(client, node).last_error, text) != NULL;
}

static void lock_three_times(redlock_client *client)
{
	own_lock *lock = fixture_lock(client, "tls", WAIT_LONG_TTL_MS, 0);
	for (int i = 0; i < 3; i++) {
		expect_ok(lock, redlock_acquire(lock));
		expect_ok(lock, redlock_extend(lock, 0));
		expect_ok(lock, redlock_release(lock));
		assert_int_equal(ERR_peek_error(), 0);
	}
}

TEST(sessions_are_reused)
{
	static const int versions[] = {0, TLS1_2_VERSION};
	for (unsigned i = 0; i < 2; i++) {
		own_tlspeer peer;
		tlspeer_start(&peer,
		              &(struct tlspeer_plan){.dir = dir, .max_version = versions[i], .close_after = 2});
		const char *urls[] = {peer.url};
		own_client *client = open_with(urls, 1, NULL);
		assert_soon(redlock_process(client) == 0 && peer.resumed >= 2);
		assert_true(peer.resumed < peer.connections); /* the first one cannot be */
	}
}

/* Each names the option of its file: one that is not there, and one without what it is for. */
TEST(files_for_tls_that_cannot_be_used)
{
	static const char *const urls[] = {"rediss://127.0.0.1:1"};
	static const char *const paths[] = {"/nowhere.pem", "/dev/null"};
	for (size_t i = 0; i < 6; i++) {
		const char *option = "none", *path = paths[i % 2];
		char text[512] = "";
		struct redlock_options options = fixture_client(urls, 1);
		const struct {
			const char **file, *name;
		} files[] = {
		    {&options.tls_ca_file, "tls_ca_file"},
		    {&options.tls_ca_dir, "tls_ca_dir"},
		    {&options.tls_cert_file, "tls_cert_file"},
		};
		options.error_option = &option;
		redlock_options_set_error_text(&options, text, sizeof text);
		*files[i / 2].file = path;
		fixture_expect_open(&options, REDLOCK_E_TLS);
		assert_string_equal(option, files[i / 2].name);
		assert_ptr_equal(strstr(text, path), text);
	}
}

TEST(close_is_told)
{
	own_tlspeer peer;
	tlspeer_start(&peer, &(struct tlspeer_plan){.dir = dir});
	const char *urls[] = {peer.url};
	redlock_client *client = open_with(urls, 1, NULL);
	lock_three_times(client);
	assert_int_equal(redlock_drain(client, WAIT_SOON_MS), 0);
	assert_int_equal(peer.ended_in_order, 0);
	redlock_close(client);
	assert_soon(peer.ended_in_order == 1);
	assert_int_equal(peer.ended_otherwise, 0);
	assert_int_equal(ERR_peek_error(), 0);
}

/* However the bytes are cut, both ways. */
TEST(pieces_of_any_size)
{
	static const size_t sizes[] = {1, 2, 3, 5, 16, 127, 1000};
	for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		own_tlspeer peer;
		tlspeer_start(&peer, &(struct tlspeer_plan){
		                         .dir = dir, .chunk = sizes[i], .max_version = i % 2 ? TLS1_2_VERSION : 0});
		const char *urls[] = {peer.url};
		redlock_client *client = open_with(urls, 1, NULL);
		lock_three_times(client);
		redlock_close(client);
		assert_soon(peer.ended_in_order == 1);
		assert_int_equal(peer.connections, 1);
	}
}

static size_t bytes_of_a_handshake(void)
{
	struct tlspeer peer;
	tlspeer_start(&peer, &(struct tlspeer_plan){.dir = dir});
	const char *urls[] = {peer.url};
	redlock_client *client = open_with(urls, 1, NULL);
	lock_three_times(client);
	redlock_close(client);
	size_t bytes = peer.hello_bytes;
	tlspeer_stop(&peer);
	return bytes;
}

/* Peers that fall silent at some byte of the handshake, or within an answer: each is one missing vote. */
TEST(stalls)
{
	enum { STALLED = 9, ALL = 2 * STALLED + 1 };
	/* nothing, half a header, a header, in the ServerHello (130 bytes), after it, in the certificate */
	static const size_t points[] = {0, 3, 5, 60, 130, 140, 400};
	size_t whole = bytes_of_a_handshake();
	assert_true(whole > 600);
	struct tlspeer peers[ALL];
	const char *urls[ALL];
	for (unsigned i = 0; i < ALL; i++) {
		struct tlspeer_plan plan = {.dir = dir};
		if (i < 7)
			plan.stall_after = AFTER(points[i]);
		plan.stall_in_answer = i == 7 || i == 8;
		plan.max_version = i == 8 ? TLS1_2_VERSION : 0;
		tlspeer_start(&peers[i], &plan);
		urls[i] = peers[i].url;
	}
	redlock_client *client = open_with(urls, ALL, NULL);
	uint64_t start_ns = wait_now_ns();
	lock_three_times(client);
	assert_true(wait_elapsed_ms(start_ns) < FIXTURE_NODE_TIMEOUT_MS / 2);
	for (unsigned i = 0; i < STALLED; i++)
		assert_soon(says(client, i, i < 7 ? "no answer to the TLS handshake" : "no answer for 5 seconds"));
	lock_three_times(client);
	start_ns = wait_now_ns();
	redlock_close(client); /* does not wait for them */
	assert_true(wait_elapsed_ms(start_ns) < FIXTURE_NODE_TIMEOUT_MS / 2);
	assert_int_equal(ERR_peek_error(), 0);
	for (unsigned i = 0; i < ALL; i++)
		tlspeer_stop(&peers[i]);
}

/* ---- failures: each with its reason, and nothing of it left in the queue ---- */

static const struct failure {
	const char *what;
	struct tlspeer_plan plan;
	const char *client_name;
	enum redlock_vote_code vote;
	const char *text;
} failures[] = {
    {"signed by itself",
     {.cert = TLSPEER_STRANGER},
     NULL,
     REDLOCK_VOTE_TLS,
     "certificate is not accepted: self-signed"},
    {"TLS 1.1 only",
     {.max_version = TLS1_1_VERSION},
     NULL,
     REDLOCK_VOTE_TLS,
     "does not speak TLS 1.2 or newer"},
    {"wants a certificate",
     {.wants_client = true},
     NULL,
     REDLOCK_VOTE_TLS,
     "does not accept our certificate: "},
    {"wants a certificate, TLS 1.2",
     {.wants_client = true, .max_version = TLS1_2_VERSION},
     NULL,
     REDLOCK_VOTE_TLS,
     "alert handshake failure"}, /* after "sslv3", from OpenSSL 3.5 on "ssl/tls" */
    {"wants another certificate",
     {.wants_client = true},
     TLSPEER_STRANGER,
     REDLOCK_VOTE_TLS,
     "does not accept our certificate: "},
    {"wants another certificate, TLS 1.2",
     {.wants_client = true, .max_version = TLS1_2_VERSION},
     TLSPEER_STRANGER,
     REDLOCK_VOTE_TLS,
     "does not accept our certificate: "},
    {"damaged ServerHello", {.damage_at = AFTER(60)}, NULL, REDLOCK_VOTE_TLS, "TLS: "},
    {"damaged certificate", {.damage_at = AFTER(400)}, NULL, REDLOCK_VOTE_TLS, "TLS: "},
    {"damaged certificate, TLS 1.2",
     {.max_version = TLS1_2_VERSION, .damage_at = AFTER(130)},
     NULL,
     REDLOCK_VOTE_TLS,
     "TLS: "},
    {"ends at once", {.cut_after = AFTER(0)}, NULL, REDLOCK_VOTE_DOWN, ""},
    {"ends in the handshake", {.cut_after = AFTER(140)}, NULL, REDLOCK_VOTE_DOWN, ""},
    {"wants our certificate, and has it", {.wants_client = true}, TLSPEER_CLIENT, REDLOCK_VOTE_PENDING, ""},
};

static void fail_in(const struct failure *f)
{
	struct tlspeer bad, good[2];
	struct tlspeer_plan plan = f->plan;
	plan.dir = dir;
	tlspeer_start(&bad, &plan);
	tlspeer_start(&good[0], &(struct tlspeer_plan){.dir = dir});
	tlspeer_start(&good[1], &(struct tlspeer_plan){.dir = dir});
	const char *urls[] = {good[0].url, bad.url, good[1].url};
	redlock_client *client = open_with(urls, 3, f->client_name);
	lock_three_times(client);
	assert_soon(status_of(client, 1).last_failure == f->vote ||
	            (f->vote == REDLOCK_VOTE_PENDING && status_of(client, 1).connected));
	if (!says(client, 1, f->text))
		fail_msg("%s: %s", f->what, status_of(client, 1).last_error);
	if (f->vote == REDLOCK_VOTE_TLS)
		assert_int_equal(redlock_vote_kind(f->vote), REDLOCK_KIND_FATAL);
	redlock_close(client);
	assert_int_equal(ERR_peek_error(), 0);
	tlspeer_stop(&bad);
	tlspeer_stop(&good[0]);
	tlspeer_stop(&good[1]);
}

TEST(failures)
{
	for (unsigned i = 0; i < sizeof failures / sizeof failures[0]; i++)
		fail_in(&failures[i]);
}

/* A connection that works and is then damaged is lost, as any other; what it was asked may have been done. */
TEST(damage_later)
{
	own_tlspeer peer;
	size_t whole = bytes_of_a_handshake();
	tlspeer_start(&peer, &(struct tlspeer_plan){.dir = dir, .damage_at = AFTER(whole + 15)});
	const char *urls[] = {peer.url};
	redlock_client *client = open_with(urls, 1, NULL);
	redlock_lock *lock = fixture_lock(client, "damaged", WAIT_LONG_TTL_MS, 0);
	expect_result(lock, REDLOCK_E_NOQUORUM, redlock_acquire(lock));
	assert_vote(lock, 0, REDLOCK_VOTE_CLOSED);
	assert_true(says(client, 0, "TLS: "));
	redlock_lock_free(lock);
	redlock_close(client);
	assert_int_equal(ERR_peek_error(), 0);
}

/* Files that cannot be used leave nothing either. */
TEST(bad_files)
{
	static const char *const names[] = {"none.crt", "good.key"};
	const char *urls[] = {"rediss://127.0.0.1:1"};
	for (unsigned i = 0; i < 2; i++) {
		char path[96];
		redlock_client *client = NULL;
		struct redlock_options options = fixture_client(urls, 1);
		snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		options.tls_ca_file = path;
		expect_result(NULL, REDLOCK_E_TLS, redlock_open(&options, &client));
		assert_int_equal(ERR_peek_error(), 0);
	}
}

static void start(void)
{
	snprintf(dir, sizeof dir, "/tmp/redlock-tls.XXXXXX");
	if (mkdtemp(dir) == NULL)
		child_die(dir);
	snprintf(ca_file, sizeof ca_file, "%s/ca.crt", dir);
	tlspeer_pki(dir);
	ERR_clear_error();
}

static void stop(void)
{
	child_remove_tree(dir);
}

TESTS(.start = start, .stop = stop)
