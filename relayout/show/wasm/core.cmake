# The core, as WebAssembly, as bytes of the library: what pages read typed layouts by (entry.cc).
#
#   relayout_wasm(OUT)      sets OUT to a source file with the bytes, or with none where there is no emscripten
#
# All of relayout_core and the files of interop/ and show/ that entry.cc reaches are compiled as two files, and the
# result is compressed, since a page carries it as text.
option(RELAYOUT_WASM "Pages of relayout show have fields for typing, where emscripten is found" ON)
find_program(RELAYOUT_EMXX em++)
find_path(RELAYOUT_JSON_INCLUDE_DIR nlohmann/json.hpp)
mark_as_advanced(RELAYOUT_EMXX RELAYOUT_JSON_INCLUDE_DIR)

# Each file of the list as a line of a file that includes them all.
function(relayout_wasm_unit name)
  set(text "// Made by core.cmake.\n")
  foreach(source IN LISTS ARGN)
    string(APPEND text "#include \"${source}\"\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/wasm/${name}.cc CONTENT "${text}" @ONLY)
endfunction()

function(relayout_wasm out)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/wasm)
  set(bytes ${folder}/bytes.cc)
  set(${out} ${bytes} PARENT_SCOPE)
  if(NOT RELAYOUT_WASM OR NOT RELAYOUT_EMXX OR NOT RELAYOUT_JSON_INCLUDE_DIR)
    if(RELAYOUT_WASM)
      relayout_missing(emscripten DEBIAN emscripten COSTS "fields for typing layouts in pages of relayout show")
    endif()
    file(CONFIGURE OUTPUT ${bytes} CONTENT "#include \"relayout/show/page.h\"

namespace relayout::show {

std::span<const unsigned char> packed_core() { return {}; }

}  // namespace relayout::show
" @ONLY)
    return()
  endif()
  set(sources "")
  foreach(target IN ITEMS relayout_core relayout_core_cold)
    get_target_property(files ${target} SOURCES)
    list(FILTER files INCLUDE REGEX "\\.cc$")
    list(APPEND sources ${files})
  endforeach()
  list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/relayout/core/)
  relayout_wasm_unit(core ${sources})
  set(sources interop/array_text.cc interop/directml.cc interop/onednn.cc interop/onednn_overflow.cc
    interop/onednn_problem.cc interop/onednn_verbose.cc interop/onednn_verbose_line.cc interop/strided.cc
    interop/tensor_text.cc interop/files/json_walk.cc interop/files/safetensors_layouts.cc show/escape.cc
    show/reorder_json.cc show/reorder_words.cc show/scene.cc
    show/scene_json.cc show/typed.cc show/wasm/entry.cc)
  list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/relayout/)
  relayout_wasm_unit(entry ${sources})

  set(flags -std=c++20 -Oz -fwasm-exceptions -I${PROJECT_SOURCE_DIR}
    -include ${PROJECT_SOURCE_DIR}/relayout/show/wasm/library.h -isystem ${folder}/include -DRELAYOUT_HAVE_JSON=1)
  # Headers alone, which do not lie among those of emscripten.
  file(MAKE_DIRECTORY ${folder}/include)
  file(CREATE_LINK ${RELAYOUT_JSON_INCLUDE_DIR}/nlohmann ${folder}/include/nlohmann COPY_ON_ERROR SYMBOLIC)
  foreach(unit IN ITEMS core entry)
    add_custom_command(OUTPUT ${folder}/${unit}.o DEPENDS ${folder}/${unit}.cc DEPFILE ${folder}/${unit}.d VERBATIM
      COMMAND ${RELAYOUT_EMXX} ${flags} -MD -MF ${folder}/${unit}.d -MT ${folder}/${unit}.o -c ${folder}/${unit}.cc
        -o ${folder}/${unit}.o
      COMMENT "Compiling WebAssembly ${unit}")
  endforeach()
  add_custom_command(OUTPUT ${folder}/core.wasm DEPENDS ${folder}/core.o ${folder}/entry.o VERBATIM
    COMMAND ${RELAYOUT_EMXX} -Oz -fwasm-exceptions -sSTANDALONE_WASM -sALLOW_MEMORY_GROWTH=1 -sMALLOC=emmalloc
      --no-entry ${folder}/core.o ${folder}/entry.o -o ${folder}/core.wasm
    COMMENT "Linking WebAssembly core.wasm")
  add_custom_command(OUTPUT ${bytes} DEPENDS ${folder}/core.wasm ${CMAKE_CURRENT_SOURCE_DIR}/wasm/pack.cmake VERBATIM
    COMMAND ${CMAKE_COMMAND} -DWASM=${folder}/core.wasm -DOUT=${bytes} -P ${CMAKE_CURRENT_SOURCE_DIR}/wasm/pack.cmake)
endfunction()
