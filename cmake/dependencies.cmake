# SPDX-License-Identifier: MIT
# What the library links to: hiredis (its reply parser) and threads.
find_package(PkgConfig REQUIRED)
pkg_check_modules(HIREDIS IMPORTED_TARGET hiredis)
if(NOT HIREDIS_FOUND)
	message(FATAL_ERROR "hiredis was not found by pkg-config. On Debian: apt-get install libhiredis-dev")
endif()
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# The command has hiredis inside where the archive is installed: it starts about 40 us faster, a fortieth of
# `redlock run`. The library itself is linked to the shared one, for updates.
find_library(HIREDIS_ARCHIVE libhiredis.a HINTS ${HIREDIS_LIBRARY_DIRS})

# TLS: the headers of OpenSSL 3; the library is loaded at run time by who uses TLS.
pkg_check_modules(OPENSSL libssl>=3)
if(NOT DEFINED REDLOCK_TLS)
	set(REDLOCK_TLS ${OPENSSL_FOUND} CACHE BOOL "TLS by OpenSSL")
endif()
if(REDLOCK_TLS AND NOT OPENSSL_FOUND)
	message(FATAL_ERROR "REDLOCK_TLS is on, and pkg-config does not find libssl >= 3. On Debian: "
		"apt-get install libssl-dev, or -DREDLOCK_TLS=OFF")
endif()

# Configuration files of the command: inih, from its archive for the same reason.
pkg_check_modules(INIH IMPORTED_TARGET inih)
if(NOT INIH_FOUND)
	message(FATAL_ERROR "inih was not found by pkg-config. On Debian: apt-get install libinih-dev")
endif()
find_library(INIH_ARCHIVE libinih.a HINTS ${INIH_LIBRARY_DIRS})
add_library(rl_inih INTERFACE)
target_include_directories(rl_inih SYSTEM INTERFACE ${INIH_INCLUDE_DIRS})
if(INIH_ARCHIVE)
	target_link_libraries(rl_inih INTERFACE ${INIH_ARCHIVE})
else()
	target_link_libraries(rl_inih INTERFACE PkgConfig::INIH)
endif()

# The command as a static program: its processes start a seventh faster, see tools/redlock/handover.h.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_FLAGS -fPIE)
set(CMAKE_REQUIRED_LINK_OPTIONS -static-pie)
check_c_source_compiles("int main(void) { return 0; }" STATIC_LINKS)
unset(CMAKE_REQUIRED_FLAGS)
unset(CMAKE_REQUIRED_LINK_OPTIONS)
set(can_be_static OFF)
if(STATIC_LINKS AND HIREDIS_ARCHIVE AND INIH_ARCHIVE AND REDLOCK_SANITIZE STREQUAL "" AND NOT REDLOCK_COVERAGE)
	set(can_be_static ON)
endif()
set(REDLOCK_STATIC ${can_be_static} CACHE BOOL "The command is a static program; host names and TLS are another's")
if(REDLOCK_STATIC AND NOT can_be_static)
	message(FATAL_ERROR "REDLOCK_STATIC is on, which needs libc.a, libhiredis.a and libinih.a, and no sanitizer")
endif()

# The sources say <hiredis/read.h>, while hiredis.pc of 0.14 points into that folder: add its parent.
add_library(rl_hiredis INTERFACE)
foreach(dir IN LISTS HIREDIS_INCLUDE_DIRS)
	if(dir MATCHES "/hiredis/?$")
		get_filename_component(dir ${dir} DIRECTORY)
	endif()
	target_include_directories(rl_hiredis SYSTEM INTERFACE ${dir})
endforeach()
