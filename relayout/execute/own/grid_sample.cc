// grid_sample: for each position of the grid the places and weights along each spatial dim are found once, and all
// channels are interpolated with them.
#include <algorithm>
#include <array>
#include <cmath>

#include "relayout/execute/own/array.h"

namespace relayout::execute {

using graph::ArrayAttributes;
using graph::Executable;
using graph::GridInterpolation;
using graph::GridPadding;

namespace {

/// The places of one dim that a position reads, by offsets in elements; a weight of 0 where the place holds a zero.
template <typename T>
struct GridTaps {
  int count = 0;
  std::array<int64_t, 4> offset{};
  std::array<T, 4> weight{};
  std::array<bool, 4> inside{};
};

/// x mirrored at low and high, which are half or whole numbers.
template <typename T>
T mirrored_at(T x, T low, T high) {
  const T length = high - low;
  if (length <= 0) return low;
  const T folded = std::abs(x - low);
  const T turns = std::floor(folded / length), rest = folded - turns * length;
  return std::fmod(turns, T(2)) == 0 ? low + rest : high - rest;
}

template <typename T>
class GridSampleExecutable : public Executable {
 public:
  explicit GridSampleExecutable(const OwnRequest& r)
      : a_(r.node.as<ArrayAttributes>()),
        src_(r.src_tensor(0), r.src(0)),
        grid_(r.src_tensor(1), r.src(1)),
        dst_(r.dst_tensor(), r.dst()),
        batch_(r.src(0).dim(0)),
        channels_(r.src(0).dim(1)) {
    for (int d = 2; d < r.src(0).ndims(); ++d) {
      extents_.push_back(r.src(0).dim(d));
      image_ *= r.src(0).dim(d);
      points_ *= r.dst().dim(d);
    }
    strides_ = Dims(extents_.size(), 1);
    for (int d = extents_.size() - 2; d >= 0; --d) strides_[d] = strides_[d + 1] * extents_[d + 1];
  }

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    const T *image = src_.read(src[0]), *position = grid_.read(src[1]);
    T* to = dst_.room(dst[0]);
    const int spatial = extents_.size();
    std::array<GridTaps<T>, 3> taps;
    for (int64_t n = 0; n < batch_; ++n) {
      for (int64_t p = 0; p < points_; ++p, position += spatial) {
        for (int d = 0; d < spatial; ++d) {
          taps[static_cast<std::size_t>(d)] = taps_of(d, position[spatial - 1 - d]);
        }
        for (int64_t c = 0; c < channels_; ++c) {
          to[(n * channels_ + c) * points_ + p] = interpolated(image + (n * channels_ + c) * image_, taps, 0);
        }
      }
    }
    dst_.commit(dst[0]);
  }

 private:
  T interpolated(const T* image, const std::array<GridTaps<T>, 3>& taps, int d) const {
    if (d == extents_.size()) return *image;
    const GridTaps<T>& own = taps[static_cast<std::size_t>(d)];
    T out = 0;
    for (std::size_t k = 0; k < static_cast<std::size_t>(own.count); ++k) {
      if (own.inside[k]) out += own.weight[k] * interpolated(image + own.offset[k], taps, d + 1);
    }
    return out;
  }

  GridTaps<T> taps_of(int d, T given) const {
    const auto extent = static_cast<T>(extents_[d]);
    const T edge = a_.align_corners ? T(0) : T(0.5), low = -edge, high = extent - 1 + edge;
    T at = a_.align_corners ? (given + 1) / 2 * (extent - 1) : ((given + 1) * extent - 1) / 2;
    if (!std::isfinite(at)) return {};
    const bool nearest = a_.interpolation == GridInterpolation::nearest;
    if (nearest) at = std::nearbyint(at);
    if (at < low || at > high) {
      if (a_.padding == GridPadding::border) at = std::clamp<T>(at, 0, extent - 1);
      if (a_.padding == GridPadding::reflection) at = mirrored_at(at, low, high);
    }
    const T first = nearest ? std::nearbyint(at) : std::floor(at), x = at - first;
    GridTaps<T> out;
    const auto add = [&](T place, T weight) {
      const int64_t index = index_of(place, low, high, extents_[d]);
      const auto k = static_cast<std::size_t>(out.count++);
      out.inside[k] = index >= 0;
      out.offset[k] = std::max<int64_t>(index, 0) * strides_[d];
      out.weight[k] = weight;
    };
    if (nearest) {
      add(first, 1);
    } else if (a_.interpolation == GridInterpolation::linear) {
      add(first, 1 - x);
      add(first + 1, x);
    } else {
      constexpr T kA = T(-0.75);
      const T y = 1 - x;
      add(first - 1, kA * x * y * y);
      add(first, y * (1 + x - (kA + 2) * x * x));
      add(first + 1, x * (1 + y - (kA + 2) * y * y));
      add(first + 2, kA * y * x * x);
    }
    return out;
  }

  /// The index of the element that stands at a place; -1 for a zero.
  int64_t index_of(T place, T low, T high, int64_t extent) const {
    if (a_.padding == GridPadding::border) place = std::clamp<T>(place, 0, static_cast<T>(extent - 1));
    if (a_.padding == GridPadding::reflection && (place < low || place > high)) place = mirrored_at(place, low, high);
    const auto index = static_cast<int64_t>(std::nearbyint(place));
    return index >= 0 && index < extent ? index : -1;
  }

  ArrayAttributes a_;
  Numbers<T> src_, grid_, dst_;
  int64_t batch_, channels_, image_ = 1, points_ = 1;
  Dims extents_{}, strides_{};
};

}  // namespace

std::unique_ptr<Executable> make_grid_sample(const OwnRequest& r) {
  const bool wide = r.src_tensor(0).dtype == DType::f64 || r.src_tensor(1).dtype == DType::f64;
  if (wide) return std::make_unique<GridSampleExecutable<double>>(r);
  return std::make_unique<GridSampleExecutable<float>>(r);
}

}  // namespace relayout::execute
