# SPDX-License-Identifier: MIT
# Settings as targets. A target of this project takes them by
#     target_link_libraries(x PRIVATE rl_flags [rl_private])
# and a test takes rl_test_flags instead of rl_flags.

# rl_flags: warnings, sanitizers, coverage.
add_library(rl_flags INTERFACE)
target_compile_definitions(rl_flags INTERFACE _GNU_SOURCE)
target_compile_options(rl_flags INTERFACE
	-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wundef
	-Wvla -Wwrite-strings -Wformat=2
	$<$<BOOL:${REDLOCK_WERROR}>:-Werror>
	-fstack-protector-strong
	-ffunction-sections -fdata-sections) # the command is linked without what it does not use

if(REDLOCK_SANITIZE STREQUAL "address")
	set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(REDLOCK_SANITIZE STREQUAL "thread")
	set(sanitize -fsanitize=thread -fno-omit-frame-pointer)
elseif(NOT REDLOCK_SANITIZE STREQUAL "")
	message(FATAL_ERROR "REDLOCK_SANITIZE is '${REDLOCK_SANITIZE}', not one of: address, thread, empty")
endif()
target_compile_options(rl_flags INTERFACE ${sanitize})
target_link_options(rl_flags INTERFACE ${sanitize})

# lld links a sanitized program in a third of the processor time. Installed files are linked by the usual linker.
find_program(LLD ld.lld)
if(LLD AND (REDLOCK_COVERAGE OR NOT REDLOCK_SANITIZE STREQUAL ""))
	add_link_options(-fuse-ld=lld)
endif()

if(REDLOCK_COVERAGE)
	target_compile_options(rl_flags INTERFACE --coverage)
	target_link_options(rl_flags INTERFACE --coverage)
endif()

# rl_test_flags: the same, and assert() is never compiled out; hooks and fakes take what their interface gives.
add_library(rl_test_flags INTERFACE)
add_library(rl_unused INTERFACE) # after -Wextra, for clang
target_compile_options(rl_unused INTERFACE -Wno-unused-parameter)
target_link_libraries(rl_test_flags INTERFACE rl_flags rl_unused)
target_compile_options(rl_test_flags INTERFACE -UNDEBUG)

# rl_private: the library's own headers ("core/quorum.h"). Not for tools and examples.
add_library(rl_private INTERFACE)
target_include_directories(rl_private INTERFACE
	${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/generated)
