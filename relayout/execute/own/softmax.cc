// Softmax of types that the backend does not have: plain loops over row-major operands.
#include <algorithm>
#include <cmath>
#include <limits>

#include "relayout/execute/own/array.h"

namespace relayout::execute {

using graph::Executable;

namespace {

template <typename T>
class SoftmaxExecutable : public Executable {
 public:
  explicit SoftmaxExecutable(const OwnRequest& r)
      : log_(r.node.as<graph::SoftmaxAttributes>().log),
        masked_rows_give_zero_(r.node.as<graph::SoftmaxAttributes>().masked_rows_give_zero),
        src_(r.src_tensor(0), r.src(0)),
        dst_(r.dst_tensor(), r.dst()),
        lanes_(r.src(0).dims(), r.node.as<graph::SoftmaxAttributes>().axis) {}

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    const T* from = src_.read(src[0]);
    T* to = dst_.room(dst[0]);
    for (int64_t line = 0; line < lanes_.outer * lanes_.inner; ++line) {
      const int64_t first = line / lanes_.inner * lanes_.extent * lanes_.inner + line % lanes_.inner;
      one(from + first, to + first);
    }
    dst_.commit(dst[0]);
  }

 private:
  void one(const T* src, T* dst) const {
    constexpr T kLeast = -std::numeric_limits<T>::infinity();
    T largest = kLeast, sum = 0;
    bool masked = masked_rows_give_zero_;
    for (int64_t k = 0; k < lanes_.extent; ++k) {
      largest = std::max(largest, src[k * lanes_.inner]);
      masked = masked && src[k * lanes_.inner] == kLeast;
    }
    if (masked) {
      for (int64_t k = 0; k < lanes_.extent; ++k) dst[k * lanes_.inner] = 0;
      return;
    }
    for (int64_t k = 0; k < lanes_.extent; ++k) {
      const T shifted = src[k * lanes_.inner] - largest;
      dst[k * lanes_.inner] = log_ ? shifted : std::exp(shifted);
      sum += std::exp(shifted);
    }
    const T logarithm = std::log(sum);
    for (int64_t k = 0; k < lanes_.extent; ++k) {
      T& element = dst[k * lanes_.inner];
      element = log_ ? element - logarithm : element / sum;
    }
  }

  bool log_, masked_rows_give_zero_;
  Numbers<T> src_, dst_;
  ArrayLanes lanes_;
};

}  // namespace

std::unique_ptr<Executable> make_softmax(const OwnRequest& r) {
  const DType dtype = r.dst_tensor().dtype;
  if (!r.node.forward() || dtype == DType::f32 || !is_floating(dtype) || r.src_tensor(0).dtype != dtype) return nullptr;
  if (!is_row_major(r.src(0)) || !is_row_major(r.dst())) return nullptr;
  if (dtype == DType::f64) return std::make_unique<SoftmaxExecutable<double>>(r);
  return std::make_unique<SoftmaxExecutable<float>>(r);
}

}  // namespace relayout::execute
