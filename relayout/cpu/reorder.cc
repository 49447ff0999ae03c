// The reorder's public face: running a plan over threads, and the checked call.
#include "relayout/cpu/reorder.h"

#include <algorithm>
#include <functional>

#include "relayout/cpu/machine.h"
#include "relayout/cpu/runners/runner.h"
#include "relayout/cpu/threads.h"

namespace relayout::cpu {
namespace {

/// Whether blocks may write halves of one byte. They do not where all stretches that they write start at whole bytes.
bool shares_bytes(const BoxPlan& box) {
  if (box.unit_bits[kDst] != 4) return false;
  const auto* stages = box.as<Stages>();
  if (!stages) return true;
  const auto odd = [](int64_t nibbles) { return nibbles % 2 != 0; };
  const auto steps_odd = [&](const Axis& axis) { return axis.table >= 0 || odd(axis.stride[kDst]); };
  const auto shift_odd = [&](const Stages::Rest& rest) { return odd(rest.shift[kDst]); };
  const Stretches& out = stages->out;
  return odd(box.offset[kDst]) || odd(out.first[kDst]) || std::ranges::any_of(box.loops, steps_odd) ||
         std::ranges::any_of(out.axes, steps_odd) || std::ranges::any_of(out.bases, odd) ||
         std::ranges::any_of(stages->rests, shift_odd);
}

/// Boxes that threads run together: each part of the work has its share of the blocks of every box, because a byte of
/// one box may take much longer than a byte of another.
class Shared {
 public:
  Shared(const RunContext& context, std::span<const BoxPlan> boxes, const Tables& tables)
      : context_(context), boxes_(boxes), tables_(tables) {}

  void run(const RunOptions& options) {
    const PlanData& plan = context_.plan;
    int64_t elements = 0;
    bool halves = false;
    for (const BoxPlan& box : boxes_) {
      elements += box.elements;
      halves = halves || shares_bytes(box);
    }
    const int64_t bytes = elements * (bits(plan.src().dtype) + bits(plan.dst().dtype)) / 8;
    // Boxes, and the padding between them, are parts of the same lines. Where two cores write these, a line goes from
    // one core's cache to the other's and back.
    const int64_t grains = plan.boxes().size() + plan.fills().size() > 1 ? kGrainsOfSeveral : 1;
    const int64_t parts = std::min(kMostParts, bytes / grains / std::max<int64_t>(1, options.grain_bytes));
    // With beta a thread would read bytes while another thread writes the other half of them.
    if (parts <= 1 || (halves && plan.attributes().beta != 0)) return part(0, shares_);
    context_.shared = halves;
    shares_ = parts * kSharesOfPart;
    parallel_for(
        options, shares_, kSharesOfPart,
        [](void* p, int64_t begin, int64_t end) { static_cast<const Shared*>(p)->part(begin, end); }, this);
  }

 private:
  static constexpr int64_t kMostParts = 4096, kSharesOfPart = 16, kGrainsOfSeveral = 4;

  void part(int64_t begin, int64_t end) const {
    const auto boxes = static_cast<int64_t>(boxes_.size());
    for (int64_t k = 0; k < boxes; ++k) {
      const BoxPlan& box = boxes_[static_cast<std::size_t>(k)];
      // The blocks of a box start at another share than those of the box before, so that many boxes of one block do not
      // all fall to the same thread.
      const int64_t shift = k * shares_ / boxes;
      const auto block = [&](int64_t share) {
        return box.blocks / shares_ * share + (box.blocks % shares_ * share + shift) / shares_;
      };
      const int64_t first = block(begin), last = block(end);
      if (first < last) run_blocks(context_, box, tables_, first, last);
    }
  }

  RunContext context_;
  std::span<const BoxPlan> boxes_;
  const Tables& tables_;
  int64_t shares_ = 1;
};

void run_boxes(const RunContext& context, std::span<const BoxPlan> boxes, const Tables& tables,
               const RunOptions& options) {
  if (options.threads != 1) return Shared(context, boxes, tables).run(options);
  for (const BoxPlan& box : boxes) run_blocks(context, box, tables, 0, box.blocks);
}

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  const std::less<const std::byte*> before;
  return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) && before(b.data(), a.data() + a.size());
}

}  // namespace

Plan make_plan(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes, const Tuning& tuning) {
  return Plan::make(src, dst, attributes, machine(), tuning);
}

void run(const Plan& plan, const void* src, void* dst, const RunOptions& options) noexcept {
  const PlanData& data = plan.data();
  const RunContext context{data, kernels(), static_cast<const std::byte*>(src), static_cast<std::byte*>(dst)};
  if (const BoxPlan* box = data.strided_block()) {
    return run_strided(context.kernels, *box, context.src + box->offset[kSrc], context.dst + box->offset[kDst],
                       box->row_count, box->col_count);
  }
  run_boxes(context, data.boxes(), data.tables(), options);
  run_boxes(context, data.fills(), data.tables(), options);
}

void run(const Plan& plan, const ConstElements& src, const Elements& dst, const RunOptions& options) {
  const TensorDesc &src_desc = plan.src(), &dst_desc = plan.dst();
  // Only the bytes that the tensors occupy must not overlap; the rest of the buffers may.
  const auto src_used =
      checked_bytes(src, src_desc, "reorder", "source").first(static_cast<std::size_t>(src_desc.span_bytes()));
  const auto dst_used =
      checked_bytes(dst, dst_desc, "reorder", "destination").first(static_cast<std::size_t>(dst_desc.span_bytes()));
  if (overlap(src_used, dst_used)) {
    throw Error(ErrorCode::overlap, "reorder: source and destination share memory", "dst",
                std::to_string(dst_used.size()) + " bytes", "disjoint buffers");
  }
  run(plan, src_used.data(), dst_used.data(), options);
}

void reorder(const TensorDesc& src_desc, const ConstElements& src, const TensorDesc& dst_desc, const Elements& dst,
             const Attributes& attributes, const RunOptions& options) {
  run(cached_plan(src_desc, dst_desc, attributes), src, dst, options);
}

}  // namespace relayout::cpu
