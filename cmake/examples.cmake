# SPDX-License-Identifier: MIT
# Runs in `cmake --install`, with `source`, `bindir` and `docdir`: installs the examples with the path of the installed
# command in them.
set(documents $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${docdir})
set(written)
file(GLOB examples LIST_DIRECTORIES false ${source}/examples/* ${source}/examples/prometheus/*)
foreach(example IN LISTS examples)
	file(RELATIVE_PATH name ${source}/examples ${example})
	if(NOT name MATCHES "^(CMakeLists.txt|run_.*)$")
		file(READ ${example} text)
		string(REPLACE /usr/local/bin/redlock ${CMAKE_INSTALL_PREFIX}/${bindir}/redlock text "${text}")
		file(WRITE ${documents}/examples/${name} "${text}")
		list(APPEND written ${CMAKE_INSTALL_PREFIX}/${docdir}/examples/${name})
	endif()
endforeach()
list(APPEND CMAKE_INSTALL_MANIFEST_FILES ${written})
