// The two sides of a repacking: a packed format with its fields, and its coefficients as numbers (internal to cpu).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "relayout/cpu/dequantize.h"

namespace relayout::cpu {

/// Error{unsupported} of the field "grid": the formats' values are others, for this reason.
[[noreturn]] void grids_differ(const std::string& why);

/// The shortest text that is this number.
std::string shortest(float value);

/// A number for each group.
struct Groups {
  std::array<int64_t, 2> count{1, 1};
  std::vector<float> values{};

  float at(int64_t r, int64_t c) const { return values[static_cast<std::size_t>(r * count[1] + c)]; }
  /// The number of a group of a finer grid.
  float at(int64_t r, int64_t c, const std::array<int64_t, 2>& of) const {
    return at(r / (of[0] / count[0]), c / (of[1] / count[1]));
  }
};

/// A format with its fields.
struct Packed {
  const PackedFormat& format;
  ValueExpression value;
  ValueExpression::Affine affine;
  std::vector<ValueField> fields;

  const ValueField& field(const std::string& name) const { return *std::ranges::find(fields, name, &ValueField::name); }
};

/// The fields are those of value_fields().
Packed packed_of(const PackedTensor& tensor, std::vector<ValueField> fields);

std::array<int64_t, 2> dims_of(const ValueField& field);
/// The memory of a destination's field.
Elements writable(const ConstElements& buffer);
/// A field's elements as f32, in row-major order.
Groups fetched(const ValueField& field);
/// Rounds to the field's type.
void store(const Groups& values, const ValueField& field);

/// The coefficient that a node of the formula is, on the coarsest grid that has all its fields; `otherwise` where the
/// formula has none.
Groups coefficient(const Packed& side, std::optional<std::size_t> node, float otherwise, bool negative = false);
/// Numbers on the grid of a destination's field; where that is coarser, all in one of its groups must be equal.
Groups on_grid(const Groups& from, const std::array<int64_t, 2>& count, const std::string& what);

/// What a coefficient of the destination is: a number, or a field and a number that is added to it.
struct Target {
  const ValueField* field = nullptr;
  float number = 0;
};
/// Nothing where it is computed of several fields.
std::optional<Target> field_of(const Packed& side, std::optional<std::size_t> node, float otherwise);
/// Error{unsupported} where it is computed of several fields.
Target target_of(const Packed& side, std::optional<std::size_t> node, float otherwise);

}  // namespace relayout::cpu
