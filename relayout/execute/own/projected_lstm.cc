// Projected LSTM, backward: the definition itself, in double precision (graph/reference). The library's only
// implementation reads past its buffers where a projection has more channels than the cell (onednn/faults.cc).
#include <algorithm>

#include "relayout/cpu/reorder.h"
#include "relayout/execute/own/kernels.h"
#include "relayout/graph/reference/reference.h"

namespace relayout::execute {

using graph::Executable;
using graph::kNone;

namespace {

class ProjectedLstmExecutable : public Executable {
 public:
  explicit ProjectedLstmExecutable(const OwnRequest& r) : node_(r.node), threads_(r.threads) {
    // A graph of the node's operands alone, in which they have numbers of their own.
    node_.hint = kNone;
    for (std::vector<graph::TensorId>* list : {&node_.src, &node_.dst}) {
      for (std::size_t i = 0; i < list->size(); ++i) {
        graph::TensorId& id = (*list)[i];
        moves_.emplace_back();
        if (id == kNone) continue;
        const bool is_src = list == &node_.src;
        const Dims dims = r.graph.tensor(id).dims;
        const TensorDesc there(is_src ? r.src(i) : r.dst(i), DType::f32), dense(Layout::contiguous(dims), DType::f32);
        moves_.back() = is_src ? cpu::make_plan(there, dense) : cpu::make_plan(dense, there);
        graph_.tensors.push_back({.name = {}, .dims = dims});
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
      std::vector<float> dense(elements(node_.src[i]));
      cpu::run(*moves_[i], src[i], dense.data(), options);
      values[i].assign(dense.begin(), dense.end());
      operands[i] = &values[i];
    }
    const std::vector<graph::Values> results = graph::evaluate_node(graph_, node_, operands);
    for (std::size_t i = 0; i < dst.size(); ++i) {
      if (node_.dst[i] == kNone) continue;
      const std::vector<float> dense(results[i].begin(), results[i].end());
      cpu::run(*moves_[src.size() + i], dense.data(), dst[i], options);
    }
  }

 private:
  std::size_t elements(graph::TensorId id) const {
    return static_cast<std::size_t>(Layout::contiguous(graph_.tensor(id).dims).elements());
  }

  graph::Graph graph_{};
  graph::Node node_;
  int threads_;
  /// Between each operand's layout and row-major; nothing where the operand is absent.
  std::vector<std::optional<Plan>> moves_{};
};

}  // namespace

std::unique_ptr<Executable> make_projected_lstm(const OwnRequest& r) {
  constexpr std::size_t kProjection = 6;
  if (r.node.forward() || r.node.src.size() <= kProjection || r.node.src[kProjection] == kNone) return nullptr;
  const Dims& projection = r.src_tensor(kProjection).dims;
  if (projection[3] <= projection[2]) return nullptr;  // the library has an implementation
  const auto is_f32 = [&](graph::TensorId id) { return id == kNone || r.graph.tensor(id).dtype == DType::f32; };
  if (!std::ranges::all_of(r.node.src, is_f32) || !std::ranges::all_of(r.node.dst, is_f32)) return nullptr;
  for (std::size_t i = 0; i < r.node.dst.size(); ++i) {
    if (r.node.dst[i] != kNone && !r.dst(i).injective_with_padding()) return nullptr;
  }
  return std::make_unique<ProjectedLstmExecutable>(r);
}

}  // namespace relayout::execute
