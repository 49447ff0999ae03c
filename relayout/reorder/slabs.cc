// Chooses the grid of slabs by halving.
#include "relayout/reorder/slabs.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "relayout/core/reach.h"
#include "relayout/core/view.h"

namespace relayout {
namespace {

/// How many indices of dim d one block has: the capacity without the outermost digit.
int64_t block_of(const Layout& layout, int d) {
  const int64_t outer = layout.digits_under_swizzle(d).back().extent;
  return outer == 0 ? 1 : layout.capacity(d) / outer;
}

/// Slabs may be cut at multiples of this index of dim d, where no side has a border inside a block. The whole extent if
/// there is no such index.
int64_t alignment(std::span<const SlabSide> sides, int d, int64_t extent) {
  int64_t out = 1;
  for (const SlabSide& side : sides) {
    const int64_t block = block_of(side.desc->layout, d);
    const std::optional<int64_t> next = checked_mul(out / std::gcd(out, block), block);
    if (!next || *next > extent) return extent;
    out = *next;
  }
  return out;
}

}  // namespace

SlabGrid::SlabGrid(const Dims& dims, const Dims& step, double slab_bytes)
    : dims_(dims), step_(step), slab_bytes_(slab_bytes) {
  for (int d = 0; d < dims.size(); ++d)
    count_ *= std::max<int64_t>(1, ceil_div(dims[d], std::max<int64_t>(1, step[d])));
}

Slab SlabGrid::slab(int64_t i) const {
  Slab out{Dims(dims_.size(), 0), Dims(dims_.size(), 0)};
  for (int d = dims_.size(); d-- > 0;) {
    const int64_t step = std::max<int64_t>(1, step_[d]);
    const int64_t count = std::max<int64_t>(1, ceil_div(dims_[d], step));
    out.offsets[d] = i % count * step;
    out.dims[d] = std::min(step, dims_[d] - out.offsets[d]);
    i /= count;
  }
  return out;
}

double touched_bytes(const TensorDesc& desc, const Dims& slab_dims, int64_t granule) {
  struct SlabDigit {
    double stride, extent;
  };
  const double item = bits(desc.dtype) / 8.0, grain = static_cast<double>(granule);
  std::vector<SlabDigit> slab_digits;
  double range = item;
  for (int d = 0; d < slab_dims.size(); ++d) {
    const auto digits = desc.layout.digits_under_swizzle(d);
    for (std::size_t k = 0; k < digits.size(); ++k) {
      const int64_t extent =
          k + 1 < digits.size() ? digits[k].extent : ceil_div(slab_dims[d], block_of(desc.layout, d));
      if (extent <= 1 || digits[k].stride == 0) continue;
      slab_digits.push_back({std::abs(static_cast<double>(digits[k].stride)) * item, static_cast<double>(extent)});
      range += reach(slab_digits.back());
    }
  }
  std::ranges::sort(slab_digits, {}, &SlabDigit::stride);
  // From the smallest stride to the largest: a digit either extends the run of touched pages or repeats it elsewhere.
  double run = item, pieces = 1;
  for (const SlabDigit& digit : slab_digits) {
    if (pieces == 1 && digit.stride <= run + grain) {
      run += reach(digit);
    } else {
      pieces *= digit.extent;
    }
  }
  return std::min(pieces * (run + grain), range + 2 * grain);
}

SlabGrid make_slabs(const Dims& dims, std::span<const SlabSide> sides, int64_t scratch_bytes, int64_t cap) {
  const auto estimate = [&](const Dims& step) {
    double elements = 1, total = 0;
    for (int64_t extent : step) elements *= static_cast<double>(extent);
    for (const SlabSide& side : sides) {
      if (side.granule > 0) total += touched_bytes(*side.desc, step, side.granule);
    }
    return total + elements * static_cast<double>(scratch_bytes);
  };
  Dims step = dims, align = dims;
  for (int d = 0; d < dims.size(); ++d) align[d] = alignment(sides, d, dims[d]);
  double size = estimate(step);
  while (size > static_cast<double>(cap)) {
    Dims best;
    double best_size = 0;
    for (int d = 0; d < dims.size(); ++d) {
      Dims candidate = step;
      candidate[d] = ceil_div(ceil_div(step[d], 2), std::max<int64_t>(1, align[d])) * align[d];
      if (candidate[d] >= step[d]) continue;
      const double candidate_size = estimate(candidate);
      if (!best.empty() && candidate_size >= best_size) continue;
      best = candidate;
      best_size = candidate_size;
    }
    if (best.empty()) break;
    step = best;
    size = best_size;
  }
  return SlabGrid(dims, step, size);
}

TensorDesc slab_view(const TensorDesc& desc, const Slab& slab) {
  if (slab.dims == desc.layout.dims()) return desc;
  return TensorDesc(submemory(desc.layout, slab.dims, slab.offsets), desc.dtype);
}

}  // namespace relayout
