// From one packed format to another: codes, scales and zero points move, and no value is rounded.
//
//     // GPTQ's tensors as Marlin's, where all zero points are 8:
//     cpu::repack({.format = "gptq", .values = {4096, 11008}}, {{"qweight", q}, {"qzeros", z}, {"scales", s}},
//                 {.format = "marlin", .values = {4096, 11008}}, {{"B", b}, {"s", scales}});
//
// Both formats' values are (code - subtracted) * scale + added, with codes of one width. What differs between them must
// be the same numbers: a format without zero points takes only those that its formula has (8), one with zero points
// gets them filled in, and each coefficient must be a number that the other format's field holds. Otherwise the error
// names the field, the group and the number; with `requantise` the values are computed and quantised anew.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "relayout/cpu/dequantize.h"

namespace relayout::cpu {

/// A buffer of the destination, by its name in buffers_of(); the only one may have an empty name.
using PackedTarget = std::pair<std::string, Elements>;

/// The same matrix in another format, as repack() takes it for its destination: its dims in that format's order, and
/// groups of `group` values or, where this is 0 and the format leaves its groups open, those of `from`. Error
/// {invalid_argument} for groups where the format's own are fixed.
PackedTensor packed_as(const PackedTensor& from, std::string_view format, int64_t group = 0);

struct RepackOptions {
  /// Where the formats' grids differ, round values to the destination's.
  bool requantise = false;
  RunOptions run{};
};

struct Repacked {
  /// Whether all values are what they were.
  bool exact = true;
  /// How far they are from that, where they were rounded: the largest distance, and the root of the mean square.
  double largest_error = 0, rms_error = 0;
};

/// Fills the buffers of `to`. Dims of values count as each format has them (N,K or K,N). Errors: those of
/// value_fields(), buffer_too_small, invalid_argument (other dims; groups of which neither divides the other),
/// unsupported (groups in the order of activations; grids that differ, unless requantise; a destination whose
/// coefficients are products of fields or whose codes are planes or floating).
Repacked repack(const PackedTensor& from, std::span<const PackedBuffer> src, const PackedTensor& to,
                std::span<const PackedTarget> dst, const RepackOptions& options = {});

/// A packed matrix, or a part of one that cuts no block and no group, as the fields of its value (value_fields()).
struct PackedFields {
  std::string format;
  std::vector<ValueField> fields;
  Dims values;  // of the part, in the format's order
};

/// The indices [begin, begin + count) of a dim of a matrix, as views. A coefficient of all of the dim stays as it is.
PackedFields fields_of_part(const PackedFields& all, int dim, int64_t begin, int64_t count);
/// Of how many indices of a dim a part must be a multiple, so that it cuts no block and no group.
int64_t unit_of_parts(const PackedFields& all, int dim);

/// repack() of fields; those of `to` lie in memory that is written. Errors as above.
Repacked repack(const PackedFields& from, const PackedFields& to, const RepackOptions& options = {});
/// Rounds values, whose dims are those of `to`, to its grid, which is chosen for each group. Errors: unsupported
/// (a format whose coefficients are products of fields or whose codes are no integers of up to 8 bits),
/// invalid_argument (a value that is not finite, a scale that overflows its type).
Repacked quantise(const TensorDesc& desc, const ConstElements& values, const PackedFields& to,
                  const RunOptions& options = {});

}  // namespace relayout::cpu
