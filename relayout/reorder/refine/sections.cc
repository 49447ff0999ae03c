// Cutting a dim into sections.
#include "relayout/reorder/refine/sections.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "relayout/core/reach.h"
#include "relayout/reorder/refine/axes.h"
#include "relayout/reorder/refine/refine_dim.h"

namespace relayout {
namespace {

/// Blocks are made as a whole only if at most kMaxStretch bytes of the destination lie between their first and last
/// element.
constexpr int64_t kMaxStretch = 4096;
/// The most boxes of one dim.
constexpr int64_t kMaxSectionBoxes = 48;
/// Up to kMaxTogether blocks that are less than kSharedBytes apart in the source become one bundle, so that the lines
/// that they share are read once.
constexpr int64_t kMaxTogether = 8;
constexpr int64_t kSharedBytes = 256;

class Cutter {
 public:
  Cutter(const Layout& src, const Layout& dst, int d, AttributeStep attribute, std::array<int64_t, 2> bytes,
         bool filled)
      : dst_(dst), d_(d), bytes_(bytes), end_(dst.dim(d)), refiner_(src, dst, d, attribute, 0, end_) {
    const auto digits = dst.digits(d);
    block_ = capacity_ = 1;
    int64_t stretch = 1;
    for (std::size_t k = 0; k < digits.size(); ++k) {
      if (k + 1 < digits.size() || digits.size() == 1) {
        block_ *= digits[k].extent;
        stretch += std::abs(reach(digits[k]));
      }
      capacity_ *= digits[k].extent;
    }
    small_ = stretch <= kMaxStretch / bytes[kDst];
    if (!filled || !small_) capacity_ = std::min(capacity_, end_);
  }

  bool whole() const {
    const bool affine = std::ranges::all_of(refiner_.levels(), &Level::affine);
    return !small_ || (refiner_.ranges() == 1 && capacity_ == end_ && affine);
  }

  /// A bundle for each range of indices that refine() would make.
  DimSections ranges(Tables& tables) {
    DimSections out;
    Axes axes;
    DimRanges ranges;
    refiner_.make_ranges(tables, axes, ranges);
    for (const DimRange& range : ranges) {
      const auto first = axes.begin() + static_cast<std::ptrdiff_t>(range.first_axis);
      out.bundles.push_back({range.offset, Axes(first, first + static_cast<std::ptrdiff_t>(range.axes)), {}});
    }
    return out;
  }

  std::optional<DimSections> sections() {
    DimSections out;
    out.padding = true;
    // Blocks are cut alike from period to period.
    int64_t period = block_;
    bool nests = true;
    for (const Level& level : refiner_.levels()) {
      if (level.affine) continue;
      nests = false;
      period = std::max(period, level.next);
    }
    int64_t whole = period < end_ ? end_ / period * period : 0;
    const int64_t blocks = (std::min(capacity_, ceil_div(end_, block_) * block_) + block_ - 1) / block_;
    const Offsets start = refiner_.at(0), next = refiner_.at(std::min(block_, end_ - 1));
    const bool shared = std::abs(next[kSrc] - start[kSrc]) * bytes_[kSrc] < kSharedBytes;
    if (blocks <= kMaxTogether && shared && whole < capacity_) whole = 0;
    if ((period == kTop || whole == 0) && blocks > kMaxSectionBoxes / 2) return std::nullopt;
    if (whole > 0 && period / block_ > kMaxSectionBoxes / 2) return std::nullopt;
    if (nests) {
      refiner_.cut(0, whole, [&](int64_t first, std::size_t top, int64_t count) {
        out.bundles.push_back(steps(0, top, count));
        out.bundles.back().offset = refiner_.at(first);
      });
    } else {
      std::size_t level = 0;
      while (whole > 0 && refiner_.levels()[level].place < period) ++level;
      refiner_.cut(0, whole, [&](int64_t first, std::size_t top, int64_t count) {
        Bundle bundle = steps(level, top, count);
        for (int64_t at = first; at < first + period; at += block_) bundle.sections.push_back(section(at));
        out.bundles.push_back(std::move(bundle));
      });
    }
    int64_t at = whole;
    if (whole < end_) {
      Bundle& last = out.bundles.emplace_back();
      for (; at < end_; at += block_) last.sections.push_back(section(at));
    }
    if (at < capacity_) {
      Bundle& padding = out.bundles.emplace_back();
      padding.sections.emplace_back();
      fill(at, capacity_, padding.sections.back());
    }
    if (out.boxes() > kMaxSectionBoxes) return std::nullopt;
    return out;
  }

 private:
  Bundle steps(std::size_t from, std::size_t top, int64_t count) const {
    Bundle out;
    const auto& levels = refiner_.levels();
    for (std::size_t k = from; k < top; ++k)
      out.common.push_back({levels[k].next / levels[k].place, refiner_.at(levels[k].place), -1});
    if (count > 1) out.common.push_back({count, refiner_.at(levels[top].place), -1});
    return out;
  }

  /// The block from index `at` on.
  Section section(int64_t at) const {
    Section out;
    const int64_t end = std::min(at + block_, end_), padded = std::min(at + block_, capacity_);
    refiner_.cut_affine(at, end, [&](const Offsets& offset, Axes axes) {
      out.push_back({offset, std::move(axes), false});
    });
    if (end < padded) fill(end, padded, out);
    return out;
  }

  void fill(int64_t begin, int64_t end, Section& out) const {
    DimRefiner(dst_, dst_, d_, {}, begin, end).cut_affine(begin, end, [&](Offsets offset, Axes axes) {
      offset[kSrc] = 0;
      for (Axis& axis : axes) axis.stride[kSrc] = 0;
      out.push_back({offset, std::move(axes), true});
    });
  }

  const Layout& dst_;
  int d_;
  std::array<int64_t, 2> bytes_;
  int64_t end_;
  DimRefiner refiner_;
  int64_t block_, capacity_;
  bool small_;
};

}  // namespace

int64_t Bundle::boxes() const {
  int64_t count = sections.empty() ? 1 : 0;
  for (const Section& section : sections) count += static_cast<int64_t>(section.size());
  return count;
}

int64_t DimSections::boxes() const {
  int64_t count = 0;
  for (const Bundle& bundle : bundles) count += bundle.boxes();
  return count;
}

bool DimSections::mixed() const {
  return std::ranges::any_of(bundles, [](const Bundle& bundle) {
    return std::ranges::any_of(bundle.sections, [](const Section& section) { return section.size() > 1; });
  });
}

DimSections sections_of(const Layout& src, const Layout& dst, int d, AttributeStep attribute,
                        std::array<int64_t, 2> bytes, bool filled, Tables& tables) {
  Cutter cutter(src, dst, d, attribute, bytes, filled);
  if (!cutter.whole()) {
    if (auto sections = cutter.sections()) return *std::move(sections);
  }
  return cutter.ranges(tables);
}

void scale(DimSections& dim, int64_t src_units, int64_t dst_units) {
  const auto scale_axes = [&](Axes& axes) {
    for (Axis& axis : axes) scale(axis.stride, src_units, dst_units);
  };
  for (Bundle& bundle : dim.bundles) {
    scale(bundle.offset, src_units, dst_units);
    scale_axes(bundle.common);
    for (Section& section : bundle.sections) {
      for (SectionBox& box : section) {
        scale(box.offset, src_units, dst_units);
        scale_axes(box.axes);
      }
    }
  }
}

}  // namespace relayout
