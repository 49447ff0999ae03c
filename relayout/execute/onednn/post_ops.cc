// Translates post-ops one by one: see post_ops.h.
#include "relayout/execute/onednn/post_ops.h"

#include <algorithm>
#include <cmath>

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

/// Whether a source has one element, or one for each channel (matmul: column) side by side, or the destination's dims
/// and its layout. Of others the library's kernels read what is no element.
bool repeats_as_known(const Node& node, const Layout& source, const std::optional<Layout>& dst, const Dims& dims) {
  if (source.dims() == dims) return dst && moved(source, 0) == moved(*dst, 0);
  const int channel = node.kind == graph::Kind::matmul ? dims.size() - 1 : 1;
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

}  // namespace

std::optional<LibraryPostOps> library_post_ops(const graph::Graph& graph, const Node& node, const Layouts& layouts) {
  LibraryPostOps out;
  std::vector<dnnl::algorithm>
      algorithms;  // of elementwise functions so far: a second one gets the numbers of the first
  auto before = static_cast<int>(node.src.size());
  if (!gives_own_type(graph, node)) return std::nullopt;
  const bool finite = is_without_nan(graph, node);
  for (const PostOp& op : node.post_ops) {
    if (const auto* attributes = std::get_if<graph::EltwiseAttributes>(&op.function)) {
      const std::optional<Eltwise> eltwise = eltwise_of(*attributes);
      if (!eltwise || op.src[0] != before || (forgets_nan(*attributes) && !finite)) return std::nullopt;
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
