# Headers that nearly every file includes are compiled once for all targets of a kind:
#
#   relayout_precompile(relayout_core library)    the standard library, for the folders of relayout/
#   relayout_precompile(relayout_core_cold cold)  the same, for what is compiled with -O1
#   relayout_precompile(relayout_cli command)     and the command's foreign headers: fmt, nlohmann-json
#   relayout_precompile(core_test test)           and GoogleTest
#
# Reading them anew takes a sixth to a quarter of the time of compiling a file. Each file includes what it uses all the
# same, so that it compiles without: -DRELAYOUT_PRECOMPILE=OFF shows whether it does.
option(RELAYOUT_PRECOMPILE "Compile headers that nearly every file includes once" ON)

set(relayout_standard_headers <algorithm> <array> <bit> <cmath> <cstdint> <cstring> <functional> <limits> <map>
  <memory> <numeric> <optional> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>)

# ccache keeps a file that is compiled with such headers only if the compiler is told this.
if(RELAYOUT_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fpch-preprocess)
endif()

# The target that compiles the headers of a kind; made when the first target of that kind asks for it.
function(relayout_precompiled_headers kind)
  set(carrier relayout_headers_${kind})
  if(TARGET ${carrier})
    return()
  endif()
  set(headers ${relayout_standard_headers})
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${carrier}.cc CONTENT "// Made by cmake/PrecompiledHeaders.cmake.\n")
  add_library(${carrier} OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/${carrier}.cc)
  target_link_libraries(${carrier} PRIVATE relayout_flags)
  if(kind STREQUAL "library")
    set_target_properties(${carrier} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  elseif(kind STREQUAL "cold")
    set_target_properties(${carrier} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(${carrier} PRIVATE relayout_cold_flags)
  elseif(kind STREQUAL "command")
    target_link_libraries(${carrier} PRIVATE relayout_command_flags fmt::fmt nlohmann_json::nlohmann_json)
    list(APPEND headers <fmt/format.h> <nlohmann/json.hpp>)
  elseif(kind STREQUAL "test")
    target_link_libraries(${carrier} PRIVATE relayout_test_flags GTest::gtest)
    list(APPEND headers <random> <gtest/gtest.h>)
  else()
    message(FATAL_ERROR "relayout_precompile: no headers of the kind ${kind}")
  endif()
  target_precompile_headers(${carrier} PRIVATE ${headers})
endfunction()

function(relayout_precompile target kind)
  if(kind STREQUAL "command")
    # Their definitions must be those that the headers were compiled with.
    target_link_libraries(${target} PRIVATE relayout_command_flags fmt::fmt nlohmann_json::nlohmann_json)
  endif()
  # For the fuzzers the libraries are compiled with options of their own (tests/fuzz), with which clang refuses headers
  # that were compiled without them.
  if(RELAYOUT_PRECOMPILE AND NOT RELAYOUT_FUZZ)
    relayout_precompiled_headers(${kind})
    target_precompile_headers(${target} REUSE_FROM relayout_headers_${kind})
  endif()
endfunction()
