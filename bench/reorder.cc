// The kernels alone, of each instruction set's table, on data in the first-level cache (Google Benchmark):
//
//     relayout_kernels --benchmark_filter='avx512/transpose'
//
// For work on a kernel: what a whole reorder takes beside a copy is told by `relayout bench`. Names are
// ISA/kernel/parameters; rates count bytes read and written. Streaming kernels write past the cache here as well, so
// theirs are rates of memory. Strided, carried and pipelined transpositions, tiles, shuffles, fills and direct
// conversions are not among them.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "bench/buffer.h"
#include "relayout/cpu/kernels/kernels.h"

namespace relayout::bench {
namespace {

using cpu::Kernels;

/// 0, stride, 2 * stride, ...
std::vector<int64_t> steps(int64_t count, int64_t stride) {
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

void add(const Kernels& kernels, const std::string& name,
         void (*run)(benchmark::State&, const Kernels&, std::size_t, std::size_t), std::size_t a, std::size_t b = 0) {
  benchmark::RegisterBenchmark((std::string(kernels.isa) + "/" + name).c_str(),
                               [run, &kernels, a, b](benchmark::State& state) { run(state, kernels, a, b); });
}

/// 64 x 64 elements of 4 bytes and more; of less, 64 rows of a line.
void transpose(benchmark::State& state, const Kernels& kernels, std::size_t log2, std::size_t streaming) {
  const int64_t size = int64_t{1} << log2, rows = 64, cols = size >= 4 ? 64 : 64 / size, pad = 64;
  const auto src_cols = steps(cols, rows * size + pad), dst_rows = steps(rows, cols * size + pad);
  const Fixture data(cols * (rows * size + pad), rows * (cols * size + pad));
  const cpu::TransposeKernel kernel = (streaming ? kernels.transpose_stream : kernels.transpose)[log2];
  data.time(state, 2 * rows * cols * size,
            [&] { kernel(data.src(), src_cols.data(), data.dst(), dst_rows.data(), rows, cols, 0); });
}

void interleave(benchmark::State& state, const Kernels& kernels, std::size_t log2, std::size_t count) {
  const int64_t size = int64_t{1} << log2, few = static_cast<int64_t>(count), n = 8192 / (size * few);
  const auto planes = steps(few, n * size);
  const Fixture data(few * n * size, few * n * size);
  data.time(state, 2 * few * n * size,
            [&] { kernels.interleave[count - 2][log2](data.src(), planes.data(), data.dst(), n); });
}

void deinterleave(benchmark::State& state, const Kernels& kernels, std::size_t log2, std::size_t count) {
  const int64_t size = int64_t{1} << log2, few = static_cast<int64_t>(count), n = 8192 / (size * few);
  const auto planes = steps(few, n * size);
  const Fixture data(few * n * size, few * n * size);
  data.time(state, 2 * few * n * size,
            [&] { kernels.deinterleave[count - 2][log2](data.src(), data.dst(), planes.data(), n); });
}

void copy(benchmark::State& state, const Kernels& kernels, std::size_t bytes, std::size_t streaming) {
  const auto run = static_cast<int64_t>(bytes), n = std::max<int64_t>(1, 8192 / run);
  const auto at = steps(n, run + 64);
  const Fixture data(n * (run + 64), n * (run + 64));
  const cpu::CopyKernel kernel = streaming ? kernels.copy_stream : kernels.copy;
  data.time(state, 2 * n * run,
            [&] { kernel(data.src(), at.data(), cpu::kFirst, data.dst(), at.data(), cpu::kFirst, n, 1, run, 0); });
}

constexpr int64_t kValues = 1024;
constexpr int64_t kValueBytes[] = {4, 8, 16};  // by compute type
constexpr std::string_view kComputeNames[] = {"f32", "f64", "i128"};

int64_t stored_bytes(std::size_t dtype) { return std::max(1, bits(static_cast<DType>(dtype)) / 8); }

void load(benchmark::State& state, const Kernels& kernels, std::size_t compute, std::size_t dtype) {
  const Fixture data(kValues * stored_bytes(dtype), kValues * kValueBytes[compute], static_cast<DType>(dtype));
  data.time(state, kValues * (stored_bytes(dtype) + kValueBytes[compute]),
            [&] { kernels.load[compute][dtype](data.src(), data.dst(), kValues); });
}

void store(benchmark::State& state, const Kernels& kernels, std::size_t compute, std::size_t dtype) {
  // The third compute type is integers: any bits do.
  const DType values = compute == 0 ? DType::f32 : compute == 1 ? DType::f64 : DType::u8;
  const Fixture data(kValues * kValueBytes[compute], kValues * stored_bytes(dtype), values);
  data.time(state, kValues * (stored_bytes(dtype) + kValueBytes[compute]),
            [&] { kernels.store[compute][dtype](data.src(), data.dst(), kValues); });
}

/// One scale for all; each value is read and written.
void scale(benchmark::State& state, const Kernels& kernels, std::size_t compute, std::size_t) {
  const Fixture data(kValues * kValueBytes[compute], 1, compute == 0 ? DType::f32 : DType::f64);
  AttributeValues attributes;
  attributes.src_scale = 1.0f;  // so that repetition neither grows nor shrinks the values
  const cpu::Arithmetic arithmetic{
      .src_scale = true, .dst_scale = false, .src_zero_point = false, .dst_zero_point = false, .beta = 0};
  data.time(state, 2 * kValues * kValueBytes[compute],
            [&] { kernels.arithmetic[compute](data.src(), nullptr, &attributes, 0, kValues, arithmetic); });
}

void add_table(const Kernels& kernels) {
  for (std::size_t log2 = 0; log2 < cpu::kElementSizes; ++log2) {
    const std::string size = std::to_string(1 << log2);
    add(kernels, "transpose/" + size, transpose, log2, 0);
    if (kernels.transpose_stream[log2]) add(kernels, "transpose_stream/" + size, transpose, log2, 1);
  }
  for (std::size_t log2 = 0; log2 < kernels.interleave[0].size(); ++log2) {
    for (std::size_t few : {2, 3, 4}) {
      const std::string parameters = fmt::format("{}x{}", 1 << log2, few);
      if (kernels.interleave[few - 2][log2]) add(kernels, "interleave/" + parameters, interleave, log2, few);
      if (kernels.deinterleave[few - 2][log2]) add(kernels, "deinterleave/" + parameters, deinterleave, log2, few);
    }
  }
  for (std::size_t bytes : {12, 64, 200, 1024, 8192}) {
    add(kernels, "copy/" + std::to_string(bytes), copy, bytes, 0);
    if (kernels.copy_stream) add(kernels, "copy_stream/" + std::to_string(bytes), copy, bytes, 1);
  }
  for (std::size_t compute = 0; compute < cpu::kComputeTypes; ++compute) {
    const std::string type(kComputeNames[compute]);
    for (std::size_t dtype = 0; dtype < static_cast<std::size_t>(kDTypeCount); ++dtype) {
      const std::string stored(name(static_cast<DType>(dtype)));
      if (kernels.load[compute][dtype]) add(kernels, "load/" + stored + "/" + type, load, compute, dtype);
      if (kernels.store[compute][dtype]) add(kernels, "store/" + type + "/" + stored, store, compute, dtype);
    }
    if (compute < kernels.arithmetic.size() && kernels.arithmetic[compute])
      add(kernels, "scale/" + type, scale, compute);
  }
}

}  // namespace
}  // namespace relayout::bench

int main(int argc, char** argv) {
  for (const relayout::cpu::Kernels* kernels : relayout::cpu::all_kernels()) relayout::bench::add_table(*kernels);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
