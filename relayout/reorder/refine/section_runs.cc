// Joining the sections of all dims to runs.
#include "relayout/reorder/refine/section_runs.h"

#include <limits>

namespace relayout {

void SectionRun::measure(int64_t element) {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  begin = kNone;
  int64_t end = 0;
  for (const SectionBox& box : boxes) {
    const Interval own = reach(box.offset, box.axes, kDst, element);
    end = begin == kNone ? own.end : std::max(end, own.end);
    begin = std::min(begin, own.begin);
  }
  bytes = end - begin;
}

int64_t SectionRun::elements(bool padding) const {
  int64_t count = 0;
  for (const SectionBox& box : boxes) {
    if (!box.padding || padding) count += count_elements(box.axes);
  }
  return count;
}

std::vector<RowSource> SectionRun::pieces(int64_t element) const {
  const int64_t lines = bytes / std::min(kCacheLine, bytes & -bytes);
  if (lines > RowPattern::kMaxLines) return {};
  // Where pieces start on both sides. The first axes of a box make a piece longer while both sides follow each other
  // along them; the other axes make more pieces.
  struct Piece {
    int64_t dst;
    RowSource source;
  };
  SmallVector<Piece, 16> found;
  for (const SectionBox& box : boxes) {
    const std::size_t first = found.size();
    int64_t piece_bytes = element;
    found.push_back({box.offset[kDst] - begin, {box.offset[kSrc], 0}});
    for (const Axis& axis : box.axes) {
      const bool follows = axis.stride[kDst] == piece_bytes && (box.padding || axis.stride[kSrc] == piece_bytes);
      if (follows && found.size() == first + 1) {
        piece_bytes *= axis.extent;
        continue;
      }
      const std::size_t have = found.size() - first, all = have * static_cast<std::size_t>(axis.extent);
      if (first + all > RowPattern::kMaxPieces) return {};
      for (std::size_t i = have; i < all; ++i) {
        const auto before = found[first + i - have];
        found.push_back({before.dst + axis.stride[kDst], {before.source.from + axis.stride[kSrc], 0}});
      }
    }
    for (std::size_t i = first; i < found.size(); ++i)
      found[i].source = {box.padding ? RowSource::kPadding : found[i].source.from, piece_bytes};
  }
  sort_few(found, [](const Piece& piece) { return piece.dst; });
  std::vector<RowSource> out;
  out.reserve(found.size());
  for (const Piece& piece : found) out.push_back(piece.source);
  return out;
}

void RunBundle::multiply(const Bundle& bundle) {
  common.insert(common.end(), bundle.common.begin(), bundle.common.end());
  for (std::size_t k = 0; k < kOperands; ++k) offset[k] += bundle.offset[k];
  if (bundle.sections.empty()) return;
  std::vector<SectionRun> more;
  more.reserve(runs.size() * bundle.sections.size());
  for (const SectionRun& run : runs) {
    for (const Section& section : bundle.sections) {
      SectionRun& out = more.emplace_back();
      out.boxes.reserve(run.boxes.size() * section.size());
      for (const SectionBox& a : run.boxes) {
        for (const SectionBox& b : section) {
          SectionBox& box = out.boxes.emplace_back(a);
          for (std::size_t k = 0; k < kOperands; ++k) box.offset[k] += b.offset[k];
          box.axes.insert(box.axes.end(), b.axes.begin(), b.axes.end());
          box.padding = a.padding || b.padding;
        }
      }
    }
  }
  runs = std::move(more);
}

}  // namespace relayout
