// The elements of row-major operands as numbers to compute with (internal to execute).
//
// Kernels that are written once for all types compute in float for floating types of at most 32 bits, in double for
// f64, and in 64-bit integers for integers and bool. Operands of the type that is computed in are read and written
// where they lie; others are converted to memory of the kernel's own and back.
//
//     Numbers<float> in(request.src_tensor(0), request.src(0));
//     const float* values = in.read(src[0]);
#pragma once

#include <cstring>
#include <vector>

#include "relayout/cpu/kernels/conversion.h"
#include "relayout/graph/ir/graph.h"

namespace relayout::execute {

/// Whether the layout is row-major without gaps or padding.
inline bool is_row_major(const Layout& layout) {
  return layout.contiguous_in(MemoryFormat::contiguous) && !layout.padded();
}

template <typename T>
constexpr DType dtype_of_numbers() {
  if (std::is_same_v<T, float>) return DType::f32;
  if (std::is_same_v<T, double>) return DType::f64;
  return std::is_signed_v<T> ? DType::s64 : DType::u64;
}

/// An operand as values of type T.
template <typename T>
class Numbers {
 public:
  Numbers(const graph::Tensor& tensor, const Layout& layout)
      : dtype_(tensor.dtype), count_(layout.elements()), offset_(layout.offset0() * bits(tensor.dtype) / 8) {
    if (dtype_ != dtype_of_numbers<T>()) converted_.resize(static_cast<std::size_t>(count_));
  }

  int64_t count() const { return count_; }
  const T* read(const void* from) {
    const auto* bytes = static_cast<const std::byte*>(from) + offset_;
    if (dtype_ == dtype_of_numbers<T>()) return reinterpret_cast<const T*>(bytes);
    convert(dtype_, dtype_of_numbers<T>(), bytes, reinterpret_cast<std::byte*>(converted_.data()));
    return converted_.data();
  }
  /// Where to write the values, before commit() puts them into the operand.
  T* room(void* to) {
    auto* bytes = static_cast<std::byte*>(to) + offset_;
    return dtype_ == dtype_of_numbers<T>() ? reinterpret_cast<T*>(bytes) : converted_.data();
  }
  void commit(void* to) {
    if (dtype_ == dtype_of_numbers<T>()) return;
    auto* bytes = static_cast<std::byte*>(to) + offset_;
    convert(dtype_of_numbers<T>(), dtype_, reinterpret_cast<const std::byte*>(converted_.data()), bytes);
  }

 private:
  void convert(DType from, DType to, const std::byte* src, std::byte* dst) const {
    if (count_ != 0) cpu::Conversion(cpu::kernels(), from, to)(src, dst, count_);
  }

  DType dtype_;
  int64_t count_, offset_;
  std::vector<T> converted_{};
};

/// Calls f with a value of the type in which elements of `dtype` are computed.
template <typename F>
auto with_numbers(DType dtype, F&& f) {
  if (dtype == DType::f64) return f(double{});
  if (is_floating(dtype)) return f(float{});
  return dtype == DType::u64 ? f(uint64_t{}) : f(int64_t{});
}

}  // namespace relayout::execute
