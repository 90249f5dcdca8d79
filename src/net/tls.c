/* SPDX-License-Identifier: MIT */
#include "net/tls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/openssl.h"
#include "os/path.h"
#include "os/socket.h"

struct rl_tls_context {
	SSL_CTX *ctx;
	BIO_METHOD *socket_method;
	char *name; /* the name that certificates must have; NULL: the host of each URL */
	bool insecure;
	bool has_passphrase; /* a file, as it was loaded */
};

struct rl_tls {
	struct rl_tls_context *context;
	SSL *ssl;
	int fd;
	ssize_t socket_error; /* the socket's error in the last call; 0: none */
	bool wants_write;
	char error[160];
};

/* ---- the socket, as OpenSSL sees it ---- */

static int moved(BIO *bio, struct rl_tls *t, ssize_t result, int direction)
{
	rl_openssl()->BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
	if (result >= 0)
		return (int)result;
	if (result == -EAGAIN)
		rl_openssl()->BIO_set_flags(bio, direction | BIO_FLAGS_SHOULD_RETRY);
	else
		t->socket_error = result;
	return -1;
}

static int socket_write(BIO *bio, const char *bytes, int size)
{
	struct rl_tls *t = rl_openssl()->BIO_get_data(bio);
	return moved(bio, t, rl_socket_send(t->fd, bytes, (size_t)size, false), BIO_FLAGS_WRITE);
}

static int socket_read(BIO *bio, char *bytes, int size)
{
	struct rl_tls *t = rl_openssl()->BIO_get_data(bio);
	return moved(bio, t, rl_socket_receive(t->fd, bytes, (size_t)size), BIO_FLAGS_READ);
}

static long socket_control(BIO *bio, int command, long number, void *pointer)
{
	(void)bio;
	(void)number;
	(void)pointer;
	return command == BIO_CTRL_FLUSH;
}

/* ---- errors ---- */

/* Alerts by which a server refuses our certificate, or that we have none. In TLS 1.3 they come after the
 * handshake, when the first commands may have been sent: the server has executed none of them. */
static bool is_refusal(int reason)
{
	static const int refusals[] = {
	    SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, SSL_R_TLSV1_ALERT_UNKNOWN_CA,
	    SSL_R_TLSV1_ALERT_ACCESS_DENIED,         SSL_R_SSLV3_ALERT_BAD_CERTIFICATE,
	    SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,   SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED,
	    SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN,   SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE,
	    SSL_R_SSLV3_ALERT_NO_CERTIFICATE,
	};
	for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
		if (refusals[i] == reason)
			return true;
	return false;
}

static bool is_too_old(int reason)
{
	return reason == SSL_R_TLSV1_ALERT_PROTOCOL_VERSION || reason == SSL_R_UNSUPPORTED_PROTOCOL ||
	       reason == SSL_R_UNKNOWN_SSL_VERSION;
}

/* Empties OpenSSL's error queue and describes its first entry in t->error. Returns -EKEYREJECTED if the
 * server refuses our certificate, -EPROTONOSUPPORT if it does not speak TLS, -EPROTO otherwise. */
static ssize_t take_error(struct rl_tls *t)
{
	const struct rl_openssl *o = rl_openssl();
	long verified = o->SSL_get_verify_result(t->ssl);
	unsigned long code = o->ERR_get_error();
	int number = ERR_GET_REASON(code);
	const char *reason = code != 0 ? o->ERR_reason_error_string(code) : NULL;
	bool refused = code != 0 && is_refusal(number);
	bool plain = code != 0 && number == SSL_R_WRONG_VERSION_NUMBER;
	if (verified != X509_V_OK && !t->context->insecure)
		snprintf(t->error, sizeof t->error, "its certificate is not accepted: %s",
		         o->X509_verify_cert_error_string(verified));
	else if (refused)
		snprintf(t->error, sizeof t->error, "does not accept our certificate: %s",
		         reason != NULL ? reason : "");
	else if (code != 0 && is_too_old(number))
		snprintf(t->error, sizeof t->error, "does not speak TLS 1.2 or newer: %s",
		         reason != NULL ? reason : "");
	else if (plain)
		snprintf(t->error, sizeof t->error, "does not speak TLS: use redis:// for it");
	else
		snprintf(t->error, sizeof t->error, "TLS: %s", reason != NULL ? reason : "failed");
	o->ERR_clear_error();
	return refused ? -EKEYREJECTED : plain ? -EPROTONOSUPPORT : -EPROTO;
}

