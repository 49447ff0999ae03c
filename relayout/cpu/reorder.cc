// The reorder's public face: running a plan over threads, and the checked call.
#include "relayout/cpu/reorder.h"

#include <algorithm>
#include <functional>

#include "relayout/cpu/machine.h"
#include "relayout/cpu/runners/runner.h"
#include "relayout/cpu/threads.h"

namespace relayout::cpu {
namespace {

/// The least bytes that are worth a thread of their own: some tens of microseconds of work.
constexpr int64_t kGrainBytes = 256 << 10;

struct BoxRun {
  RunContext context;
  const BoxPlan& box;
  const Tables& tables;
};

void run_box(const RunContext& context, const BoxPlan& box, const Tables& tables, const RunOptions& options) {
  const int64_t blocks = box.blocks;
  if (blocks == 1 || options.threads == 1) return run_blocks(context, box, tables, 0, blocks);
  BoxRun state{context, box, tables};
  const int64_t bytes = std::max<int64_t>(1, box.elements / blocks * bits(context.plan.dst().dtype) / 8);
  // Two threads must not write halves of one byte.
  const bool alone = box.unit_bits[kDst] == 4;
  parallel_for(
      alone ? RunOptions{.threads = 1} : options, blocks, std::max<int64_t>(1, kGrainBytes / bytes),
      [](void* p, int64_t begin, int64_t end) {
        const auto& s = *static_cast<const BoxRun*>(p);
        run_blocks(s.context, s.box, s.tables, begin, end);
      },
      &state);
}

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  const std::less<const std::byte*> before;
  return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) && before(b.data(), a.data() + a.size());
}

void check_size(const char* side, const TensorDesc& desc, std::size_t have) {
  const int64_t need = desc.span_bytes();
  if (static_cast<int64_t>(have) >= need) return;
  throw Error(ErrorCode::buffer_too_small,
              std::string("reorder: the ") + side + " buffer is too small: need " + std::to_string(need) +
                  " bytes, have " + std::to_string(have),
              side, std::to_string(have), std::to_string(need));
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
  for (const BoxPlan& box : data.boxes()) run_box(context, box, data.tables(), options);
  for (const BoxPlan& fill : data.fills()) run_box(context, fill, data.tables(), options);
}

void reorder(const TensorDesc& src_desc, std::span<const std::byte> src, const TensorDesc& dst_desc,
             std::span<std::byte> dst, const Attributes& attributes, const RunOptions& options) {
  const Plan plan = cached_plan(src_desc, dst_desc, attributes);
  check_size("source", src_desc, src.size());
  check_size("destination", dst_desc, dst.size());
  // Only the bytes that the tensors occupy must not overlap; the rest of the buffers may.
  const auto src_used = src.first(static_cast<std::size_t>(src_desc.span_bytes()));
  const auto dst_used = dst.first(static_cast<std::size_t>(dst_desc.span_bytes()));
  if (overlap(src_used, dst_used)) {
    throw Error(ErrorCode::overlap, "reorder: source and destination share memory", "dst",
                std::to_string(dst_used.size()) + " bytes", "disjoint buffers");
  }
  run(plan, src.data(), dst.data(), options);
}

}  // namespace relayout::cpu
