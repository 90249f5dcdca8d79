# SPDX-License-Identifier: MIT
# Makes C of ops/*.lua by operations.py: the scripts as strings, the table of operations. Runs at configure time, and
# again when one of them changes, comes or goes.
find_program(PYTHON3 NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(PYTHON3 NAMES python3)
if(NOT PYTHON3)
	message(FATAL_ERROR "The build needs python3, which makes C of ops/*.lua: apt-get install python3")
endif()
file(GLOB_RECURSE operations CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/ops/*.lua)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${operations} ${CMAKE_CURRENT_LIST_DIR}/operations.py)
execute_process(COMMAND ${PYTHON3} ${CMAKE_CURRENT_LIST_DIR}/operations.py ${PROJECT_SOURCE_DIR}/ops
	${PROJECT_BINARY_DIR}/generated RESULT_VARIABLE failed)
if(failed)
	message(FATAL_ERROR "ops/*.lua: see above")
endif()
