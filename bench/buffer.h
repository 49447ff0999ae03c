// Memory for measurements: it starts at a page, all its pages are touched before anything is timed, and its values are
// such that every conversion of them is ordinary work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "relayout/core/dtype.h"

namespace relayout::bench {

/// Whole pages of the system's default size. Error{io} where the system has none.
class PageBuffer {
 public:
  PageBuffer() = default;
  explicit PageBuffer(int64_t bytes);
  ~PageBuffer();
  PageBuffer(PageBuffer&& other) noexcept;
  PageBuffer& operator=(PageBuffer&& other) noexcept;

  std::byte* data() const { return data_; }
  std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// How many bytes can be allocated without swapping; a very large number where the system does not say.
int64_t available_memory();

/// Error{limit} that names `operation` where `bytes` are more than available_memory().
void require_memory(int64_t bytes, const char* operation);

/// A floating type as IEEE 754 has them: a sign, exponent bits whose bias is half their range, mantissa bits.
struct FloatBits {
  int mantissa_bits;
  int exponent_bits;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};
/// The bits of a number of that type, made from random ones: any sign, any mantissa, and a power of two from 2^-7 to
/// 2^8 or, of fewer than 5 exponent bits, from the middle half of the type's.
uint64_t random_float(const FloatBits& type, uint64_t random);
/// The bits of a whole number below 8. The type must hold it: at least 2 mantissa bits and 3 exponent bits.
uint64_t whole_float(const FloatBits& type, uint64_t number);

/// Pseudo-random values of a type, the same in each run: integers of all bits, floats of moderate size that are
/// finite and normal, bools of 0 and 1. Bytes after the last whole element are set too.
void fill_values(DType dtype, std::span<std::byte> bytes);

/// The same with whole numbers from 0 to 7: systems that round and systems that truncate convert these alike. Every
/// type holds them exactly but bool, f8_e8m0 and sub-byte types, which are filled by fill_values().
void fill_whole_numbers(DType dtype, std::span<std::byte> bytes);

}  // namespace relayout::bench
