/* SPDX-License-Identifier: MIT */
#include "net/openssl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "os/thread.h"

#define TEXT_OF(number) #number
#define SONAME(base, number) base ".so." TEXT_OF(number)

static struct rl_openssl table; /* written once, under the mutex */
static bool loaded;
static struct rl_mutex mutex = RL_MUTEX_INITIALIZER;

#if defined RL_OPENSSL_INSIDE
/* A static command with TLS has OpenSSL inside. */
static bool load(char *why, size_t why_size)
{
	(void)why, (void)why_size;
#define RL_OPENSSL_FILL(name) table.name = (name);
	RL_OPENSSL_MAP(RL_OPENSSL_FILL)
#undef RL_OPENSSL_FILL
	return true;
}
#elif defined RL_OPENSSL_NONE
/* A static command without TLS can load no library: dlopen() would want the libc that it was linked with. */
static bool load(char *why, size_t why_size)
{
	snprintf(why, why_size, "this static redlock has no TLS: build one with REDLOCK_STATIC_COMMAND=TLS");
	return false;
}
#else
/* The first function that is missing, NULL: all are there. A function pointer is copied as bytes: ISO C has
 * no conversion for it, POSIX has. */
static const char *fill(void *ssl, void *crypto)
{
#define RL_OPENSSL_FILL(name)                                                                                \
	{                                                                                                        \
		void *symbol = dlsym(ssl, #name);                                                                    \
		if (symbol == NULL)                                                                                  \
			symbol = dlsym(crypto, #name);                                                                   \
		if (symbol == NULL)                                                                                  \
			return #name;                                                                                    \
		memcpy(&table.name, &symbol, sizeof symbol);                                                         \
	}
	RL_OPENSSL_MAP(RL_OPENSSL_FILL)
#undef RL_OPENSSL_FILL
	return NULL;
}

/* Never unloaded: OpenSSL has exit handlers and state per thread. */
static bool load(char *why, size_t why_size)
{
	/* The version of the headers: another one has other types. */
	void *crypto = dlopen(SONAME("libcrypto", OPENSSL_SHLIB_VERSION), RTLD_NOW | RTLD_LOCAL);
	void *ssl =
	    crypto != NULL ? dlopen(SONAME("libssl", OPENSSL_SHLIB_VERSION), RTLD_NOW | RTLD_LOCAL) : NULL;
	if (ssl == NULL) {
		const char *error = dlerror();
		snprintf(why, why_size, "TLS needs OpenSSL, which cannot be loaded: %s",
		         error != NULL ? error : "unknown");
		return false;
	}
	const char *missing = fill(ssl, crypto);
	if (missing != NULL)
		snprintf(why, why_size, "TLS needs a newer OpenSSL: this one has no %s", missing);
	return missing == NULL;
}
#endif

bool rl_openssl_load(char *why, size_t why_size)
{
	rl_thread_lock(&mutex);
	if (!loaded)
		loaded = load(why, why_size);
	bool done = loaded;
	rl_thread_unlock(&mutex);
	return done;
}

const struct rl_openssl *rl_openssl(void)
{
	return &table;
}
