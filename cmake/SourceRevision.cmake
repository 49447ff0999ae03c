# The revision of the library's code, as one number: what is remembered of measuring it is another revision's no more.
#
#   relayout_revision(revision.cc FOLDERS core reorder)      adds a rule that makes revision.cc
#   cmake -DLIST=... -DFLAGS=... -DTEMPLATE=... -DOUT=... -P SourceRevision.cmake
#
# It is made of the contents of all sources of these folders but tests, and of what compiles them. So it changes in
# development with each change, and is the same in every program that an installed library is linked to.
if(CMAKE_SCRIPT_MODE_FILE)
  file(STRINGS ${LIST} sources)
  set(all "${FLAGS}\n")
  foreach(source IN LISTS sources)
    file(SHA256 ${source} hash)
    string(APPEND all "${hash}\n")
  endforeach()
  string(SHA256 revision "${all}")
  string(SUBSTRING ${revision} 0 16 RELAYOUT_REVISION)
  configure_file(${TEMPLATE} ${OUT} @ONLY)
  return()
endif()

set(relayout_revision_script ${CMAKE_CURRENT_LIST_FILE})

function(relayout_revision out)
  cmake_parse_arguments(ARG "" "" "FOLDERS" ${ARGN})
  set(sources "")
  foreach(folder IN LISTS ARG_FOLDERS)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS
      ${PROJECT_SOURCE_DIR}/relayout/${folder}/*.cc ${PROJECT_SOURCE_DIR}/relayout/${folder}/*.h
      ${PROJECT_SOURCE_DIR}/relayout/${folder}/*.inc)
    list(APPEND sources ${found})
  endforeach()
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  set(list ${CMAKE_CURRENT_BINARY_DIR}/${out}.sources)
  list(JOIN sources "\n" lines)
  file(CONFIGURE OUTPUT ${list} CONTENT "${lines}\n" @ONLY)  # written only where it differs
  set(flags "$<CONFIG> ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_CXX_FLAGS}")
  string(APPEND flags " ${CMAKE_CXX_FLAGS_DEBUG} ${CMAKE_CXX_FLAGS_RELEASE} ${CMAKE_CXX_FLAGS_RELWITHDEBINFO}"
    " ${RELAYOUT_SANITIZE}")
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DLIST=${list} "-DFLAGS=${flags}"
      -DTEMPLATE=${CMAKE_CURRENT_SOURCE_DIR}/${out}.in -DOUT=${CMAKE_CURRENT_BINARY_DIR}/${out}
      -P ${relayout_revision_script}
    DEPENDS ${sources} ${list} ${out}.in ${relayout_revision_script}
    COMMENT "Revision of the sources" VERBATIM)
endfunction()
