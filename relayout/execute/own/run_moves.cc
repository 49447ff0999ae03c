// Moves as an executable: one reorder for each part, then zeros in the padding.
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

/// Whether a type has this zero point, and f32 holds it exactly.
bool is_zero_point(double value, DType dtype) {
  return std::trunc(value) == value && std::fabs(value) < 0x1p24 && in_range(value, dtype);
}

/// dst = src * scale + shift. What stands for a zero point is one, because elements equal to it then give exactly 0.
Attributes attributes_of(const graph::ReorderAttributes& a, DType src, DType dst) {
  Attributes out;
  if (a.scale != 1) out.src_scale.values = {a.scale};
  if (a.shift == 0) return out;
  if (is_integer(src) && a.scale != 0 && is_zero_point(-a.shift / a.scale, src) && !is_integer(dst)) {
    out.src_zero_point.values = {-a.shift / a.scale};
  } else if (!is_integer(dst) || is_zero_point(a.shift, dst)) {
    out.dst_zero_point.values = {a.shift};
  } else {
    out.mean.values = {-a.shift};
  }
  return out;
}

class MovesExecutable : public Executable {
 public:
  MovesExecutable(const OwnRequest& r, const std::vector<Move>& moves, const Attributes& attributes)
      : threads_(r.threads) {
    const DType type = r.dst_tensor().dtype;
    for (const Move& move : moves) {
      if (move.to.empty()) continue;
      const DType from = move.src == kNone ? DType::f32 : r.src_tensor(static_cast<std::size_t>(move.src)).dtype;
      plans_.push_back({move.src, cpu::make_plan({move.from, from}, {move.to, type}, attributes)});
    }
    // A single reorder that writes the whole destination also fills its padding.
    const bool filled = plans_.size() == 1 && plans_[0].second.dst().layout == r.dst();
    if (!filled) padding_ = ZeroPadding(r.dst(), type);
    if (r.node.kind == Kind::pad) constant_ = static_cast<float>(r.node.as<graph::PadAttributes>().value);
  }

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    for (const auto& [from, plan] : plans_) {
      const void* data = from == kNone ? &constant_ : src[static_cast<std::size_t>(from)];
      cpu::run(plan, data, dst[0], run_options(threads_));
    }
    padding_.run(dst[0]);
  }

 private:
  std::vector<std::pair<int, Plan>> plans_{};
  ZeroPadding padding_{};
  int threads_;
  float constant_ = 0;
};

}  // namespace

std::unique_ptr<Executable> make_moves(const OwnRequest& r) {
  Attributes attributes;
  if (r.node.kind == Kind::reorder)
    attributes = attributes_of(r.node.as<graph::ReorderAttributes>(), r.src_tensor(0).dtype, r.dst_tensor().dtype);
  if (!r.dst().injective_with_padding()) return nullptr;
  std::vector<Layout> src;
  for (std::size_t i = 0; i < r.node.src.size(); ++i) src.push_back(r.src(i));
  const std::optional<std::vector<Move>> moves = moves_of(r.graph, r.node, src, r.dst());
  if (!moves) return nullptr;
  // Elements of less than a byte are written whole, as one reorder writes them.
  const bool whole = moves->size() == 1 && moves->front().to == r.dst();
  if (bits(r.dst_tensor().dtype) < 8 && !whole) return nullptr;
  return std::make_unique<MovesExecutable>(r, *moves, attributes);
}

}  // namespace relayout::execute
