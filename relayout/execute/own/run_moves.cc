// Moves as an executable: one reorder for each part, then zeros in the padding. The constant that a reorder node adds
// is added afterwards where the reorder cannot do it.
#include <cmath>

#include "relayout/cpu/reorder.h"
#include "relayout/execute/own/kernels.h"
#include "relayout/execute/own/moves.h"
#include "relayout/execute/own/padding.h"
#include "relayout/execute/run/openmp.h"

namespace relayout::execute {

using graph::Executable;
using graph::Kind;
using graph::kNone;

namespace {

bool is_whole(double value) { return std::nearbyint(value) == value && std::fabs(value) < 2147483648.0; }

/// dst = src * scale + shift: attributes that the reorder can apply, and the shift if it cannot.
struct Scaling {
  Attributes attributes;
  float shift = 0;
};

Scaling scaling_of(const graph::ReorderAttributes& a, DType src, DType dst) {
  Scaling out;
  if (a.scale != 1) out.attributes.src_scale.values = {static_cast<float>(a.scale)};
  if (a.shift == 0) return out;
  if (is_integer(dst) && is_whole(a.shift)) {
    out.attributes.dst_zero_point.values = {static_cast<int32_t>(a.shift)};
  } else if (is_integer(src) && a.scale != 0 && is_whole(-a.shift / a.scale)) {
    out.attributes.src_zero_point.values = {static_cast<int32_t>(-a.shift / a.scale)};
  } else {
    out.shift = static_cast<float>(a.shift);
  }
  return out;
}

class MovesExecutable : public Executable {
 public:
  MovesExecutable(const OwnRequest& r, const std::vector<Move>& moves, const Scaling& scaling)
      : threads_(r.threads), shift_(scaling.shift), first_(r.dst().offset0()), count_(r.dst().padded_elements()) {
    const DType type = r.dst_tensor().dtype;
    for (const Move& move : moves) {
      if (move.to.empty()) continue;
      const DType from = move.src == kNone ? DType::f32 : r.src_tensor(static_cast<std::size_t>(move.src)).dtype;
      plans_.push_back({move.src, cpu::make_plan({move.from, from}, {move.to, type}, scaling.attributes)});
    }
    // A single reorder that writes the whole destination also fills its padding.
    const bool filled = plans_.size() == 1 && plans_[0].second.dst().layout == r.dst() && shift_ == 0;
    if (!filled) padding_ = ZeroPadding(r.dst(), type);
    if (r.node.kind == Kind::pad) constant_ = static_cast<float>(r.node.as<graph::PadAttributes>().value);
  }

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    for (const auto& [from, plan] : plans_) {
      const void* data = from == kNone ? &constant_ : src[static_cast<std::size_t>(from)];
      cpu::run(plan, data, dst[0], run_options(threads_));
    }
    if (shift_ != 0) {
      float* data = static_cast<float*>(dst[0]) + first_;
      for (int64_t i = 0; i < count_; ++i) data[i] += shift_;
    }
    padding_.run(dst[0]);
  }

 private:
  std::vector<std::pair<int, Plan>> plans_{};
  ZeroPadding padding_{};
  int threads_;
  float constant_ = 0, shift_;
  /// The elements to which the constant is added: all of the destination, which then has no gaps.
  int64_t first_, count_;
};

}  // namespace

std::unique_ptr<Executable> make_moves(const OwnRequest& r) {
  Scaling scaling;
  if (r.node.kind == Kind::reorder) {
    scaling = scaling_of(r.node.as<graph::ReorderAttributes>(), r.src_tensor(0).dtype, r.dst_tensor().dtype);
    const bool in_range = r.dst().packed() && r.dst().offset_range().first == r.dst().offset0();
    if (scaling.shift != 0 && (r.dst_tensor().dtype != DType::f32 || !in_range)) return nullptr;
  }
  if (!r.dst().injective_with_padding() || bits(r.dst_tensor().dtype) < 8) return nullptr;
  std::vector<Layout> src;
  for (std::size_t i = 0; i < r.node.src.size(); ++i) src.push_back(r.src(i));
  const std::optional<std::vector<Move>> moves = moves_of(r.graph, r.node, src, r.dst());
  if (!moves) return nullptr;
  return std::make_unique<MovesExecutable>(r, *moves, scaling);
}

}  // namespace relayout::execute
