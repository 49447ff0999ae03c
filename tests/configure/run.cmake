# Script of the test `configure`: configures the project anew with libraries that CMake is told not to find.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})

# configure(DISABLE CLI11 fmt FLAGS -DX=Y SAYS "a line" ... DOES_NOT_SAY "a text" ...)
function(configure)
  cmake_parse_arguments(ARG "" "" "DISABLE;FLAGS;SAYS;DOES_NOT_SAY" ${ARGN})
  set(flags "")
  foreach(package IN ITEMS CLI11 fmt nlohmann_json)
    set(off OFF)
    if(package IN_LIST ARG_DISABLE)
      set(off ON)
    endif()
    list(APPEND flags -DCMAKE_DISABLE_FIND_PACKAGE_${package}=${off})
  endforeach()
  execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${PROJECT} -B ${WORK} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
      -DRELAYOUT_TESTS=OFF -DRELAYOUT_EXAMPLES=OFF -DRELAYOUT_PLANNER=OFF ${flags} ${ARG_FLAGS}
    OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "configure without ${ARG_DISABLE}: exit ${result}\n${said}")
  endif()
  foreach(line IN LISTS ARG_SAYS)
    string(FIND "${said}" "-- ${line}\n" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "configure without ${ARG_DISABLE} does not say \"${line}\":\n${said}")
    endif()
  endforeach()
  foreach(text IN LISTS ARG_DOES_NOT_SAY)
    string(FIND "${said}" "${text}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "configure without ${ARG_DISABLE} says \"${text}\":\n${said}")
    endif()
  endforeach()
  set(said "${said}" PARENT_SCOPE)
endfunction()

configure(DISABLE CLI11
  SAYS "relayout: no relayout command at all without CLI11 (libcli11-dev)"
  DOES_NOT_SAY "All libraries that relayout can use are here")
if(NOT said MATCHES "-- relayout: on Debian and Ubuntu, apt install [^\n]*libcli11-dev[^\n]* brings these\n")
  message(FATAL_ERROR "configure without CLI11 does not say what to install:\n${said}")
endif()
# A library that several parts need has one line, with all that it costs.
set(xbyak "")
if(CMAKE_HOST_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  set(xbyak "relayout: no machine code for small reorders without Xbyak (libxbyak-dev)")
endif()
configure(DISABLE CLI11 fmt nlohmann_json FLAGS -DRELAYOUT_XBYAK_INCLUDE_DIR=OFF
  SAYS ${xbyak} "relayout: no relayout command at all without CLI11 (libcli11-dev)"
    "relayout: no relayout command at all without fmt (libfmt-dev)"
    "relayout: no .safetensors files, no relayout command at all without nlohmann-json (nlohmann-json3-dev)")
# Without Xbyak, a file is compiled that is a part of no other build.
execute_process(
  COMMAND ${COMPILER} -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I${PROJECT}
    ${PROJECT}/relayout/cpu/generated/none.cc
  ERROR_VARIABLE said RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "relayout/cpu/generated/none.cc does not compile:\n${said}")
endif()
if(HAVE_COMMAND)
  configure(DOES_NOT_SAY "relayout command at all")
endif()
