/* SPDX-License-Identifier: MIT */
#include "tlspeer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "child.h"
#include "wait.h"

/* ---- certificates ---- */

static void file_name(char *path, size_t size, const char *dir, const char *name, const char *suffix)
{
	snprintf(path, size, "%s/%s.%s", dir, name, suffix);
}

static void save(const char *dir, const char *name, X509 *cert, EVP_PKEY *key)
{
	char path[256];
	file_name(path, sizeof path, dir, name, "crt");
	FILE *file = fopen(path, "we");
	if (file == NULL || PEM_write_X509(file, cert) != 1 || fclose(file) != 0)
		child_die(path);
	file_name(path, sizeof path, dir, name, "key");
	file = fopen(path, "we");
	if (file == NULL || PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) != 1 || fclose(file) != 0)
		child_die(path);
}

static void extend(X509 *cert, int kind, const char *value)
{
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, kind, value);
	if (extension == NULL || X509_add_ext(cert, extension, -1) != 1)
		child_die("a certificate's extension");
	X509_EXTENSION_free(extension);
}

/* Signed by `issuer`; NULL: by itself. Returns the certificate, and its key in *ret_key. */
static X509 *make(const char *dir, const char *name, bool is_ca, X509 *issuer, EVP_PKEY *issuer_key,
                  EVP_PKEY **ret_key)
{
	static long serial = 1;
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = X509_new();
	X509_set_version(cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), serial++);
	X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
	X509_gmtime_adj(X509_getm_notAfter(cert), 86400);
	X509_set_pubkey(cert, key);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC, (const unsigned char *)name,
	                           -1, -1, 0);
	X509_set_issuer_name(cert, X509_get_subject_name(issuer != NULL ? issuer : cert));
	extend(cert, NID_basic_constraints, is_ca ? "critical,CA:TRUE" : "CA:FALSE");
	extend(cert, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
	if (X509_sign(cert, issuer_key != NULL ? issuer_key : key, EVP_sha256()) == 0)
		child_die("a certificate cannot be signed");
	save(dir, name, cert, key);
	*ret_key = key;
	return cert;
}

void tlspeer_pki(const char *dir)
{
	static const char *const signed_ones[] = {TLSPEER_GOOD, TLSPEER_CLIENT};
	EVP_PKEY *ca_key, *key;
	X509 *ca = make(dir, "ca", true, NULL, NULL, &ca_key);
	for (size_t i = 0; i < sizeof signed_ones / sizeof signed_ones[0]; i++) {
		X509_free(make(dir, signed_ones[i], false, ca, ca_key, &key));
		EVP_PKEY_free(key);
	}
	X509_free(make(dir, TLSPEER_STRANGER, false, NULL, NULL, &key));
	EVP_PKEY_free(key);
	EVP_PKEY_free(ca_key);
	X509_free(ca);
}

/* ---- one connection ---- */

struct talk {
	struct tlspeer *peer;
	int fd;
	SSL *ssl;
	BIO *in, *out;
	size_t sent;
	size_t stall_after, cut_after, damage_at; /* SIZE_MAX: never */
	bool over;
	struct session *session;
	struct buffer commands; /* that are not whole yet */
	unsigned answers;
};

/* False: nothing more comes. */
static bool wait_readable(struct talk *t)
{
	struct pollfd watched = {.fd = t->fd, .events = POLLIN};
	while (!t->peer->stop)
		if (poll(&watched, 1, 20) > 0)
			return true;
	return false;
}

