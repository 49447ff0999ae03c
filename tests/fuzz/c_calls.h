// The calls that the fuzzer of the C interface makes, and what it expects of all of them.
#pragma once

#include <functional>

#include "tests/fuzz/c_handles.h"

namespace relayout::fuzz {

/// No status may be one that stands for a bug, and a call that fails says why. `results_as_promised` is what the call
/// left in its results.
void check(relayout_status status, bool results_as_promised);

/// Reads a text into buffers that suffice or not.
using ReadText = std::function<relayout_status(char* text, size_t capacity, size_t* length)>;
void read_text(Input& in, const ReadText& read);

// c_fuzz_reorders.cc
void make_plan(Input& in, Handles& handles);
void run_plan(Input& in, Handles& handles);
void reorder_in_place(Input& in, Handles& handles);
void permute_gates(Input& in, Handles& handles);

// c_fuzz_files.cc
void read_file(Input& in, Handles& handles);
void write_file(Input& in, Handles& handles);
void pass_dlpack(Input& in, Handles& handles);

}  // namespace relayout::fuzz
