// Translates post-ops one by one: see post_ops.h.
#include "relayout/execute/onednn/post_ops.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "relayout/execute/onednn/faults.h"
#include "relayout/graph/ir/ops.h"
#include "relayout/graph/reference/values.h"

namespace relayout::execute {

using graph::BinaryAlgorithm;
using graph::Node;
using graph::PostOp;

namespace {

/// The algorithm of a post-op of two sources, if its result does not depend on which of them is NaN.
std::optional<BinaryAlgorithm> binary_of(const PostOp& op) {
  if (const auto* sum = std::get_if<graph::SumAttributes>(&op.function)) {
    const bool plain = op.src.size() == 2 && sum->scales.empty();
    return plain ? std::optional(BinaryAlgorithm::add) : std::nullopt;
  }
  if (const auto* binary = std::get_if<graph::BinaryAttributes>(&op.function)) {
    const bool fits = binary->algorithm <= BinaryAlgorithm::div;
    return fits ? std::optional(binary->algorithm) : std::nullopt;
  }
  return std::nullopt;
}

/// The dim of the channels (matmul: columns) of a destination.
int channel_of(const Node& node, const Dims& dims) { return node.kind == graph::Kind::matmul ? dims.size() - 1 : 1; }

/// Whether a source has one element, or one for each channel (matmul: column) side by side, or the destination's dims
/// and its layout. Of others the library's kernels read what is no element.
bool repeats_as_known(const Node& node, const Layout& source, const std::optional<Layout>& dst, const Dims& dims) {
  if (source.dims() == dims) return dst && moved(source, 0) == moved(*dst, 0);
  const int channel = channel_of(node, dims);
  for (int d = 0; d < dims.size(); ++d) {
    if (source.dim(d) != 1 && d != channel) return false;
  }
  return !source.padded() && moved(source, 0) == Layout::contiguous(source.dims());
}

/// Whether the library can give the destination's type: f32, or that of bytes behind a product of bytes.
bool gives_own_type(const graph::Graph& graph, const Node& node) {
  const DType dst = graph.tensor(node.dst[0]).dtype;
  return dst == DType::f32 || (graph::is_byte(dst) && graph::is_byte(graph.tensor(node.src[0]).dtype));
}

/// Whether no result of a node's post-ops can be NaN. Sums of bytes are numbers, and so is what is made of them by
/// functions that give numbers for numbers: with finite constants, and divisors that are not 0.
bool is_without_nan(const graph::Graph& graph, const Node& node) {
  if (!graph::is_byte(graph.tensor(node.src[0]).dtype)) return false;
  std::vector<bool> divides(node.src.size(), false);
  for (const PostOp& op : node.post_ops) {
    if (const auto* binary = std::get_if<graph::BinaryAttributes>(&op.function)) {
      if (binary->algorithm > BinaryAlgorithm::div) return false;
      const auto divisor = static_cast<std::size_t>(op.src[1]);
      if (binary->algorithm == BinaryAlgorithm::div && divisor < divides.size()) divides[divisor] = true;
    } else {
      using enum graph::EltwiseAlgorithm;
      const auto* eltwise = std::get_if<graph::EltwiseAttributes>(&op.function);
      if (!eltwise) return false;
      if (eltwise->algorithm != relu && eltwise->algorithm != round && eltwise->algorithm != clip) return false;
    }
  }
  for (std::size_t i = node.own_sources(); i < node.src.size(); ++i) {
    const graph::Tensor& tensor = graph.tensor(node.src[i]);
    if (!tensor.constant()) return false;
    const auto fits = [&](double value) { return std::isfinite(value) && (value != 0 || !divides[i]); };
    if (!std::ranges::all_of(graph::values_of(tensor), fits)) return false;
  }
  return true;
}

/// The constant by which post-op `number`, which must be one of `algorithm`, changes the result before it: one value or
/// one for each channel. Empty if it is no such post-op.
std::vector<float> constant_of(const graph::Graph& graph, const Node& node, std::size_t number,
                               BinaryAlgorithm algorithm) {
  if (number >= node.post_ops.size()) return {};
  const PostOp& op = node.post_ops[number];
  const auto* binary = std::get_if<graph::BinaryAttributes>(&op.function);
  const auto before = static_cast<int>(node.src.size() + number);
  if (!binary || binary->algorithm != algorithm || op.src[0] != before || op.src[1] >= std::ssize(node.src)) return {};
  const graph::Tensor& tensor = graph.tensor(node.src[static_cast<std::size_t>(op.src[1])]);
  const Dims& dims = graph.tensor(node.dst[0]).dims;
  if (!tensor.constant() || tensor.dtype != DType::f32 || tensor.dims.size() != dims.size()) return {};
  for (int d = 0; d < dims.size(); ++d) {
    if (tensor.dims[d] != 1 && d != channel_of(node, dims)) return {};
  }
  const graph::Values values = graph::values_of(tensor);
  return {values.begin(), values.end()};
}

/// Moves a scale, and an offset behind it, from a node's post-ops to output scales and a bias. Returns how many
/// post-ops that are.
std::size_t take_scales(const graph::Graph& graph, const Node& node, LibraryPostOps& out) {
  if (!kHasOutputScales || !graph::is_byte(graph.tensor(node.src[0]).dtype)) return 0;
  if (node.own_sources() > 2 && node.src[2] != graph::kNone) return 0;
  out.scales = constant_of(graph, node, 0, BinaryAlgorithm::mul);
  if (out.scales.empty()) return 0;
  const Dims& dims = graph.tensor(node.dst[0]).dims;
  const int channel = channel_of(node, dims);
  if (out.scales.size() > 1) out.mask = 1 << channel;
  const std::vector<float> offset = constant_of(graph, node, 1, BinaryAlgorithm::add);
  if (offset.empty()) return 1;
  const auto at = [](const std::vector<float>& values, std::size_t c) { return values[values.size() > 1 ? c : 0]; };
  for (std::size_t c = 0; c < static_cast<std::size_t>(dims[channel]); ++c)
    out.bias.push_back(at(offset, c) / at(out.scales, c));
  if (!std::ranges::all_of(out.bias, [](float value) { return std::isfinite(value); })) {
    out.bias.clear();
    return 1;
  }
  Dims bias{dims[channel]};
  while (node.kind == graph::Kind::matmul && bias.size() < dims.size()) bias.insert(0, 1);
  out.bias_desc = descriptor(Layout::contiguous(bias), DType::f32).value();
  return 2;
}

}  // namespace

void LibraryPostOps::set(dnnl::primitive_attr& attributes) const {
  attributes.set_post_ops(ops);
  if (!scales.empty()) set_output_scales(attributes, mask, scales);
}

std::optional<LibraryPostOps> library_post_ops(const graph::Graph& graph, const Node& node, const Layouts& layouts) {
  LibraryPostOps out;
  std::vector<dnnl::algorithm>
      algorithms;  // of elementwise functions so far: a second one gets the numbers of the first
  auto before = static_cast<int>(node.src.size());
  if (!gives_own_type(graph, node)) return std::nullopt;
  const bool finite = is_without_nan(graph, node);
  // NaN becomes the byte 0 in a reorder, and another one in the library.
  if (graph::is_byte(graph.tensor(node.dst[0]).dtype) && !finite) return std::nullopt;
  const std::size_t taken = finite ? take_scales(graph, node, out) : 0;
  before += static_cast<int>(taken);
  for (const PostOp& op : std::span(node.post_ops).subspan(taken)) {
    if (const auto* attributes = std::get_if<graph::EltwiseAttributes>(&op.function)) {
      const std::optional<Eltwise> eltwise = eltwise_of(*attributes);
      if (!eltwise || op.src[0] != before || (forgets_nan(*attributes) && !finite)) return std::nullopt;
      if (std::isnan(eltwise->alpha) || std::isnan(eltwise->beta)) return std::nullopt;
      if (std::ranges::find(algorithms, eltwise->algorithm) != algorithms.end()) return std::nullopt;
      algorithms.push_back(eltwise->algorithm);
      append_eltwise(out.ops, *eltwise);
    } else {
      const std::optional<BinaryAlgorithm> algorithm = binary_of(op);
      if (!algorithm) return std::nullopt;
      const bool swaps = op.src[0] != before;
      if (swaps && *algorithm != BinaryAlgorithm::add && *algorithm != BinaryAlgorithm::mul) return std::nullopt;
      const int other = op.src[swaps ? 0 : 1];
      if (op.src[swaps ? 1 : 0] != before || other >= static_cast<int>(node.src.size())) return std::nullopt;
      const auto source = static_cast<std::size_t>(other);
      const Dims& dims = graph.tensor(node.dst[0]).dims;
      if (!layouts[source] || !repeats_as_known(node, *layouts[source], layouts[node.src.size()], dims)) {
        return std::nullopt;
      }
      const auto desc = descriptor(with_plain_strides(*layouts[source]), DType::f32);
      if (!desc) return std::nullopt;
      out.operands.emplace_back(DNNL_ARG_ATTR_MULTIPLE_POST_OP(out.ops.len()) | DNNL_ARG_SRC_1, source);
      out.ops.append_binary(binary_algorithm(*algorithm), *desc);
    }
    ++before;
  }
  return out;
}

std::string name_with_post_ops(const Node& node, std::string_view name) {
  return std::string(name) + (node.post_ops.empty() ? "" : "+post_ops");
}

}  // namespace relayout::execute