/* Reads until the client ends: a reset would take away what was said last. */
static void wait_for_end(struct talk *t)
{
	char bytes[4096];
	while (wait_readable(t) && recv(t->fd, bytes, sizeof bytes, 0) > 0) {
	}
	t->over = true;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Passes on what OpenSSL wants to say, as the plan has it. */
static void flush(struct talk *t)
{
	const struct tlspeer_plan *plan = &t->peer->plan;
	char bytes[16384];
	while (!t->over && BIO_ctrl_pending(t->out) > 0) {
		size_t most = smaller(plan->chunk > 0 ? plan->chunk : sizeof bytes, sizeof bytes);
		most = smaller(most, smaller(t->stall_after, t->cut_after) - t->sent);
		if (most == 0) {
			if (t->sent == t->cut_after)
				shutdown(t->fd, SHUT_WR);
			wait_for_end(t);
			return;
		}
		int size = BIO_read(t->out, bytes, (int)most);
		if (t->damage_at >= t->sent && t->damage_at < t->sent + (size_t)size)
			bytes[t->damage_at - t->sent] ^= 1;
		if (send(t->fd, bytes, (size_t)size, MSG_NOSIGNAL) != size)
			t->over = true;
		t->sent += (size_t)size;
	}
}

static void answer(struct talk *t, const struct buffer *reply)
{
	if (t->answers == 0 && t->peer->plan.stall_in_answer)
		t->stall_after = t->sent + 10;
	SSL_write(t->ssl, buffer_front(reply), (int)reply->length);
	flush(t);
	if (++t->answers == t->peer->plan.close_after) {
		SSL_shutdown(t->ssl);
		flush(t);
		shutdown(t->fd, SHUT_WR);
		wait_for_end(t);
	}
}

/* One command at a time: what is left out depends on the answers. */
static void take(struct talk *t, const char *bytes, size_t size)
{
	struct redis *redis = &t->peer->redis;
	struct buffer reply = {0};
	buffer_append(&t->commands, bytes, size);
	redis->now_ms = (int64_t)(wait_now_ns() / 1000000);
	redis_expire(redis);
	do {
		buffer_drop(&reply, reply.length);
		redis_serve(redis, t->session, &t->commands, 1, &reply);
		if (reply.length > 0)
			answer(t, &reply);
	} while (!t->over && reply.length > 0);
	buffer_free(&reply);
}

static void receive(struct talk *t)
{
	char bytes[4096];
	size_t most = t->peer->plan.chunk > 0 ? smaller(t->peer->plan.chunk, sizeof bytes) : sizeof bytes;
	ssize_t got = wait_readable(t) ? recv(t->fd, bytes, most, 0) : 0;
	if (got <= 0) {
		t->peer->ended_otherwise++;
		t->over = true;
		return;
	}
	BIO_write(t->in, bytes, (int)got);
}

static void turn(struct talk *t)
{
	char bytes[4096];
	bool before = SSL_is_init_finished(t->ssl);
	int got = SSL_read(t->ssl, bytes, sizeof bytes);
	int error = SSL_get_error(t->ssl, got);
	flush(t);
	if (!before && SSL_is_init_finished(t->ssl)) {
		t->peer->resumed += SSL_session_reused(t->ssl) != 0;
		t->peer->hello_bytes = t->sent;
	}
	if (got > 0) {
		take(t, bytes, (size_t)got);
	} else if (error == SSL_ERROR_ZERO_RETURN) {
		t->peer->ended_in_order++;
		t->over = true;
	} else if (error != SSL_ERROR_WANT_READ && !t->over) {
		shutdown(t->fd, SHUT_WR); /* after the alert */
		wait_for_end(t);
	} else if (!t->over) {
		receive(t);
	}
}

static void serve(struct tlspeer *peer, int fd)
{
	struct talk *t = calloc(1, sizeof *t);
	if (t == NULL)
		child_die("out of memory");
	*t = (struct talk){.peer = peer, .fd = fd, .session = redis_accept(&peer->redis)};
	t->stall_after = peer->plan.stall_after - 1; /* 0: never */
	t->cut_after = peer->plan.cut_after - 1;
	t->damage_at = peer->plan.damage_at - 1;
	t->ssl = SSL_new(peer->context);
	t->in = BIO_new(BIO_s_mem());
	t->out = BIO_new(BIO_s_mem());
	SSL_set_bio(t->ssl, t->in, t->out);
	SSL_set_accept_state(t->ssl);
	if (t->stall_after == 0)
		wait_for_end(t);
	while (!t->over && !peer->stop)
		turn(t);
	SSL_free(t->ssl);
	redis_forget(&peer->redis, t->session);
	buffer_free(&t->commands);
	close(fd);
	free(t);
}

static void *run(void *argument)
{
	struct tlspeer *peer = argument;
	struct pollfd watched = {.fd = peer->listener, .events = POLLIN};
	while (!peer->stop) {
		if (poll(&watched, 1, 20) <= 0)
			continue;
		int fd = accept(peer->listener, NULL, NULL);
		if (fd < 0)
			continue;
		peer->connections++;
		serve(peer, fd);
	}
	return NULL;
}

/* ---- life ---- */

static void make_context(struct tlspeer *peer)
{
	const struct tlspeer_plan *plan = &peer->plan;
	const char *name = plan->cert != NULL ? plan->cert : TLSPEER_GOOD;
	char cert[256], key[256], ca[256];
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());
	file_name(cert, sizeof cert, plan->dir, name, "crt");
	file_name(key, sizeof key, plan->dir, name, "key");
	file_name(ca, sizeof ca, plan->dir, "ca", "crt");
	SSL_CTX_set_session_id_context(context, (const unsigned char *)"peer", 4);
	if (plan->max_version != 0) {
		SSL_CTX_set_min_proto_version(context, 0);
		SSL_CTX_set_max_proto_version(context, plan->max_version);
		SSL_CTX_set_cipher_list(context, "ALL:@SECLEVEL=0");
	}
	if (plan->wants_client)
		SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	if (SSL_CTX_use_certificate_chain_file(context, cert) != 1 ||
	    SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1 ||
	    SSL_CTX_load_verify_file(context, ca) != 1)
		child_die("the TLS peer's certificates");
	peer->context = context;
}

void tlspeer_start(struct tlspeer *peer, const struct tlspeer_plan *plan)
{
	memset(peer, 0, sizeof *peer);
	peer->plan = *plan;
	make_context(peer);
	peer->listener = child_listen(0, &peer->port);
	snprintf(peer->redis.run_id, sizeof peer->redis.run_id, "%040d", peer->port);
	snprintf(peer->url, sizeof peer->url, "rediss://127.0.0.1:%d", peer->port);
	if (pthread_create(&peer->thread, NULL, run, peer) != 0)
		child_die("the TLS peer's thread");
}

void tlspeer_stop(struct tlspeer *peer)
{
	peer->stop = true;
	pthread_join(peer->thread, NULL);
	close(peer->listener);
	redis_free(&peer->redis);
	SSL_CTX_free(peer->context);
}
