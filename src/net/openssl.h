/* SPDX-License-Identifier: MIT */
/*
 * OpenSSL, loaded when the first client wants TLS: a program without TLS does not carry its 6 MB, nor the
 * milliseconds that loading takes. The functions are called through a table with their own types; the headers
 * are OpenSSL's.
 */
#ifndef RL_NET_OPENSSL_H
#define RL_NET_OPENSSL_H

#include <stdbool.h>
#include <stddef.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#define RL_OPENSSL_MAP(X)                                                                                    \
	X(BIO_clear_flags)                                                                                       \
	X(BIO_get_data)                                                                                          \
	X(BIO_meth_free)                                                                                         \
	X(BIO_meth_new)                                                                                          \
	X(BIO_meth_set_ctrl)                                                                                     \
	X(BIO_meth_set_read)                                                                                     \
	X(BIO_meth_set_write)                                                                                    \
	X(BIO_new)                                                                                               \
	X(BIO_set_data)                                                                                          \
	X(BIO_set_flags)                                                                                         \
	X(BIO_set_init)                                                                                          \
	X(ERR_clear_error)                                                                                       \
	X(ERR_get_error)                                                                                         \
	X(ERR_reason_error_string)                                                                               \
	X(SSL_CTX_ctrl)                                                                                          \
	X(SSL_CTX_free)                                                                                          \
	X(SSL_CTX_load_verify_dir)                                                                               \
	X(SSL_CTX_load_verify_file)                                                                              \
	X(SSL_CTX_new)                                                                                           \
	X(SSL_CTX_sess_set_new_cb)                                                                               \
	X(SSL_CTX_set_default_passwd_cb)                                                                         \
	X(SSL_CTX_set_default_passwd_cb_userdata)                                                                \
	X(SSL_CTX_set_default_verify_paths)                                                                      \
	X(SSL_CTX_set_options)                                                                                   \
	X(SSL_CTX_set_verify)                                                                                    \
	X(SSL_CTX_use_PrivateKey_file)                                                                           \
	X(SSL_CTX_use_certificate_chain_file)                                                                    \
	X(SSL_CTX_check_private_key)                                                                             \
	X(SSL_SESSION_free)                                                                                      \
	X(SSL_connect)                                                                                           \
	X(SSL_ctrl)                                                                                              \
	X(SSL_free)                                                                                              \
	X(SSL_get0_param)                                                                                        \
	X(SSL_get_error)                                                                                         \
	X(SSL_get_ex_data)                                                                                       \
	X(SSL_get_verify_result)                                                                                 \
	X(SSL_new)                                                                                               \
	X(SSL_read)                                                                                              \
	X(SSL_session_reused)                                                                                    \
	X(SSL_set1_host)                                                                                         \
	X(SSL_set_bio)                                                                                           \
	X(SSL_set_ex_data)                                                                                       \
	X(SSL_set_session)                                                                                       \
	X(SSL_set_shutdown)                                                                                      \
	X(SSL_shutdown)                                                                                          \
	X(SSL_write)                                                                                             \
	X(TLS_client_method)                                                                                     \
	X(X509_VERIFY_PARAM_set1_ip_asc)                                                                         \
	X(X509_verify_cert_error_string)

struct rl_openssl {
#define RL_OPENSSL_MEMBER(name) __typeof__(&(name)) name;
	RL_OPENSSL_MAP(RL_OPENSSL_MEMBER)
#undef RL_OPENSSL_MEMBER
};

/* Loads the libraries, which the program may have loaded already. False: `why` says what is missing. Once it
 * has succeeded, rl_openssl() is the table. Any thread. */
bool rl_openssl_load(char *why, size_t why_size);

/* Callbacks of OpenSSL have no other way to it: one table for the process, as OpenSSL is one. */
const struct rl_openssl *rl_openssl(void);

#endif
