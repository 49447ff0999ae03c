// Binary operations: as programs of element functions (elementwise.cc), and the division of 64-bit integers, which no
// floating type holds. Dims of extent 1 of a source repeat.
//
// The division takes all layouts: each operand has a table of offsets for each dim (zeros if it repeats), and the loops
// over the dims add up their entries.
#include <algorithm>
#include <array>
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
  if (auto out = make_elementwise(r)) return out;
  const DType dtype = r.dst_tensor().dtype;
  if (r.src_tensor(0).dtype != dtype || r.src_tensor(1).dtype != dtype) return nullptr;
  if (!r.dst().injective_with_padding()) return nullptr;
  if (r.node.as<graph::BinaryAttributes>().algorithm != BinaryAlgorithm::div) return nullptr;
  if (dtype == DType::s64) return division<int64_t>(r);
  if (dtype == DType::u64) return division<uint64_t>(r);
  return nullptr;
}

}  // namespace relayout::execute
