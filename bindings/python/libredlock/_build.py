# SPDX-License-Identifier: MIT
"""Builds libredlock._native with cffi in API mode: the compiler reads the header, so that no layout is written here.

The library is that of pkg-config; or, with REDLOCK_BUILD=DIR, of a build directory of redlock's own tree. REDLOCK_INSIDE=1
puts the library of that directory and hiredis into the module, for a wheel that needs neither."""
import glob
import os
import subprocess
from typing import Dict, List

from cffi import FFI  # type: ignore[import]

CDEF = """
typedef ... redlock_client;
typedef ... redlock_lock;
const char *built_version(void);
const char *redlock_version(void);
uint64_t redlock_constant(const char *name);
const char *redlock_strerror(int error);
const char *redlock_error_name(int error);
const char *redlock_vote_name(int code);
const char *redlock_vote_text(int code);
int redlock_vote_kind(int code);

struct redlock_options {
    size_t size;
    const char *const *urls;
    size_t url_count;
    uint32_t node_timeout_ms;
    char *error_text;
    size_t error_text_size;
    int interruptible;
    ...;
};
struct redlock_lock_options {
    size_t size;
    uint64_t ttl_ms, wait_ms, noquorum_wait_ms, min_validity_ms, renew_ms, danger_ms, max_hold_ms, quarantine_wait_ms;
    uint32_t max_extends;
    const void *token;
    size_t token_len;
    void *user;
    int fence, reentrant, mode;
    uint32_t slots, slot;
    ...;
};
struct redlock_name { const void *bytes; size_t len; };
struct redlock_vote { size_t size; int code; uint64_t rtt_ns; ...; };
struct redlock_event { size_t size; int kind; int operation; int result; void *user; ...; };

void redlock_options_init_sized(struct redlock_options *options, size_t size);
int redlock_options_set(struct redlock_options *options, const char *name, const char *value);
int redlock_options_load(struct redlock_options *options, const char *cluster, const char *file);
void redlock_options_clear(struct redlock_options *options);
void redlock_lock_options_init_sized(struct redlock_lock_options *options, size_t size);
int redlock_client_lock_options(redlock_client *client, struct redlock_lock_options *ret_options);

int redlock_open(const struct redlock_options *options, redlock_client **ret_client);
void redlock_close(redlock_client *client);
int redlock_drain(redlock_client *client, uint64_t timeout_ms);
int redlock_keeper_start(redlock_client *client);
int redlock_notice_fd(redlock_client *client);
int redlock_fd(const redlock_client *client);
int redlock_process(redlock_client *client);
uint64_t redlock_timeout_ns(redlock_client *client);
int redlock_next(redlock_client *client, struct redlock_event *ret_event);
unsigned redlock_node_count(const redlock_client *client);
unsigned redlock_quorum(const redlock_client *client);

int redlock_lock_new_bytes(redlock_client *client, const void *name, size_t name_len,
    const struct redlock_lock_options *options, redlock_lock **ret_lock);
int redlock_lock_new_many_bytes(redlock_client *client, const struct redlock_name *names, size_t count,
    const struct redlock_lock_options *options, redlock_lock **ret_lock);
void redlock_lock_free(redlock_lock *lock);
int redlock_lock_set_wait(redlock_lock *lock, uint64_t wait_ms);
int redlock_acquire(redlock_lock *lock);
int redlock_extend(redlock_lock *lock, uint64_t ttl_ms);
int redlock_release(redlock_lock *lock);
int redlock_query(redlock_lock *lock);
int redlock_upgrade(redlock_lock *lock);
int redlock_downgrade(redlock_lock *lock);
int redlock_start_acquire(redlock_lock *lock);
int redlock_start_extend(redlock_lock *lock, uint64_t ttl_ms);
int redlock_start_release(redlock_lock *lock);
int redlock_start_query(redlock_lock *lock);
int redlock_start_upgrade(redlock_lock *lock);
int redlock_start_downgrade(redlock_lock *lock);
int redlock_cancel(redlock_lock *lock);
uint64_t redlock_remaining_ms(const redlock_lock *lock);
uint64_t redlock_lock_fence(const redlock_lock *lock);
int redlock_lock_slot(const redlock_lock *lock, unsigned *ret_slot);
int redlock_lock_obstacle(const redlock_lock *lock, unsigned *ret_index);
int redlock_lock_token(const redlock_lock *lock, void *buffer, size_t size, size_t *ret_len);
int redlock_lock_vote(const redlock_lock *lock, unsigned index, struct redlock_vote *ret_vote);
int redlock_last_error(const redlock_lock *lock, char *text, size_t size);
"""

SOURCE = """
#include <redlock/redlock.h>
static const char *built_version(void) { return REDLOCK_VERSION; }
"""


def where() -> Dict[str, List[str]]:
    """The arguments of the compiler and linker."""
    build = os.environ.get("REDLOCK_BUILD")
    if build:
        with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as cache:
            tree = next(line.split("=")[1].strip() for line in cache if line.startswith("CMAKE_HOME_DIRECTORY"))
        if os.environ.get("REDLOCK_INSIDE"):
            return {"include_dirs": [os.path.join(tree, "include")], "libraries": ["pthread", "dl"],
                    "extra_link_args": [os.path.join(os.path.abspath(build), "src", "libredlock.a"), "-l:libhiredis.a",
                                        "-Wl,--exclude-libs,ALL"]}
        folder = os.path.dirname(glob.glob(os.path.join(os.path.abspath(build), "**", "libredlock.so"), recursive=True)[0])
        return {"include_dirs": [os.path.join(tree, "include")], "library_dirs": [folder], "libraries": ["redlock"],
                "runtime_library_dirs": [folder]}
    try:
        flags = subprocess.check_output(["pkg-config", "--cflags", "--libs", "redlock"], text=True).split()
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit("libredlock is not installed (pkg-config finds no redlock): install it, or set REDLOCK_BUILD "
                         f"to a build directory of redlock: {error}") from None
    return {"extra_compile_args": [f for f in flags if f.startswith("-I")],
            "extra_link_args": [f for f in flags if not f.startswith("-I")]}


ffi = FFI()
ffi.cdef(CDEF)
ffi.set_source("libredlock._native", SOURCE, **where())
