# SPDX-License-Identifier: MIT
# Runs in `cmake --install`, with `source`: installs the sample configuration. The command reads
# /etc/redlock/redlock.conf wherever it is installed; the sample goes there too, if the command goes where all users
# find it, and if no file is there.
set(configuration $ENV{DESTDIR}/etc/redlock/redlock.conf)
if(CMAKE_INSTALL_PREFIX MATCHES "^/usr(/local)?$" AND NOT EXISTS ${configuration})
	file(COPY ${source}/examples/redlock.conf DESTINATION $ENV{DESTDIR}/etc/redlock)
	message(STATUS "Installing: ${configuration}")
endif()
