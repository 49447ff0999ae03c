// What a plan is expected to take.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "relayout/core/extents.h"
#include "relayout/reorder/axes.h"
#include "relayout/reorder/plan.h"

namespace relayout {
namespace {

/// A page: where rows or columns are further apart, each needs an entry of its own in the TLB.
constexpr int64_t kPage = 4096;
/// Rows of so many bytes that follow each other are written as one run.
constexpr int64_t kShortRows = 1024;
/// Bytes up to which a reorder in the caches runs at full rate, and how the rate falls beyond them.
constexpr double kNear = 3e6, kFall = 0.65;

using Rates = std::array<double, 5>;  // by log2 of an element's bytes

double of_size(const Rates& rates, int64_t piece) {
  return rates[static_cast<std::size_t>(std::min(4, std::countr_zero(static_cast<uint64_t>(piece))))];
}

/// Transpositions past the caches: by how many sides lie far apart, and less where rows do not start at lines.
double streamed_transposition(const BoxPlan& box, int64_t piece, bool rows_follow) {
  static constexpr std::array<Rates, 3> kRates{{{26, 25, 32, 29, 29}, {26, 24, 27, 26, 26}, {18, 20, 21, 25, 22}}};
  static constexpr std::array<Rates, 2> kCarried{{{0.8, 0.9, 1, 0.9, 0.5}, {0.62, 0.7, 0.85, 0.85, 0.5}}};
  if (box.row_run > 0) return 6;
  if (std::min(box.row_count, box.col_count) <= 4) return 34;  // interleaved
  const std::size_t far = (std::abs(box.cols[0].stride[kSrc]) >= kPage) + (std::abs(box.rows[0].stride[kDst]) >= kPage);
  const double out = of_size(kRates[far], piece);
  // Quarters of lines.
  if (box.col_count * piece == kLine / 4) return out * 0.6;
  const bool runs = rows_follow && box.col_count * piece <= kShortRows;
  const bool carried = !runs && box.rows[0].stride[kDst] % kLine != 0;
  return carried ? out * of_size(kCarried[far == 2], piece) : out;
}

/// Bytes a nanosecond, read and written together, that one thread reaches with a box's kernel: in the caches, and past
/// them. Measured on a 4th-generation EPYC with AVX-512, see ARCHITECTURE.md.
double rate(const BoxPlan& box, bool converts, bool streams) {
  static constexpr Rates kTranspose{50, 60, 85, 75, 45};
  const int64_t piece = std::max<int64_t>(1, box.piece[kSrc]), row_bytes = box.col_count * piece;
  if (box.unit_bits[kSrc] == 4 || box.unit_bits[kDst] == 4) return 0.5;
  // Lines that are written in parts.
  if (streams && !box.dense_cols) return piece >= kLine ? 20 : 5.5;
  switch (box.shape) {
    case KernelShape::copy:
      if (converts) return streams ? (box.long_runs ? 27 : 20) : 30;
      if (box.long_runs) return streams ? 36 : 90;
      if (streams) return piece > 2 * kLine ? 24 : 27;
      return std::min(70.0, static_cast<double>(piece));
    case KernelShape::transpose: {
      if (converts) return streams ? (std::min(box.row_count, box.col_count) <= 4 ? 25 : 21) : 23;
      const bool rows_follow = box.rows[0].stride[kDst] == row_bytes;
      if (streams) return streamed_transposition(box, piece, rows_follow);
      if (box.row_run > 0) return 20;
      // Narrow rows apart from each other.
      return of_size(kTranspose, piece) * (rows_follow ? 1 : std::min(1.0, static_cast<double>(row_bytes) / 32));
    }
    case KernelShape::gather: return std::min(30.0, 1.6 * static_cast<double>(piece));
    case KernelShape::fill: break;
  }
  return streams ? 10 : 20;
}

}  // namespace

Cost Plan::cost() const {
  // Starting a reorder, a box and a block.
  constexpr double kRun = 8, kBox = 5, kBlock = 5;
  // Few values of a column that are converted at a time.
  constexpr double kShortColumn = 25;
  constexpr int64_t kShort = 32;
  const double src_bytes = bits(src_.dtype) / 8.0, dst_bytes = bits(dst_.dtype) / 8.0;
  double read = 0, written = 0, nanoseconds = kRun;
  const auto add_region = [&](const BoxPlan& box, double times, bool streams) {
    const double elements = times * static_cast<double>(box.elements), to = elements * dst_bytes;
    const double from =
        box.shape == KernelShape::fill ? 0 : elements * (src_bytes + (attributes_.beta != 0 ? dst_bytes : 0));
    read += from;
    written += to;
    double bytes_a_ns = rate(box, converts_, streams);
    const double lasting = static_cast<double>(src_.span_bytes() + dst_.span_bytes());
    if (!streams_ && lasting > kNear) bytes_a_ns *= std::pow(kNear / lasting, kFall);
    nanoseconds += times * (kBox + kBlock * static_cast<double>(box.blocks)) + (from + to) / bytes_a_ns;
    if (converts_ && box.shape == KernelShape::transpose && dst_bytes < src_bytes && box.row_count > 4 &&
        box.row_count < kShort)
      nanoseconds += kShortColumn * elements / static_cast<double>(box.row_count);
  };
  const auto add = [&](const BoxPlan& box, double times, bool streams) {
    if (box.stage == 0) return add_region(box, times, streams);
    times *= static_cast<double>(box.blocks);
    const std::size_t converting = box.converts_last ? box.parts.size() - 1 : 0;
    for (std::size_t p = 0; p < box.parts.size(); ++p) {
      const BoxPlan& part = box.parts[p];
      if (p == converting) {
        add_region(part, times, false);
      } else {
        // Bits, from the cache or to it.
        const double bytes = 2 * static_cast<double>(part.elements) * (box.converts_last ? src_bytes : dst_bytes);
        nanoseconds += times * (kBlock * static_cast<double>(part.blocks) + bytes / rate(part, false, false));
      }
    }
  };
  for (const BoxPlan& box : boxes_) {
    if (box.parts.empty() || box.stage > 0) {
      add(box, 1, streams_);
      continue;
    }
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
