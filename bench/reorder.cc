// The kernels alone, of each instruction set's table, on data in the first-level cache (Google Benchmark):
//
//     relayout_kernels --benchmark_filter='avx512/transpose'
//
// This is for work on a kernel; `relayout bench` says how long a whole reorder takes beside a copy. Names are
// ISA/kernel/parameters; rates count bytes read and written. Kernels that write past the cache do so here as well, so
// that their rates are those of memory. Each member of Kernels is here with at least one shape. Beside them stands what
// cpu::reorder() takes before it runs a plan: plan_cache/hit finds one, plan_cache/miss makes it.
#include "relayout/cpu/reorder.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/buffer.h"
#include "relayout/core/format.h"
#include "relayout/cpu/kernels/kernels.h"

namespace relayout::bench {
namespace {

using cpu::Kernels;

/// A permutation of groups that swaps pairs of bytes.
constexpr uint8_t kSwapped[16] = {1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14};

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

using Run = std::function<void(benchmark::State&)>;

void add(const Kernels& kernels, const std::string& name, Run run) {
  benchmark::RegisterBenchmark((std::string(kernels.isa) + "/" + name).c_str(), std::move(run));
}

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

Run shuffle(cpu::ShuffleKernel kernel, int64_t run_bytes) {
  return [=](benchmark::State& state) {
    const int64_t n = std::max<int64_t>(1, 8192 / run_bytes);
    const auto at = steps(n, run_bytes + 64);
    const Fixture data(n * (run_bytes + 64), n * (run_bytes + 64));
    data.time(state, 2 * n * run_bytes, [&] {
      kernel(data.src(), at.data(), cpu::kFirst, data.dst(), at.data(), cpu::kFirst, n, 1, run_bytes, kSwapped);
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

/// Unpacks lines of n elements of 4 bits, which lie n + 1 elements apart.
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
    data.time(state, 64 * n * 3 / 2, [&] { kernel(data.src(), n, data.dst(), 0, lines.data(), 64, n); });
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
constexpr std::string_view kComputeNames[] = {"f32", "f64"};

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
    AttributeValues attributes;
    attributes.src_scale = 1.0f;  // so that repetition neither grows nor shrinks the values
    const cpu::Arithmetic arithmetic{
        .src_scale = true, .dst_scale = false, .src_zero_point = false, .dst_zero_point = false, .beta = 0};
    data.time(state, 2 * kValues * kValueBytes[compute],
              [&] { kernel(data.src(), nullptr, &attributes, 0, kValues, arithmetic); });
  };
}

void add_transpositions(const Kernels& k) {
  for (std::size_t log2 = 0; log2 < cpu::kElementSizes; ++log2) {
    const int64_t size = int64_t{1} << log2;
    const std::string of = "/" + std::to_string(size);
    add(k, "transpose" + of, transpose(k.transpose[log2], size));
    add(k, "transpose_strided" + of, transpose_strided(k.transpose_strided[log2], size));
    if (k.transpose_stream[log2]) add(k, "transpose_stream" + of, transpose(k.transpose_stream[log2], size));
    if (k.transpose_carried[log2]) add(k, "transpose_carried" + of, transpose_carried(k.transpose_carried[log2], size));
    if (log2 < k.transpose_pipelined.size() && k.transpose_pipelined[log2]) {
      for (const bool carried : {false, true}) {
        add(k, "transpose_pipelined" + of + (carried ? "/carried" : ""),
            transpose_pipelined(k.transpose_pipelined[log2], size, size, carried, DType::u8));
      }
    }
    for (std::size_t few = 0; few < k.interleave.size(); ++few) {
      const std::string parameters = fmt::format("{}x{}", of, few + 2);
      const auto count = static_cast<int64_t>(few + 2);
      const auto both = [&](const std::string& name, auto& kernels, auto& streaming, auto run) {
        if (kernels[few][log2]) add(k, name + parameters, run(kernels[few][log2], size, count));
        if (streaming[few][log2]) add(k, name + "_stream" + parameters, run(streaming[few][log2], size, count));
      };
      both("interleave", k.interleave, k.interleave_stream, interleave);
      both("deinterleave", k.deinterleave, k.deinterleave_stream, deinterleave);
    }
  }
}

void add_blocks(const Kernels& k) {
  for (std::size_t log2 = 0; log2 < k.split_lines.size(); ++log2) {
    const int64_t size = int64_t{1} << log2;
    const std::string of = "/" + std::to_string(size);
    if (k.split_lines[log2]) add(k, "split_lines" + of, deinterleave(k.split_lines[log2], size, 64 / size));
    if (k.join_lines[log2]) add(k, "join_lines" + of, interleave(k.join_lines[log2], size, 64 / size));
  }
  if (k.split_halves) add(k, "split_halves", deinterleave(k.split_halves, 4, 8));
  if (k.join_halves) add(k, "join_halves", interleave(k.join_halves, 4, 8));
}

void add_tiles(const Kernels& k) {
  for (std::size_t log2 = 0; log2 < k.tiles.size(); ++log2) {
    const int64_t size = int64_t{1} << log2;
    for (const int64_t rows : {8, 16, 64}) {
      for (const int64_t cols : {8, 16, 64}) {
        if (std::min(rows, cols) >= size)
          add(k, fmt::format("tiles/{}/{}x{}", size, rows, cols), tiles(k.tiles[log2], size, rows, cols));
      }
    }
  }
}

void add_conversions(const Kernels& k) {
  const auto type_name = [](std::size_t dtype) { return std::string(name(static_cast<DType>(dtype))); };
  for (std::size_t from = 0; from < k.convert.size(); ++from) {
    for (std::size_t to = 0; to < k.convert.size(); ++to) {
      const std::string types = "/" + type_name(from) + "/" + type_name(to);
      add(k, "convert" + types, convert(k.convert[from][to], from, to));
      if (k.convert_stream) add(k, "convert_stream" + types, convert_stream(k, from, to));
      if (k.convert_pipelined[from][to]) {
        const auto dtype = static_cast<DType>(from);
        add(k, "convert_pipelined" + types,
            transpose_pipelined(k.convert_pipelined[from][to], stored_bytes(from), stored_bytes(to), false, dtype));
      }
    }
  }
  for (std::size_t compute = 0; compute < k.arithmetic.size(); ++compute) {
    if (k.arithmetic[compute])
      add(k, "scale/" + std::string(kComputeNames[compute]), scale(k.arithmetic[compute], compute));
  }
}

void add_table(const Kernels& k) {
  add_transpositions(k);
  add_blocks(k);
  add_tiles(k);
  for (const int64_t run : {12, 64, 200, 1024, 8192}) {
    add(k, "copy/" + std::to_string(run), copy(k.copy, run));
    if (k.copy_stream) add(k, "copy_stream/" + std::to_string(run), copy(k.copy_stream, run));
  }
  for (const int64_t run : {16, 64, 1024}) add(k, "shuffle/" + std::to_string(run), shuffle(k.shuffle, run));
  for (const int filled : {3, 16, 64}) add(k, "fill/" + std::to_string(filled), fill(k.fill, filled, false));
  add(k, "fill_stream/64", fill(k.fill, 64, true));
  for (const int64_t n : {4, 16, 64}) {
    add(k, "unpack_nibbles/" + std::to_string(n), unpack(k.unpack_nibbles[1], n));
    add(k, "pack_nibbles/" + std::to_string(n), pack(k.pack_nibbles, n));
  }
  add_conversions(k);
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
