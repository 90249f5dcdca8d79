# SPDX-License-Identifier: MIT
# Runs in `cmake --install`, with `source` and `bindir`: makes unit templates of systemd from the units of examples. The
# instance, as in redlock-job@NAME, is the name of the lock and of the program in /etc/redlock/jobs.
set(header "# NAME is the lock, and the program that runs is /etc/redlock/jobs/NAME. On every host:\n")
set(start-redlock-job.service "# systemctl enable --now redlock-job@NAME.timer; other times, and --once-per, by systemctl edit.\n")
set(start-redlock-job.timer "${start-redlock-job.service}")
set(start-redlock-service.service "# systemctl enable --now redlock-service@NAME\n")
set(units ${CMAKE_INSTALL_PREFIX}/lib/systemd/system)

foreach(file IN ITEMS redlock-job.service redlock-job.timer redlock-service.service)
	file(READ ${source}/examples/${file} text)
	string(REGEX REPLACE "^.*\n\\[Unit\\]" "[Unit]" text "\n${text}")
	string(REGEX REPLACE "(run[^\n]*) [a-z]+ -- /usr/local/bin/[a-z]+\n" "\\1 %i -- /etc/redlock/jobs/%i\n" text "${text}")
	string(REGEX REPLACE "\nDescription=The [a-z ]+," "\nDescription=%i," text "${text}")
	string(REPLACE "the dispatcher" "the program" text "${text}")
	string(REPLACE /usr/local/bin/redlock ${CMAKE_INSTALL_PREFIX}/${bindir}/redlock text "${text}")
	if(NOT text MATCHES "Description=%i" OR text MATCHES "nightly|dispatcher|ExecStart=[^\n]*/usr/local/bin/[^r]")
		message(FATAL_ERROR "examples/${file} has changed: cmake/units.cmake makes no template of it")
	endif()
	string(REGEX REPLACE "\\.([a-z]+)$" "@.\\1" unit ${file})
	file(WRITE $ENV{DESTDIR}${units}/${unit} "${header}${start-${file}}${text}")
	list(APPEND CMAKE_INSTALL_MANIFEST_FILES ${units}/${unit})
endforeach()
