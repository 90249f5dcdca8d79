# SPDX-License-Identifier: MIT
# What the library links to: a reader of RESP and threads.
find_package(PkgConfig REQUIRED)

# rl_reader: the library that reads RESP, hiredis. Of src only net/resp.c includes its headers. redlock.pc and
# redlock-config.cmake name it by these variables, for programs that link libredlock.a.
set(REDLOCK_READER_MODULE hiredis)
pkg_check_modules(REDLOCK_READER IMPORTED_TARGET ${REDLOCK_READER_MODULE})
if(NOT REDLOCK_READER_FOUND)
	message(FATAL_ERROR "hiredis was not found by pkg-config. On Debian: apt-get install libhiredis-dev")
endif()
add_library(rl_reader INTERFACE)
target_link_libraries(rl_reader INTERFACE PkgConfig::REDLOCK_READER)
# The source says <hiredis/hiredis.h>, while hiredis.pc of 0.14 points into that folder: add its parent.
foreach(dir IN LISTS REDLOCK_READER_INCLUDE_DIRS)
	if(dir MATCHES "/hiredis/?$")
		get_filename_component(dir ${dir} DIRECTORY)
	endif()
	target_include_directories(rl_reader SYSTEM INTERFACE $<BUILD_INTERFACE:${dir}>)
endforeach()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# TLS: the headers of OpenSSL 3; the library is loaded at run time by who uses TLS.
pkg_check_modules(OPENSSL libssl>=3)
if(NOT OPENSSL_FOUND)
	message(FATAL_ERROR "libssl >= 3 was not found by pkg-config. On Debian: apt-get install libssl-dev")
endif()

# Lua 5.1, which servers have inside: the tests run ops/*.lua by it, the product does not. By Debian's name, Fedora's
# and Arch's.
if(BUILD_TESTING)
	pkg_search_module(LUA IMPORTED_TARGET lua5.1 lua-5.1 lua51)
	if(NOT LUA_FOUND)
		message(FATAL_ERROR "Lua 5.1 was not found by pkg-config. On Debian: apt-get install liblua5.1-0-dev. "
			"The tests alone need it: -DBUILD_TESTING=OFF leaves them out.")
	endif()
endif()
