// Conversions by stages (BoxPlan::stage). At each turn of the loops, one stage converts some of the tensor into memory
// in the first-level cache, and the others move the result to the destination. With converts_last, the others move
// first, into that memory, and the last stage converts from there.
#include "relayout/cpu/steps.h"

namespace relayout::cpu {
namespace {

/// One stage. Its region is the same at each turn of the loops, but for where it starts.
struct StageBox {
  const BoxPlan* box;
  Block region;
  bool listed;
};

/// The stages of a box and the lists of their blocks.
class StageBoxes {
 public:
  StageBoxes(const RunContext& context, const BoxPlan& box) : streams_(streams(context, box)) {
    for (std::size_t p = 0; p < box.nested.size(); ++p) add(box.nested[p], boxes_[p]);
    if (streams_) boxes_[box.nested.size() - 1].region.stream = true;
    if (box.converts_last || !past_cache(context)) return;
    // Where the stages that move come last, they write past the cache if they write whole lines.
    for (std::size_t p = 1; p < box.nested.size(); ++p) {
      boxes_[p].region.stream = boxes_[p].listed && moves_lines(context, box, box.nested[p]);
      streams_ = streams_ || boxes_[p].region.stream;
    }
  }

  const StageBox& operator[](std::size_t i) const { return boxes_[i]; }
  /// Whether the last stage writes whole lines, past the cache.
  bool streams() const { return streams_; }

 private:
  static bool streams(const RunContext& context, const BoxPlan& box) {
    const BoxPlan& last = box.nested.back();
    return box.converts_last && past_cache(context) && last.long_runs &&
           last.col_count * last.piece[kDst] % kCacheLine == 0;
  }
  static bool past_cache(const RunContext& context) {
    return context.plan.streams() && !context.in_tile && context.kernels.copy_stream &&
           context.plan.attributes().beta == 0;
  }

  /// Whether a stage transposes into rows of whole lines, at every turn of the loops.
  static bool moves_lines(const RunContext& context, const BoxPlan& box, const BoxPlan& moving) {
    const auto lines = [](const Axis& a) { return a.table < 0 && a.stride[kDst] % kCacheLine == 0; };
    const int64_t bytes = moving.piece[kDst], start = box.offset[kDst] + moving.offset[kDst];
    return moving.shape == KernelShape::transpose && moving.shuffle == 1 && moving.row_run == 0 && !moving.pack &&
           bytes >= 4 && moving.row_count * bytes >= 16 && moving.col_count * bytes % kCacheLine == 0 &&
           moving.block_cols * bytes % kCacheLine == 0 && to_line(context.dst + start) == 0 &&
           std::ranges::all_of(moving.rows, lines) && std::ranges::all_of(moving.loops, lines) &&
           std::ranges::all_of(box.loops, lines) && context.kernels.transpose_stream[log2_size(bytes)] != nullptr;
  }

  void add(const BoxPlan& box, StageBox& stage) {
    stage.box = &box;
    stage.region = {nullptr, nullptr, {}, nullptr, nullptr, nullptr, nullptr, box.row_count, box.col_count};
    // The lists are made of the whole region only where sub_block() can start from any block of it.
    const bool even_rows = box.strips == 1 || box.rows.size() == 1 || box.dense_rows;
    const bool even_cols = box.panels == 1 || box.cols.size() == 1 || box.dense_cols;
    stage.listed = even_rows && even_cols && lists_.add(box, stage.region);
  }

  bool streams_;
  StageBox boxes_[kMaxStageBoxes];
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

/// How the groups of a chunk are transposed, see BoxPlan::group_rows.
struct GroupPattern {
  int64_t bytes = 0;
  uint8_t pattern[kMaxStageGroup] = {};

  explicit GroupPattern(const BoxPlan& box) {
    // Where the conversion comes last, groups are transposed in the other direction.
    const int64_t rows = box.converts_last ? box.group_cols : box.group_rows;
    const int64_t cols = box.converts_last ? box.group_rows : box.group_cols;
    for (int64_t c = 0; c < cols; ++c) {
      for (int64_t r = 0; r < rows; ++r) pattern[bytes++] = static_cast<uint8_t>(r * cols + c);
    }
  }
};

}  // namespace

void run_stages(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end) {
  // Regrouping moves the groups down by kMaxStageGroup bytes, and may read and write as many bytes past the last group.
  alignas(64) std::byte memory[kMaxStageBytes + 2 * kMaxStageGroup];
  const GroupPattern groups(box);
  std::byte* const before = groups.bytes > 0 ? memory + kMaxStageGroup : memory;
  const StageBoxes boxes(context, box);
  const std::size_t converting = box.converts_last ? box.nested.size() - 1 : 0;
  Odometer at(box, tables);
  at.seek(begin);
  RunContext inside = context;
  inside.in_tile = true;
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    inside.attribute = context.attribute + at.offsets[kAttribute];
    bool grouped = groups.bytes > 0;
    for (std::size_t p = 0; p < box.nested.size(); ++p) {
      // A stage goes either from the source to `memory`, or from there to the destination.
      const bool from_src = box.converts_last ? p < converting : p == 0;
      inside.moves = p != converting;
      inside.src = from_src ? context.src + at.offsets[kSrc] : memory;
      inside.dst = from_src ? before : context.dst + at.offsets[kDst];
      if (!from_src && grouped) {
        context.kernels.regroup(before, memory, box.stage / groups.bytes, groups.bytes, groups.pattern);
        grouped = false;
      }
      run_stage_box(inside, boxes[p], tables);
    }
    if (chunk + 1 < end) at.next();
  }
  if (boxes.streams()) context.kernels.flush();
}

}  // namespace relayout::cpu
