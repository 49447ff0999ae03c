// Runs tiles that several boxes fill. A run is put together in an image in the first-level cache,
// at the same place within a line as in the destination, and then written past the cache; or its lines are made
// straight from the source by a line program. Where the next tile continues the run of an image, the line that both
// share is left to the next tile. A line that is written in two stores would be read first, and all stores after it
// would wait.
#include <cstring>
#include <utility>

#include "relayout/cpu/runners/methods.h"
#include "relayout/cpu/runners/steps.h"

namespace relayout::cpu {
namespace {

/// A box that is nested in a tile. If it is one block, its lists are made once, as only its start changes from tile to
/// tile.
struct TileBox {
  const BoxPlan* box;
  Block block;
  bool one_block;
};

/// All boxes that are nested in the runs of a tile, and the lists of their blocks.
class TileBoxes {
 public:
  explicit TileBoxes(const TileRuns& method) {
    for (const TileRun& run : method.runs) {
      for (const BoxPlan& leaf : run.boxes) add(leaf);
    }
  }

  TileBox& operator[](int i) { return boxes_[i]; }

 private:
  void add(const BoxPlan& box) {
    TileBox& nested = boxes_[count_++];
    nested.box = &box;
    nested.block = {
        nullptr, nullptr, box.offset, nullptr, nullptr, nullptr, nullptr, box.along_src.count, box.along_dst.count};
    nested.one_block = box.blocks == 1 && makes_blocks(box) && lists_.add(box, nested.block);
  }

  TileBox boxes_[TileRuns::kMaxBoxes];
  RegionLists lists_;
  int count_ = 0;
};

/// Runs a nested box from `src` to `dst`, which change from tile to tile. The two addresses are parameters, so that
/// they stay in registers. If they were stored in a struct one by one and soon read back as a pair, the load would wait
/// for all stores before it.
void run_tile_box(RunContext& context, const std::byte* src, std::byte* dst, TileBox& nested, const Tables& tables) {
  const BoxPlan& box = *nested.box;
  if (!nested.one_block) {
    context.src = src;
    context.dst = dst;
    return run_blocks(context, box, tables, 0, box.blocks);
  }
  Block& block = nested.block;
  block.src = src + box.offset[kSrc];
  block.dst = dst + box.offset[kDst];
  block.offset[kAttribute] = box.offset[kAttribute] + context.attribute;
  run_block(context, box, block, {0, block.rows, block.rows}, {0, block.cols, block.cols});
}

/// One run of a tile, and what it leaves of its last line to the same run of the next tile.
class RunOfTile {
 public:
  /// Whether the memory already holds the padding of an image that starts at this byte of a line.
  bool filled(int64_t in_line) const { return filled_ == in_line; }

  /// Writes the run to `dst` from its image in `memory`. The image starts at byte `in_line` of `memory`, because `dst`
  /// is `in_line` bytes past a line. If the run of the next tile continues this one, the last partial line stays in
  /// `memory` for it.
  void write(const Kernels& kernels, std::byte* memory, int64_t in_line, std::byte* dst, int64_t bytes,
             const Offsets& step) {
    filled_ = in_line;
    const bool before = std::exchange(goes_on_, step[kDst] == bytes);
    const int64_t first = before ? kept_ : in_line, last = in_line + bytes;
    const int64_t left = goes_on_ ? last % kCacheLine : 0, whole = last - left;
    kept_ = whole > first ? 0 : first;
    if (whole <= first) return;
    kernels.copy_stream(memory + first, kFirst, kFirst, dst + first - in_line, kFirst, kFirst, 1, 1, whole - first, 0);
    if (left > 0) std::memcpy(memory, memory + whole, static_cast<std::size_t>(left));
  }

 private:
  bool goes_on_ = false;  // whether the run of this tile continues the one of the tile before
  int64_t kept_ = 0;      // where the memory has what the tile before left of its last line
  int64_t filled_ = -1;
};

/// See run(); the images are in `memory`.
[[gnu::noinline]] void run_tiles_in(std::byte* memory, const RunContext& context, const Loops& loops,
                                    const TileRuns& method, const Tables& tables, int64_t begin, int64_t end) {
  TileBoxes boxes(method);
  RunContext inside = context;
  RunOfTile runs[TileRuns::kMaxRuns];
  Odometer at(loops, tables);
  at.seek(begin);
  for (int64_t tile = begin; tile < end; ++tile) {
    const Offsets here = at.offsets;
    Offsets step{};
    if (tile + 1 < end) {
      at.next();
      for (std::size_t k = 0; k < kOperands; ++k) step[k] = at.offsets[k] - here[k];
    }
    const std::byte* const src = context.src + here[kSrc];
    inside.attribute = context.attribute + here[kAttribute];
    int next = 0;
    for (std::size_t r = 0; r < method.runs.size(); ++r) {
      const TileRun& run = method.runs[r];
      std::byte* const dst = context.dst + here[kDst] + run.begin;
      const bool whole = run.bytes > 0 && context.kernels.copy_stream;
      const auto in_line = static_cast<int64_t>(reinterpret_cast<uintptr_t>(dst) & (kCacheLine - 1));
      std::byte* const image = memory + run.image;
      for (std::size_t p = 0; p < run.boxes.size(); ++p, ++next) {
        if (whole && run.boxes[p].as<Fill>() && runs[r].filled(in_line)) continue;
        run_tile_box(inside, src, whole ? image + in_line : dst, boxes[next], tables);
      }
      if (whole) runs[r].write(context.kernels, image, in_line, dst, run.bytes, step);
    }
  }
  if (context.kernels.flush) context.kernels.flush();
}

/// Runs tiles whose runs are written by line programs.
void run_lines(const RunContext& context, const Loops& loops, const TileRuns& method, const Tables& tables,
               int64_t begin, int64_t end) {
  RunContext inside = context;
  Odometer at(loops, tables);
  const int64_t turns = loops.along_src.blocks;
  at.seek(begin / turns);
  for (int64_t block = begin; block < end; ++block) {
    const int64_t turn = block % turns;
    if (turn == 0 && block > begin) at.next();
    inside.src = context.src + at.offsets[kSrc];
    for (const TileRun& run : method.runs) {
      inside.dst = context.dst + at.offsets[kDst] + run.begin;
      run_program(inside, run.boxes[0], *run.boxes[0].as<ProgrammedLines>(), tables, turn, turn + 1);
    }
  }
  if (context.kernels.flush) context.kernels.flush();
}

}  // namespace

void run_all(const RunContext& context, const Loops& loops, const TileRuns& method, const Tables& tables, int64_t begin,
             int64_t end) {
  if (method.by_lines()) return run_lines(context, loops, method, tables, begin, end);
  // Twice the bytes of a tile are enough, although an image that fits into a page must not cross pages. There are at
  // most eight images of over half a page, each in a page of its own (or one in two or three pages). Smaller images
  // leave less than half of each page empty. The memory has a stack frame of its own, because variables of the loops in
  // the same frame would start at a page too, and stores to the memory would wait for loads of them.
  alignas(kPage) std::byte memory[2 * TileRuns::kMaxBytes];
  run_tiles_in(memory, context, loops, method, tables, begin, end);
}

}  // namespace relayout::cpu
