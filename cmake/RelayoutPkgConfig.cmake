# relayout-cpp.pc: how pkg-config finds the C++ library. The folders' libraries are static, so a program links what they
# were linked with, too. Both are read from the targets, as RelayoutInstall does it for CMake.

# What a program gives its linker for a library that one of ours links; nothing for ours and for mere headers.
function(relayout_linker_flags library out)
  set(flags "")
  # Targets that another folder's find_package() has made are not known here.
  if(library MATCHES "^([A-Za-z0-9_]+)::" AND NOT CMAKE_MATCH_1 STREQUAL "relayout" AND NOT TARGET "${library}")
    find_package(${CMAKE_MATCH_1} QUIET)
  endif()
  if(library MATCHES "^\\$<INSTALL_INTERFACE:(.+)>$")
    set(flags "-l${CMAKE_MATCH_1}")
  elseif(library MATCHES "^(\\$<|relayout::)")
  elseif(TARGET "${library}")
    get_target_property(type ${library} TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
      set(file "$<TARGET_LINKER_FILE:${library}>")
      set(flags "-L$<PATH:GET_PARENT_PATH,${file}> -l:$<PATH:GET_FILENAME,${file}>")
    endif()
  else()
    set(flags "-l${library}")
  endif()
  set(${out} "${flags}" PARENT_SCOPE)
endfunction()

set(RELAYOUT_PC_LIBS "")
set(foreign "")
foreach(folder IN LISTS folders)
  # A static library stands before those that it needs.
  list(PREPEND RELAYOUT_PC_LIBS "-lrelayout_${folder}")
  get_target_property(libraries relayout_${folder} LINK_LIBRARIES)
  foreach(library IN LISTS libraries)
    relayout_linker_flags("${library}" flags)
    list(APPEND foreign ${flags})
  endforeach()
endforeach()
list(REMOVE_DUPLICATES foreign)
list(APPEND RELAYOUT_PC_LIBS ${foreign})
list(JOIN RELAYOUT_PC_LIBS " " RELAYOUT_PC_LIBS)

# The prefix is said from where the file lies, as in c/CMakeLists.txt.
file(RELATIVE_PATH RELAYOUT_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_CURRENT_LIST_DIR}/relayout-cpp.pc.in relayout-cpp.pc.genex @ONLY)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/relayout-cpp.pc INPUT ${PROJECT_BINARY_DIR}/relayout-cpp.pc.genex)
install(FILES ${PROJECT_BINARY_DIR}/relayout-cpp.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
