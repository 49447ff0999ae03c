// Blocks, rows and columns: what the methods have in common, and padding.
#include "relayout/reorder/outline/move_walker.h"

#include <algorithm>

#include "relayout/core/extents.h"

namespace relayout {

void MoveWalker::step(Offsets& to, const Axis& axis, int64_t j) const {
  for (std::size_t k = 0; k < kOperands; ++k) {
    to[k] += axis.table < 0 ? j * axis.stride[k]
                            : tables_[static_cast<std::size_t>(axis.table)].column(static_cast<Operand>(k))[j];
  }
}

Offsets MoveWalker::listed(const Axes& axes, int64_t i) const {
  Offsets out{};
  for (const Axis& axis : axes) {
    step(out, axis, i % axis.extent);
    i /= axis.extent;
  }
  return out;
}

Offsets MoveWalker::loops_at(const Loops& box, const Offsets& base, int64_t position,
                             std::vector<int64_t>* index) const {
  Offsets out = box.offset;
  if (index) index->assign(box.loops.size(), 0);
  for (std::size_t k = 0; k < kOperands; ++k) out[k] += base[k];
  for (std::size_t l = box.loops.size(); l-- > 0;) {
    const Axis& loop = box.loops[l];
    step(out, loop, position % loop.extent);
    if (index) (*index)[l] = position % loop.extent;
    position /= loop.extent;
  }
  return out;
}

bool MoveWalker::whole(const BoxPlan& box, const Offsets& base) {
  for (int64_t b = 0; b < box.blocks; ++b) {
    if (!block(box, base, b)) return false;
  }
  return true;
}

bool MoveWalker::block(const BoxPlan& box, const Offsets& base, int64_t number) {
  if (const auto* method = box.as<Stages>()) return stages(box, *method, base, number);
  const int64_t strip = number % box.along_src.blocks, panel = number / box.along_src.blocks % box.along_dst.blocks;
  const Offsets at = loops_at(box, base, number / box.along_src.blocks / box.along_dst.blocks);
  if (const auto* method = box.as<TileRuns>()) return tile_runs(*method, at, strip);
  const int64_t row = strip * box.along_src.block, col = panel * box.along_dst.block;
  return region(box, at,
                {row, std::min(row + box.along_src.block, box.along_src.count), col,
                 std::min(col + box.along_dst.block, box.along_dst.count)});
}

bool MoveWalker::region(const BoxPlan& box, const Offsets& at, const Part& part) {
  if (const auto* method = box.as<Fill>()) return filled(box, *method, at, part);
  if (const auto* method = box.as<RegisterTiles>()) return tiles(box, *method, at, part);
  if (const auto* method = box.as<ProgrammedLines>()) return lines(box, *method, at, part);
  return rows(box, at, part);
}

bool MoveWalker::found_bits(const BoxPlan& box, const Offsets& at, int64_t count, bool fill) {
  const int64_t src = at[kSrc] * box.unit_bits[kSrc], dst = at[kDst] * box.unit_bits[kDst];
  const int64_t first = ceil_div(dst, bits_[kDst]), last = ceil_div(dst + count, bits_[kDst]);
  if (first >= last) return true;
  // A piece may start inside an element only where the two types have as many bits.
  const int64_t skipped = bits_[kSrc] == bits_[kDst] ? first * bits_[kDst] - dst : 0;
  return found_(fill ? -1 : (src + skipped) / bits_[kSrc], first, last - first, fill);
}

bool MoveWalker::rows(const BoxPlan& box, const Offsets& at, const Part& part) {
  const int64_t piece = piece_bits(box);
  const bool run = box.long_runs && !box.as<RepeatedRuns>();
  for (int64_t r = part.row_begin; r < part.row_end; ++r) {
    const Offsets row = listed(box.along_src.axes, r);
    for (int64_t c = part.col_begin; c < part.col_end; ++c) {
      Offsets to = listed(box.along_dst.axes, c);
      for (std::size_t k = 0; k < kOperands; ++k) to[k] += at[k] + row[k];
      if (!found_bits(box, to, run ? (part.col_end - c) * piece : piece)) return false;
      if (run) break;
    }
  }
  return true;
}

bool MoveWalker::filled(const BoxPlan& box, const Fill& method, const Offsets& at, const Part& part) {
  const int64_t piece = box.piece[kDst];
  for (int64_t r = part.row_begin; r < part.row_end; ++r) {
    for (int64_t c = part.col_begin; c < part.col_end; ++c) {
      Offsets to = at;
      to[kDst] += listed(box.along_src.axes, r)[kDst] + std::min(listed(box.along_dst.axes, c)[kDst], method.last_col);
      if (piece == 0) {
        if (!found_bits(box, to, bits_[kDst], true)) return false;
        continue;
      }
      const auto has = [&](int64_t byte) { return byte < kCacheLine && (method.mask >> byte & 1) != 0; };
      for (int64_t byte = 0; byte < kCacheLine;) {
        int64_t end = byte;
        while (has(end)) end += piece;
        Offsets run = to;
        run[kDst] += byte;
        if (end > byte && !found_bits(box, run, 8 * (end - byte), true)) return false;
        byte = end + piece;
      }
    }
  }
  return true;
}

bool MoveWalker::tile_runs(const TileRuns& method, const Offsets& at, int64_t strip) {
  for (const TileRun& run : method.runs) {
    Offsets base = at;
    base[kDst] += run.begin;
    for (const BoxPlan& box : run.boxes) {
      if (!(method.by_lines() ? block(box, base, strip) : whole(box, base))) return false;
    }
  }
  return true;
}

}  // namespace relayout
