// Eigen: shuffles of dense tensors, and transposes of matrices on one thread.
//
// Element types count by their size alone, as nothing is converted. Ranks are Eigen's template arguments: those of the
// joined axes.
#define EIGEN_USE_THREADS
#include <Eigen/Core>
#include <algorithm>
#include <memory>
#include <unsupported/Eigen/CXX11/Tensor>

#include "bench/compare/axes.h"
#include "bench/compare/entries.h"

namespace relayout::bench {
namespace {

constexpr int kMaxRank = 7;

/// The source's array and, for each dim of the destination's, which of its dims that is.
struct Shuffle {
  std::vector<int64_t> extents;
  std::vector<int> from;
};

struct Pool {
  explicit Pool(int threads) : pool(threads), device(&pool, threads) {}
  Eigen::ThreadPool pool;
  Eigen::ThreadPoolDevice device;
};

template <typename T>
std::function<void()> matrix_transpose(const Shuffle& shuffle, const T* src, T* dst) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::Index rows = shuffle.extents[0], cols = shuffle.extents[1];
  return [=] { Eigen::Map<Matrix>(dst, cols, rows).noalias() = Eigen::Map<const Matrix>(src, rows, cols).transpose(); };
}

template <typename T, int kRank>
std::function<void()> tensor_shuffle(const Shuffle& shuffle, const T* src, T* dst, int threads) {
  Eigen::DSizes<Eigen::Index, kRank> from, to;
  Eigen::array<int, kRank> order;
  for (std::size_t i = 0; i < kRank; ++i) {
    from[i] = shuffle.extents[i];
    order[i] = shuffle.from[i];
    to[i] = shuffle.extents[static_cast<std::size_t>(shuffle.from[i])];
  }
  using Source = Eigen::TensorMap<Eigen::Tensor<const T, kRank, Eigen::RowMajor>>;
  using Destination = Eigen::TensorMap<Eigen::Tensor<T, kRank, Eigen::RowMajor>>;
  if (threads == 1) return [=] { Destination(dst, to) = Source(src, from).shuffle(order); };
  const auto pool = std::make_shared<Pool>(threads);
  return [=] { Destination(dst, to).device(pool->device) = Source(src, from).shuffle(order); };
}

template <typename T, int kRank = 1>
std::function<void()> shuffle_of_rank(const Shuffle& shuffle, const T* src, T* dst, int threads, std::string* why) {
  if constexpr (kRank > kMaxRank) {
    *why = "over " + std::to_string(kMaxRank) + " axes";
    return {};
  } else {
    if (static_cast<int>(shuffle.extents.size()) != kRank) {
      return shuffle_of_rank<T, kRank + 1>(shuffle, src, dst, threads, why);
    }
    if (kRank == 2 && threads == 1) return matrix_transpose(shuffle, src, dst);
    return tensor_shuffle<T, kRank>(shuffle, src, dst, threads);
  }
}

template <typename T>
std::function<void()> shuffle_of(const Shuffle& shuffle, const TensorDesc& src, const void* src_data,
                                 const TensorDesc& dst, void* dst_data, int threads, std::string* why) {
  const T* from = static_cast<const T*>(src_data) + src.layout.offset0();
  T* to = static_cast<T*>(dst_data) + dst.layout.offset0();
  return shuffle_of_rank(shuffle, from, to, threads, why);
}

std::function<void()> prepare(const TensorDesc& src, const void* src_data, const TensorDesc& dst, void* dst_data,
                              const Attributes& attributes, int threads, std::string* why) try {
  if (attributes.arithmetic() || src.dtype != dst.dtype) {
    *why = "moves only";
    return {};
  }
  const auto axes = common_axes(src.layout, dst.layout, attributes.padding, why);
  if (!axes) return {};
  const auto from = dense_side(*axes, &CommonAxis::src_stride, why);
  if (!from) return {};
  const auto to = dense_side(*axes, &CommonAxis::dst_stride, why);
  if (!to) return {};
  if (has_gaps(*axes, *from) || has_gaps(*axes, *to)) {
    *why = "gaps between rows";
    return {};
  }
  Shuffle shuffle{from->extents, {}};
  for (const int axis : to->order) {
    shuffle.from.push_back(
        static_cast<int>(std::find(from->order.begin(), from->order.end(), axis) - from->order.begin()));
  }
  switch (bits(src.dtype)) {
    case 8: return shuffle_of<uint8_t>(shuffle, src, src_data, dst, dst_data, threads, why);
    case 16: return shuffle_of<uint16_t>(shuffle, src, src_data, dst, dst_data, threads, why);
    case 32: return shuffle_of<float>(shuffle, src, src_data, dst, dst_data, threads, why);
    case 64: return shuffle_of<double>(shuffle, src, src_data, dst, dst_data, threads, why);
    default: *why = "no such type"; return {};
  }
} catch (const std::exception& error) {
  *why = error.what();
  return {};
}

std::string version() {
  return std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
         std::to_string(EIGEN_MINOR_VERSION);
}

}  // namespace

Competitor eigen_competitor() { return {"eigen", version(), prepare}; }

}  // namespace relayout::bench
