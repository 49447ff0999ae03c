// Staged in-place reorders: which dims can be cut into parts, and in which order the parts may be done.
#include <numeric>

#include "relayout/core/reach.h"
#include "relayout/reorder/in_place/steps.h"

namespace relayout {
namespace {

/// The most loops whose last part may differ: a plan is made for each set of loops that are at their last part.
constexpr int kMaxTailLoops = 4;

/// A dim cut into `count` parts of `step` indices. The last part has what is left, and the padding.
struct Cut {
  int dim = 0;
  int64_t step = 1, count = 1;
};

/// A choice of cuts, before plans are made.
struct CutChoice {
  std::vector<Cut> cuts;
  StagedStep step;
  int64_t src_bytes = 0;
};

/// Converts an offset from elements to bytes. Nothing where a sub-byte element does not start a byte.
std::optional<int64_t> to_bytes(int64_t elements, DType dtype) {
  if (bits(dtype) >= 8) return elements * (bits(dtype) / 8);
  const int64_t period = byte_period(dtype);
  return elements % period == 0 ? std::optional(elements / period * (period * bits(dtype) / 8)) : std::nullopt;
}

/// The layout of the part where the loops in `tails` are at their last turn; its smallest offset becomes 0. A swizzled
/// part keeps its offset, because that decides about the bits that are read.
Layout part_layout(const Layout& layout, const CutChoice& candidate, uint32_t tails) {
  Dims dims = layout.dims();
  std::vector<Digits> digits;
  for (int d = 0; d < layout.ndims(); ++d) digits.emplace_back(layout.digits_under_swizzle(d));
  for (std::size_t k = 0; k < candidate.cuts.size(); ++k) {
    const Cut& cut = candidate.cuts[k];
    const int bit = candidate.step.loops[k].tail_bit;
    const int64_t first = bit >= 0 && (tails >> bit & 1) ? (cut.count - 1) * cut.step : 0;
    dims[cut.dim] = first > 0 ? layout.dim(cut.dim) - first : cut.step;
    digits[static_cast<std::size_t>(cut.dim)].back().extent =
        ceil_div(first > 0 ? layout.capacity(cut.dim) - first : cut.step, layout.block(cut.dim));
  }
  if (layout.swizzled()) return Layout::from_digits(dims, digits, layout.offset0()).with_swizzle(layout.swizzle());
  int64_t lowest = 0;
  for (const Digits& dim : digits) {
    for (const Digit& digit : dim) lowest += std::min<int64_t>(0, reach(digit));
  }
  return Layout::from_digits(dims, digits, -lowest);
}

/// What the parts of a step read or write on one side: the first byte of part 0, the bytes of a part, and the strides
/// of the loops.
struct StepSide {
  int64_t begin, size;
  int64_t InPlaceLoop::*stride;
};

/// Whether the parts can be done in the order of the loops: no part g writes over what a later part reads. The parts
/// read `from` and write `to`.
bool ordered(std::span<const InPlaceLoop> loops, const StepSide& from, const StepSide& to) {
  // First, the parts must be read in ascending order. That holds if each step of loop k moves on at least as far as the
  // loops inside it go back from their last turn to their first.
  for (std::size_t k = 0; k < loops.size(); ++k) {
    int64_t inside = 0;
    for (std::size_t i = k + 1; i < loops.size(); ++i) inside += (loops[i].count - 1) * loops[i].*from.stride;
    if (loops[k].*from.stride < inside) return false;
  }
  // Then what part g writes must end before part g + 1 reads. The distance is linear in the index of every loop, so the
  // worst case is checked for each loop k that can step from part g to part g + 1.
  int64_t outside = to.begin + to.size - from.begin;
  for (std::size_t k = 0; k < loops.size(); ++k) {
    const int64_t from_stride = loops[k].*from.stride, drift = loops[k].*to.stride - from_stride;
    int64_t worst = outside + std::max<int64_t>(0, (loops[k].count - 2) * drift) - from_stride;
    for (std::size_t i = k + 1; i < loops.size(); ++i) worst += (loops[i].count - 1) * loops[i].*to.stride;
    if (worst > 0) return false;
    outside += std::max<int64_t>(0, (loops[k].count - 1) * drift);
  }
  return true;
}

class Stager {
 public:
  Stager(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes)
      : src_(src.layout.canonical(), src.dtype), dst_(dst.layout.canonical(), dst.dtype), attributes_(attributes) {}

  /// The finest cut of each dim that can be cut, those with the largest source stride first.
  std::vector<Cut> finest_cuts() const {
    std::vector<Cut> out;
    const uint32_t mask = attributes_.masks();
    for (int d = 0; d < src_.layout.ndims(); ++d) {
      const int64_t a = src_.layout.block(d), b = dst_.layout.block(d), extent = src_.layout.dim(d);
      auto step = checked_mul(a / std::gcd(a, b), b);
      // Parts of a swizzled layout are alike where they lie whole periods of the swizzle apart.
      while (step && *step < extent && !(whole_periods(src_.layout, d, *step) && whole_periods(dst_.layout, d, *step)))
        step = checked_mul(*step, 2);
      // A dim whose indices have attribute values of their own is not cut, as the indices of a part start at 0.
      if (!step || *step >= extent || (mask >> d & 1)) continue;
      if (step_of(src_.layout, d, *step) <= 0 || step_of(dst_.layout, d, *step) <= 0) continue;
      out.push_back({d, *step, ceil_div(extent, *step)});
    }
    std::ranges::stable_sort(out, std::ranges::greater(), [&](const Cut& cut) { return src_stride(cut); });
    return out;
  }

