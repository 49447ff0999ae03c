// The kernels alone, of each instruction set's table, on data in the first-level cache (Google Benchmark):
//
//     relayout_kernels --benchmark_filter='avx512/transpose'
//
// This is for work on a kernel; `relayout bench` says how long a whole reorder takes beside a copy. Names are
// ISA/kernel/parameters; rates count bytes read and written. Kernels that write past the cache do so here as well, so
// that their rates are those of memory. Every kernel that kernels.inc lists is here with at least one shape: a line
// that is added there and has a type of function of its own does not compile here until there is a benchmark for that
// type. Beside them stands what cpu::reorder() takes before it runs a plan: plan_cache/hit finds one, plan_cache/miss
// makes it.
#include "relayout/cpu/reorder.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/kernel_fixture.h"
#include "relayout/core/format.h"
#include "relayout/cpu/kernels/list.h"

namespace relayout::bench {
namespace {

using cpu::Kernels;

/// A permutation of groups that swaps pairs of bytes.
constexpr uint8_t kSwapped[16] = {1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14};

using Run = std::function<void(benchmark::State&)>;

/// A kernel to time, apart from its address.
struct Timed {
  const Kernels& table;
  const cpu::KernelFamily& family;
  std::span<const cpu::KernelPlace> places;

  void add(Run run, const std::string& parameters = "") const {
    const std::string name = std::string(table.isa) + "/" + cpu::kernel_name(family, places) + parameters;
    benchmark::RegisterBenchmark(name.c_str(), std::move(run));
  }
  /// The bytes of an element, where kernels differ in them; the only others are for elements of 4 bytes.
  int64_t size() const {
    return !family.by.empty() && family.by.back() == "bytes" ? int64_t{1} << places.back().index : 4;
  }
  /// The columns that are interleaved, or the rows of the opposite.
  int64_t few() const {
    if (family.by.empty()) return 8;
    return family.by[0] == "columns" ? static_cast<int64_t>(places[0].index) + 2 : 64 / size();
  }
};

/// A region of 64 rows, and of columns that make whole lines: 64 columns of elements of 4 bytes and more, a line of
/// smaller ones. An element has `src_size` bytes in the source and `dst_size` in the destination, whose rows start at
/// lines.
struct Region {
  explicit Region(int64_t src, int64_t dst, DType dtype = DType::u8)
      : src_size(src),
        dst_size(dst),
        cols(std::max<int64_t>(64 / std::min(src, dst), std::min(src, dst) >= 4 ? 64 : 0)),
        src_cols(steps(cols, rows * src + kPad)),
        dst_rows(steps(rows, cols * dst + kPad)),
        data(cols * (rows * src + kPad), rows * (cols * dst + kPad), dtype) {}

  template <typename Call>
  void time(benchmark::State& state, Call&& call) const {
    data.time(state, rows * cols * (src_size + dst_size), call);
  }

