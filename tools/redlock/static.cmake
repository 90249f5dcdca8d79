# SPDX-License-Identifier: MIT
# bin/redlock-static: the command as one file, for images without a system (`FROM scratch`). Names of
# hosts need /etc/resolv.conf or /etc/hosts, and `run` needs /proc. Nothing installs the file: copy it, as redlock or
# rflock.
string(TOUPPER ${REDLOCK_STATIC_COMMAND} REDLOCK_STATIC_COMMAND)
find_library(READER_ARCHIVE lib${REDLOCK_READER_LIBRARIES}.a PATHS ${REDLOCK_READER_LIBRARY_DIRS} REQUIRED)

# The objects of bin/redlock. The table of OpenSSL comes before that of libredlock.a, which loads the library.
add_executable(redlock-static $<TARGET_OBJECTS:redlock-command> static_names.c ${PROJECT_SOURCE_DIR}/src/net/openssl.c
	$<TARGET_OBJECTS:run_rules> $<TARGET_OBJECTS:ls_engine>)
target_include_directories(redlock-static PRIVATE ${PROJECT_SOURCE_DIR}/include)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/net/openssl.c PROPERTIES
	INCLUDE_DIRECTORIES "${PROJECT_SOURCE_DIR}/src;${OPENSSL_INCLUDE_DIRS}")
target_compile_options(redlock-static PRIVATE -fPIE)
target_link_options(redlock-static PRIVATE -static-pie LINKER:--gc-sections)
target_link_libraries(redlock-static PRIVATE rl_flags $<TARGET_FILE:redlock_static> ${READER_ARCHIVE})
add_dependencies(redlock-static redlock_static)
if(REDLOCK_STATIC_COMMAND STREQUAL "TLS")
	pkg_check_modules(OPENSSL_INSIDE REQUIRED libssl>=3 libcrypto>=3)
	# pkg-config names what libssl.a and libcrypto.a need; the libssl of Debian 13 also needs these two.
	set(debian_z zlib1g-dev)
	set(debian_zstd libzstd-dev)
	foreach(library IN ITEMS z zstd)
		find_library(ARCHIVE_OF_${library} lib${library}.a)
		if(library IN_LIST OPENSSL_INSIDE_STATIC_LIBRARIES AND NOT ARCHIVE_OF_${library})
			message(FATAL_ERROR "REDLOCK_STATIC_COMMAND=TLS: the static libssl of this system needs lib${library}.a, which was not found. "
				"On Debian: apt-get install ${debian_${library}}. Without TLS: -DREDLOCK_STATIC_COMMAND=ON")
		endif()
	endforeach()
	target_compile_definitions(redlock-static PRIVATE RL_OPENSSL_INSIDE)
	target_link_libraries(redlock-static PRIVATE ${OPENSSL_INSIDE_STATIC_LIBRARIES})
	target_link_directories(redlock-static PRIVATE ${OPENSSL_INSIDE_STATIC_LIBRARY_DIRS})
else()
	target_compile_definitions(redlock-static PRIVATE RL_OPENSSL_NONE)
endif()
