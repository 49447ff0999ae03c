// Converting the operands of a product of bytes: see widened.h.
#include "relayout/execute/own/widened.h"

#include "relayout/cpu/reorder.h"
#include "relayout/execute/run/aligned.h"
#include "relayout/execute/run/openmp.h"
#include "relayout/graph/ir/ops.h"
#include "relayout/reorder/refine/nest.h"

namespace relayout::execute {

using graph::Executable;
using graph::Graph;
using graph::Implementation;
using graph::Kind;
using graph::kNone;
using graph::Node;

namespace {

/// An operand that is converted to f32 before the product reads it.
struct Conversion {
  Plan plan;
  int64_t bytes = 0;
  bool once = false;

  Conversion(const graph::Tensor& tensor, const Layout& layout, int64_t zero_point)
      : bytes(ceil_div((layout.empty() ? 0 : layout.offset_range().second + 1) * int64_t{sizeof(float)}, kCacheLine) *
              kCacheLine),
        once(tensor.constant()) {
    Attributes attributes;
    if (zero_point != 0) attributes.src_zero_point = {{static_cast<double>(zero_point)}, 0};
    plan = cpu::make_plan({layout, tensor.dtype}, {layout, DType::f32}, attributes);
  }
};

class WidenedExecutable : public Executable {
 public:
  WidenedExecutable(std::unique_ptr<Executable> itself, const Graph& graph, const Node& node,
                    const Implementation& implementation, int threads)
      : itself_(std::move(itself)), threads_(threads) {
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      conversions_.emplace_back(graph.tensor(node.src[i]), implementation.src[i].value(),
                                i == 0 ? graph::src_zero_point(node) : 0);
      (conversions_.back().once ? kept_bytes_ : lent_bytes_) += conversions_.back().bytes;
    }
  }

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    if (lent_ == nullptr && lent_bytes_ > 0) lend((own_memory_ = allocate(shared_bytes())).get());
    const bool first = kept_ == nullptr;
    if (first) kept_ = allocate(std::max<int64_t>(kept_bytes_, 1));
    std::vector<const void*> sources(src.begin(), src.end());
    std::byte *kept = kept_.get(), *lent = lent_;
    for (std::size_t i = 0; i < conversions_.size(); ++i) {
      const Conversion& conversion = conversions_[i];
      std::byte*& place = conversion.once ? kept : lent;
      if (first || !conversion.once) cpu::run(conversion.plan, src[i], place, run_options(threads_));
      sources[i] = place;
      place += conversion.bytes;
    }
    itself_->run(sources, dst);
  }
  int64_t scratch_bytes() const override { return kept_bytes_ + lent_bytes_ + itself_->scratch_bytes(); }
  int64_t shared_bytes() const override { return lent_bytes_ + itself_->shared_bytes(); }
  void lend(std::byte* memory) override {
    lent_ = memory;
    if (itself_->shared_bytes() > 0) itself_->lend(memory + lent_bytes_);
  }

 private:
  std::unique_ptr<Executable> itself_;
  int threads_;
  std::vector<Conversion> conversions_{};  // of the source and of the weights
  int64_t kept_bytes_ = 0, lent_bytes_ = 0;
  Buffer kept_{}, own_memory_{};
  std::byte* lent_ = nullptr;
};

}  // namespace

bool multiplies_bytes(const Graph& graph, const Node& node) {
  const bool product = compute_bound(node.kind) && node.kind != Kind::rnn;
  return product && node.pass == graph::Pass::forward_inference && node.post_ops.empty() &&
         graph::is_byte(graph.tensor(node.src[0]).dtype) && graph::is_byte(graph.tensor(node.src[1]).dtype) &&
         graph.tensor(node.dst[0]).dtype == DType::f32;
}

Graph in_f32(const Graph& graph, const Node& node) {
  Graph out;
  Node alone = node;
  const auto add = [&](graph::TensorId& t) {
    if (t == kNone) return;
    graph::Tensor tensor = graph.tensor(t);
    if (graph::is_byte(tensor.dtype)) {
      tensor.dtype = DType::f32;
      tensor.data = nullptr;
    }
    t = static_cast<graph::TensorId>(out.tensors.size());
    out.tensors.push_back(std::move(tensor));
  };
  for (graph::TensorId& t : alone.src) add(t);
  for (graph::TensorId& t : alone.dst) add(t);
  if (node.kind == Kind::convolution) std::get<graph::ConvolutionAttributes>(alone.attributes).src_zero_point = 0;
  out.nodes.push_back(std::move(alone));
  return out;
}

std::vector<Implementation> widened(std::vector<Implementation> found) {
  std::erase_if(found, [](const Implementation& each) { return each.reference || !each.opaque.empty(); });
  for (Implementation& each : found) each.name += kWidened;
  return found;
}

bool is_widened(const Implementation& implementation) { return implementation.name.ends_with(kWidened); }

Implementation narrowed_name(const Implementation& implementation) {
  Implementation out = implementation;
  out.name.resize(out.name.size() - kWidened.size());
  return out;
}

std::unique_ptr<Executable> make_widened(std::unique_ptr<Executable> itself, const Graph& graph, const Node& node,
                                         const Implementation& implementation, int threads) {
  return std::make_unique<WidenedExecutable>(std::move(itself), graph, node, implementation, threads);
}

}  // namespace relayout::execute
