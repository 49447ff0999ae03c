// Binary operations that oneDNN lacks or rounds: the division of integers, which truncates, and the power of one tensor
// to another. Dims of extent 1 of a source repeat.
//
// All layouts are supported: each operand has a table of offsets for each dim (zeros if it repeats), and the loops over
// the dims add up their entries.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "relayout/execute/own/kernels.h"
#include "relayout/execute/own/padding.h"

namespace relayout::execute {

using graph::BinaryAlgorithm;
using graph::Executable;

namespace {

/// Division as graph.h defines it for BinaryAlgorithm::div.
template <typename T>
T quotient(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1 && a == std::numeric_limits<T>::min()) return std::numeric_limits<T>::max();
  }
  return static_cast<T>(a / b);
}

float power(float a, float b) { return std::pow(a, b); }

/// The offsets of two sources and a destination along one dim, an entry for each index.
struct DimOffsets {
  std::vector<int64_t> a, b, dst;
};

template <typename T, T (*function)(T, T)>
class BinaryExecutable : public Executable {
 public:
  explicit BinaryExecutable(const OwnRequest& r)
      : a_(r.src(0).offset0()),
        b_(r.src(1).offset0()),
        dst_(r.dst().offset0()),
        padding_(r.dst(), r.dst_tensor().dtype) {
    for (int d = 0; d < r.dst().ndims(); ++d) {
      DimOffsets& dim = dims_.emplace_back();
      for (int64_t i = 0; i < r.dst().dim(d); ++i) {
        dim.a.push_back(r.src(0).dim(d) == 1 ? r.src(0).dim_offset(d, 0) : r.src(0).dim_offset(d, i));
        dim.b.push_back(r.src(1).dim(d) == 1 ? r.src(1).dim_offset(d, 0) : r.src(1).dim_offset(d, i));
        dim.dst.push_back(r.dst().dim_offset(d, i));
      }
    }
    // A scalar is one element of one dim.
    if (dims_.empty()) dims_.push_back({{0}, {0}, {0}});
  }

  void run(std::span<const void* const> src, std::span<void* const> dst) override {
    walk(0, static_cast<const T*>(src[0]) + a_, static_cast<const T*>(src[1]) + b_, static_cast<T*>(dst[0]) + dst_);
    padding_.run(dst[0]);
  }

 private:
  void walk(std::size_t d, const T* a, const T* b, T* dst) const {
    const DimOffsets& dim = dims_[d];
    for (std::size_t i = 0; i < dim.dst.size(); ++i) {
      if (d + 1 < dims_.size())
        walk(d + 1, a + dim.a[i], b + dim.b[i], dst + dim.dst[i]);
      else
        dst[dim.dst[i]] = function(a[dim.a[i]], b[dim.b[i]]);
    }
  }

  int64_t a_, b_, dst_;
  std::vector<DimOffsets> dims_{};
  ZeroPadding padding_;
};

template <typename T>
std::unique_ptr<Executable> division(const OwnRequest& r) {
  return std::make_unique<BinaryExecutable<T, quotient<T>>>(r);
}

}  // namespace

std::unique_ptr<Executable> make_binary(const OwnRequest& r) {
  const DType dtype = r.dst_tensor().dtype;
  if (r.src_tensor(0).dtype != dtype || r.src_tensor(1).dtype != dtype) return nullptr;
  if (!r.dst().injective_with_padding()) return nullptr;
  const BinaryAlgorithm algorithm = r.node.as<graph::BinaryAttributes>().algorithm;
  if (algorithm == BinaryAlgorithm::pow && dtype == DType::f32) {
    return std::make_unique<BinaryExecutable<float, power>>(r);
  }
  if (algorithm != BinaryAlgorithm::div) return nullptr;
  switch (dtype) {
    case DType::s8: return division<int8_t>(r);
    case DType::u8: return division<uint8_t>(r);
    case DType::s16: return division<int16_t>(r);
    case DType::u16: return division<uint16_t>(r);
    case DType::s32: return division<int32_t>(r);
    case DType::u32: return division<uint32_t>(r);
    case DType::s64: return division<int64_t>(r);
    case DType::u64: return division<uint64_t>(r);
    default: return nullptr;
  }
}

}  // namespace relayout::execute
