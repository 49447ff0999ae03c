// What tests of several folders share: the error of a call, every index of a box, tensors in one line.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "relayout/core/error.h"
#include "relayout/core/extents.h"
#include "relayout/core/format.h"
#include "relayout/core/layout.h"

namespace relayout::test {

/// The error that `call` throws. The test fails if it throws none.
template <typename F>
Error error_of(F&& call) {
  try {
    std::forward<F>(call)();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing thrown";
  return Error(ErrorCode::internal, "nothing thrown");
}

template <typename F>
ErrorCode code_of(F&& call) {
  return error_of(std::forward<F>(call)).code();
}

/// Calls f(index) for every index with begin <= index < end. The last dim changes fastest.
template <typename F>
void each_index(const Dims& begin, const Dims& end, F&& f) {
  for (int d = 0; d < begin.size(); ++d) {
    if (begin[d] >= end[d]) return;
  }
  for (Dims index = begin;;) {
    f(std::as_const(index));
    int d = index.size() - 1;
    for (; d >= 0 && ++index[d] == end[d]; --d) index[d] = begin[d];
    if (d < 0) return;
  }
}

template <typename F>
void each_index(const Dims& extents, F&& f) {
  each_index(Dims(extents.size(), 0), extents, std::forward<F>(f));
}

inline Layout bound(std::string_view format, const Dims& dims) { return Format::parse(format).bind(dims); }

inline TensorDesc desc(std::string_view format, const Dims& dims, DType dtype = DType::f32) {
  return TensorDesc(Format::parse(format).bind(dims), dtype);
}

/// Bytes that differ from their neighbours and from those 256 bytes away.
inline std::vector<std::byte> counting(int64_t bytes) {
  std::vector<std::byte> out(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i * 37 + i / 251);
  return out;
}

}  // namespace relayout::test
