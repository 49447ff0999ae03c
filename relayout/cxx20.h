// Says in one line what a compiler needs that is set to an older C++. Every public header includes this file, the first
// in an include of ours, and nothing else stands between the reader and that line.
#pragma once

// GCC 10 has -std=c++20 with the number 201709.
#if !defined(__cplusplus) || __cplusplus <= 201703L
#error "relayout needs C++20: compile with -std=c++20 (CMake: target_compile_features(app PRIVATE cxx_std_20))"
// A file that is missing ends the compilation here, before hundreds of errors that follow from the first.
#include <relayout needs C++20: compile with -std=c++20>
#endif
