// What a reorder does to values and to padding besides moving and converting them, and the tables through which it
// goes.
//
//     dst = saturate_round((scale_src * (src - zp_src) - mean + beta * dst_old) / scale_dst + zp_dst)
//
// (oneDNN's reorder with its attributes, and a mean.) An attribute at its default is not applied at all, so a reorder
// to the same type without attributes only moves bits. Two examples, f32 -> u8 with a scale a channel, and a photo's
// bytes less a mean a channel, in units of a deviation a channel:
//
//     Attributes a;
//     a.dst_scale = {{0.5, 0.25, 0.125}, 1u << 1};              // mask: dim 1 has its own scales
//     a.dst_zero_point = {{128}, 0};
//
//     Attributes b;
//     b.mean = {{123.675, 116.28, 103.53}, 1u << 1};
//     b.dst_scale = {{58.395, 57.12, 57.375}, 1u << 1};         // the standard deviations
//
// Values may belong to groups of indices, as those of quantised weights do: here to 32 indices of dim 1 of a row,
//
//     Attributes c;
//     c.src_scale = {std::vector<double>(4096 * 344), 0b11, {1, 32}};   // of a tensor of 4096x11008
//
// Index tables (core/index_table.h) stand in front of dims of the source or of the destination: the first reorder reads
// rows 7, 7 and 2 of a source with any number of rows to a destination with three, the second writes 32 rows to two
// blocks of 16 of a destination.
//
//     Attributes d, e;
//     d.src_index = {IndexTable(0, {7, 7, 2})};
//     e.dst_index = {IndexTable(0, {5, 3}, 16)};
//
// Attribute values then count the indices of the reorder, those that tables have entries for. With a table in the
// destination, all that it does not name stays as it is, the destination's padding, too.
//
// The formula is computed in the compute type of both types (cast.h), f32 or f64, a step after the other with one
// rounding each; every attribute is first rounded to it. With a mean, scale_src * (src - zp_src) - mean is computed as
// scale_src * (src - (zp_src + mean / scale_src)), whose last term is known beforehand: one step, where mean alone or
// mean and the scale's quotient take the zero point's place. Without a source scale it is src - mean to the bit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relayout/core/error.h"
#include "relayout/core/index_table.h"
#include "relayout/core/layout.h"
#include "relayout/reorder/element_value.h"

namespace relayout {

/// One value for all elements (mask 0), or one for every index of the dims whose bit is set in
/// `mask`, row-major over those dims' logical extents. Empty `values`, with mask 0, is the default.
///
/// `groups` says for each dim of the tensor how many indices in a row share a value (oneDNN's groups): dim d has
/// ceil(extent / groups[d]) values, the last of them perhaps for fewer indices. Empty is 1 for all; a dim that is not
/// in the mask has 1.
struct PerMask {
  std::vector<double> values{};
  uint32_t mask = 0;
  Dims groups{};

  bool has(int d) const { return (mask >> d & 1) != 0; }
  int64_t group(int d) const { return groups.empty() ? 1 : groups[d]; }
  /// How many values dim d has, of `extent` indices.
  int64_t count(int d, int64_t extent) const { return has(d) ? ceil_div(extent, group(d)) : 1; }
};

/// An attribute of values that lie row-major in this shape, of a tensor of these dims. A single value is for all
/// indices; else the shape says what each is for: of a dim, 1 is one for all indices, the extent one for each, and n
/// between, one for each extent / n indices in a row, or `groups[d]` where groups are given (the last may be shorter).
/// Error{invalid_argument} where the shape is none of these; it names `field`.
PerMask per_mask_of_shape(std::vector<double> values, const Dims& shape, const Dims& dims, const Dims& groups,
                          const std::string& field);

/// What the destination's padding holds after a reorder. The source's padding has no influence on it.
struct Padding {
  enum class Kind : uint8_t { value, keep };
  Kind kind = Kind::value;
  /// A value of the destination's type (padding_bits() of element_value.h). 0 unless set.
  ElementValue value;

  static Padding zero() { return {}; }
  static Padding keep() { return {Kind::keep, 0}; }
  static Padding of(ElementValue value) { return {Kind::value, value}; }
};

struct Attributes {
  PerMask src_scale{}, dst_scale{};  // finite; dst_scale not 0
  /// Of an integer type within its range; that of an integer destination is a whole number.
  PerMask src_zero_point{}, dst_zero_point{};
  PerMask mean{};   // finite; src_scale not 0 where there is one
  double beta = 0;  // where this is not 0, the old destination is read and added
  Padding padding{};
  /// At most one of a side for each dim.
  std::vector<IndexTable> src_index{}, dst_index{};

  bool indexed() const { return !src_index.empty() || !dst_index.empty(); }
  /// Whether the formula above is applied, which is more than a change of type.
  bool arithmetic() const {
    return !src_scale.values.empty() || !dst_scale.values.empty() || subtracts() || !dst_zero_point.values.empty() ||
           beta != 0;
  }
  /// Whether something is subtracted from the source: a zero point, a mean, or both.
  bool subtracts() const { return !src_zero_point.values.empty() || !mean.values.empty(); }
  /// The dims of which some attribute has a value for every index.
  uint32_t masks() const {
    return src_scale.mask | dst_scale.mask | src_zero_point.mask | dst_zero_point.mask | mean.mask;
  }
};

/// The dims of a reorder: those of both sides, but where a table stands in front of one side's dim, how many indices it
/// is for. Error{invalid_argument} where the sides do not fit each other, or a table its dim; their entries are looked
/// at when a plan is made.
Dims reorder_dims(const Layout& src, const Layout& dst, const Attributes& attributes);

/// Error{invalid_argument} that names the attribute: it does not have as many values as its mask asks for, its mask has
/// the bit of a dim that the tensors lack, a number is not finite, a dst scale is 0, a zero point is outside of its
/// integer type, the compute type holds no such number (an overflow, a scale that would become 0, a whole zero point
/// that would be rounded), or padding is to be set to what is no value of the destination's type.
void check_attributes(const Attributes& attributes, const TensorDesc& src, const TensorDesc& dst);

/// An attribute's name here, "src_scale", and the name by which a caller knows it, "--scale".
using AttributeName = std::pair<std::string_view, std::string>;

/// An error of check_attributes() for a caller who has other names for attributes: its message and its field say these.
/// Of the first number of an attribute, which mostly is the only one, the index is left out.
Error renamed(const Error& error, std::span<const AttributeName> names);

/// The attributes of a part of a tensor of these dims: of the indices from `begin` on, `extents` of each dim. They must
/// have no index tables.
Attributes part_of(const Attributes& attributes, const Dims& dims, const Dims& begin, const Dims& extents);

}  // namespace relayout
