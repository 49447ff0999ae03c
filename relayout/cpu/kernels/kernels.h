// The table of kernels: the inner loops that differ by instruction set.
//
// There is one table for each instruction set, and all are filled from the same source (*-inl.h). kernels.inc lists the
// members of a table, one line each; it drives dispatch, the tests (every entry of every table), the benchmarks, and
// what a user sees of kernels (list.h). A kernel sees a matrix, whose rows go along
// the destination (reorder/boxes/loops.h). It is told where rows and columns start and how many bytes things have, and
// knows nothing of layouts. It reads and writes exactly the elements asked for (a line program also reads what lies
// between these), at any alignment.
//
// "Past the cache" means by stores that write whole lines to memory without reading them first (non-temporal stores).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "relayout/core/dtype.h"
#include "relayout/cpu/kernels/members.h"
#include "relayout/reorder/boxes/methods/line_program.h"
#include "relayout/reorder/cast.h"
#include "relayout/reorder/refine/nest.h"

namespace relayout::cpu {

/// Where the columns or rows of a region start, in bytes from its base.
using Starts = const int64_t*;

/// Transposes a region of E-byte elements whose rows follow each other in the source and whose columns in the
/// destination: element (r, c) goes from src + src_cols[c] + r * E to dst + dst_rows[r] + c * E. While a line of
/// the source is read, the line `ahead` bytes later is prefetched into the second-level cache; 0 for none.
/// Kernels::transpose_stream writes past the cache. Its rows start at lines of the destination and are whole lines; or
/// they have 16 or 32 bytes and start at multiples of their size, and should make whole lines one after the other.
using TransposeKernel = void (*)(const std::byte* src, Starts src_cols, std::byte* dst, Starts dst_rows, int64_t rows,
                                 int64_t cols, int64_t ahead);

/// Transposes through the cache where columns start src_stride bytes apart and rows dst_stride bytes apart. If `ahead`
/// is not 0, the next lines of the source are prefetched into the first level, and so are the destination's lines
/// `ahead` bytes ahead.
using StridedTransposeKernel = void (*)(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride,
                                        int64_t rows, int64_t cols, int64_t ahead);

/// Transposes like transpose_stream, but rows may start anywhere in lines. Each call does the next columns, as many as
/// make whole lines. A line of the destination is written once the bytes that complete it are made. Until then, the
/// kernel keeps the last bytes of each row in `carry`, which has 64 bytes a row. `first` says that this is the first
/// call, and that nothing is in `carry`.
using CarriedTransposeKernel = void (*)(const std::byte* src, Starts src_cols, std::byte* dst, Starts dst_rows,
                                        std::byte* carry, bool first, int64_t rows, int64_t cols, int64_t ahead);

/// Attribute values of the elements of a run.
using RunAttributes = AttributeLists<float>;

/// Transposes past the cache elements of 1 and 2 bytes, or values that it also converts. The source need not be packed
/// first. With a null `carry`, the kernel does what transpose_stream does for rows of whole lines; otherwise it does
/// what transpose_carried does. There may be any number of rows. `attributes` is for values that are converted, as for
/// ConvertKernel; all have the same.
using PipelinedKernel = void (*)(const std::byte* src, Starts src_cols, std::byte* dst, Starts dst_rows,
                                 std::byte* carry, bool first, int64_t rows, int64_t cols,
                                 const RunAttributes* attributes, int64_t ahead);

/// dst[r * K + c] = src[src_cols[c] + r] for a fixed number K of columns: rows follow each other in the destination.
using InterleaveKernel = void (*)(const std::byte* src, Starts src_cols, std::byte* dst, int64_t rows);
/// dst[dst_rows[r] + c] = src[c * K + r] for a fixed number K of rows: columns follow each other in the source.
using DeinterleaveKernel = void (*)(const std::byte* src, std::byte* dst, Starts dst_rows, int64_t cols);

/// Copies a region of runs of `bytes` contiguous bytes: run (r, c) goes from src_rows[r] + src_cols[c] to dst_rows[r] +
/// dst_cols[c]. Kernels::copy_stream writes whole lines of the destination past the cache. Runs of 16, 32 and 64 bytes
/// that follow each other are put together to lines wherever they start; other runs of 16 and 32 bytes that start at
/// multiples of 16 should make whole lines one after the other.
using CopyKernel = void (*)(const std::byte* src, Starts src_rows, Starts src_cols, std::byte* dst, Starts dst_rows,
                            Starts dst_cols, int64_t rows, int64_t cols, int64_t bytes, int64_t ahead);

/// Copies through the cache where rows and columns are a fixed distance apart: src_steps[0] and dst_steps[0] are the
/// bytes from row to row, src_steps[1] and dst_steps[1] those from column to column.
using Steps2 = std::array<int64_t, 2>;
using StridedCopyKernel = void (*)(const std::byte* src, Steps2 src_steps, std::byte* dst, Steps2 dst_steps,
                                   int64_t rows, int64_t cols, int64_t bytes);

/// A region that is done by tiles of registers (RegisterTiles): its rows and columns, the rows and columns of a run,
/// and the permutations of groups of 16 bytes on both sides. The region's rows and columns are multiples of a run's.
/// src_ahead and dst_ahead say how many bytes ahead lines are prefetched; 0 for none.
struct TileShape {
  int64_t rows, cols, row_run, col_run;
  const uint8_t *src_pattern, *dst_pattern;
  int64_t src_ahead = 0, dst_ahead = 0;
};

/// Moves such a region: apart from the permutations, element (r, c) goes from src + src_rows[r] + src_cols[c] to
/// dst + dst_rows[r] + dst_cols[c].
using TileKernel = void (*)(const std::byte* src, Starts src_rows, Starts src_cols, std::byte* dst, Starts dst_rows,
                            Starts dst_cols, const TileShape& shape);

/// Fills memory with the 8 bytes of `bits`, repeated. Of the 64 bytes from dst + dst_rows[r] + min(dst_cols[c],
/// last_col) on, byte i is written where bit i of `mask` is set. `stream`: whole lines are written past the cache.
using FillKernel = void (*)(std::byte* dst, Starts dst_rows, Starts dst_cols, int64_t rows, int64_t cols,
                            int64_t last_col, uint64_t mask, uint64_t bits, bool stream);

/// Repeats a piece of 1 to 64 bytes in each of some runs of `bytes` bytes, a multiple of the piece's: that of run r is
/// at src + src_runs[r], and the run starts at dst + dst_runs[r].
using RepeatKernel = void (*)(const std::byte* src, Starts src_runs, int64_t piece, std::byte* dst, Starts dst_runs,
                              int64_t runs, int64_t bytes);

/// Unpacks, or packs, n sub-byte elements of each of `count` lines: line i starts at element first + lines[i] of the
/// packed side, and at byte i * step of the other, where each element has a byte; signed ones are extended. Where a
/// packed byte also holds an element that is not of the line, packing keeps that element; if `shared`, another thread
/// may be writing it.
using UnpackKernel = void (*)(const std::byte* src, int64_t first, Starts lines, int64_t count, int64_t n,
                              std::byte* to, int64_t step);
using PackKernel = void (*)(const std::byte* from, int64_t step, std::byte* dst, int64_t first, Starts lines,
                            int64_t count, int64_t n, bool shared);

/// The units of a line program that a kernel makes, each src_step and dst_step bytes after the one before, and the
/// lines that it makes of each.
struct ProgramUnits {
  int64_t count, src_step, dst_step;
  int64_t first_line, lines;
  /// Whether they are written past the cache; then the program is not masked, and its lines start at lines of `dst`.
  bool past_cache;
};
using LineProgramKernel = void (*)(const std::byte* src, std::byte* dst, const LineProgram& program,
                                   const ProgramUnits& units);

/// The list of a single row or column.
inline constexpr int64_t kFirst[] = {0};

/// A piece of 16 bytes.
struct Bytes16 {
  uint64_t low, high;
};

/// Converts runs of n densely stored elements each to another type: run r goes from
/// src + src_runs[r] to dst + dst_runs[r], at any address. Where `attributes` is not null, the formula of
/// reorder/attributes.h is computed with them, without the old value, and a NaN becomes the positive quiet one; there
/// must be none for a pair of types whose compute type is then not f32. `ahead` as for TransposeKernel.
using ConvertKernel = void (*)(const std::byte* src, Starts src_runs, std::byte* dst, Starts dst_runs, int64_t runs,
                               int64_t n, const RunAttributes* attributes, int64_t ahead);
/// A type that has kernels of pairs and holds every value of `dtype`: by way of it elements are read. Integers of fewer
/// than 8 bits are that type once they are unpacked.
constexpr DType read_as(DType dtype) {
  switch (dtype) {
    case DType::f8_e8m0: return DType::bf16;
    case DType::f6_e3m2:
    case DType::f4_e2m1: return DType::f8_e5m2;
    case DType::f6_e2m3: return DType::f8_e4m3;
    case DType::s4:
    case DType::s2: return DType::s8;
    case DType::u4:
    case DType::u2:
    case DType::u1: return DType::u8;
    default: return dtype;
  }
}
/// The type with kernels of pairs of which elements of `dtype` are made: integers by saturating the next larger ones,
/// floating types by rounding f32.
constexpr DType stored_from(DType dtype) {
  return read_as(dtype) != dtype && kDTypeRows[static_cast<std::size_t>(dtype)].kind == DTypeKind::floating
             ? DType::f32
             : read_as(dtype);
}

/// Makes n elements of one type of n of another, which follow each other. Each element of a sub-byte type has a byte.
/// decode makes read_as(dtype) of a type (null for integers), encode makes a type of stored_from(dtype), also in place
/// for integers, and to_odd makes f32.
using MapKernel = void (*)(const std::byte* from, std::byte* to, int64_t n);

/// What Kernels::convert_stream needs to know of a pair of types: its kernel, and the bytes of its elements.
struct StreamedPair {
  ConvertKernel convert;
  int64_t src_bytes, dst_bytes;
};
/// Converts as the pair's kernel does, but writes whole lines of the destination past the cache.
using ConvertStreamKernel = void (*)(const StreamedPair& pair, const std::byte* src, Starts src_runs, std::byte* dst,
                                     Starts dst_runs, int64_t runs, int64_t n, const RunAttributes* attributes,
                                     int64_t ahead);

/// values[i] becomes the value to store by the formula of reorder/attributes.h. `attributes` are AttributeLists of the
/// compute type, of which the values are one run. `old` holds the destination's old values where beta is not 0.
using ArithmeticKernel = void (*)(void* values, const void* old, const void* attributes, int64_t n, double beta);

using FlushKernel = void (*)();

/// One instruction set's kernels: a member for each line of kernels.inc, which says what it is and where it is null.
struct Kernels {
  std::string_view isa;
  /// How many bytes one instruction puts into any order: 64, or 16.
  int64_t permuted_bytes;
  /// How many f32 values a register holds. Kernels that compute with attribute values take runs of fewer by way of
  /// memory.
  int64_t values;
#define RELAYOUT_KERNEL(name, signature, since, presence, stores, does) KernelMembers<signature>::Type name;
#include "relayout/cpu/kernels/kernels.inc"
#undef RELAYOUT_KERNEL
};

/// A pair of types in a table, for its convert_stream. Both have a kernel for each pair.
inline StreamedPair streamed_pair(const Kernels& kernels, DType from, DType to) {
  const auto f = static_cast<std::size_t>(from), t = static_cast<std::size_t>(to);
  return {kernels.convert[f][t], bits(from) / 8, bits(to) / 8};
}

/// The kernels that unpack and pack elements of so many bits, fewer than 8.
inline UnpackKernel unpack_kernel(const Kernels& kernels, int bits, bool sign) {
  return kernels.unpack[PackedBits::place(bits)][sign ? 1 : 0];
}
inline PackKernel pack_kernel(const Kernels& kernels, int bits) { return kernels.pack[PackedBits::place(bits)]; }

/// The tables that this machine can run, from the slowest, "scalar", to the fastest.
std::span<const Kernels* const> all_kernels() noexcept;

/// The table in use, chosen at the first call: the best, or the one RELAYOUT_ISA names (an unknown name
/// is ignored here; set_isa() says so). Allocates nothing.
const Kernels& kernels() noexcept;
/// Makes another table the one in use, which must stay where it is until the next call of this or of set_isa().
void use_kernels(const Kernels& table) noexcept;

/// Takes kernels out of a table: the optional ones that `items`, a list as in RELAYOUT_KERNEL, names (list.h).
/// Other items are ignored here; left_out() says why.
void leave_out(Kernels& table, std::string_view items) noexcept;
/// Does so with RELAYOUT_KERNEL; done for every table as it is filled.
void leave_out_by_environment(Kernels& table) noexcept;

/// The table in plain C++, which every build has (scalar.cc).
const Kernels* scalar_kernels();
/// Adds the tables of the SIMD build to `out`, worst first; returns how many (simd.cc, needs Highway).
int simd_kernels(std::span<const Kernels*> out) noexcept;

}  // namespace relayout::cpu
