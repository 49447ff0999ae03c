// Runs conversions by stages. At each turn of the loops, one stage converts some of the tensor into memory
// in the first-level cache, and the others move the result to the destination. With converts_last, the others move
// first, into that memory, and the last stage converts from there.
#include "relayout/cpu/runners/methods.h"
#include "relayout/cpu/runners/steps.h"

namespace relayout::cpu {
namespace {

/// One stage. Its region is the same at each turn of the loops, but for where it starts.
struct StageBox {
  const BoxPlan* box;
  Block region;
  bool listed;
};

/// Whether a stage transposes into rows of whole lines, at every turn of the loops.
bool moves_lines(const RunContext& context, const Loops& loops, const BoxPlan& moving) {
  const auto by_lines = [](const Axes& axes) {
    return std::ranges::all_of(axes, [](const Axis& a) { return a.table < 0 && a.stride[kDst] % kCacheLine == 0; });
  };
  const auto* transposition = moving.as<Transposition>();
  const int64_t bytes = moving.piece[kDst], start = loops.offset[kDst] + moving.offset[kDst];
  return transposition && !transposition->pack && bytes >= 4 && moving.row_count * bytes >= kRegister &&
         moving.row_bytes() % kCacheLine == 0 && moving.block_cols * bytes % kCacheLine == 0 &&
         to_line(context.dst + start) == 0 && by_lines(moving.rows) && by_lines(moving.loops) &&
         by_lines(loops.loops) && context.kernels.transpose_stream[log2_size(bytes)] != nullptr;
}

/// The stages of a box and the lists of their blocks. Those that write to the destination write past the cache if they
/// write whole lines.
class StageBoxes {
 public:
  StageBoxes(const RunContext& context, const Loops& loops, const Stages& method) {
    const bool past_cache = loops.past_cache && context.kernels.copy_stream;
    for (std::size_t p = 0; p < method.stages.size(); ++p) {
      const BoxPlan& box = method.stages[p];
      add(box, boxes_[p]);
      const bool last = p + 1 == method.stages.size(), to_dst = method.converts_last ? last : p > 0;
      if (!past_cache || !to_dst) continue;
      boxes_[p].region.stream = method.converts_last ? box.row_bytes() % kCacheLine == 0
                                                     : boxes_[p].listed && moves_lines(context, loops, box);
      streams_ = streams_ || boxes_[p].region.stream;
    }
  }

  const StageBox& operator[](std::size_t i) const { return boxes_[i]; }
  /// Whether any stage writes whole lines, past the cache.
  bool streams() const { return streams_; }

 private:
  void add(const BoxPlan& box, StageBox& stage) {
    stage.box = &box;
    stage.region = {nullptr, nullptr, {}, nullptr, nullptr, nullptr, nullptr, box.row_count, box.col_count};
    // The lists are made of the whole region only where sub_block() can start from any block of it.
    const bool even_rows = box.strips == 1 || box.rows.size() == 1 || box.dense_rows;
    const bool even_cols = box.panels == 1 || box.cols.size() == 1 || box.dense_cols;
    stage.listed = even_rows && even_cols && lists_.add(box, stage.region);
  }

  bool streams_ = false;
  StageBox boxes_[Stages::kMaxStages];
  RegionLists lists_;
};

void run_stage_box(const RunContext& context, const StageBox& stage, const Tables& tables) {
  const BoxPlan& box = *stage.box;
  if (!stage.listed) return run_blocks(context, box, tables, 0, box.blocks);
  Odometer at(box, tables);
  at.start();
  for (int64_t b = 0;; at.next()) {
    Block region = stage.region;
    region.offset = at.offsets;
    region.offset[kAttribute] += context.attribute;
    region.src = context.src + region.offset[kSrc];
    region.dst = context.dst + region.offset[kDst];
    for (int64_t col = 0; col < box.col_count; col += box.block_cols) {
      for (int64_t row = 0; row < box.row_count; row += box.block_rows, ++b) {
        make_block(context, box,
                   sub_block(box, region, row, std::min(box.block_rows, box.row_count - row), col,
                             std::min(box.block_cols, box.col_count - col)));
      }
    }
    if (b == box.blocks) return;
  }
}

/// How the groups of a chunk are transposed, see Stages::group_rows.
struct GroupPattern {
  int64_t bytes = 0;
  uint8_t pattern[Stages::kMaxGroup] = {};

  explicit GroupPattern(const Stages& box) {
    // Where the conversion comes last, groups are transposed in the other direction.
    const int64_t rows = box.converts_last ? box.group_cols : box.group_rows;
    const int64_t cols = box.converts_last ? box.group_rows : box.group_cols;
    for (int64_t c = 0; c < cols; ++c) {
      for (int64_t r = 0; r < rows; ++r) pattern[bytes++] = static_cast<uint8_t>(r * cols + c);
    }
  }
};

}  // namespace

bool run(const RunContext& context, const Loops& loops, const Stages& method, const Tables& tables, int64_t begin,
         int64_t end) {
  // Regrouping moves the groups down by Stages::kMaxGroup bytes, and may read and write as many bytes past the last
  // group.
  alignas(64) std::byte memory[Stages::kMaxBytes + 2 * Stages::kMaxGroup];
  const GroupPattern groups(method);
  std::byte* const before = groups.bytes > 0 ? memory + Stages::kMaxGroup : memory;
  const StageBoxes boxes(context, loops, method);
  Odometer at(loops, tables);
  at.seek(begin);
  RunContext inside = context;
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    inside.attribute = context.attribute + at.offsets[kAttribute];
    bool grouped = groups.bytes > 0;
    for (std::size_t p = 0; p < method.stages.size(); ++p) {
      // A stage goes either from the source to `memory`, or from there to the destination.
      const bool from_src = method.converts_last ? p + 1 < method.stages.size() : p == 0;
      inside.src = from_src ? context.src + at.offsets[kSrc] : memory;
      inside.dst = from_src ? before : context.dst + at.offsets[kDst];
      if (!from_src && grouped) {
        context.kernels.regroup(before, memory, method.bytes / groups.bytes, groups.bytes, groups.pattern);
        grouped = false;
      }
      run_stage_box(inside, boxes[p], tables);
    }
    if (chunk + 1 < end) at.next();
  }
  if (boxes.streams()) context.kernels.flush();
  return true;
}

}  // namespace relayout::cpu
