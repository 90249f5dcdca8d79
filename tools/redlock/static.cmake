# SPDX-License-Identifier: MIT
# bin/redlock-static: the command as one file, for images without a system (`FROM scratch`). Names of
# hosts need /etc/resolv.conf or /etc/hosts, and `run` needs /proc. Nothing installs the file: copy it, as redlock or
# rflock.
string(TOUPPER ${REDLOCK_STATIC_COMMAND} REDLOCK_STATIC_COMMAND)
find_library(HIREDIS_ARCHIVE libhiredis.a PATHS ${HIREDIS_LIBRARY_DIRS} REQUIRED)

# The table of OpenSSL comes before that of libredlock.a, which loads the library.
add_executable(redlock-static ${sources} static_names.c ${PROJECT_SOURCE_DIR}/src/net/openssl.c $<TARGET_OBJECTS:run_rules> $<TARGET_OBJECTS:ls_engine>)
target_include_directories(redlock-static PRIVATE ${PROJECT_BINARY_DIR}/generated/tools)
target_include_directories(redlock-static PRIVATE ${PROJECT_SOURCE_DIR}/include)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/net/openssl.c PROPERTIES
	INCLUDE_DIRECTORIES "${PROJECT_SOURCE_DIR}/src;${OPENSSL_INCLUDE_DIRS}")
target_compile_options(redlock-static PRIVATE -fPIE)
target_link_options(redlock-static PRIVATE -static-pie LINKER:--gc-sections)
target_link_libraries(redlock-static PRIVATE rl_flags $<TARGET_FILE:redlock_static> ${HIREDIS_ARCHIVE})
add_dependencies(redlock-static redlock_static)
if(REDLOCK_STATIC_COMMAND STREQUAL "TLS")
	pkg_check_modules(OPENSSL_INSIDE REQUIRED libssl>=3 libcrypto>=3)
	target_compile_definitions(redlock-static PRIVATE RL_OPENSSL_INSIDE)
	target_link_libraries(redlock-static PRIVATE ${OPENSSL_INSIDE_STATIC_LIBRARIES})
	target_link_directories(redlock-static PRIVATE ${OPENSSL_INSIDE_STATIC_LIBRARY_DIRS})
else()
	target_compile_definitions(redlock-static PRIVATE RL_OPENSSL_NONE)
endif()
