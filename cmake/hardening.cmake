# SPDX-License-Identifier: MIT
# What makes an error in the library or the command harder to use for an attacker, where the compiler has it.
# Sanitizers check more, and do not see through _FORTIFY_SOURCE.
option(REDLOCK_HARDENING "Hardening flags; not with sanitizers" ON)
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)

if(REDLOCK_HARDENING AND REDLOCK_SANITIZE STREQUAL "" AND NOT REDLOCK_COVERAGE)
	foreach(flag IN ITEMS -fstack-clash-protection -fcf-protection -mbranch-protection=standard)
		string(MAKE_C_IDENTIFIER "HAS${flag}" has)
		check_c_compiler_flag(${flag} ${has})
		if(${has})
			target_compile_options(rl_flags INTERFACE ${flag})
		endif()
	endforeach()
	target_link_options(rl_flags INTERFACE LINKER:-z,relro LINKER:-z,now)

	# _FORTIFY_SOURCE needs optimisation, and a distribution may have set a level of its own: that one stays.
	set(CMAKE_TRY_COMPILE_CONFIGURATION ${CMAKE_BUILD_TYPE})
	set(CMAKE_REQUIRED_FLAGS -Werror)
	foreach(level IN ITEMS 3 2)
		set(CMAKE_REQUIRED_DEFINITIONS -D_FORTIFY_SOURCE=${level})
		unset(FORTIFY_${level} CACHE)
		check_c_source_compiles("#include <string.h>
			#ifndef __OPTIMIZE__
			#error no optimisation
			#endif
			int main(void) { return 0; }" FORTIFY_${level})
		if(FORTIFY_${level})
			target_compile_definitions(rl_flags INTERFACE _FORTIFY_SOURCE=${level})
			break()
		endif()
	endforeach()
	unset(CMAKE_TRY_COMPILE_CONFIGURATION)
	unset(CMAKE_REQUIRED_FLAGS)
	unset(CMAKE_REQUIRED_DEFINITIONS)
endif()
