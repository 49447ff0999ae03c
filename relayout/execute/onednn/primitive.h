// Primitive: a node as oneDNN's primitive descriptor (internal to execute/onednn).
//
// One source file for each family (compute.cc, pointwise.cc, window.cc, normalization.cc, rnn.cc) turns attributes and
// memory descriptors of the operands into a primitive descriptor. Everything else, such as the choice of layouts to try
// and running, is the same for every kind.
#pragma once

#include "relayout/execute/onednn/version.h"
#include "relayout/graph/ir/graph.h"

namespace relayout::execute {

/// A memory descriptor for each operand, in the order of graph.h; empty ones for absent operands.
struct OperandDescs {
  std::vector<dnnl::memory::desc> src, dst;
  /// Of a bias that post-ops are computed as (post_ops.h); else empty.
  dnnl::memory::desc bias{};
};

/// The number of a recurrent layer's projection among its sources, and of its gradient among the destinations.
inline constexpr std::size_t kRnnProjection = 6;

/// The argument of execution (DNNL_ARG_...) that each operand is; 0 for absent operands and those of post-ops alone.
struct Arguments {
  std::vector<int> src, dst;
};
Arguments arguments(const graph::Graph& graph, const graph::Node& node);

/// A source that the graph lacks and the library wants. All its elements have one value; they are f32 or s32.
struct MissingSource {
  int arg;
  dnnl::memory::desc desc;
  float value;
};
std::vector<MissingSource> missing_sources(const graph::Graph& graph, const graph::Node& node);

/// A node, with everything that its primitive is made of.
struct Request {
  const graph::Graph& graph;
  const graph::Node& node;
  const OperandDescs& descs;
  const Maker& maker;
  /// Of a convolution: whether it is to be computed by Winograd's algorithm, and not directly.
  bool winograd = false;

  /// Descriptors of operands; empty for absent ones.
  dnnl::memory::desc src(std::size_t i) const { return i < node.own_sources() ? descs.src[i] : dnnl::memory::desc(); }
  /// The bias of a product, its third source or made of post-ops.
  dnnl::memory::desc bias() const { return has_src(2) ? src(2) : descs.bias; }
  dnnl::memory::desc dst(std::size_t i) const { return i < descs.dst.size() ? descs.dst[i] : dnnl::memory::desc(); }
  bool has_src(std::size_t i) const { return i < node.own_sources() && node.src[i] != graph::kNone; }
  bool has_dst(std::size_t i) const { return i < node.dst.size() && node.dst[i] != graph::kNone; }
  /// The dims of the operand's tensor.
  const Dims& src_dims(std::size_t i) const { return graph.tensor(node.src[i]).dims; }
  const Dims& dst_dims(std::size_t i) const { return graph.tensor(node.dst[i]).dims; }
  dnnl::prop_kind prop() const {
    return node.pass == graph::Pass::forward_training ? dnnl::prop_kind::forward_training
                                                      : dnnl::prop_kind::forward_inference;
  }
};

/// The primitive descriptor; empty if the library has none for these attributes or descriptors. Throws dnnl::error if
/// the library rejects them as wrong arguments.
Found create(const Request& request);

/// The library's algorithm; nothing if it has none.
std::optional<Eltwise> eltwise_of(const graph::EltwiseAttributes& attributes);
/// Of all algorithms but pow.
dnnl::algorithm binary_algorithm(graph::BinaryAlgorithm algorithm);

// The functions of the families, which create() calls.
Found create_convolution(const Request& request);
Found create_deconvolution(const Request& request);
Found create_inner_product(const Request& request);
Found create_matmul(const Request& request);
Found create_rnn(const Request& request);
Found create_pooling(const Request& request);
Found create_resampling(const Request& request);
Found create_lrn(const Request& request);
Found create_batch_normalization(const Request& request);
Found create_layer_normalization(const Request& request);
Found create_softmax(const Request& request);
Found create_eltwise(const Request& request);
Found create_prelu(const Request& request);
Found create_shuffle(const Request& request);
Found create_reduction(const Request& request);
Found create_binary(const Request& request);
Found create_concat(const Request& request);
Found create_sum(const Request& request);

/// Entries as oneDNN counts them: `offset` is added to each (-1 for dilations, which start at 0 there).
dnnl::memory::dims dims_of(const Dims& dims, int64_t offset = 0);

}  // namespace relayout::execute
