// Own kernels: what this project computes itself, beside a backend (internal to execute). Names begin "relayout:".
//
// Whatever only moves elements is a few reorders between views: channel shuffle, concat into any layout, slices,
// reshapes that are no views, broadcast, padding. Gather, resampling at other places than a backend's, and a reorder
// with a shift, hardsigmoid, erf, sign, powers of tensors and the division of integers are small kernels; batch
// normalization of training is one that is fast in every layout. They take any layouts that views and offset tables can
// say, and keep padding zero.
//
//     for (Implementation& own : own_implementations(graph, node, wishes)) ...
//     make_own(graph, node, own, threads)->run(src, dst);
#pragma once

#include <string_view>

#include "relayout/graph/plan/backend.h"

namespace relayout::execute {

/// A layout an operand, sources then destinations; nothing is `any`, or absent.
using Layouts = std::vector<std::optional<Layout>>;

/// The ways to run a node by own kernels in the wished layouts; `any` is what the first source has, else row-major.
std::vector<graph::Implementation> own_implementations(const graph::Graph& graph, const graph::Node& node,
                                                       const Layouts& wishes);
/// Error{unsupported} where own_implementations() does not offer it.
std::unique_ptr<graph::Executable> make_own(const graph::Graph& graph, const graph::Node& node,
                                            const graph::Implementation& implementation, int threads);
bool is_own(std::string_view name);

/// The layout of other dims in the way of `lead`: in its family of tags (row-major, channels last, blocked), else
/// row-major.
Layout following(const Dims& dims, const Layout& lead);

}  // namespace relayout::execute