  static constexpr int64_t kPad = 64;
  int64_t rows = 64, src_size, dst_size, cols;
  std::vector<int64_t> src_cols, dst_rows;
  Fixture data;
};

Run transpose(cpu::TransposeKernel kernel, int64_t size) {
  return [=](benchmark::State& state) {
    const Region r(size, size);
    r.time(state, [&] { kernel(r.data.src(), r.src_cols.data(), r.data.dst(), r.dst_rows.data(), r.rows, r.cols, 0); });
  };
}

Run transpose_strided(cpu::StridedTransposeKernel kernel, int64_t size) {
  return [=](benchmark::State& state) {
    const Region r(size, size);
    r.time(state, [&] { kernel(r.data.src(), r.src_cols[1], r.data.dst(), r.dst_rows[1], r.rows, r.cols, 0); });
  };
}

/// For rows that start anywhere: here 4 bytes past a line.
Run transpose_carried(cpu::CarriedTransposeKernel kernel, int64_t size) {
  return [=](benchmark::State& state) {
    const Region r(size, size);
    const PageBuffer carry(r.rows * 64);
    r.time(state, [&] {
      kernel(r.data.src(), r.src_cols.data(), r.data.dst() + 4, r.dst_rows.data(), carry.data(), true, r.rows, r.cols,
             0);
    });
  };
}

/// Rows start at lines or, with `carried`, anywhere. Values are converted where the sizes differ.
Run transpose_pipelined(cpu::PipelinedKernel kernel, int64_t src_size, int64_t dst_size, bool carried, DType dtype) {
  return [=](benchmark::State& state) {
    const Region r(src_size, dst_size, dtype);
    const PageBuffer carry(r.rows * 64);
    r.time(state, [&] {
      kernel(r.data.src(), r.src_cols.data(), r.data.dst() + (carried ? 4 : 0), r.dst_rows.data(),
             carried ? carry.data() : nullptr, true, r.rows, r.cols, nullptr, 0);
    });
  };
}

/// Tiles of registers with runs of so many bytes on both sides and permuted groups.
Run tiles(cpu::TileKernel kernel, int64_t size, int64_t row_bytes, int64_t col_bytes) {
  return [=](benchmark::State& state) {
    const int64_t row_run = row_bytes / size, col_run = col_bytes / size, side = 4096 * size / (row_bytes * col_bytes);
    const int64_t rows = row_run, cols = col_run * std::max<int64_t>(side, 1);
    const auto src_rows = steps(rows, size), src_cols = steps(cols, row_bytes);
    const auto dst_rows = steps(rows, cols * size), dst_cols = steps(cols, size);
    const Fixture data(rows * cols * size, rows * cols * size);
    data.time(state, 2 * rows * cols * size, [&] {
      kernel(data.src(), src_rows.data(), src_cols.data(), data.dst(), dst_rows.data(), dst_cols.data(),
             {rows, cols, row_run, col_run, kSwapped, kSwapped});
    });
  };
}

/// Fills the first bytes of every 64.
Run fill(cpu::FillKernel kernel, int filled, bool stream) {
  return [=](benchmark::State& state) {
    const auto rows = steps(128, 64);
    const Fixture data(1, 128 * 64);
    const uint64_t mask = filled == 64 ? ~uint64_t{0} : (uint64_t{1} << filled) - 1;
    data.time(state, 128 * filled,
              [&] { kernel(data.dst(), rows.data(), cpu::kFirst, 128, 1, 0, mask, 0x0101010101010101, stream); });
  };
}

/// Repeats a piece in runs of about so many bytes.
Run repeat(cpu::RepeatKernel kernel, int64_t piece, int64_t run_bytes) {
  return [=](benchmark::State& state) {
    const int64_t bytes = run_bytes / piece * piece, runs = 8192 / run_bytes;
    const auto src = steps(runs, piece), dst = steps(runs, run_bytes);
    const Fixture data(runs * piece, 8192);
    data.time(state, runs * bytes, [&] { kernel(data.src(), src.data(), piece, data.dst(), dst.data(), runs, bytes); });
  };
}

/// Unpacks lines of n sub-byte elements, which lie n + 1 elements apart.
Run unpack(cpu::UnpackKernel kernel, int64_t n) {
  return [=](benchmark::State& state) {
    const auto lines = steps(64, n + 1);
    const Fixture data(64 * (n + 1), 64 * n);
    data.time(state, 64 * n * 3 / 2, [&] { kernel(data.src(), 0, lines.data(), 64, n, data.dst(), n); });
  };
}

Run pack(cpu::PackKernel kernel, int64_t n) {
  return [=](benchmark::State& state) {
    const auto lines = steps(64, n + 1);
    const Fixture data(64 * n, 64 * (n + 1));
    data.time(state, 64 * n * 3 / 2, [&] { kernel(data.src(), n, data.dst(), 0, lines.data(), 64, n, false); });
  };
}

Run interleave(cpu::InterleaveKernel kernel, int64_t size, int64_t few) {
  return [=](benchmark::State& state) {
    const int64_t n = 8192 / (size * few) / 64 * 64;
    const auto planes = steps(few, n * size);
    const Fixture data(few * n * size, few * n * size);
    data.time(state, 2 * few * n * size, [&] { kernel(data.src(), planes.data(), data.dst(), n); });
  };
}

Run deinterleave(cpu::DeinterleaveKernel kernel, int64_t size, int64_t few) {
  return [=](benchmark::State& state) {
    const int64_t n = 8192 / (size * few) / 64 * 64;
    const auto planes = steps(few, n * size);
    const Fixture data(few * n * size, few * n * size);
    data.time(state, 2 * few * n * size, [&] { kernel(data.src(), data.dst(), planes.data(), n); });
  };
}

Run copy(cpu::CopyKernel kernel, int64_t run_bytes) {
  return [=](benchmark::State& state) {
    const int64_t n = std::max<int64_t>(1, 8192 / run_bytes);
    const auto at = steps(n, run_bytes + 64);
    const Fixture data(n * (run_bytes + 64), n * (run_bytes + 64));
    data.time(state, 2 * n * run_bytes, [&] {
      kernel(data.src(), at.data(), cpu::kFirst, data.dst(), at.data(), cpu::kFirst, n, 1, run_bytes, 0);
    });
  };
}

constexpr int64_t kValues = 1024;
constexpr int64_t kValueBytes[] = {4, 8};  // by compute type

int64_t stored_bytes(std::size_t dtype) { return std::max(1, bits(static_cast<DType>(dtype)) / 8); }

Run convert(cpu::ConvertKernel kernel, std::size_t from, std::size_t to) {
  return [=](benchmark::State& state) {
    const Fixture data(kValues * stored_bytes(from), kValues * stored_bytes(to), static_cast<DType>(from));
    data.time(state, kValues * (stored_bytes(from) + stored_bytes(to)),
              [&] { kernel(data.src(), cpu::kFirst, data.dst(), cpu::kFirst, 1, kValues, nullptr, 0); });
  };
}

Run convert_stream(const cpu::Kernels& k, std::size_t from, std::size_t to) {
  const cpu::StreamedPair pair = cpu::streamed_pair(k, static_cast<DType>(from), static_cast<DType>(to));
  return [pair, from, stream = k.convert_stream](benchmark::State& state) {
    const Fixture data(kValues * pair.src_bytes, kValues * pair.dst_bytes, static_cast<DType>(from));
    data.time(state, kValues * (pair.src_bytes + pair.dst_bytes),
              [&] { stream(pair, data.src(), cpu::kFirst, data.dst(), cpu::kFirst, 1, kValues, nullptr, 0); });
  };
}

/// Multiplies all values by one scale; each value is read and written.
Run scale(cpu::ArithmeticKernel kernel, std::size_t compute) {
  return [=](benchmark::State& state) {
    const Fixture data(kValues * kValueBytes[compute], 1, compute == 0 ? DType::f32 : DType::f64);
    // By 1, so that repetition neither grows nor shrinks the values.
    const AttributeValues<float> narrow;
    const AttributeValues<double> wide;
    const AttributeLists<float> in_f32 = lists_of(narrow);
    const AttributeLists<double> in_f64 = lists_of(wide);
    const void* const attributes = compute == 0 ? static_cast<const void*>(&in_f32) : &in_f64;
    data.time(state, 2 * kValues * kValueBytes[compute], [&] { kernel(data.src(), nullptr, attributes, kValues, 0); });
  };
}

Run copy_strided(cpu::StridedCopyKernel kernel, int64_t run_bytes) {
  return [=](benchmark::State& state) {
    const int64_t n = std::max<int64_t>(1, 8192 / run_bytes), step = run_bytes + 64;
    const Fixture data(n * step, n * step);
    data.time(state, 2 * n * run_bytes, [&] { kernel(data.src(), {step, 0}, data.dst(), {step, 0}, n, 1, run_bytes); });
  };
}

// One function for each type of kernel adds its benchmarks.

void add(const Timed& k, cpu::TransposeKernel kernel) { k.add(transpose(kernel, k.size())); }
void add(const Timed& k, cpu::StridedTransposeKernel kernel) { k.add(transpose_strided(kernel, k.size())); }
void add(const Timed& k, cpu::CarriedTransposeKernel kernel) { k.add(transpose_carried(kernel, k.size())); }
void add(const Timed& k, cpu::PipelinedKernel kernel) {
  if (k.family.by[0] == "type") {
    const std::size_t from = k.places[0].index, to = k.places[1].index;
    return k.add(transpose_pipelined(kernel, stored_bytes(from), stored_bytes(to), false, static_cast<DType>(from)));
  }
  for (const bool carried : {false, true})
    k.add(transpose_pipelined(kernel, k.size(), k.size(), carried, DType::u8), carried ? "/carried" : "");
}
void add(const Timed& k, cpu::InterleaveKernel kernel) { k.add(interleave(kernel, k.size(), k.few())); }
void add(const Timed& k, cpu::DeinterleaveKernel kernel) { k.add(deinterleave(kernel, k.size(), k.few())); }
void add(const Timed& k, cpu::CopyKernel kernel) {
  for (const int64_t run : {12, 64, 200, 1024, 8192}) k.add(copy(kernel, run), "/" + std::to_string(run));
}
void add(const Timed& k, cpu::StridedCopyKernel kernel) {
  for (const int64_t run : {12, 64, 200, 1024, 8192}) k.add(copy_strided(kernel, run), "/" + std::to_string(run));
}
/// Units of a line, whose bytes come from 2 and from 8 windows in turn.
Run line_program(cpu::LineProgramKernel kernel, int64_t width, int64_t windows, bool past_cache) {
  return [=](benchmark::State& state) {
    LineProgram program;
    program.width = width;
    program.windows = windows;
    program.lines = {{0, 0, windows, ~uint64_t{0} >> (64 - width)}};
    program.indices.resize(static_cast<std::size_t>(windows));
    for (int64_t w = 0; w < windows; ++w) {
      program.from.push_back(w * width);
      for (int64_t i = w; i < width; i += windows)
        program.indices.front().at[w * width + i] = static_cast<uint8_t>(LineProgram::kTaken | i);
    }
    const int64_t units = 8192 / width;
    const Fixture data((units + windows) * width, units * width);
    data.time(state, 2 * units * width, [&] {
      kernel(data.src(), data.dst(), program, {units, width, width, 0, 1, past_cache});
    });
  };
}
void add(const Timed& k, cpu::LineProgramKernel kernel) {
  const int64_t width = k.places[0].index == 0 ? 16 : 64;
  for (const int64_t windows : {2, 8})
    k.add(line_program(kernel, width, windows, false), "/" + std::to_string(windows));
  k.add(line_program(kernel, width, 2, true), "/2/stream");
}
void add(const Timed& k, cpu::TileKernel kernel) {
  for (const int64_t rows : {8, 16, 64}) {
    for (const int64_t cols : {8, 16, 64}) {
      if (std::min(rows, cols) >= k.size())
        k.add(tiles(kernel, k.size(), rows, cols), fmt::format("/{}x{}", rows, cols));
    }
  }
}
void add(const Timed& k, cpu::FillKernel kernel) {
  for (const int filled : {3, 16, 64}) k.add(fill(kernel, filled, false), "/" + std::to_string(filled));
  k.add(fill(kernel, 64, true), "/64/stream");
}
void add(const Timed& k, cpu::RepeatKernel kernel) {
  for (const int64_t piece : {1, 4, 12}) {
    for (const int64_t run : {64, 512, 8192}) k.add(repeat(kernel, piece, run), fmt::format("/{}x{}", piece, run));
  }
}
void add(const Timed& k, cpu::UnpackKernel kernel) {
  for (const int64_t n : {4, 16, 64}) k.add(unpack(kernel, n), "/" + std::to_string(n));
}
void add(const Timed& k, cpu::PackKernel kernel) {
  for (const int64_t n : {4, 16, 64}) k.add(pack(kernel, n), "/" + std::to_string(n));
}
void add(const Timed& k, cpu::FlushKernel kernel) {
  k.add([=](benchmark::State& state) {
    for (auto _ : state) kernel();
  });
}
void add(const Timed& k, cpu::ConvertKernel kernel) { k.add(convert(kernel, k.places[0].index, k.places[1].index)); }
void add(const Timed& k, cpu::MapKernel kernel) {
  k.add([=](benchmark::State& state) {
    const Fixture data(kValues * 8, kValues * 4);
    data.time(state, kValues * 4, [&] { kernel(data.src(), data.dst(), kValues); });
  });
}
void add(const Timed& k, cpu::ConvertStreamKernel) {
  for (std::size_t from = 0; from < k.table.convert.size(); ++from) {
    for (std::size_t to = 0; to < k.table.convert.size(); ++to) {
      k.add(convert_stream(k.table, from, to),
            "/" + std::string(name(static_cast<DType>(from))) + "/" + std::string(name(static_cast<DType>(to))));
    }
  }
}
void add(const Timed& k, cpu::ArithmeticKernel kernel) { k.add(scale(kernel, k.places[0].index)); }

void add_table(const Kernels& table) {
  cpu::each_kernel(table, [&](const cpu::KernelFamily& family, auto kernel, std::span<const cpu::KernelPlace> places) {
    if (kernel) add(Timed{table, family, places}, kernel);
  });
}

/// Plans of nchw to nChw16c, from a cache that keeps `capacity` of them.
void add_plan_cache(const char* name, int64_t capacity) {
  benchmark::RegisterBenchmark(name, [capacity](benchmark::State& state) {
    const Dims dims{32, 67, 56, 56};
    const TensorDesc src(Format::parse("nchw").bind(dims), DType::f32);
    const TensorDesc dst(Format::parse("nChw16c").bind(dims), DType::f32);
    cpu::set_plan_cache_capacity(capacity);
    cpu::cached_plan(src, dst);
    for (auto _ : state) benchmark::DoNotOptimize(cpu::cached_plan(src, dst));
    cpu::set_plan_cache_capacity(cpu::kPlanCacheCapacity);
  });
}

}  // namespace
}  // namespace relayout::bench

int main(int argc, char** argv) {
  for (const relayout::cpu::Kernels* kernels : relayout::cpu::all_kernels()) relayout::bench::add_table(*kernels);
  relayout::bench::add_plan_cache("plan_cache/hit", relayout::cpu::kPlanCacheCapacity);
  relayout::bench::add_plan_cache("plan_cache/miss", 0);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
