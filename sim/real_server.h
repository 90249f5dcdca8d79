/* SPDX-License-Identifier: MIT */
/* A real redis-server on a Unix socket of its own, for the differential test. Any failure ends the program.
 */
#ifndef SIM_REAL_SERVER_H
#define SIM_REAL_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "buffer.h"

struct real_server {
	pid_t pid;
	char dir[64];
	char socket[96];
	char data[96]; /* its working directory */
};

/* Starts the program `path` and waits until it answers. It ends with this process, however that ends. */
void real_server_start(struct real_server *s, const char *path);
void real_server_stop(struct real_server *s);

/* A connection. */
int real_connect(const struct real_server *s);

/* Sends all of it. False: the connection is gone. */
bool real_send(int fd, const struct buffer *bytes);

/* Receives one reply and appends its bytes. False: the connection is gone. `in` keeps what came after it. */
bool real_receive(int fd, struct buffer *in, struct buffer *reply);

/* Sends one command, REAL_ASK(fd, "GET", "key"); the reply's text, until the next call. */
const char *real_ask(int fd, const char *const *texts);
#define REAL_ASK(fd, ...) real_ask(fd, (const char *const[]){__VA_ARGS__, NULL})

#endif
