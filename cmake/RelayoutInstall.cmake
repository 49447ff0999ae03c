# Install and export: relayout::relayout is all folders of the library together, and relayoutConfig.cmake finds what the
# static libraries were linked with. Both lists are read from the targets, so they cannot go stale.
include(CMakePackageConfigHelpers)
get_property(folders GLOBAL PROPERTY RELAYOUT_FOLDERS)

add_library(relayout_relayout INTERFACE)
add_library(relayout::relayout ALIAS relayout_relayout)
set_target_properties(relayout_relayout PROPERTIES EXPORT_NAME relayout)
foreach(folder IN LISTS folders)
  target_link_libraries(relayout_relayout INTERFACE relayout::${folder})
endforeach()
install(TARGETS relayout_relayout EXPORT relayoutTargets)
install(FILES ${PROJECT_SOURCE_DIR}/relayout/relayout.h ${PROJECT_SOURCE_DIR}/relayout/cxx20.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/relayout)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# One line of relayoutConfig.cmake for a library target that one of ours links.
function(relayout_find_line library out)
  set(line "")
  if(library MATCHES "^PkgConfig::(.+)$")
    set(prefix ${CMAKE_MATCH_1})
    string(CONCAT line "find_dependency(PkgConfig)\n"
      "pkg_check_modules(${prefix} REQUIRED QUIET IMPORTED_TARGET ${${prefix}_MODULE_NAME})\n")
  elseif(library MATCHES "^libzip::")
    set(line "find_dependency(libzip)\n")
  elseif(library MATCHES "^([A-Za-z0-9_]+)::")
    if(NOT CMAKE_MATCH_1 STREQUAL "relayout")
      set(line "find_dependency(${CMAKE_MATCH_1})\n")
    endif()
  endif()
  set(${out} "${line}" PARENT_SCOPE)
endfunction()

set(RELAYOUT_FIND_DEPENDENCIES "")
foreach(folder IN LISTS folders)
  get_target_property(libraries relayout_${folder} LINK_LIBRARIES)
  foreach(library IN LISTS libraries)
    relayout_find_line("${library}" line)
    string(FIND "${RELAYOUT_FIND_DEPENDENCIES}" "${line}" already)
    if(already EQUAL -1)
      string(APPEND RELAYOUT_FIND_DEPENDENCIES "${line}")
    endif()
  endforeach()
endforeach()

list(JOIN folders ", " RELAYOUT_FOLDER_NAMES)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/relayout)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/relayoutConfig.cmake.in
  ${PROJECT_BINARY_DIR}/relayoutConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/relayoutConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/relayoutConfig.cmake ${PROJECT_BINARY_DIR}/relayoutConfigVersion.cmake
  DESTINATION ${package_dir})
install(EXPORT relayoutTargets NAMESPACE relayout:: DESTINATION ${package_dir})
include(RelayoutPkgConfig)
