# SPDX-License-Identifier: MIT
# Runs at the end of `cmake --install`, with `libdir`: lets the loader know the shared library. Programs that link to
# the library need that; the command finds it from its own place. Only root may run ldconfig, and a package runs it by
# itself (DESTDIR is set then). Where it is not run, the message says what to do.
get_filename_component(dir ${libdir} ABSOLUTE BASE_DIR ${CMAKE_INSTALL_PREFIX})
find_program(LDCONFIG ldconfig PATHS /sbin /usr/sbin)
if(LDCONFIG AND "$ENV{DESTDIR}" STREQUAL "")
	execute_process(COMMAND ${LDCONFIG} -N -X -v OUTPUT_VARIABLE searched ERROR_QUIET)
	string(FIND "\n${searched}" "\n${dir}:" found)
	if(found GREATER_EQUAL 0)
		execute_process(COMMAND ${LDCONFIG} ERROR_QUIET) # fails unless root runs it
	endif()
	execute_process(COMMAND ${LDCONFIG} -p OUTPUT_VARIABLE cache ERROR_QUIET)
	string(FIND "${cache}" " => ${dir}/libredlock.so" known)
	if(known LESS 0 AND found GREATER_EQUAL 0)
		message(STATUS "To do: run `ldconfig` as root. Until then programs do not find ${dir}/libredlock.so.")
	elseif(known LESS 0)
		message(STATUS "Programs do not find ${dir}/libredlock.so by themselves: name the folder in "
			"/etc/ld.so.conf.d and run `ldconfig` as root, or set LD_LIBRARY_PATH=${dir} for them.")
	endif()
endif()