  /// Nothing where a part would overwrite what a later one reads, in either order.
  std::optional<CutChoice> candidate(std::vector<Cut> cuts) const {
    CutChoice out;
    out.cuts = std::move(cuts);
    int tails = 0;
    for (const Cut& cut : out.cuts) {
      const auto src = to_bytes(src_stride(cut), src_.dtype), dst = to_bytes(dst_stride(cut), dst_.dtype);
      if (!src || !dst) return std::nullopt;
      const bool even = cut.count * cut.step == src_.layout.dim(cut.dim) &&
                        src_.layout.capacity(cut.dim) == cut.count * cut.step &&
                        dst_.layout.capacity(cut.dim) == cut.count * cut.step;
      out.step.loops.push_back({cut.count, *src, *dst, even ? -1 : tails++});
    }
    if (tails > kMaxTailLoops) return std::nullopt;
    int64_t dst_bytes = 0;
    for (uint32_t k = 0; k < 1u << tails; ++k) {
      out.src_bytes = std::max(out.src_bytes, TensorDesc(part_layout(src_.layout, out, k), src_.dtype).span_bytes());
      dst_bytes = std::max(dst_bytes, TensorDesc(part_layout(dst_.layout, out, k), dst_.dtype).span_bytes());
    }
    const auto first = [](const Layout& layout) { return layout.swizzled() ? 0 : layout.offset_range().first; };
    const auto src_offset = to_bytes(first(src_.layout), src_.dtype);
    const auto dst_offset = to_bytes(first(dst_.layout), dst_.dtype);
    if (!src_offset || !dst_offset) return std::nullopt;
    out.step.src_offset = *src_offset;
    out.step.dst_offset = *dst_offset;
    const StepSide read{*src_offset, out.src_bytes, &InPlaceLoop::src_stride};
    const StepSide written{*dst_offset, dst_bytes, &InPlaceLoop::dst_stride};
    const bool forwards = ordered(out.step.loops, read, written);
    // Going from the last part to the first, no part may write over what an earlier one reads. That is the same check
    // with the sides exchanged.
    const bool backwards = ordered(out.step.loops, written, read);
    if (!forwards && !backwards) return std::nullopt;
    // Sub-byte elements of two parts may share a byte, so these parts are not independent.
    out.step.independent = forwards && backwards && bits(dst_.dtype) >= 8;
    out.step.backwards = !forwards;
    return out;
  }

  /// The same cuts, but with as many steps of the last cut in one part as kStagedTarget bytes hold.
  CutChoice enlarged(CutChoice candidate, int64_t target) const {
    const InPlaceLoop& last = candidate.step.loops.back();
    const int64_t bytes = std::max(last.src_stride, candidate.src_bytes);
    for (int64_t steps = std::min(target / bytes, last.count - 1); steps > 1; steps /= 2) {
      std::vector<Cut> cuts = candidate.cuts;
      cuts.back().step *= steps;
      cuts.back().count = ceil_div(cuts.back().count, steps);
      auto larger = this->candidate(std::move(cuts));
      if (larger && larger->src_bytes <= target) return std::move(*larger);
    }
    return candidate;
  }

  StagedStep finish(CutChoice candidate) const {
    candidate.step.pads = true;
    int tails = 0;
    for (const InPlaceLoop& loop : candidate.step.loops) tails = std::max(tails, loop.tail_bit + 1);
    for (uint32_t k = 0; k < 1u << tails; ++k) {
      candidate.step.plans.push_back(Plan::make({part_layout(src_.layout, candidate, k), src_.dtype},
                                                {part_layout(dst_.layout, candidate, k), dst_.dtype}, attributes_));
    }
    return std::move(candidate.step);
  }

 private:
  /// By how much a step of so many indices, which are whole blocks, moves the offset under a swizzle.
  static int64_t step_of(const Layout& layout, int d, int64_t indices) {
    return indices / layout.block(d) * layout.digits_under_swizzle(d).back().stride;
  }
  static bool whole_periods(const Layout& layout, int d, int64_t indices) {
    return !layout.swizzled() || step_of(layout, d, indices) % layout.swizzle().period() == 0;
  }
  int64_t src_stride(const Cut& cut) const { return step_of(src_.layout, cut.dim, cut.step); }
  int64_t dst_stride(const Cut& cut) const { return step_of(dst_.layout, cut.dim, cut.step); }

  TensorDesc src_, dst_;
  const Attributes& attributes_;
};

}  // namespace

std::optional<StagedStep> make_staged(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes,
                                      int64_t max_scratch, int64_t& least_scratch) {
  const Stager stager(src, dst, attributes);
  const std::vector<Cut> cuts = stager.finest_cuts();
  const int64_t target = std::min(kStagedTarget, max_scratch);
  std::optional<CutChoice> best;
  for (std::size_t n = 0; n <= cuts.size(); ++n) {
    auto candidate = stager.candidate({cuts.begin(), cuts.begin() + static_cast<std::ptrdiff_t>(n)});
    if (!candidate) continue;
    least_scratch = std::min(least_scratch, candidate->src_bytes);
    if (candidate->src_bytes > max_scratch) continue;
    best = std::move(candidate);
    if (best->src_bytes > target) continue;
    if (n > 0) best = stager.enlarged(std::move(*best), target);
    break;
  }
  if (!best) return std::nullopt;
  return stager.finish(std::move(*best));
}

}  // namespace relayout
