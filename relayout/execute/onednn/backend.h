// The oneDNN backend: primitives of libdnnl in the layouts that a plan has chosen.
//
//     std::unique_ptr<graph::Backend> backend = execute::onednn_backend();
//     for (const graph::Implementation& candidate : backend->implementations(graph, node, requests, {}, nullptr)) ...
//
// It also offers this project's own kernels (names "relayout:..."), where the library has nothing or only a
// reference implementation; and, last, what oneDNN has of Winograd's algorithm for convolutions of constant floats
// (Implementation::rounds_more), for which a program would have to ask oneDNN by name. Versions 2.6 (tested)
// and 3 of oneDNN are understood.
#pragma once

#include <memory>

#include "relayout/graph/plan/backend.h"

namespace relayout::execute {

/// A backend that runs on `threads` threads (0: as many as cpu::default_threads()). A plan for one number of threads
/// may not be possible on another, because blocks of weights depend on it. Error{unsupported} in a build without
/// oneDNN.
///
/// A program with signal handlers, for example a sampling profiler's, must give them a stack of their own (sigaltstack,
/// SA_ONSTACK) in each thread that may take the signal, OpenMP's threads among them. Some of oneDNN's generated code
/// keeps a pointer to data in the stack pointer, and a handler without its own stack would write over that data.
std::unique_ptr<graph::Backend> onednn_backend(int threads = 0);
/// Whether this build has oneDNN.
bool has_onednn();

}  // namespace relayout::execute
