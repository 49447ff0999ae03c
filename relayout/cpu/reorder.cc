// The reorder's public face: running a plan over threads, and the checked call.
#include "relayout/cpu/reorder.h"

#include <algorithm>
#include <functional>

#include "relayout/core/wide.h"
#include "relayout/cpu/buffers.h"
#include "relayout/cpu/gathered_parts.h"
#include "relayout/cpu/generated/generate.h"
#include "relayout/cpu/machine.h"
#include "relayout/cpu/parts.h"
#include "relayout/cpu/runners/runner.h"
#include "relayout/cpu/threads.h"

namespace relayout::cpu {
namespace {

/// Whether blocks may write parts of one byte. They do not where all stretches that they write start at whole bytes.
bool shares_bytes(const BoxPlan& box) {
  if (box.unit_bits[kDst] == 8) return false;
  const auto* stages = box.as<Stages>();
  if (!stages) return true;
  const auto odd = [&](int64_t elements) { return elements % byte_period(box.unit_bits[kDst]) != 0; };
  const auto steps_odd = [&](const Axis& axis) { return axis.table >= 0 || odd(axis.stride[kDst]); };
  const auto shift_odd = [&](const Stages::Rest& rest) { return odd(rest.shift[kDst]); };
  const Stretches& out = stages->out;
  return odd(box.offset[kDst]) || odd(out.first[kDst]) || std::ranges::any_of(box.loops, steps_odd) ||
         std::ranges::any_of(out.axes, steps_odd) || std::ranges::any_of(out.bases, odd) ||
         std::ranges::any_of(stages->rests, shift_odd);
}

/// Boxes that threads run together: each share of the work has its part of the blocks of every box, because a byte of
/// one box may take much longer than a byte of another.
class Shared {
 public:
  Shared(const RunContext& context, std::span<const BoxPlan> boxes, const Tables& tables)
      : context_(context), boxes_(boxes), tables_(tables) {}

  /// Bytes of both sides that the boxes move.
  int64_t bytes() const {
    int64_t elements = 0;
    for (const BoxPlan& box : boxes_) elements += box.elements;
    return elements * (bits(context_.plan.src().dtype) + bits(context_.plan.dst().dtype)) / 8;
  }

  /// Whether go_on(bytes) answered true after each of `rounds` rounds, which share the work evenly.
  template <typename GoOn>
  bool run(const RunOptions& options, int64_t rounds, const GoOn& go_on) {
    const PlanData& plan = context_.plan;
    const bool shared = std::ranges::any_of(boxes_, shares_bytes);
    const int64_t total = bytes();
    rounds = std::max<int64_t>(1, rounds);
    // Boxes, and the padding between them, are parts of the same lines. Where two cores write these, a line goes from
    // one core's cache to the other's and back.
    const int64_t least = plan.boxes().size() + plan.fills().size() > 1 ? kGrainsOfSeveral : 1;
    const int64_t grains = std::min(kMostGrains, total / rounds / least / std::max<int64_t>(1, options.grain_bytes));
    // With beta a thread would read bytes while another thread writes other elements in them.
    const bool alone = options.threads == 1 || grains <= 1 || (shared && plan.attributes().beta != 0);
    context_.shared = shared && !alone;
    const int64_t shares_of_round = alone ? 1 : grains * kSharesOfGrain;
    shares_ = shares_of_round * rounds;
    for (int64_t round = 0; round < rounds; ++round) {
      begin_ = shares_of_round * round;
      if (alone) {
        run_shares(begin_, begin_ + 1);
      } else {
        const auto body = [](void* p, int64_t begin, int64_t behind) {
          const auto& all = *static_cast<const Shared*>(p);
          all.run_shares(all.begin_ + begin, all.begin_ + behind);
        };
        parallel_for(options, shares_of_round, kSharesOfGrain, body, this);
      }
      if (!go_on(static_cast<int64_t>(Wide{total} * (round + 1) / rounds))) return false;
    }
    return true;
  }

 private:
  // A thread gets a grain at least, and a round has no more grains than these.
  static constexpr int64_t kMostGrains = 4096, kSharesOfGrain = 16, kGrainsOfSeveral = 4;

  void run_shares(int64_t begin, int64_t end) const {
    const auto boxes = static_cast<int64_t>(boxes_.size());
    for (int64_t k = 0; k < boxes; ++k) {
      const BoxPlan& box = boxes_[static_cast<std::size_t>(k)];
      // The blocks of a box start at another share than those of the box before, so that many boxes of one block do not
      // all fall to the same thread.
      const Wide shift = Wide{shares_} * k / boxes;
      const auto block = [&](int64_t share) {
        return static_cast<int64_t>((Wide{box.blocks} * share + shift) / shares_);
      };
      const int64_t first = block(begin), last = block(end);
      if (first < last) run_blocks(context_, box, tables_, first, last);
    }
  }

