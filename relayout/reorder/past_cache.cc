// Properties of boxes and destinations that decide whether they are written past the cache.
#include "relayout/reorder/past_cache.h"

#include <algorithm>
#include <limits>

#include "relayout/reorder/axes.h"

namespace relayout {
namespace {

/// Whether a transposition writes short rows that neither are whole lines nor follow each other. Past the cache, each
/// row would start and end with a partial line, which takes several times as long as through the cache. (Rows of a half
/// or a quarter of a line that follow each other make lines together.)
bool scatters_rows(const BoxPlan& box) {
  constexpr int64_t kShort = 8 * kCacheLine;
  const int64_t bytes = box.col_count * box.piece[kDst];
  if (!box.nested.empty() || box.rows.empty()) return false;
  const bool makes_lines = bytes >= kSmallPiece && kCacheLine % bytes == 0;
  const bool follow = box.rows[0].stride[kDst] == bytes && (box.rows.size() == 1 || makes_lines);
  return box.shape == KernelShape::transpose && box.row_run == 0 && bytes < kShort && bytes % kCacheLine != 0 &&
         !follow;
}

/// Whether a box without nested plans has blocks of less than 16 lines that are transposed, or copied in pieces of less
/// than half a line: starting such a block takes longer than moving it.
bool in_small_blocks(const BoxPlan& box) {
  const bool small = box.shape == KernelShape::copy
                         ? !box.long_runs && box.shuffle == 1 && box.piece[kDst] < kCacheLine / 2
                         : box.shape == KernelShape::transpose;
  return box.nested.empty() && small && box.row_run == 0 &&
         box.block_rows * box.block_cols * box.piece[kDst] < 16 * kCacheLine;
}

/// Whether a box is done by tiles of registers. Streaming a plan gains nothing for these: they write through the cache,
/// or past it by way of images, whatever Plan::streams() says. (A few such boxes are not done by tiles once they are
/// planned for the cache.)
bool by_register_tiles(const BoxPlan& box) { return box.nested.empty() && box.row_run > 0; }

/// Whether a box copies pieces of less than half a line that do not divide a line, or leaves gaps in the lines that it
/// writes. Most of the time would go to putting lines together, which the cache does as well.
bool writes_scraps(const BoxPlan& box) {
  const int64_t piece = box.piece[kDst];
  const auto gap = [](const RowSource& source) { return source.from == RowSource::kGap; };
  if (!box.row_sources.empty()) return std::ranges::any_of(box.row_sources, gap);
  return box.shape == KernelShape::copy && box.nested.empty() && !box.long_runs && box.shuffle == 1 &&
         piece < kCacheLine / 2 && kCacheLine % piece != 0;
}

}  // namespace

bool divides_evenly(const TensorDesc& src_desc, const TensorDesc& dst_desc) {
  const Layout &src = src_desc.layout, &dst = dst_desc.layout;
  if (bits(src_desc.dtype) < 8 || bits(dst_desc.dtype) < 8) return true;
  if (dst.padded()) return false;
  for (int d = 0; d < dst.ndims(); ++d) {
    int64_t places[2 * kMaxDigits], count = 0;
    for (const Layout* side : {&src, &dst}) {
      int64_t place = 1;
      for (const Digit& digit : side->digits(d)) {
        if (place > dst.dim(d) / std::max<int64_t>(1, digit.extent)) break;
        place *= digit.extent;
        if (dst.dim(d) % place != 0) return false;
        places[count++] = place;
      }
    }
    for (int64_t a = 0; a < count; ++a) {
      for (int64_t b = 0; b < a; ++b) {
        if (places[a] % places[b] != 0 && places[b] % places[a] != 0) return false;
      }
    }
  }
  return true;
}

bool loses_past_cache(const BoxPlan& most) {
  return scatters_rows(most) || in_small_blocks(most) || by_register_tiles(most) || writes_scraps(most);
}

bool loses_past_cache(const TiledBoxes& tiled, const TensorDesc& src, const TensorDesc& dst, const Machine& machine) {
  const int64_t elements = src.layout.elements();
  if (tiled.reads_again || 2 * tiled.in_few_sets > elements) return true;
  const bool in_cache =
      src.span_bytes() <= machine.l3_share() && dst.span_bytes() <= machine.l3_share() - src.span_bytes();
  return in_cache ? tiled.started > dst.layout.padded_elements() * units(dst.dtype)
                  : 2 * tiled.in_small_pieces > elements;
}

bool by_permuted_lines(const BoxPlan& box) {
  const auto has_sources = [](const BoxPlan& run) { return !run.row_sources.empty(); };
  return box.shape != KernelShape::transpose && box.piece[kDst] <= kSmallPiece && box.stage == 0 &&
         (has_sources(box) || std::ranges::any_of(box.nested, has_sources));
}

bool apart_by_lines(const TensorDesc& dst) {
  const int64_t unit = units(dst.dtype), line = bits(dst.dtype) < 8 ? 2 * kCacheLine : kCacheLine;
  for (int d = 0; d < dst.layout.ndims(); ++d) {
    for (const Digit& digit : dst.layout.digits(d)) {
      if (digit.extent == 1) continue;  // nothing steps along it, and its stride may be any number
      const int64_t apart = std::abs(digit.stride) * unit;
      if (apart >= line && apart % line != 0) return false;
    }
  }
  return true;
}

bool fills_lines(const BoxPlan& fill) {
  const auto by_lines = [](const Axis& a) { return a.table < 0 && a.stride[kDst] % kCacheLine == 0; };
  const bool overlaps = fill.last_col != std::numeric_limits<int64_t>::max() && fill.last_col % kCacheLine != 0;
  return fill.fill_mask == ~uint64_t{0} && fill.offset[kDst] % kCacheLine == 0 && !overlaps &&
         std::ranges::all_of(fill.cols, by_lines) && std::ranges::all_of(fill.rows, by_lines) &&
         std::ranges::all_of(fill.loops, by_lines);
}

bool in_few_sets(const BoxPlan& box) {
  constexpr int64_t kWays = 8;  // the fewest ways of a first-level cache
  const auto image = image_of_block(box, box.block_rows, box.block_cols);
  if (!image) return false;
  int64_t alike = 1;
  for (int i = image->in_run; i < image->all_steps; ++i) {
    const auto next = static_cast<std::size_t>(image->by_distance[static_cast<std::size_t>(i)]);
    const BlockImage::Step& step = image->steps[next];
    if (step.dst % kPage == 0) alike *= step.extent;
  }
  return alike > kWays;
}

bool writes_lines(const BoxPlan& box) {
  if (box.row_run == 0 || !box.nested.empty() || box.offset[kDst] % kCacheLine != 0) return false;
  const auto image = image_of_block(box, box.block_rows, box.block_cols);
  if (!image || image->run_bytes % kCacheLine != 0 || image->runs > kMaxImageRuns ||
      image->runs * (image->run_bytes + kImageSkew) > kMaxImageBytes)
    return false;
  const auto by_lines = [](const Axis& a) { return a.table < 0 && a.stride[kDst] % kCacheLine == 0; };
  const auto in_run = [&](const Axis& a) {
    return a.table < 0 && a.stride[kDst] > 0 && a.stride[kDst] < image->run_bytes;
  };
  const auto fits = [&](const Axis& a) { return by_lines(a) || in_run(a); };
  return std::ranges::all_of(box.loops, by_lines) && std::ranges::all_of(box.rows, fits) &&
         std::ranges::all_of(box.cols, fits);
}

}  // namespace relayout