/* Translates the result of an SSL_ function that failed: -EAGAIN, 0 at the end of the stream, the error of
 * the socket, or that of take_error(). */
static ssize_t outcome(struct rl_tls *t, int result)
{
	const struct rl_openssl *o = rl_openssl();
	int error = o->SSL_get_error(t->ssl, result);
	t->wants_write = error == SSL_ERROR_WANT_WRITE;
	if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
		return -EAGAIN;
	if (error == SSL_ERROR_ZERO_RETURN)
		return 0;
	if (t->socket_error < 0 || error == SSL_ERROR_SYSCALL) {
		o->ERR_clear_error();
		return t->socket_error;
	}
	return take_error(t);
}

/* ---- connections ---- */

struct rl_tls *rl_tls_new(struct rl_tls_context *c, struct rl_tls_peer *peer, int fd)
{
	const struct rl_openssl *o = rl_openssl();
	const char *host = c->name != NULL ? c->name : peer->host;
	struct rl_tls *t = calloc(1, sizeof *t);
	if (t == NULL)
		return NULL;
	t->context = c;
	t->fd = fd;
	t->ssl = o->SSL_new(c->ctx);
	BIO *bio = t->ssl != NULL ? o->BIO_new(c->socket_method) : NULL;
	if (bio == NULL)
		goto fail;
	o->BIO_set_data(bio, t);
	o->BIO_set_init(bio, 1);
	o->SSL_set_bio(t->ssl, bio, bio);
	o->SSL_set_ex_data(t->ssl, 0, peer);
	o->SSL_ctrl(t->ssl, SSL_CTRL_MODE, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER,
	            NULL);
	/* An IP address must match the certificate as an address, and is not sent as a server name (RFC 6066). */
	if (o->X509_VERIFY_PARAM_set1_ip_asc(o->SSL_get0_param(t->ssl), host) != 1 &&
	    (o->SSL_set1_host(t->ssl, host) != 1 ||
	     o->SSL_ctrl(t->ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
	                 (void *)(uintptr_t)host) != 1)) /* NOLINT(performance-no-int-to-ptr): it is only read */
		goto fail;
	if (peer->session != NULL)
		(void)o->SSL_set_session(t->ssl, peer->session);
	o->ERR_clear_error();
	return t;
fail:
	o->ERR_clear_error();
	o->SSL_free(t->ssl);
	free(t);
	return NULL;
}

static void prepare(struct rl_tls *t)
{
	rl_openssl()->ERR_clear_error();
	t->socket_error = 0;
	t->wants_write = false;
}

int rl_tls_handshake(struct rl_tls *t)
{
	prepare(t);
	int result = rl_openssl()->SSL_connect(t->ssl);
	if (result == 1)
		return 0;
	ssize_t error = outcome(t, result);
	return error != 0 ? (int)error : -ECONNRESET; /* closed in the middle */
}

static int limited(size_t size)
{
	return size > INT32_MAX ? INT32_MAX : (int)size;
}

ssize_t rl_tls_send(struct rl_tls *t, const void *bytes, size_t size)
{
	prepare(t);
	int result = rl_openssl()->SSL_write(t->ssl, bytes, limited(size));
	ssize_t error = result > 0 ? 0 : outcome(t, result);
	if (result > 0)
		return result;
	return error != 0 ? error : -EPIPE;
}

