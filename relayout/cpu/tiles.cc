// Boxes with parts, tile by tile. A run that its parts fill is put together in the first-level cache, at the
// destination's alignment within a line, and written past the cache; or its lines are made straight from the source.
#include <algorithm>

#include "relayout/cpu/steps.h"
#include "relayout/cpu/woven_run.h"

namespace relayout::cpu {
namespace {

constexpr int64_t kLine = 64;
/// A part of a tile. Where it is one block, that is the same in all tiles but for where it starts.
struct TilePart {
  const BoxPlan* box;
  Block block;
  bool one_block;
};

/// The parts of a box and the lists of their blocks.
class TileParts {
 public:
  TileParts(const RunContext& context, const BoxPlan& box) {
    for (const BoxPlan& run : box.parts) {
      for (const BoxPlan& part : run.parts) add(context, part);
    }
  }

  TilePart& operator[](int i) { return parts_[i]; }

 private:
  void add(const RunContext& context, const BoxPlan& box) {
    TilePart& part = parts_[count_++];
    part.box = &box;
    part.block = {nullptr, nullptr, box.offset, nullptr, nullptr, nullptr, nullptr, box.row_count, box.col_count};
    if (fetches(context, box)) part.block.ahead = box.ahead;
    part.one_block = box.blocks == 1 && box.stage == 0 && lists_.add(box, part.block);
  }

  TilePart parts_[kMaxTileParts];
  RegionLists lists_;
  int count_ = 0;
};

/// From and to memory that changes from tile to tile. Its addresses stay in registers on their way to the kernels: read
/// back as a pair, soon after they were written one by one, they would wait for all that was stored before.
void run_part(RunContext& context, const std::byte* src, std::byte* dst, TilePart& part, const Tables& tables) {
  const BoxPlan& box = *part.box;
  if (!part.one_block) {
    context.src = src;
    context.dst = dst;
    return run_blocks(context, box, tables, 0, box.blocks);
  }
  Block& block = part.block;
  block.src = src + box.offset[kSrc];
  block.dst = dst + box.offset[kDst];
  block.offset[kAttribute] = box.offset[kAttribute] + context.attribute;
  run_block(context, box, block, {0, block.rows, block.rows}, {0, block.cols, block.cols});
}

/// By way of images in `memory`.
[[gnu::noinline]] void run_tiles_in(std::byte* memory, const RunContext& context, const BoxPlan& box,
                                    const Tables& tables, int64_t begin, int64_t end) {
  TileParts parts(context, box);
  // Of each run: where in a line its image started last. Padding is still in it.
  int64_t filled[kMaxTileRuns];
  std::ranges::fill(filled, -1);
  Odometer at(box, tables);
  at.seek(begin);
  RunContext inside = context;
  inside.in_tile = true;
  WovenLineList lines;
  WovenRun woven[kMaxTileRuns];
  bool weaves[kMaxTileRuns];
  for (std::size_t r = 0; r < box.parts.size(); ++r) {
    const BoxPlan& run = box.parts[r];
    weaves[r] = woven[r].plan(context, run, (end - begin) * run.run_bytes, lines);
  }
  for (int64_t tile = begin; tile < end; ++tile) {
    const std::byte* const src = context.src + at.offsets[kSrc];
    inside.attribute = context.attribute + at.offsets[kAttribute];
    int next = 0;
    for (std::size_t r = 0; r < box.parts.size(); ++r) {
      const BoxPlan& run = box.parts[r];
      std::byte* const dst = context.dst + at.offsets[kDst] + run.offset[kDst];
      if (weaves[r]) {
        woven[r].make(context.kernels, src, dst, run.run_bytes, true);
        next += static_cast<int>(run.parts.size());
        continue;
      }
      const bool whole = run.run_bytes > 0 && context.kernels.copy_stream;
      const auto in_line = static_cast<int64_t>(reinterpret_cast<uintptr_t>(dst) & (kLine - 1));
      std::byte* const image = memory + run.image + in_line;
      for (std::size_t p = 0; p < run.parts.size(); ++p, ++next) {
        if (whole && run.parts[p].shape == KernelShape::fill && filled[r] == in_line) continue;
        run_part(inside, src, whole ? image : dst, parts[next], tables);
      }
      if (!whole) continue;
      filled[r] = in_line;
      context.kernels.copy_stream(image, kFirst, kFirst, dst, kFirst, kFirst, 1, 1, run.run_bytes, 0);
    }
    if (tile + 1 < end) at.next();
  }
  if (context.kernels.flush) context.kernels.flush();
}

}  // namespace

void run_tiles(const RunContext& context, const BoxPlan& box, const Tables& tables, int64_t begin, int64_t end) {
  // Of images over half a page there are at most eight, each in a page; of others, less than half a page is left over.
  // In a frame of its own: beside the variables of the loops, at a page's start like theirs, it took 1.5 times as long.
  alignas(kPage) std::byte memory[2 * kMaxTileBytes];
  run_tiles_in(memory, context, box, tables, begin, end);
}

}  // namespace relayout::cpu
