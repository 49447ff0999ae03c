// A primitive, and then its post-ops over what it wrote: see post_ops.h.
#include "relayout/execute/own/post_ops.h"

#include "relayout/execute/own/kernels.h"
#include "relayout/execute/run/aligned.h"
#include "relayout/graph/ir/post_ops.h"
#include "relayout/reorder/refine/nest.h"

namespace relayout::execute {

using graph::Executable;
using graph::Graph;
using graph::Implementation;
using graph::Kind;
using graph::Node;

namespace {

constexpr std::string_view kBehind = "+relayout:fused";

/// The layouts of the operands of the node of post-ops alone.
Layouts layouts_alone(const graph::PostOpsAlone& alone, const Node& node, const Implementation& implementation) {
  Layouts out;
  for (graph::TensorId t : alone.graph.nodes[0].src) {
    const std::size_t from = alone.from[static_cast<std::size_t>(t)];
    out.push_back(from < node.src.size() ? implementation.src[from] : implementation.dst[0]);
  }
  out.push_back(implementation.dst[0]);
  return out;
}

/// The program of the post-ops; null if the layouts do not fit.
std::unique_ptr<Executable> program_alone(const graph::PostOpsAlone& alone, const Node& node,
                                          const Implementation& implementation, int threads) {
  const Layouts layouts = layouts_alone(alone, node, implementation);
  return make_elementwise({alone.graph, alone.graph.nodes[0], layouts, threads});
}

class TwoExecutables : public Executable {
 public:
  /// `computed_bytes` is how much the node itself writes where the destination cannot hold it, else 0.
  TwoExecutables(std::unique_ptr<Executable> itself, std::unique_ptr<Executable> behind, const Node& node,
                 const graph::PostOpsAlone& alone, int64_t computed_bytes)
      : itself_(std::move(itself)),
        behind_(std::move(behind)),
        own_(node.own_sources()),
        sources_(node.src.size()),
        computed_bytes_(computed_bytes) {
    for (graph::TensorId t : alone.graph.nodes[0].src) from_.push_back(alone.from[static_cast<std::size_t>(t)]);
  }

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    void* computed = dst[0];
    if (computed_bytes_ > 0) {
      if (lent_ == nullptr) lend((own_memory_ = allocate(shared_bytes())).get());
      computed = lent_;
    }
    itself_->run(src.first(own_), {&computed, 1});
    std::vector<const void*> sources;
    for (std::size_t from : from_) sources.push_back(from < sources_ ? src[from] : computed);
    behind_->run(sources, dst);
  }
  int64_t scratch_bytes() const override { return computed_bytes_ + itself_->scratch_bytes(); }
  int64_t shared_bytes() const override { return computed_bytes_ + itself_->shared_bytes(); }
  void lend(std::byte* memory) override {
    lent_ = memory;
    if (itself_->shared_bytes() > 0 || computed_bytes_ == 0) itself_->lend(memory + computed_bytes_);
  }

 private:
  std::unique_ptr<Executable> itself_, behind_;
  std::size_t own_, sources_;
  int64_t computed_bytes_;
  Buffer own_memory_{};
  std::byte* lent_ = nullptr;
  std::vector<std::size_t> from_{};  // by source of the post-ops
};

}  // namespace

bool has_post_ops_behind(const Node& node) { return !node.post_ops.empty() && !graph::is_elementwise(node.kind); }

std::vector<Implementation> with_post_ops(const Graph& graph, const Node& node, std::vector<Implementation> found,
                                          const Layouts& requests) {
  const graph::PostOpsAlone alone = post_ops_alone(graph, node);
  std::vector<Implementation> out;
  for (Implementation& each : found) {
    for (std::size_t i = node.own_sources(); i < node.src.size(); ++i) {
      each.src.push_back(requests[i] ? requests[i] : following(graph.tensor(node.src[i]).dims, *each.dst[0]));
    }
    if (!each.opaque.empty()) each.opaque.resize(node.src.size());
    if (!program_alone(alone, node, each, 1)) continue;
    each.name += kBehind;
    out.push_back(std::move(each));
  }
  return out;
}

bool is_with_post_ops(const Implementation& implementation) { return implementation.name.ends_with(kBehind); }

Implementation without_post_ops(const Node& node, const Implementation& implementation) {
  Implementation out = implementation;
  out.name.resize(out.name.size() - kBehind.size());
  out.src.resize(node.own_sources());
  if (!out.opaque.empty()) out.opaque.resize(node.own_sources());
  return out;
}

std::unique_ptr<Executable> make_with_post_ops(std::unique_ptr<Executable> itself, const Graph& graph, const Node& node,
                                               const Implementation& implementation, int threads) {
  const graph::PostOpsAlone alone = post_ops_alone(graph, node);
  std::unique_ptr<Executable> behind = program_alone(alone, node, implementation, threads);
  if (!behind) {
    throw Error(ErrorCode::unsupported, std::string(graph::name(node.kind)) + " '" + escaped(node.name) +
                                            "': no post-ops in the layouts that are planned");
  }
  const DType computed = computed_type(graph, node);
  int64_t bytes = 0;
  if (graph.tensor(node.dst[0]).dtype != computed) {
    const Layout& layout = implementation.dst[0].value();
    const int64_t elements = layout.empty() ? 0 : layout.offset_range().second + 1;
    bytes = ceil_div(std::max<int64_t>(elements * bits(computed) / 8, 1), kCacheLine) * kCacheLine;
  }
  return std::make_unique<TwoExecutables>(std::move(itself), std::move(behind), node, alone, bytes);
}

}  // namespace relayout::execute