ssize_t rl_tls_receive(struct rl_tls *t, void *bytes, size_t size)
{
	prepare(t);
	int result = rl_openssl()->SSL_read(t->ssl, bytes, limited(size));
	return result > 0 ? result : outcome(t, result);
}

bool rl_tls_wants_write(const struct rl_tls *t)
{
	return t->wants_write;
}

const char *rl_tls_error(const struct rl_tls *t)
{
	return t->error;
}

void rl_tls_free(struct rl_tls *t, bool orderly)
{
	if (t == NULL)
		return;
	const struct rl_openssl *o = rl_openssl();
	prepare(t);
	if (orderly)
		(void)o->SSL_shutdown(t->ssl);
	else
		o->SSL_set_shutdown(t->ssl,
		                    SSL_SENT_SHUTDOWN); /* without this, SSL_free() makes the session not resumable */
	o->SSL_free(t->ssl);
	o->ERR_clear_error();
	free(t);
}

/* ---- context ---- */

/* Keeps the newest session of a server. Returns 1: OpenSSL leaves its reference to us. */
static int new_session(SSL *ssl, SSL_SESSION *session)
{
	struct rl_tls_peer *peer = rl_openssl()->SSL_get_ex_data(ssl, 0);
	rl_tls_peer_free(peer);
	peer->session = session;
	return 1;
}

/* A library does not ask people, and OpenSSL would: on the terminal, or else by reading the standard input.
 */
static int refuse_passphrase(char *buffer, int size, int writing, void *context)
{
	(void)buffer;
	(void)size;
	(void)writing;
	((struct rl_tls_context *)context)->has_passphrase = true;
	return -1;
}

/* Says why a private key did not load: it has a passphrase, it belongs to another certificate, the file has
 * none, or OpenSSL cannot read it. */
static void explain_key(const struct rl_tls_context *c, const struct rl_tls_options *options, char *why,
                        size_t size)
{
	const struct rl_openssl *o = rl_openssl();
	const char *key = options->key_file != NULL ? options->key_file : options->cert_file;
	unsigned long code = o->ERR_get_error();
	const char *reason = code != 0 ? o->ERR_reason_error_string(code) : NULL;
	bool mismatch = ERR_GET_LIB(code) == ERR_LIB_X509 && ERR_GET_REASON(code) == X509_R_KEY_VALUES_MISMATCH;
	if (c->has_passphrase)
		snprintf(why, size, "%s: its key has a passphrase, which nobody is asked for: give a key without one",
		         key);
	else if (mismatch)
		snprintf(why, size, "%s: is not the key of the certificate %s", key, options->cert_file);
	else if (options->key_file == NULL)
		snprintf(why, size, "%s: has no private key in it: give the file of the key as well", key);
	else
		snprintf(why, size, "%s: has no private key that can be read: %s", key, reason != NULL ? reason : "");
}

/* Checks the files and says in a sentence what is wrong with them: OpenSSL's own reasons ("no start line")
 * name no file, and it reports nothing about a directory in which it will find no authority. */
