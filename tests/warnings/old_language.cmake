# Script of the test warnings_old_language: each header that relayout.h includes, and relayout.h itself, is compiled as
# C++17, and the compiler must say which C++ is needed, in its first error and no other but the one that ends the
# compilation.
file(STRINGS ${ROOT}/relayout/relayout.h lines REGEX "^#include \"relayout/")
list(APPEND lines "#include \"relayout/relayout.h\"")
foreach(line IN LISTS lines)
  file(WRITE ${WORK}/old_language.cc "${line}\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C ${COMPILER} -std=c++17 -fsyntax-only -I${ROOT}
    ${WORK}/old_language.cc OUTPUT_QUIET ERROR_VARIABLE said RESULT_VARIABLE result)
  string(REGEX MATCHALL "error: [^\n]*" errors "${said}")
  list(LENGTH errors count)
  list(GET errors 0 first)
  set(needed "relayout needs C\\+\\+20: compile with -std=c\\+\\+20")
  if(result EQUAL 0 OR NOT count EQUAL 2 OR NOT first MATCHES ${needed})
    message(FATAL_ERROR "${line} as C++17: exit ${result}, ${count} errors:\n${said}")
  endif()
endforeach()
