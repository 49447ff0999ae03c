// Small inline vectors of 64-bit numbers, and arithmetic that says when it overflows.
//
// A tensor has at most kMaxDims dimensions, so dims, strides and indices live in fixed storage:
// they are values, cheap to copy, and nothing here touches the heap.
//
//     Dims dims{2, 17, 5, 4};
//     std::optional<int64_t> n = checked_product(dims);   // 680, or nothing on overflow
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "relayout/core/error.h"

namespace relayout {

/// The most dimensions a tensor can have (oneDNN's limit too).
inline constexpr int kMaxDims = 12;

/// A vector of at most N elements, stored inline. Over N: Error{limit}.
template <typename T, int N>
class InlineVector {
 public:
  InlineVector() = default;
  InlineVector(std::initializer_list<T> values) : InlineVector(std::span(values.begin(), values.size())) {}
  explicit InlineVector(std::span<const T> values) {
    for (const T& value : values) push_back(value);
  }
  InlineVector(int count, const T& value) {
    for (int i = 0; i < count; ++i) push_back(value);
  }

  void push_back(const T& value) {
    if (size_ == N) {
      throw Error(ErrorCode::limit, "more than " + std::to_string(N) + " entries", "size", std::to_string(N + 1),
                  std::to_string(N));
    }
    data_[static_cast<std::size_t>(size_++)] = value;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void insert(int at, const T& value) {
    push_back(value);
    std::rotate(begin() + at, end() - 1, end());
  }
  void erase(int at) {
    std::copy(begin() + at + 1, end(), begin() + at);
    pop_back();
  }

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](int i) { return data_[static_cast<std::size_t>(i)]; }
  const T& operator[](int i) const { return data_[static_cast<std::size_t>(i)]; }
  T& back() { return (*this)[size_ - 1]; }
  const T& back() const { return (*this)[size_ - 1]; }
  T* begin() { return data_.data(); }
  T* end() { return data_.data() + size_; }
  const T* begin() const { return data_.data(); }
  const T* end() const { return data_.data() + size_; }
  const T* data() const { return data_.data(); }
  operator std::span<const T>() const { return {data_.data(), static_cast<std::size_t>(size_)}; }

  friend bool operator==(const InlineVector& a, const InlineVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::array<T, static_cast<std::size_t>(N)> data_{};
  int size_ = 0;
};

/// Extents, strides or an index: one number a dimension, in logical order.
using Dims = InlineVector<int64_t, kMaxDims>;

/// a + b and a * b, or nothing where 64 bits do not hold the result.
inline std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t out;
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}
inline std::optional<int64_t> checked_mul(int64_t a, int64_t b) {
  int64_t out;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

/// Product of all values (1 for none); 0 if any is 0, whatever the others are.
std::optional<int64_t> checked_product(std::span<const int64_t> values);

/// ceil(a / b) for a >= 0, b > 0.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/// "2,17,5,4" with any separator; "" for none.
std::string join(std::span<const int64_t> values, std::string_view separator = ",");

/// Reads "2,17,5,4" or "2x17x5x4", as dims are shown ("" is rank 0). Error{parse} names the entry; no sign check is
/// made here.
Dims parse_dims(std::string_view text, std::string_view what = "dims");

/// Reads one decimal int64 that fills all of `text`. Error{parse} otherwise.
int64_t parse_int(std::string_view text, std::string_view what);

}  // namespace relayout
