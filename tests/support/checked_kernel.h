// What the two files of the checks of every kernel share (relayout/cpu/kernels/every_kernel_test.cc): the kernel to
// check, and the checks of kernels that compute, one for each type of function in kernels.h.
#pragma once

#include <random>
#include <span>

#include "relayout/cpu/kernels/list.h"
#include "tests/support/regions.h"

namespace relayout::cpu {

/// A kernel to check, apart from its address, and the side of its buffers that touches a guard page.
struct Checked {
  const Kernels& table;
  const KernelFamily& family;
  std::span<const KernelPlace> places;
  test::Guarded::Side side;
  std::mt19937& rng;

  /// The bytes of an element, where kernels differ in them; the only others are for elements of 4 bytes.
  int64_t size() const {
    return !family.by.empty() && family.by.back() == "bytes" ? int64_t{1} << places.back().index : 4;
  }
  /// The columns that are interleaved, or the rows of the opposite.
  int64_t few() const {
    if (family.by.empty()) return 8;
    return family.by[0] == "columns" ? static_cast<int64_t>(places[0].index) + 2 : kCacheLine / size();
  }
  DType type(std::size_t axis) const { return static_cast<DType>(places[axis].index); }
  void flush() const {
    if (family.past_cache()) table.flush();
  }
};

/// Expect that a kernel that computes does so as plain C++ does.
void check(const Checked& k, ConvertStreamKernel kernel);
void check(const Checked& k, ConvertKernel kernel);
void check(const Checked& k, MapKernel kernel);
void check(const Checked& k, ArithmeticKernel kernel);
/// For those that transpose at once.
void check_pipelined_conversion(const Checked& k, PipelinedKernel kernel);

}  // namespace relayout::cpu
