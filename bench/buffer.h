// Memory for measurements: page-aligned, touched before it is timed, filled with values that no conversion trips over.
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

/// Bytes that can be had without swapping; a very large number where the system does not say.
int64_t available_memory();

/// Error{limit} that names `operation` where `bytes` are more than available_memory().
void require_memory(int64_t bytes, const char* operation);

/// Pseudo-random values of a type, the same in each run: integers of all bits, floats of moderate size that are
/// finite and normal, bools of 0 and 1. Bytes after the last whole element are set too.
void fill_values(DType dtype, std::span<std::byte> bytes);

/// The same in whole numbers from 0 to 7, which every type but bool and the 4-bit ones holds exactly: conversions of
/// them are equal in systems that round and in systems that truncate. Such a dtype is filled by fill_values().
void fill_whole_numbers(DType dtype, std::span<std::byte> bytes);

}  // namespace relayout::bench
