// The table of kernels: the inner loops that differ by instruction set.
//
// One table an instruction set, all filled from the same source (*-inl.h). The table drives dispatch, the
// tests (every entry of every table) and the benchmarks. Kernels know where runs start and sizes in bytes, nothing
// of layouts. They read and write exactly the elements asked for, at any alignment.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "relayout/core/dtype.h"
#include "relayout/reorder/cast.h"
#include "relayout/reorder/nest.h"

namespace relayout::cpu {

/// Where the columns or rows of a region start, in bytes from its base.
using Starts = const int64_t*;

/// A region of E-byte elements whose rows are contiguous in the source and whose columns are contiguous in the
/// destination: element (r, c) goes from src + src_cols[c] + r * E to dst + dst_rows[r] + c * E. `ahead` is the
/// distance in bytes of what is prefetched into the second-level cache while a line of the source is read; 0 for none.
/// transpose_stream: rows start at lines (64 bytes) of the destination and are whole lines; its stores pass by the
/// cache. Or rows of 16 or 32 bytes start at multiples of their size, and should make whole lines one after the other.
using TransposeKernel = void (*)(const std::byte* src, Starts src_cols, std::byte* dst, Starts dst_rows, int64_t rows,
                                 int64_t cols, int64_t ahead);

/// The same through the cache for columns and rows that are a fixed distance apart on the other side. Where `ahead` is
/// not 0, the source's next lines are fetched into the first level, and the destination's so many bytes ahead.
using StridedTransposeKernel = void (*)(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride,
                                        int64_t rows, int64_t cols, int64_t ahead);

/// As transpose_stream for rows that start anywhere, in lines of columns. Of each row the last line made is in `carry`,
/// a line a row: a line of the destination is written once the next one is made. With `first` there is none before.
using CarriedTransposeKernel = void (*)(const std::byte* src, Starts src_cols, std::byte* dst, Starts dst_rows,
                                        std::byte* carry, bool first, int64_t rows, int64_t cols, int64_t ahead);

/// A transposition past the cache that takes its source as it is: as transpose_stream where `carry` is null, or, for
/// two to four columns, as interleave_stream; with a carry as transpose_carried. Any number of rows. `scale` is for
/// values that are converted, as for ConvertKernel.
using PipelinedKernel = void (*)(const std::byte* src, Starts src_cols, std::byte* dst, Starts dst_rows,
                                 std::byte* carry, bool first, int64_t rows, int64_t cols, const float* scale,
                                 int64_t ahead);

/// dst[r * K + c] = src[src_cols[c] + r] for a fixed number K of columns: rows follow each other in the destination.
using InterleaveKernel = void (*)(const std::byte* src, Starts src_cols, std::byte* dst, int64_t rows);
/// dst[dst_rows[r] + c] = src[c * K + r] for a fixed number K of rows: columns follow each other in the source.
using DeinterleaveKernel = void (*)(const std::byte* src, std::byte* dst, Starts dst_rows, int64_t cols);

/// A region of runs of `bytes` contiguous bytes: run (r, c) goes from src_rows[r] + src_cols[c] to dst_rows[r] +
/// dst_cols[c]. copy_stream: whole lines of the destination pass by the cache; runs of 16, 32 and 64 bytes that follow
/// each other make lines together wherever they start, and others of 16 and 32 that start at multiples of 16 should.
using CopyKernel = void (*)(const std::byte* src, Starts src_rows, Starts src_cols, std::byte* dst, Starts dst_rows,
                            Starts dst_cols, int64_t rows, int64_t cols, int64_t bytes, int64_t ahead);

/// The same through the cache for rows and columns that are a fixed distance apart, those of `src_steps` and
/// `dst_steps`: first of rows, then of columns.
using Steps2 = std::array<int64_t, 2>;
using StridedCopyKernel = void (*)(const std::byte* src, Steps2 src_steps, std::byte* dst, Steps2 dst_steps,
                                   int64_t rows, int64_t cols, int64_t bytes);

/// The same with the bytes of each group of 16 permuted: byte i of a group comes from byte pattern[i], from which
/// the same follows for a last group that is not whole. `bytes` is a multiple of the pattern's period.
using ShuffleKernel = void (*)(const std::byte* src, Starts src_rows, Starts src_cols, std::byte* dst, Starts dst_rows,
                               Starts dst_cols, int64_t rows, int64_t cols, int64_t bytes, const uint8_t* pattern);

/// What tiles of 16 bytes and more of a region are, see BoxPlan::row_run: rows and columns, those of a run (the numbers
/// of rows and columns are multiples), and the permutations of both sides; how many bytes ahead of what is read and
/// written lines are fetched, 0 for not.
struct TileShape {
  int64_t rows, cols, row_run, col_run;
  const uint8_t *src_pattern, *dst_pattern;
  int64_t src_ahead = 0, dst_ahead = 0;
};

/// A region of runs of rows and columns: element (r, c) goes from src + src_rows[r] + src_cols[c] to dst + dst_rows[r]
/// + dst_cols[c], but for the permutations.
using TileKernel = void (*)(const std::byte* src, Starts src_rows, Starts src_cols, std::byte* dst, Starts dst_rows,
                            Starts dst_cols, const TileShape& shape);

/// Groups of `bytes` bytes, 64 at most, that follow each other: byte i of each becomes what was its byte pattern[i];
/// there are 64 of these. Up to 64 bytes past the last group are read, and written: `dst` may be any memory of its own,
/// or start 64 bytes before `src`.
using RegroupKernel = void (*)(const std::byte* src, std::byte* dst, int64_t groups, int64_t bytes,
                               const uint8_t* pattern);

/// Writes 8 bytes of `bits` again and again: of the 64 bytes from dst + dst_rows[r] + min(dst_cols[c], last_col) on
/// those that `mask` has, by bit. stream: whole lines are written past the cache.
using FillKernel = void (*)(std::byte* dst, Starts dst_rows, Starts dst_cols, int64_t rows, int64_t cols,
                            int64_t last_col, uint64_t mask, uint64_t bits, bool stream);

/// n elements of 4 bits of each of `count` lines, which start at element first + lines[i] of a side, to or from bytes
/// at i * step; signed ones are extended. Bytes that lines share with other elements keep these.
using UnpackKernel = void (*)(const std::byte* src, int64_t first, Starts lines, int64_t count, int64_t n,
                              std::byte* to, int64_t step);
using PackKernel = void (*)(const std::byte* from, int64_t step, std::byte* dst, int64_t first, Starts lines,
                            int64_t count, int64_t n);

/// A line of the destination, or 16 bytes of one, out of a few stretches of the source of up to as many bytes each,
/// from from[k] on.
///
/// 64 bytes: of a stretch the bytes in mask[k] are read. Byte i is byte index[0][i] of the first two of them, one after
/// the other, or, where `later` has bit i, byte index[1][i] of the other two; where `filled` has it, it is none of
/// them. `written`: which bytes a masked store has.
///
/// 16 bytes: of a stretch all bytes are read. Byte i is byte index[0][16 * k + i] of stretch k where that is under 16,
/// index[1][i] where it is that of none.
struct alignas(64) WovenLine {
  static constexpr int kStretches = 4;
  uint8_t index[kStretches / 2][64];
  int64_t from[kStretches];
  uint64_t mask[kStretches];
  uint64_t later, filled, written;
};

/// Makes `count` lines from the one at `first` of a list of `period` on, which repeats: each time `step` bytes further
/// on in the source. All have at most so many stretches, at least one. Bytes that are filled become `fill`. `dst` may
/// be any address, but past the cache it is at a line (16 bytes: at a multiple of that, and none are masked). From
/// `end` on nothing is read.
struct WovenLines {
  enum class Store : uint8_t { past_cache, whole, masked };
  const WovenLine* lines;
  int64_t first, period, count, step;
  int stretches;
  uint8_t fill;
  Store store;
  const std::byte* end;
};
using WeaveKernel = void (*)(const std::byte* src, std::byte* dst, const WovenLines& lines);

/// The list of a single row or column.
inline constexpr int64_t kFirst[] = {0};

/// A piece of 16 bytes.
struct Bytes16 {
  uint64_t low, high;
};

/// n elements, densely stored (4-bit ones a byte each), to n values of a compute type. Values too may have any address.
using LoadKernel = void (*)(const std::byte* src, void* values, int64_t n);
/// n values of a compute type to n densely stored elements.
using StoreKernel = void (*)(const void* values, std::byte* dst, int64_t n);

/// Runs of n densely stored elements each to another type by way of f32: run r goes from src + src_runs[r] to dst +
/// dst_runs[r], times *scale where that is not null; a NaN that was scaled is the positive quiet one. `ahead` as for
/// TransposeKernel. convert_stream: whole lines of the destination pass by the cache.
using ConvertKernel = void (*)(const std::byte* src, Starts src_runs, std::byte* dst, Starts dst_runs, int64_t runs,
                               int64_t n, const float* scale, int64_t ahead);

/// Which steps of the arithmetic are done, and with what. Value i uses attributes[i * stride].
struct Arithmetic {
  bool src_scale, dst_scale, src_zero_point, dst_zero_point;
  float beta;
};
/// values[i] becomes the value to store; `old` holds the destination's values where beta is not 0.
using ArithmeticKernel = void (*)(void* values, const void* old, const AttributeValues* attributes, int64_t stride,
                                  int64_t n, const Arithmetic& arithmetic);

inline constexpr int kElementSizes = 4;  // 1, 2, 4, 8 bytes, by log2
inline constexpr int kMostInterleaved = 9;
inline constexpr int kComputeTypes = 3;  // by ComputeType

struct Kernels {
  std::string_view isa;
  std::array<TransposeKernel, kElementSizes> transpose;
  std::array<StridedTransposeKernel, kElementSizes> transpose_strided;
  /// Null where there is none; then streaming goes through copy_stream.
  std::array<TransposeKernel, kElementSizes> transpose_stream;
  /// Null where there is none. Of at least 16 bytes of rows.
  std::array<CarriedTransposeKernel, kElementSizes> transpose_carried;
  /// For elements of 1 and 2 bytes. Null where there is none: then small elements are made dense first.
  std::array<PipelinedKernel, 2> transpose_pipelined;
  /// For 2, 3 and 4 columns (rows), and elements of up to 8 bytes; for more, null where there is none. The second ones
  /// write past the cache: interleave_stream what are whole lines, if any row starts at one; deinterleave_stream rows
  /// that start at lines and are whole lines, or, for more than four, any.
  std::array<std::array<InterleaveKernel, kElementSizes>, kMostInterleaved - 1> interleave, interleave_stream;
  std::array<std::array<DeinterleaveKernel, kElementSizes>, kMostInterleaved - 1> deinterleave, deinterleave_stream;
  /// Past the cache, of a source's columns (split) or a destination's rows (join) that follow each other and are lines
  /// of elements of so many bytes, by log2, or halves of lines, of 4 bytes. A split makes rows of whole lines, a join
  /// any number of rows from a line on. Null where there is none.
  std::array<DeinterleaveKernel, 6> split_lines;
  std::array<InterleaveKernel, 6> join_lines;
  DeinterleaveKernel split_halves;
  InterleaveKernel join_halves;
  CopyKernel copy;
  StridedCopyKernel copy_strided;
  /// Null where the instruction set has no stores that pass by the cache.
  CopyKernel copy_stream;
  ShuffleKernel shuffle;
  /// Of WovenLines of so many bytes; 16 where bytes of two registers cannot be permuted by one instruction: those
  /// cannot be masked. Null in plain C++.
  WeaveKernel weave;
  int64_t woven_bytes;
  /// Of 16 bytes as well.
  std::array<TileKernel, kElementSizes + 1> tiles;
  RegroupKernel regroup;
  FillKernel fill;
  /// Of unsigned and of signed elements.
  std::array<UnpackKernel, 2> unpack_nibbles;
  PackKernel pack_nibbles;
  /// Makes such stores visible to other threads, once after them.
  void (*flush)();
  /// [compute type][dtype]; null where that pair is never used.
  std::array<std::array<LoadKernel, kDTypeCount>, kComputeTypes> load;
  std::array<std::array<StoreKernel, kDTypeCount>, kComputeTypes> store;
  /// [from][to]; null where there is none, then by load and store. Those of a pair whose compute type is not f32 are
  /// for conversions without a scale.
  std::array<std::array<ConvertKernel, kDTypeCount>, kDTypeCount> convert, convert_stream;
  /// [from][to]: the same with conversion, from f32 or to it. Columns are whole lines of the narrower type's elements;
  /// to f32, `carry` is null and rows are whole lines. Null where there is none.
  std::array<std::array<PipelinedKernel, kDTypeCount>, kDTypeCount> convert_pipelined;
  /// By compute type; i128 has none.
  std::array<ArithmeticKernel, 2> arithmetic;
};

/// The tables this machine can run, worst first; the first is "scalar".
std::span<const Kernels* const> all_kernels() noexcept;

/// The table in use, chosen at the first call: the best, or the one RELAYOUT_ISA names (an unknown name
/// is ignored here; set_isa() says so). Allocates nothing.
const Kernels& kernels() noexcept;

/// Plain C++, always there (scalar.cc).
const Kernels* scalar_kernels();
/// Adds the tables of the SIMD build to `out`, worst first; returns how many (simd.cc, needs Highway).
int simd_kernels(std::span<const Kernels*> out) noexcept;

}  // namespace relayout::cpu
