// Own kernels: primitives that this project computes itself, beside a backend (internal to execute). Their names begin
// with "relayout:".
//
// Nodes that only move elements are run as a few reorders between views: channel shuffle, concat into any layout,
// slices, reshapes that are not views, broadcast, padding. What is computed element by element (eltwise, binary, sum),
// with dims that repeat on any side, is a program of vector functions (elementwise/). The others have kernels: gather,
// resampling at positions that a backend lacks, a reorder that adds a constant, the division of 64-bit integers, batch
// normalization of training, which is fast in every layout, and the backward pass of an lstm whose projection has more
// channels than its cell, which is computed as it is defined. Own kernels work in any layout that views, boxes and
// tables of offsets can express, and keep padding zero.
//
//     for (Implementation& own : own_implementations(graph, node, requests)) ...
//     make_own(graph, node, own, threads)->run(src, dst);
#pragma once

#include <string_view>

#include "relayout/execute/own/layouts.h"
#include "relayout/graph/plan/backend.h"

namespace relayout::execute {

/// The own implementations of a node in the given layouts. `any` becomes the layout of the first source, or row-major.
std::vector<graph::Implementation> own_implementations(const graph::Graph& graph, const graph::Node& node,
                                                       const Layouts& requests);
/// Makes an implementation ready to run. Error{unsupported} if own_implementations() does not offer it.
std::unique_ptr<graph::Executable> make_own(const graph::Graph& graph, const graph::Node& node,
                                            const graph::Implementation& implementation, int threads);
bool is_own(std::string_view name);

}  // namespace relayout::execute
