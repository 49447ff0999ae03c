// Reductions of types that the backend does not have: plain loops over row-major operands.
#include <cmath>
#include <limits>

#include "relayout/execute/own/kernels.h"
#include "relayout/execute/own/numbers.h"

namespace relayout::execute {

using graph::Executable;
using graph::ReductionAlgorithm;

namespace {

template <typename T>
T start_of(ReductionAlgorithm algorithm) {
  using Limits = std::numeric_limits<T>;
  switch (algorithm) {
    case ReductionAlgorithm::max: return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    case ReductionAlgorithm::min: return Limits::has_infinity ? Limits::infinity() : Limits::max();
    case ReductionAlgorithm::mul: return 1;
    default: return 0;
  }
}

template <typename T>
T magnitude(T x) {
  return x < 0 ? static_cast<T>(0 - x) : x;
}

/// A NaN stays one.
template <typename T>
T reduced(ReductionAlgorithm algorithm, T so_far, T x) {
  switch (algorithm) {
    case ReductionAlgorithm::max: return so_far != so_far || so_far > x ? so_far : x;
    case ReductionAlgorithm::min: return so_far != so_far || so_far < x ? so_far : x;
    case ReductionAlgorithm::mul: return so_far * x;
    case ReductionAlgorithm::norm_l1: return so_far + magnitude(x);
    case ReductionAlgorithm::norm_l2: return so_far + x * x;
    default: return so_far + x;
  }
}

/// Sums of f32 are added up in double.
template <typename T>
using Accumulated = std::conditional_t<std::is_same_v<T, float>, double, T>;

template <typename T>
class PlainReductionExecutable : public Executable {
 public:
  explicit PlainReductionExecutable(const OwnRequest& r)
      : algorithm_(r.node.as<graph::ReductionAttributes>().algorithm),
        src_(r.src_tensor(0), r.src(0)),
        dst_(r.dst_tensor(), r.dst()),
        dims_(r.src(0).dims()),
        steps_(dims_.size(), 0) {
    if (dims_.empty()) {
      dims_.push_back(1);
      steps_.push_back(0);
    }
    int64_t step = 1;
    for (int d = r.dst().ndims() - 1; d >= 0; --d) {
      if (r.dst().dim(d) == dims_[d]) steps_[d] = step;
      if (r.dst().dim(d) != dims_[d]) each_ *= dims_[d];
      step *= r.dst().dim(d);
    }
    sums_.resize(static_cast<std::size_t>(dst_.count()));
  }

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    std::ranges::fill(sums_, start_of<Accumulated<T>>(algorithm_));
    const T* values = src_.read(src[0]);
    add(0, &values, 0);
    T* to = dst_.room(dst[0]);
    for (std::size_t i = 0; i < sums_.size(); ++i) to[i] = finished(sums_[i]);
    dst_.commit(dst[0]);
  }

 private:
  void add(int d, const T** values, int64_t at) {
    if (d < dims_.size() - 1) {
      for (int64_t i = 0; i < dims_[d]; ++i) add(d + 1, values, at + i * steps_[d]);
      return;
    }
    const T* from = *values;
    *values += dims_[d];
    Accumulated<T>* to = sums_.data() + at;
    for (int64_t i = 0; i < dims_[d]; ++i) {
      to[i * steps_[d]] = reduced<Accumulated<T>>(algorithm_, to[i * steps_[d]], from[i]);
    }
  }

  T finished(Accumulated<T> sum) const {
    if (algorithm_ == ReductionAlgorithm::mean) return static_cast<T>(sum / static_cast<Accumulated<T>>(each_));
    if (algorithm_ != ReductionAlgorithm::norm_l2) return static_cast<T>(sum);
    return static_cast<T>(std::sqrt(static_cast<double>(sum)));
  }

  ReductionAlgorithm algorithm_;
  Numbers<T> src_, dst_;
  Dims dims_, steps_;
  int64_t each_ = 1;
  std::vector<Accumulated<T>> sums_{};
};

}  // namespace

std::unique_ptr<Executable> make_plain_reduction(const OwnRequest& r) {
  if (!is_row_major(r.src(0)) || !is_row_major(r.dst()) || bits(r.src_tensor(0).dtype) < 8) return nullptr;
  if (r.dst_tensor().dtype != r.src_tensor(0).dtype || r.dst_tensor().dtype == DType::f32) return nullptr;
  // A mean over nothing is NaN, which no integer is.
  const bool mean = r.node.as<graph::ReductionAttributes>().algorithm == ReductionAlgorithm::mean;
  if (mean && !is_floating(r.dst_tensor().dtype) && r.src(0).empty()) return nullptr;
  return with_numbers(r.dst_tensor().dtype, [&](auto zero) -> std::unique_ptr<Executable> {
    return std::make_unique<PlainReductionExecutable<decltype(zero)>>(r);
  });
}

}  // namespace relayout::execute
