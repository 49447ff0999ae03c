// Nodes computed by their definition, in double precision (graph/reference): where the library has no implementation,
// or only one that is wrong. Both are rare forms, and this is slow.
#include <algorithm>

#include "relayout/cpu/reorder.h"
#include "relayout/execute/own/kernels.h"
#include "relayout/graph/ir/ops.h"
#include "relayout/graph/reference/reference.h"

namespace relayout::execute {

using graph::Executable;
using graph::kNone;

namespace {

class DefinitionExecutable : public Executable {
 public:
  explicit DefinitionExecutable(const OwnRequest& r) : node_(r.node), threads_(r.threads) {
    // A graph of the node's operands alone, in which they have numbers of their own.
    node_.hint = kNone;
    for (std::vector<graph::TensorId>* list : {&node_.src, &node_.dst}) {
      for (std::size_t i = 0; i < list->size(); ++i) {
        graph::TensorId& id = (*list)[i];
        moves_.emplace_back();
        if (id == kNone) continue;
        const bool is_src = list == &node_.src;
        const graph::Tensor& tensor = r.graph.tensor(id);
        const TensorDesc there(is_src ? r.src(i) : r.dst(i), tensor.dtype),
            dense(Layout::contiguous(tensor.dims), tensor.dtype);
        moves_.back() = is_src ? cpu::make_plan(there, dense) : cpu::make_plan(dense, there);
        graph_.tensors.push_back({.name = {}, .dims = tensor.dims, .dtype = tensor.dtype});
        id = static_cast<graph::TensorId>(graph_.tensors.size()) - 1;
      }
    }
  }

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    const cpu::RunOptions options{.threads = threads_};
    std::vector<graph::Values> values(src.size());
    std::vector<const graph::Values*> operands(src.size(), nullptr);
    for (std::size_t i = 0; i < src.size(); ++i) {
      if (node_.src[i] == kNone) continue;
      const TensorDesc dense = dense_desc(node_.src[i]);
      std::vector<std::byte> bytes(static_cast<std::size_t>(dense.span_bytes()));
      cpu::run(*moves_[i], src[i], bytes.data(), options);
      values[i] = graph::load(bytes, dense.dtype, dense.layout.elements());
      operands[i] = &values[i];
    }
    const std::vector<graph::Values> results = graph::evaluate_node(graph_, node_, operands);
    for (std::size_t i = 0; i < dst.size(); ++i) {
      if (node_.dst[i] == kNone) continue;
      const std::vector<std::byte> bytes = graph::store(results[i], graph_.tensor(node_.dst[i]).dtype);
      cpu::run(*moves_[src.size() + i], bytes.data(), dst[i], options);
    }
  }

 private:
  TensorDesc dense_desc(graph::TensorId id) const {
    return {Layout::contiguous(graph_.tensor(id).dims), graph_.tensor(id).dtype};
  }

  graph::Graph graph_{};
  graph::Node node_;
  int threads_;
  /// Between each operand's layout and row-major; nothing where the operand is absent.
  std::vector<std::optional<Plan>> moves_{};
};

std::unique_ptr<Executable> make_definition(const OwnRequest& r) {
  for (std::size_t i = 0; i < r.node.dst.size(); ++i) {
    if (r.node.dst[i] != kNone && !r.dst(i).injective_with_padding()) return nullptr;
  }
  return std::make_unique<DefinitionExecutable>(r);
}

}  // namespace

std::unique_ptr<Executable> make_projected_lstm(const OwnRequest& r) {
  constexpr std::size_t kProjection = 6;
  if (r.node.forward() || r.node.src.size() <= kProjection || r.node.src[kProjection] == kNone) return nullptr;
  const Dims& projection = r.src_tensor(kProjection).dims;
  // Otherwise the library has an implementation, which reads past its buffers here (onednn/faults.cc).
  if (projection[3] <= projection[2]) return nullptr;
  const auto is_f32 = [&](graph::TensorId id) { return id == kNone || r.graph.tensor(id).dtype == DType::f32; };
  if (!std::ranges::all_of(r.node.src, is_f32) || !std::ranges::all_of(r.node.dst, is_f32)) return nullptr;
  return make_definition(r);
}

std::unique_ptr<Executable> make_sparse_average(const OwnRequest& r) {
  const Dims& src = r.node.forward() ? r.src(0).dims() : r.dst(0).dims();
  const graph::PoolingAttributes a = graph::filled(r.node.as<graph::PoolingAttributes>(), src);
  if (a.algorithm != graph::PoolingAlgorithm::average_exclude_padding) return nullptr;
  for (int d = 0; d < a.kernel.size(); ++d) {
    if (a.kernel[d] > 1 && a.dilations[d] > src[d + 2]) return make_definition(r);
  }
  return nullptr;
}

}  // namespace relayout::execute
