# How every folder of the library becomes a target:
#
#   relayout_library(core SOURCES a.cc b.cc COLD c.cc HEADERS a.h b.h INTERNAL c.h DEPENDS other
#     PRIVATE_LIBS foreign::lib)
#   relayout_tests(core TESTS a_test.cc LIBS foreign::lib)
#
# Targets are relayout_<folder>, exported as relayout::<folder>. COLD are sources that read or write text or files: in a
# Release build they are compiled with -O1, which takes two thirds of the time. HEADERS are installed. INTERNAL ones are
# not: they are for the other folders of the library. What a folder may link is what it may include; the test `layers`
# enforces the rest.
include(GNUInstallDirs)

set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

add_library(relayout_flags INTERFACE)
target_compile_features(relayout_flags INTERFACE cxx_std_20)
target_compile_options(relayout_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers
  # A switch over an enumeration has a case for every enumerator, or it does not compile.
  -Werror=switch
  # One rounding an operation, so that every instruction set gives the same bits.
  -ffp-contract=off)
# Tests and the command spend their time in the library, and the library does not in its cold sources: what is quick to
# compile is quick enough.
foreach(kind IN ITEMS test command cold)
  add_library(relayout_${kind}_flags INTERFACE)
  target_compile_options(relayout_${kind}_flags INTERFACE $<$<CONFIG:Release>:-O1>)
endforeach()
if(RELAYOUT_SANITIZE)
  add_compile_options(-fsanitize=${RELAYOUT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${RELAYOUT_SANITIZE})
endif()

function(relayout_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;COLD;HEADERS;INTERNAL;DEPENDS;PRIVATE_LIBS" ${ARGN})
  set(target relayout_${folder})
  add_library(${target} ${ARG_SOURCES})
  if(ARG_COLD)
    relayout_cold(${target} ${ARG_COLD})
  endif()
  add_library(relayout::${folder} ALIAS ${target})
  set_property(GLOBAL APPEND PROPERTY RELAYOUT_FOLDERS ${folder})  # for RelayoutInstall
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${folder} POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:relayout_flags>)
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(${target} PUBLIC relayout::${dependency})
  endforeach()
  target_link_libraries(${target} PRIVATE ${ARG_PRIVATE_LIBS})
  relayout_precompile(${target} library)
  relayout_unity(${target})
  install(TARGETS ${target} EXPORT relayoutTargets)
  foreach(header IN LISTS ARG_HEADERS)
    cmake_path(GET header PARENT_PATH subfolder)
    install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/relayout/${folder}/${subfolder})
  endforeach()
endfunction()

# Adds sources to a library of a folder that are compiled as the others, but with -O1.
function(relayout_cold target)
  set(cold ${target}_cold)
  add_library(${cold} OBJECT ${ARGN})
  set_target_properties(${cold} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${cold} PUBLIC cxx_std_20)
  target_include_directories(${cold} PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
  target_compile_definitions(${cold} PRIVATE $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
  target_compile_options(${cold} PRIVATE $<TARGET_PROPERTY:${target},COMPILE_OPTIONS>)
  target_link_libraries(${cold} PRIVATE relayout_cold_flags)
  relayout_precompile(${cold} cold)
  relayout_unity(${cold})
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${cold}>)
endfunction()

# With RELAYOUT_UNITY, compiles six files of the target as one, or as many as are said: relayout_unity(target FILES 12).
function(relayout_unity target)
  if(NOT RELAYOUT_UNITY)
    return()
  endif()
  cmake_parse_arguments(ARG "" "FILES" "" ${ARGN})
  if(NOT ARG_FILES)
    set(ARG_FILES 6)
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${ARG_FILES})
  # A type of one file that has members of that file's anonymous namespace: the compiler takes the file for a header.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# A program of GoogleTest's tests from these sources.
function(relayout_test_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} relayout_flags relayout_test_flags GTest::gtest_main)
  relayout_precompile(${name} test)
endfunction()

# Says which instructions a test's outcome must not depend on: `onednn`, those that oneDNN may use; `isa`, those of this
# library's kernels. scripts/test --caps runs the test with fewer of them.
function(relayout_caps test)
  set_property(TEST ${test} APPEND PROPERTY LABELS ${ARGN})
endfunction()

# Says that a test takes about so many seconds: where tests run side by side, the longest begin first.
function(relayout_test_seconds test seconds)
  set_property(TEST ${test} PROPERTY COST ${seconds})
endfunction()

# One test program a folder, from the *_test.cc files beside the sources.
function(relayout_tests folder)
  if(NOT RELAYOUT_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "TESTS;LIBS" ${ARGN})
  relayout_test_program(${folder}_test SOURCES ${ARG_TESTS} LIBS relayout::${folder} ${ARG_LIBS})
  relayout_unity(${folder}_test)
  # Paths of sources may be relative to where the compiler runs (ccache makes them so).
  add_test(NAME ${folder} COMMAND ${folder}_test WORKING_DIRECTORY ${PROJECT_BINARY_DIR})
  # Plans are those of every machine of this kind, whatever was measured on this one.
  set_tests_properties(${folder} PROPERTIES ENVIRONMENT RELAYOUT_SPEEDS_FILE=${PROJECT_BINARY_DIR}/no-speeds.txt)
endfunction()
