// Which runner does a box: the one of the plan's method. This is the place to start reading.
#include "relayout/cpu/runners/listed.h"
#include "relayout/cpu/runners/methods.h"
#include "relayout/cpu/runners/past_cache.h"
#include "relayout/cpu/runners/steps.h"

namespace relayout::cpu {
namespace {

/// Whether a method runs whole ranges of blocks, and nothing else.
template <typename Method>
constexpr bool kRunsAlone = requires(const RunContext& context, const Loops& box, const Method& method,
                                     const Tables& tables) {
  run_all(context, box, method, tables, 0, 0);
};

[[noreturn]] void refuse_block() {
  throw Error(ErrorCode::internal, "make_block() of a box whose method makes no single blocks");
}

void run_strided_blocks(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin,
                        int64_t end) {
  const Axis &row = box.along_src.axes[0], &col = box.along_dst.axes[0];
  each_block(box, tables, begin, end, [&](const Odometer& position, const IndexRange& rows, const IndexRange& cols) {
    const Offsets& at = position.offsets;
    run_strided(context.kernels, box,
                context.src + at[kSrc] + rows.begin * row.stride[kSrc] + cols.begin * col.stride[kSrc],
                context.dst + at[kDst] + rows.begin * row.stride[kDst] + cols.begin * col.stride[kDst], rows.count(),
                cols.count());
  });
}

}  // namespace

static bool run_without_lists(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin,
                              int64_t end) {
  const auto run_whole = [&]<typename Method>(const Method& method) {
    if constexpr (kRunsAlone<Method>) {
      run_all(context, box, method, tables, begin, end);
      return true;
    } else {
      return run(context, box, method, tables, begin, end);
    }
  };
  if (std::visit(run_whole, box.method)) return true;
  const bool strided = box.strided && box.ahead == 0;
  if (strided) run_strided_blocks(context, box, tables, begin, end);
  return strided;
}

void run_blocks(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end) {
  if (!run_without_lists(context, box, tables, begin, end)) run_listed(context, box, tables, begin, end);
}

void run_blocks(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end,
                BlockLists& lists) {
  if (!run_without_lists(context, box, tables, begin, end)) run_listed(context, box, tables, begin, end, lists);
}

/// Whether a box goes past the cache from this destination on.
static bool goes_past_cache(const RunContext& context, const BoxPlan& box) {
  return box.past_cache && context.kernels.copy_stream &&
         !(box.from_lines_only && to_line(context.dst + box.offset[kDst]) != 0);
}

void run_block(const RunContext& context, const BoxPlan& box, const Block& block, const IndexRange& rows,
               const IndexRange& cols) {
  if (const auto* padding = box.as<Fill>()) return fill(context, box, *padding, block, cols.begin);
  if (goes_past_cache(context, box)) return stream_block(context, box, block, rows, cols);
  make_block(context, box, block);
}

bool makes_blocks(const BoxPlan& box) {
  return std::visit([]<typename Method>(const Method&) { return !kRunsAlone<Method>; }, box.method);
}

void make_block(const RunContext& context, const BoxPlan& box, const Block& block) {
  const auto make_one = [&]<typename Method>(const Method& method) {
    if constexpr (kRunsAlone<Method> || std::is_same_v<Method, Fill>)
      refuse_block();
    else
      make(context, box, method, block);
  };
  std::visit(make_one, box.method);
}

}  // namespace relayout::cpu
