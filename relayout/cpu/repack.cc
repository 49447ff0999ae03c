// Repacking: see repack.h. All tensors are seen in the order of the source's dims, those of the destination as views.
#include "relayout/cpu/repack.h"

#include <algorithm>
#include <numeric>

#include "relayout/core/view.h"
#include "relayout/cpu/reorder.h"
#include "relayout/cpu/repack/codes.h"
#include "relayout/cpu/repack/fields.h"
#include "relayout/cpu/repack/quantise.h"

namespace relayout::cpu {
namespace {

using Operation = ValueExpression::Operation;
using Affine = ValueExpression::Affine;

/// Writes a coefficient, every number of which the field must hold, or compares it with the formula's own number.
void store_exactly(const Packed& to, const Groups& values, const Target& target, const std::string& what) {
  if (target.field == nullptr) {
    for (std::size_t i = 0; i < values.values.size(); ++i) {
      if (values.values[i] == target.number) continue;
      const auto n = static_cast<int64_t>(i);
      grids_differ(std::string(to.format.name) + " has no field for " + what + ", which is " + shortest(target.number) +
                   " in " + std::string(to.format.value) + " and " + shortest(values.values[i]) + " in group (" +
                   std::to_string(n / values.count[1]) + "," + std::to_string(n % values.count[1]) + ") of the source");
    }
    return;
  }
  Groups own = on_grid(values, dims_of(*target.field), what);
  for (float& value : own.values) value -= target.number;
  store(own, *target.field);
  const Groups back = fetched(*target.field);
  for (std::size_t i = 0; i < own.values.size(); ++i) {
    if (own.values[i] == back.values[i]) continue;
    const auto n = static_cast<int64_t>(i);
    grids_differ(std::string(to.format.name) + "." + target.field->name + " (" +
                 std::string(name(target.field->desc.dtype)) + ") cannot hold " + shortest(own.values[i]) + ", " +
                 what + " of group (" + std::to_string(n / own.count[1]) + "," + std::to_string(n % own.count[1]) +
                 ")");
  }
}

/// What is added to the codes where both formulas subtract a number from them and these differ.
int shift_of_codes(const Packed& from, const Packed& to) {
  const auto number = [](const Packed& side) -> std::optional<float> {
    if (!side.affine.subtracted) return 0.0F;
    const ValueExpression::Node& node = side.value.nodes()[*side.affine.subtracted];
    return node.operation == Operation::number ? std::optional(static_cast<float>(node.number)) : std::nullopt;
  };
  const std::optional<float> src = number(from), dst = number(to);
  return src && dst && CodeRange(from).integers && CodeRange(to).integers ? static_cast<int>(*dst - *src) : 0;
}

/// A coefficient of the source: a node of its formula, or a number where the formula has none.
struct Coefficient {
  std::optional<std::size_t> node;
  float otherwise = 0;
  bool negative = false;
};

/// Writes a coefficient of the source to the destination, or compares it with the formula's own number.
void move_coefficient(const Packed& from, const Coefficient& of, const Packed& to, const Target& target,
                      const std::string& what, const RunOptions& options) {
  const std::optional<Target> field = of.negative ? std::nullopt : field_of(from, of.node, of.otherwise);
  if (field && move_field(*field, target, options)) return;
  store_exactly(to, coefficient(from, of.node, of.otherwise, of.negative), target, what);
}

/// Whether s * (q - z) becomes s * q + b, as the destination has minima b and no zero points z.
bool makes_minima(const Packed& from, const Packed& to, int added_to_codes) {
  return added_to_codes == 0 && from.affine.subtracted && !from.affine.added && to.affine.added &&
         !to.affine.subtracted;
}

/// The minima -s * z.
Groups minima_of(const Packed& from) {
  const Groups zeros = coefficient(from, from.affine.subtracted, 0), scale = coefficient(from, from.affine.scale, 1);
  Groups minima{{std::max(scale.count[0], zeros.count[0]), std::max(scale.count[1], zeros.count[1])}, {}};
  for (int64_t r = 0; r < minima.count[0]; ++r)
    for (int64_t c = 0; c < minima.count[1]; ++c)
      minima.values.push_back(-scale.at(r, c, minima.count) * zeros.at(r, c, minima.count));
  return minima;
}

void move_exactly(const Packed& from, const Packed& to, const Dims& dims, const RunOptions& options) {
  const CodeRange src(from), dst(to);
  const auto holds = [&](int by) {
    return src.integers && dst.integers && src.low + by >= dst.low && src.high + by <= dst.high;
  };
  int added = shift_of_codes(from, to);
  if (!holds(added) && holds(0) && to.affine.added) added = 0;  // minima take what codes cannot
  if (!holds(added) && !(added == 0 && same_planes(from, to)))
    grids_differ("codes are " + codes_text(from) + " in " + std::string(from.format.name) +
                 (added == 0 ? ""
                             : ", which are " + std::to_string(src.low + added) + " to " +
                                   std::to_string(src.high + added) + " there,") +
                 " and " + codes_text(to) + " in " + std::string(to.format.name));
  const Affine &own = from.affine, &other = to.affine;
  const Target minimum = target_of(to, other.added, 0);
  if (makes_minima(from, to, added)) {
    store_exactly(to, minima_of(from), minimum, "the minimum");
  } else {
    if (added == 0)
      move_coefficient(from, {own.subtracted, 0}, to, target_of(to, other.subtracted, 0), "the zero point", options);
    move_coefficient(from, {own.added, 0, own.added_is_negative}, to, minimum, "the minimum", options);
  }
  move_coefficient(from, {own.scale, 1}, to, target_of(to, other.scale, 1), "the scale", options);
  move_codes(from, to, added, dims, options);
}

/// Whether both are one format with the same groups and types, so that all their bytes are the same.
bool holds_the_same(const PackedTensor& a, const PackedTensor& b) {
  const auto group = [](const PackedTensor& each) {
    return each.group > 0 ? each.group : packed_format(each.format).group;
  };
  return a.format == b.format && group(a) == group(b) && a.types == b.types;
}

/// Copies the buffers of one format, of which all is equal but where they are.
void copy_buffers(const PackedFormat& format, std::span<const PackedBuffer> src, std::span<const PackedTarget> dst,
                  const PackedTensor& tensor) {
  const auto called = [&](const auto& list, std::string_view buffer) {
    const std::vector<std::string_view> names = names_of_buffer(format, buffer);
    return std::ranges::find_if(list, [&](const auto& each) {
      return std::ranges::find(names, each.first) != names.end() || (format.one_buffer() && list.size() == 1);
    });
  };
  for (const std::string_view buffer : buffers_of(format)) {
    const auto from = called(src, buffer);
    const auto to = called(dst, buffer);
    if (from == src.end() || to == dst.end()) continue;  // one that the values do not need
    Record record = packed_record(format, tensor.values, buffer, tensor.group);
    int64_t bytes = record.bytes();
    for (const auto& [field, type] : tensor.types) {
      if (record.find(field)) bytes = bytes / bits(record.field(field).dtype) * bits(type);
    }
    const auto count = static_cast<std::size_t>(bytes);
    std::ranges::copy(from->second.bytes().first(count), to->second.bytes().begin());
  }
}

}  // namespace

PackedTensor packed_as(const PackedTensor& from, std::string_view format, int64_t group) {
  const PackedFormat &src = packed_format(from.format), &dst = packed_format(format);
  PackedTensor out{.format = std::string(format), .values = from.values};
  if (src.dims != dst.dims && from.values.size() == 2) out.values = {from.values[1], from.values[0]};
  const bool open = std::ranges::any_of(
      dst.fields, [](const PackedField& field) { return field.group[0] == 0 || field.group[1] == 0; });
  if (group != 0 && !open)
    throw Error(
        ErrorCode::invalid_argument,
        "repack: groups of " + std::to_string(group) + " values for " + out.format + ", which has groups of its own",
        "group", std::to_string(group), "0");
  if (&src == &dst) out.types = from.types;
  out.group = group != 0 ? group : from.group;
  for (const PackedField& field : src.fields) {  // a format whose groups are fixed says them
    const int64_t own = std::max(field.group[0], field.group[1]);
    if (out.group == 0 && own > 1 && own != kAllValues) out.group = own;
  }
  return out;
}

Repacked repack(const PackedTensor& from, std::span<const PackedBuffer> src, const PackedTensor& to,
                std::span<const PackedTarget> dst, const RepackOptions& options) {
  if (!from.group_of.empty())
    throw Error(ErrorCode::unsupported,
                "repack: the groups of " + from.format + " are in the order of activations, which " + to.format +
                    " does not have; dequantize() gives the values",
                "group_of", from.format, "groups in the order of indices");
  std::vector<PackedBuffer> buffers;
  for (const PackedTarget& target : dst) buffers.emplace_back(target.first, target.second);
  const PackedFields source{from.format, value_fields(from, src), from.values};
  const PackedFields target{to.format, value_fields(to, buffers), to.values};
  if (!holds_the_same(from, to)) return repack(source, target, options);
  for (const ValueField& field : target.fields) (void)checked_bytes(field.buffer, field.desc, "repack", field.name);
  copy_buffers(packed_format(from.format), src, dst, from);
  return {};
}

PackedFields fields_of_part(const PackedFields& all, int dim, int64_t begin, int64_t count) {
  PackedFields out = all;
  out.values[dim] = count;
  for (ValueField& field : out.fields) {
    const int64_t own = field.desc.layout.dim(dim);
    if (own <= 1 && all.values[dim] > 1) continue;
    const int64_t group = all.values[dim] / std::max<int64_t>(own, 1);
    field.desc.layout = narrow(field.desc.layout, dim, begin / group, count / group);
  }
  return out;
}

int64_t unit_of_parts(const PackedFields& all, int dim) {
  int64_t out = 1;
  for (const ValueField& field : all.fields) {
    const int64_t own = field.desc.layout.dim(dim);
    if (own > 1) out = std::lcm(out, all.values[dim] / own * field.desc.layout.block(dim));
  }
  return out;
}

Repacked repack(const PackedFields& from, const PackedFields& to, const RepackOptions& options) {
  const Packed source = packed_of({.format = from.format, .values = from.values}, from.fields);
  Packed target = packed_of({.format = to.format, .values = to.values}, to.fields);
  const bool turned = source.format.dims != target.format.dims;
  const Dims values = turned ? Dims{to.values[1], to.values[0]} : to.values;
  if (!(values == from.values))
    throw Error(ErrorCode::invalid_argument,
                "repack: " + from.format + " has dims " + join(from.values) + " (" + std::string(source.format.dims) +
                    ") and " + to.format + " " + join(to.values) + " (" + std::string(target.format.dims) + ")",
                "dims", join(to.values), join(from.values));
  for (ValueField& field : target.fields) {
    if (turned) field.desc.layout = transpose(field.desc.layout, 0, 1);
    (void)checked_bytes(field.buffer, field.desc, "repack", field.name);
  }
  try {
    move_exactly(source, target, from.values, options.run);
    return {};
  } catch (const Error& error) {
    if (!options.requantise || error.field() != "grid") throw;
  }
  const TensorDesc dense(Layout::contiguous(from.values), DType::f32);
  std::vector<float> all(static_cast<std::size_t>(dense.layout.elements()));
  evaluate(source.value, source.fields, dense, all, {}, options.run);
  const Rounding done = quantise(all, from.values, target);
  return {done.largest_error == 0, done.largest_error, done.rms_error};
}

Repacked quantise(const TensorDesc& desc, const ConstElements& values, const PackedFields& to,
                  const RunOptions& options) {
  if (!(desc.layout.dims() == to.values))
    throw Error(
        ErrorCode::invalid_argument,
        "quantise: the values have dims " + join(desc.layout.dims()) + ", and " + to.format + " " + join(to.values),
        "dims", join(desc.layout.dims()), join(to.values));
  const Packed target = packed_of({.format = to.format, .values = to.values}, to.fields);
  for (const ValueField& field : target.fields) (void)checked_bytes(field.buffer, field.desc, "quantise", field.name);
  const TensorDesc dense(Layout::contiguous(to.values), DType::f32);
  std::vector<float> all(static_cast<std::size_t>(dense.layout.elements()));
  reorder(desc, values, dense, all, {}, options);
  const Rounding done = quantise(all, to.values, target);
  return {done.largest_error == 0, done.largest_error, done.rms_error};
}

}  // namespace relayout::cpu
