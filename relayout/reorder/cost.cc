// What a plan is expected to take.
#include <algorithm>
#include <bit>

#include "relayout/core/extents.h"
#include "relayout/reorder/axes.h"
#include "relayout/reorder/plan.h"

namespace relayout {
namespace {

/// Bytes a nanosecond, read and written together, that one thread reaches with a box's kernel: in the caches, and past
/// them. Measured on a 4th-generation EPYC with AVX-512, see ARCHITECTURE.md.
double rate(const BoxPlan& box, bool converts, bool streams) {
  static constexpr double kTranspose[] = {55, 50, 62, 42, 40}, kTransposeStreamed[] = {12, 16, 26, 22, 20};
  const int64_t piece = std::max<int64_t>(1, box.piece[kSrc]), row_bytes = box.col_count * piece;
  if (box.unit_bits[kSrc] == 4 || box.unit_bits[kDst] == 4) return 0.5;
  // Lines that are written in parts.
  if (streams && !box.dense_cols) return 5.5;
  switch (box.shape) {
    case KernelShape::copy:
      if (converts) return streams ? 22 : 30;
      return box.long_runs ? (streams ? 40 : 90) : streams ? 26 : std::min(65.0, static_cast<double>(piece));
    case KernelShape::transpose: {
      if (converts) return streams ? 16 : 23;
      if (box.row_run > 0) return streams ? 6 : 16;
      const double* rates = streams ? kTransposeStreamed : kTranspose;
      double out = rates[std::min(4, std::countr_zero(static_cast<uint64_t>(piece)))];
      const bool rows_follow = box.rows[0].stride[kDst] == row_bytes;
      // Narrow rows apart from each other; rows that do not start at lines.
      if (!rows_follow) out *= std::min(1.0, static_cast<double>(row_bytes) / 32);
      if (streams && !rows_follow && box.rows[0].stride[kDst] % kLine != 0) out *= 0.5;
      return out;
    }
    case KernelShape::gather: return std::min(30.0, 1.6 * static_cast<double>(piece));
    case KernelShape::fill: break;
  }
  return streams ? 10 : 20;
}

}  // namespace

Cost Plan::cost() const {
  // Starting a reorder, a box and a block.
  constexpr double kRun = 30, kBox = 20, kBlock = 15;
  const double src_bytes = bits(src_.dtype) / 8.0, dst_bytes = bits(dst_.dtype) / 8.0;
  double read = 0, written = 0, nanoseconds = kRun;
  const auto add = [&](const BoxPlan& box, double times, bool streams) {
    const double elements = times * static_cast<double>(box.elements), to = elements * dst_bytes;
    const double from =
        box.shape == KernelShape::fill ? 0 : elements * (src_bytes + (attributes_.beta != 0 ? dst_bytes : 0));
    read += from;
    written += to;
    nanoseconds +=
        times * (kBox + kBlock * static_cast<double>(box.blocks)) + (from + to) / rate(box, converts_, streams);
  };
  for (const BoxPlan& box : boxes_) {
    if (box.parts.empty()) add(box, 1, streams_);
    const auto tiles = static_cast<double>(box.blocks);
    for (const BoxPlan& run : box.parts) {
      // Written once more, from the cache.
      nanoseconds += tiles * static_cast<double>(run.run_bytes) / 30;
      for (const BoxPlan& part : run.parts) add(part, tiles, false);
    }
  }
  for (const BoxPlan& fill : fills_) add(fill, 1, streams_);
  return {static_cast<int64_t>(read), static_cast<int64_t>(written), nanoseconds};
}

}  // namespace relayout