static bool load_files(const struct rl_tls_context *c, const struct rl_tls_options *options, char *why,
                       size_t size)
{
	const struct rl_openssl *o = rl_openssl();
	const char *cert = options->cert_file;
	const char *key = options->key_file != NULL ? options->key_file : cert;
	const struct {
		const char *path;
		bool directory;
	} paths[] = {
	    {options->ca_file, false}, {options->ca_dir, true}, {cert, false}, {options->key_file, false}};
	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
		const char *problem =
		    paths[i].path != NULL ? rl_path_problem(paths[i].path, paths[i].directory) : NULL;
		if (problem != NULL) {
			snprintf(why, size, "%s: %s", paths[i].path, problem);
			return false;
		}
	}
	if (options->ca_file == NULL && options->ca_dir == NULL)
		(void)o->SSL_CTX_set_default_verify_paths(c->ctx);
	if (options->ca_file != NULL && o->SSL_CTX_load_verify_file(c->ctx, options->ca_file) != 1)
		snprintf(why, size, "%s: has no certificate of an authority in it", options->ca_file);
	else if (options->ca_dir != NULL && (!rl_path_has_hashed_names(options->ca_dir) ||
	                                     o->SSL_CTX_load_verify_dir(c->ctx, options->ca_dir) != 1))
		snprintf(why, size, "%s: has no certificate under a hashed name: run `openssl rehash` on it",
		         options->ca_dir);
	else if (cert != NULL && o->SSL_CTX_use_certificate_chain_file(c->ctx, cert) != 1)
		snprintf(why, size, "%s: has no certificate in it", cert);
	else if (key != NULL && o->SSL_CTX_use_PrivateKey_file(c->ctx, key, SSL_FILETYPE_PEM) != 1)
		explain_key(c, options, why, size);
	else if (key != NULL && cert == NULL)
		snprintf(why, size, "%s: a key without a certificate: give that as well", key);
	else if (key != NULL && o->SSL_CTX_check_private_key(c->ctx) != 1)
		snprintf(why, size, "%s: is not the key of the certificate %s", key, cert);
	else
		return true;
	return false;
}

static bool set_up(struct rl_tls_context *c, const struct rl_tls_options *options)
{
	const struct rl_openssl *o = rl_openssl();
	c->ctx = o->SSL_CTX_new(o->TLS_client_method());
	c->socket_method = o->BIO_meth_new(BIO_TYPE_SOURCE_SINK, "redlock socket");
	if (c->ctx == NULL || c->socket_method == NULL)
		return false;
	o->BIO_meth_set_write(c->socket_method, socket_write);
	o->BIO_meth_set_read(c->socket_method, socket_read);
	o->BIO_meth_set_ctrl(c->socket_method, socket_control);
	o->SSL_CTX_ctrl(c->ctx, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
	/* Many servers close without close_notify. RESP shows whether a reply is complete, so this loses nothing.
	 */
	o->SSL_CTX_set_options(c->ctx, SSL_OP_IGNORE_UNEXPECTED_EOF);
	o->SSL_CTX_set_verify(c->ctx, options->insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
	o->SSL_CTX_ctrl(c->ctx, SSL_CTRL_SET_SESS_CACHE_MODE,
	                SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE, NULL);
	o->SSL_CTX_sess_set_new_cb(c->ctx, new_session);
	o->SSL_CTX_set_default_passwd_cb(c->ctx, refuse_passphrase);
	o->SSL_CTX_set_default_passwd_cb_userdata(c->ctx, c);
	c->insecure = options->insecure;
	c->name = options->name != NULL ? strdup(options->name) : NULL;
	return options->name == NULL || c->name != NULL;
}

struct rl_tls_context *rl_tls_context_new(const struct rl_tls_options *options, char *why, size_t why_size)
{
	if (!rl_openssl_load(why, why_size))
		return NULL;
	struct rl_tls_context *c = calloc(1, sizeof *c);
	bool made = c != NULL && set_up(c, options);
	if (!made)
		snprintf(why, why_size, "out of memory");
	bool usable = made && load_files(c, options, why, why_size);
	rl_openssl()->ERR_clear_error();
	if (usable)
		return c;
	rl_tls_context_free(c);
	return NULL;
}

void rl_tls_context_free(struct rl_tls_context *c)
{
	if (c == NULL)
		return;
	rl_openssl()->SSL_CTX_free(c->ctx);
	rl_openssl()->BIO_meth_free(c->socket_method);
	free(c->name);
	free(c);
}

void rl_tls_peer_free(struct rl_tls_peer *peer)
{
	if (peer->session != NULL)
		rl_openssl()->SSL_SESSION_free(peer->session);
	peer->session = NULL;
}