  RunContext context_;
  std::span<const BoxPlan> boxes_;
  const Tables& tables_;
  int64_t shares_ = 1;
  int64_t begin_ = 0;  // of the shares of this round
};

void run_boxes(const RunContext& context, std::span<const BoxPlan> boxes, const Tables& tables,
               const RunOptions& options) {
  if (options.threads != 1) {
    Shared(context, boxes, tables).run(options, 1, [](int64_t) { return true; });
    return;
  }
  for (const BoxPlan& box : boxes) run_blocks(context, box, tables, 0, box.blocks);
}

RunContext context_of(const PlanData& data, const void* src, void* dst) {
  const auto* const from = static_cast<const std::byte*>(src);
  return {.plan = data,
          .kernels = kernels(),
          .src = from,
          .dst = static_cast<std::byte*>(dst),
          .readable = {from, static_cast<std::size_t>(data.src_bytes())}};
}

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  const std::less<const std::byte*> before;
  return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) && before(b.data(), a.data() + a.size());
}

}  // namespace

Plan make_plan(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes, const Tuning& tuning) {
  return Plan::make(src, dst, attributes, machine(), tuning);
}

Plan compiled_plan(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes) {
  return PlanData::handle(PlanData::make(src, dst, attributes, machine(), {}, generate_code));
}

void run(const Plan& plan, const void* src, void* dst, const RunOptions& options) noexcept {
  const PlanData& data = plan.data();
  const RunContext context = context_of(data, src, dst);
  // (Code does less than a grain, and so nothing that threads would share.)
  if (const Code* code = data.code(); code && context.kernels.permuted_bytes == kGeneratedBytes &&
                                      (options.threads == 1 || options.grain_bytes >= kMostGenerated))
    return code->run(src, dst);
  if (const BoxPlan* box = data.strided_block()) {
    return run_strided(context.kernels, *box, context.src + box->offset[kSrc], context.dst + box->offset[kDst],
                       box->along_src.count, box->along_dst.count);
  }
  run_boxes(context, data.boxes(), data.tables(), options);
  run_boxes(context, data.fills(), data.tables(), options);
}

bool run_in_parts(const Plan& plan, const void* src, void* dst, const RunOptions& options, const PartOptions& parts,
                  const std::function<bool(int64_t, int64_t)>& go_on) {
  const PlanData& data = plan.data();
  const RunContext context = context_of(data, src, dst);
  Shared boxes(context, data.boxes(), data.tables()), fills(context, data.fills(), data.tables());
  const int64_t moved = boxes.bytes(), total = moved + fills.bytes();
  const int64_t part = std::max<int64_t>(1, parts.bytes);
  if (total <= part || data.strided_block() != nullptr) {
    run(plan, src, dst, options);
    return go_on(total, total);
  }
  const auto rounds = [part](int64_t bytes) { return bytes / part + (bytes % part != 0); };
  const bool fills_follow = fills.bytes() > 0;
  if (moved > 0 && !boxes.run(options, rounds(moved), [&](int64_t done) { return go_on(done, total); })) return false;
  return !fills_follow ||
         fills.run(options, rounds(fills.bytes()), [&](int64_t done) { return go_on(moved + done, total); });
}

BothBytes checked_buffers(const TensorDesc& src_desc, const ConstElements& src, const TensorDesc& dst_desc,
                          const Elements& dst, std::string_view operation) {
  // Only the bytes that the tensors occupy must not overlap; the rest of the buffers may.
  const auto src_used =
      checked_bytes(src, src_desc, operation, "source").first(static_cast<std::size_t>(src_desc.span_bytes()));
  const auto dst_used =
      checked_bytes(dst, dst_desc, operation, "destination").first(static_cast<std::size_t>(dst_desc.span_bytes()));
  if (overlap(src_used, dst_used)) {
    throw Error(ErrorCode::overlap, std::string(operation) + ": source and destination share memory", "dst",
                std::to_string(dst_used.size()) + " bytes", "disjoint buffers");
  }
  return {src_used.data(), dst_used.data()};
}

void run(const Plan& plan, const ConstElements& src, const Elements& dst, const RunOptions& options) {
  const BothBytes both = checked_buffers(plan.src(), src, plan.dst(), dst, "reorder");
  run(plan, both.src, both.dst, options);
}

bool run_in_parts(const Plan& plan, const ConstElements& src, const Elements& dst, const RunOptions& options,
                  const PartOptions& parts, const std::function<bool(int64_t, int64_t)>& go_on) {
  const BothBytes both = checked_buffers(plan.src(), src, plan.dst(), dst, "reorder");
  return run_in_parts(plan, both.src, both.dst, options, parts, go_on);
}

void reorder(const TensorDesc& src_desc, const ConstElements& src, const TensorDesc& dst_desc, const Elements& dst,
             const Attributes& attributes, const RunOptions& options) {
  if (!gathers_in_parts(src_desc, dst_desc, attributes))
    return run(cached_plan(src_desc, dst_desc, attributes), src, dst, options);
  const BothBytes both = checked_buffers(src_desc, src, dst_desc, dst, "reorder");
  gather_in_parts(src_desc, dst_desc, attributes, [&](const Plan& plan) { run(plan, both.src, both.dst, options); });
}

}  // namespace relayout::cpu
