// Known faults of the library by kind, implementation and layout: see faults.h.
#include "relayout/execute/onednn/faults.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "relayout/core/format.h"
#include "relayout/execute/onednn/primitive.h"
#include "relayout/execute/own/stray_products.h"
#include "relayout/graph/ir/ops.h"

namespace relayout::execute {

using graph::BinaryAlgorithm;
using graph::EltwiseAlgorithm;
using graph::Graph;
using graph::Kind;
using graph::Node;

namespace {

/// The number of floats in the largest vector register that the library's kernels use.
constexpr int64_t kVectorElements = 16;

bool any_with_gaps(const Layouts& layouts) {
  return std::ranges::any_of(layouts, [](const auto& layout) { return layout && !layout->packed(); });
}

/// Whether the layout of a recurrent cell's data has the batch outermost.
bool is_ntc(const Layout& layout) { return layout.ndims() == 3 && layout == Format::parse("ntc").bind(layout.dims()); }

/// Whether the library may use instructions that add products of bytes exactly (VNNI).
bool has_vnni() {
  const auto has = [](dnnl::cpu_isa isa) {  // one bit an extension
    const auto bits = static_cast<unsigned>(isa);
    return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & bits) == bits;
  };
  return has(dnnl::cpu_isa::avx512_core_vnni) || has(dnnl::cpu_isa::avx2_vnni);
}

/// Whether an implementation adds two products of bytes in 16 bits, which saturate: all that are no reference and use
/// no VNNI.
bool saturates(const Graph& graph, const Node& node, std::string_view name) {
  if (!graph::is_byte(graph.tensor(node.src[0]).dtype) || is_reference(name)) return false;
  return name.ends_with(":avx2") || name.ends_with(":sse41") || name.ends_with(":avx512_core") || !has_vnni();
}

/// Whether a kernel of bytes cannot be generated, because it would have to round between groups of several channels.
bool cannot_round(const Graph& graph, const Node& node, std::string_view name) {
  const auto& attributes = node.as<graph::ConvolutionAttributes>();
  if (!name.starts_with("jit_int8") || attributes.groups == 1 || graph.tensor(node.src[1]).dims[1] == 1) return false;
  return std::ranges::any_of(node.post_ops, [](const graph::PostOp& op) {
    const auto* eltwise = std::get_if<graph::EltwiseAttributes>(&op.function);
    return eltwise && eltwise->algorithm == EltwiseAlgorithm::round;
  });
}

/// Whether post-ops read a source of the destination's dims.
bool reads_whole(const Graph& graph, const Node& node) {
  return std::ranges::any_of(node.post_ops, [&](const graph::PostOp& op) {
    return std::ranges::any_of(op.src, [&](int number) {
      const auto i = static_cast<std::size_t>(number);
      return i < node.src.size() && graph.tensor(node.src[i]).dims == graph.tensor(node.dst[0]).dims;
    });
  });
}

/// Whether a post-op is the logistic function.
bool has_logistic(const Node& node) {
  return std::ranges::any_of(node.post_ops, [](const graph::PostOp& op) {
    const auto* eltwise = std::get_if<graph::EltwiseAttributes>(&op.function);
    return eltwise != nullptr && eltwise->algorithm == EltwiseAlgorithm::logistic;
  });
}

/// Whether the rows of a product's destination begin less than a row apart, as those of a single row may. A general
/// product of matrices then fails when it runs.
bool has_short_rows(const Layout& dst) {
  const int columns = dst.ndims() - 1;
  return dst.outer_stride(columns) == 1 && dst.outer_stride(columns - 1) < dst.dim(columns);
}

/// Whether an operand has blocks of fewer channels than `channels`.
bool any_block_below(const Layouts& layouts, int64_t channels) {
  return std::ranges::any_of(layouts, [channels](const auto& layout) {
    return layout && layout->ndims() > 1 && layout->block(1) > 1 && layout->block(1) < channels;
  });
}

}  // namespace

bool is_reference(std::string_view name) {
  // "ref" counts only as a whole word. Words of a name are separated by signs.
  auto is_letter = [&](std::size_t i) { return i < name.size() && std::isalnum(static_cast<unsigned char>(name[i])); };
  for (std::size_t at = name.find("ref"); at != std::string_view::npos; at = name.find("ref", at + 1)) {
    if (!(at > 0 && is_letter(at - 1)) && !is_letter(at + 3)) return true;
  }
  return false;
}

bool divides_by_zero(const Graph& graph, const Node& node) {
  if (node.kind != Kind::matmul) return false;
  const auto has_none = [&](graph::TensorId t) { return std::ranges::count(graph.tensor(t).dims, 0) > 0; };
  return has_none(node.src[0]) || has_none(node.src[1]);
}

bool forgets_nan(const graph::EltwiseAttributes& attributes) {
  switch (attributes.algorithm) {
    case EltwiseAlgorithm::relu:
    case EltwiseAlgorithm::relu_dst: return attributes.alpha == 0;
    case EltwiseAlgorithm::bounded_relu:
    case EltwiseAlgorithm::clip:
    case EltwiseAlgorithm::clip_v2:
    case EltwiseAlgorithm::clip_v2_dst:
    case EltwiseAlgorithm::exp:
    case EltwiseAlgorithm::exp_dst:
    case EltwiseAlgorithm::log: return true;
    case EltwiseAlgorithm::pow: return attributes.beta == 0.5;  // it takes a square root, also of minus infinity
    default: return false;
  }
}

