# SPDX-License-Identifier: MIT
# What `cmake --install` puts where for users of the library. The command and the man pages are installed
# by their own folders. Each file belongs to a component, which is a package: `libredlock`, `libredlock-dev`,
# `redlock`, and `redlock-doc` for what people read. `cmake --install build/release --component redlock` installs that
# one alone.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/redlock)

install(TARGETS redlock EXPORT redlock-shared
	LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libredlock NAMELINK_COMPONENT libredlock-dev
	INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS redlock_static rl_reader EXPORT redlock-static
	ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libredlock-dev
	INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/redlock DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT libredlock-dev)

install(EXPORT redlock-shared NAMESPACE redlock:: DESTINATION ${package_dir} COMPONENT libredlock-dev)
install(EXPORT redlock-static NAMESPACE redlock:: DESTINATION ${package_dir} COMPONENT libredlock-dev)
configure_package_config_file(cmake/redlock-config.cmake.in redlock-config.cmake
	INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(redlock-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/redlock-config.cmake ${PROJECT_BINARY_DIR}/redlock-config-version.cmake
	DESTINATION ${package_dir} COMPONENT libredlock-dev)

# redlock.pc finds its prefix from its own place, so that `cmake --install --prefix` and moved trees work.
# Distributions may use absolute CMAKE_INSTALL_*DIR; then nothing can move.
set(pc_prefix ${CMAKE_INSTALL_PREFIX})
set(pc_libdir ${CMAKE_INSTALL_FULL_LIBDIR})
set(pc_includedir ${CMAKE_INSTALL_FULL_INCLUDEDIR})
if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} AND NOT IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
	file(RELATIVE_PATH up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
	string(REGEX REPLACE "/$" "" up "${up}")
	set(pc_prefix "\${pcfiledir}/${up}")
	set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
	set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
# Not as Requires.private, which pkg-config resolves for --cflags, too: the shared library needs none of a reader.
string(REPLACE ";" " " pc_reader "${REDLOCK_READER_LDFLAGS}")
configure_file(cmake/redlock.pc.in redlock.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/redlock.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT libredlock-dev)

# For people: licence, examples, a sample configuration.
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT redlock-doc)
install(CODE "set(source \"${PROJECT_SOURCE_DIR}\")
	set(bindir \"${CMAKE_INSTALL_BINDIR}\")
	set(docdir \"${CMAKE_INSTALL_DOCDIR}\")" COMPONENT redlock-doc)
install(SCRIPT cmake/examples.cmake COMPONENT redlock-doc)
install(CODE "set(source \"${PROJECT_SOURCE_DIR}\")
	set(bindir \"${CMAKE_INSTALL_BINDIR}\")" COMPONENT redlock)
install(SCRIPT cmake/units.cmake COMPONENT redlock)
install(SCRIPT cmake/sample_configuration.cmake COMPONENT redlock)
add_custom_target(uninstall
	COMMAND ${CMAKE_COMMAND} -D BUILD=${PROJECT_BINARY_DIR} -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake
	VERBATIM)

install(CODE "set(libdir \"${CMAKE_INSTALL_LIBDIR}\")" COMPONENT libredlock)
install(SCRIPT cmake/ldconfig.cmake COMPONENT libredlock)
