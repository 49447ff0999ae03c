// The memory of a kernel's benchmark (reorder.cc), and where its rows and columns start.
#pragma once

#include <benchmark/benchmark.h>

#include <vector>

#include "bench/buffer.h"

namespace relayout::bench {

/// 0, stride, 2 * stride, ...
inline std::vector<int64_t> steps(int64_t count, int64_t stride) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(i * stride);
  return out;
}

/// Two buffers, and one call of a kernel over them.
class Fixture {
 public:
  Fixture(int64_t src_bytes, int64_t dst_bytes, DType dtype = DType::u8) : src_(src_bytes), dst_(dst_bytes) {
    fill_values(dtype, src_.bytes());
  }
  std::byte* src() const { return src_.data(); }
  std::byte* dst() const { return dst_.data(); }

  template <typename Call>
  void time(benchmark::State& state, int64_t bytes, Call&& call) const {
    for (auto _ : state) {
      call();
      benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * bytes);
  }

 private:
  PageBuffer src_, dst_;
};

}  // namespace relayout::bench