bool forgets_nan(const Graph& graph, const Node& node, std::string_view name) {
  if (!node.forward() || !is_floating(graph.tensor(node.dst[0]).dtype)) return false;
  switch (node.kind) {
    case Kind::eltwise: {
      // The reference gives 0 for the logistic function of a negative NaN.
      const auto& attributes = node.as<graph::EltwiseAttributes>();
      const bool logistic =
          attributes.algorithm == EltwiseAlgorithm::logistic || attributes.algorithm == EltwiseAlgorithm::logistic_dst;
      return forgets_nan(attributes) || (logistic && is_reference(name));
    }
    case Kind::binary: return node.as<graph::BinaryAttributes>().algorithm >= BinaryAlgorithm::max;
    case Kind::prelu:
      // Positive elements times 0, times a slope that is infinity or NaN, are added to them.
      return node.pass == graph::Pass::forward_inference;
    case Kind::reduction: return node.as<graph::ReductionAttributes>().algorithm <= graph::ReductionAlgorithm::min;
    case Kind::pooling: {
      // A window passes over NaN, a global pooling does not.
      const auto& attributes = node.as<graph::PoolingAttributes>();
      return node.pass == graph::Pass::forward_inference && attributes.kernel.empty() &&
             attributes.algorithm == graph::PoolingAlgorithm::max;
    }
    default: return false;
  }
}

namespace {

bool is_faulty_rnn(const Node& node, std::string_view name, const Layouts& layouts) {
  // Backward, a projection to more channels than the cell has reads past the end of the cell's buffers.
  if (!node.forward() && node.src.size() > kRnnProjection && layouts[kRnnProjection] &&
      layouts[kRnnProjection]->dim(3) > layouts[kRnnProjection]->dim(2)) {
    return true;
  }
  // Weights in blocks, which other implementations are given, are read by the reference as if they had none.
  if (is_reference(name) && std::ranges::any_of(layouts, [](const auto& layout) {
        return layout && layout->ndims() == 5 && layout->padded_dims() != layout->dims();
      })) {
    return true;
  }
  // Data and states are read as if they were dense, whatever their strides. A projection may have any layout.
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const std::optional<Layout>& layout = layouts[i];
    if (i == kRnnProjection || i == node.src.size() + kRnnProjection || !layout || layout->ndims() > 4) continue;
    if (!layout->contiguous_in(MemoryFormat::contiguous) && !is_ntc(*layout)) return true;
  }
  return false;
}

}  // namespace

bool is_faulty(const Graph& graph, const Node& node, std::string_view name, const Layouts& layouts) {
  // What bf16 products in pairs make of infinity and NaN is corrected only where no post-op has been applied to it.
  if (!node.post_ops.empty() && StrayProducts::in_pairs(graph, node, name)) return true;
  switch (node.kind) {
    case Kind::convolution:
      // By a general product of matrices, channels last, post-ops read a source of the destination's dims wrongly, and
      // the logistic function of a negative NaN is 0. Sums of bytes with a zero point are wrong at the border, and
      // halves behind them are rounded to odd numbers.
      if (name.find("gemm") == std::string_view::npos)
        return saturates(graph, node, name) || cannot_round(graph, node, name);
      return graph::is_byte(graph.tensor(node.src[0]).dtype) ||
             (name.find("gemm:") != std::string_view::npos && (reads_whole(graph, node) || has_logistic(node)));
    case Kind::deconvolution:
      // The bias is added as if the destination were dense, and beyond its end. The logistic function of a NaN is 0.
      return any_with_gaps(layouts) || saturates(graph, node, name) || has_logistic(node);
    case Kind::inner_product: return saturates(graph, node, name);
    case Kind::matmul:
      return saturates(graph, node, name) || (name.starts_with("gemm") && has_short_rows(*layouts.back()));
    case Kind::layer_normalization:
      // Statistics are laid out by the strides of the data, and padding of a normalized dim counts as elements.
      // Backward, all data are taken to have one layout.
      return std::ranges::any_of(layouts, [&](const auto& layout) {
        return layout && (!layout->dense() || (layout->dims() == layouts[0]->dims() && layout != layouts[0]));
      });
    case Kind::lrn:
      // Generated kernels crash when they are made for channels that do not fill vectors. Backward, all data are taken
      // to have one layout.
      if (name.find("jit") != std::string_view::npos && layouts[0]->dim(1) % kVectorElements != 0) return true;
      return !node.forward() && (layouts[1] != layouts[0] || layouts[2] != layouts[0]);
    case Kind::rnn: return is_faulty_rnn(node, name, layouts);
    case Kind::reduction:
      // Elements of a source that repeats along a dim are not all counted.
      return !layouts[0]->injective();
    case Kind::binary:
      // Comparisons write a whole vector for the tail of a block, even beyond the end of the tensor. Which blocks are
      // concerned depends on the machine.
      return node.as<graph::BinaryAttributes>().algorithm >= BinaryAlgorithm::ge && name.starts_with("jit") &&
             any_block_below(layouts, std::numeric_limits<int64_t>::max());
    case Kind::prelu: {
      // Kernels write beyond the tail of blocks that are smaller than a vector. In padded blocks they leave out some
      // elements (2x4x2x4 in nChw16c). Backward, all data are taken to have one layout, and weights and their gradient
      // another, without gaps.
      if (name.starts_with("jit") && (any_block_below(layouts, kVectorElements) || layouts[0]->padded())) return true;
      if (node.forward()) return false;
      return any_with_gaps(layouts) || layouts[1]->padded() || layouts[2] != layouts[0] ||
             (layouts[3] && layouts[3] != layouts[0]) || (layouts[4] && layouts[4] != layouts[1]);
    }
    case Kind::softmax:
      // Backward, the reference uses the strides of the destination's gradient for the source's gradient.
      return !node.forward() && is_reference(name) && layouts[1] != layouts[2];
    default: return false;
  }
}

}  // namespace relayout::execute
