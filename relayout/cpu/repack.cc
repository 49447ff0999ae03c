// Repacking: see repack.h. All tensors are seen in the order of the source's dims, those of the destination as views.
#include "relayout/cpu/repack.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "relayout/core/view.h"
#include "relayout/cpu/reorder.h"

namespace relayout::cpu {
namespace {

using Operation = ValueExpression::Operation;

[[noreturn]] void grids_differ(const std::string& why) {
  throw Error(ErrorCode::unsupported, "repack: " + why + "; requantising would round the values", "grid", why,
              "formats of the same grid");
}

/// The shortest text that is this number.
std::string shortest(float value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

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

std::array<int64_t, 2> dims_of(const ValueField& field) { return {field.desc.layout.dim(0), field.desc.layout.dim(1)}; }

/// A field's elements as f32, in row-major order.
Groups fetched(const ValueField& field) {
  Groups out{dims_of(field), {}};
  out.values.resize(static_cast<std::size_t>(out.count[0] * out.count[1]));
  reorder(field.desc, field.buffer, {Layout::contiguous(field.desc.layout.dims()), DType::f32}, out.values);
  return out;
}

/// A format with its fields.
struct Packed {
  const PackedFormat& format;
  ValueExpression value;
  ValueExpression::Affine affine;
  std::vector<ValueField> fields;

  const ValueField& field(const std::string& name) const { return *std::ranges::find(fields, name, &ValueField::name); }
};

Packed packed_of(const PackedTensor& tensor, std::vector<ValueField> fields) {
  const PackedFormat& format = packed_format(tensor.format);
  Packed out{format, value_of(format), {}, std::move(fields)};
  out.affine = out.value.affine([&](std::string_view name) {
    return format.field(name).group == std::array<int64_t, 2>{1, 1};
  });
  return out;
}

float combined(Operation operation, float x, float y) {
  return operation == Operation::add ? x + y : operation == Operation::subtract ? x - y : x * y;
}

/// The coefficient that a node of the source is, on the coarsest grid that has all its fields.
Groups coefficient(const Packed& side, std::size_t k) {
  const ValueExpression::Node& node = side.value.nodes()[k];
  if (node.operation == Operation::number) return {{1, 1}, {static_cast<float>(node.number)}};
  if (node.operation == Operation::name) return fetched(side.field(node.name));
  Groups a = coefficient(side, node.a);
  if (node.operation == Operation::shift) {
    for (float& value : a.values) value = std::ldexp(value, static_cast<int>(node.number));
    return a;
  }
  const Groups b = coefficient(side, node.b);
  Groups out{{std::max(a.count[0], b.count[0]), std::max(a.count[1], b.count[1])}, {}};
  if (b.values.size() == 1) {  // most often a number
    for (float& x : a.values) x = combined(node.operation, x, b.values[0]);
    return a;
  }
  for (int64_t r = 0; r < out.count[0]; ++r) {
    for (int64_t c = 0; c < out.count[1]; ++c) {
      out.values.push_back(combined(node.operation, a.at(r, c, out.count), b.at(r, c, out.count)));
    }
  }
  return out;
}

Groups coefficient(const Packed& side, std::optional<std::size_t> node, float otherwise, bool negative = false) {
  Groups out = node ? coefficient(side, *node) : Groups{{1, 1}, {otherwise}};
  for (float& value : out.values) value = negative ? -value : value;
  return out;
}

/// What a coefficient of the destination is: a number, or a field and a number that is added to it.
struct Target {
  const ValueField* field = nullptr;
  float number = 0;
};
Target target_of(const Packed& side, std::optional<std::size_t> node, float otherwise) {
  if (!node) return {nullptr, otherwise};
  const auto& nodes = side.value.nodes();
  const auto& top = nodes[*node];
  if (top.operation == Operation::number) return {nullptr, static_cast<float>(top.number)};
  if (top.operation == Operation::name) return {&side.field(top.name), 0};
  const bool sum = top.operation == Operation::add && nodes[top.a].operation == Operation::name &&
                   nodes[top.b].operation == Operation::number;
  if (sum) return {&side.field(nodes[top.a].name), static_cast<float>(nodes[top.b].number)};
  throw Error(ErrorCode::unsupported,
              "repack: " + std::string(side.format.name) +
                  " is not written, as its coefficients are computed of several "
                  "fields: " +
                  std::string(side.format.value),
              "to", std::string(side.format.name), "a format whose scales are one field");
}

/// Numbers on the grid of a destination's field; where that is coarser, all in one of its groups must be equal.
Groups on_grid(const Groups& from, const std::array<int64_t, 2>& count, const std::string& what) {
  if (from.count == count) return from;
  Groups out{count, {}};
  const auto all = static_cast<std::size_t>(count[0] * count[1]);
  if (from.values.size() == 1) return {count, std::vector<float>(all, from.values[0])};
  for (int d = 0; d < 2; ++d) {
    const auto k = static_cast<std::size_t>(d);
    if (from.count[k] % count[k] != 0 && count[k] % from.count[k] != 0)
      throw Error(ErrorCode::invalid_argument,
                  "repack: " + what + " has " + std::to_string(from.count[k]) + " groups along dim " +
                      std::to_string(d) + " in the source and " + std::to_string(count[k]) + " in the destination",
                  "group", std::to_string(count[k]), "groups of which one divides the other");
  }
  const std::array<int64_t, 2> fine{std::max(from.count[0], count[0]), std::max(from.count[1], count[1])};
  out.values.assign(all, 0);
  std::vector<bool> set(all, false);
  for (int64_t r = 0; r < fine[0]; ++r) {
    for (int64_t c = 0; c < fine[1]; ++c) {
      const int64_t own_r = r / (fine[0] / count[0]), own_c = c / (fine[1] / count[1]);
      const auto k = static_cast<std::size_t>(own_r * count[1] + own_c);
      const float value = from.at(r, c, fine);
      if (set[k] && out.values[k] != value)
        grids_differ(what + " of group (" + std::to_string(own_r) + "," + std::to_string(own_c) + ") is " +
                     shortest(out.values[k]) + " and " + shortest(value) + " in the source's smaller groups");
      out.values[k] = value;
      set[k] = true;
    }
  }
  return out;
}

Elements writable(const ConstElements& buffer) {
  return std::span(const_cast<std::byte*>(buffer.bytes().data()), buffer.bytes().size());
}

void store(const Groups& values, const ValueField& field) {
  reorder({Layout::contiguous(field.desc.layout.dims()), DType::f32}, values.values, field.desc,
          writable(field.buffer));
}

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

/// The only plane of a code.
const ValueField& code_of(const Packed& side) {
  if (side.affine.code.size() == 1 && side.affine.code[0].shift == 0) return side.field(side.affine.code[0].field);
  grids_differ("the codes of " + std::string(side.format.name) + " are planes: " + std::string(side.format.code));
}

void move_exactly(const Packed& from, const Packed& to, const RunOptions& options) {
  const ValueField &src = code_of(from), &dst = code_of(to);
  if (src.desc.dtype != dst.desc.dtype)
    grids_differ("codes are " + std::string(name(src.desc.dtype)) + " in " + std::string(from.format.name) + " and " +
                 std::string(name(dst.desc.dtype)) + " in " + std::string(to.format.name));
  store_exactly(to, coefficient(from, from.affine.subtracted, 0), target_of(to, to.affine.subtracted, 0),
                "the zero point");
  store_exactly(to, coefficient(from, from.affine.added, 0, from.affine.added_is_negative),
                target_of(to, to.affine.added, 0), "the minimum");
  store_exactly(to, coefficient(from, from.affine.scale, 1), target_of(to, to.affine.scale, 1), "the scale");
  reorder(src.desc, src.buffer, dst.desc, writable(dst.buffer), {}, options);
}

/// The grid of one group of values: where the destination's field for a coefficient is, it is chosen.
struct Quantiser {
  Target scale, subtracted, added;
  float low, high;  // codes

  struct Choice {
    float scale = 0, subtracted = 0, added = 0;
  };
  Choice choose(float least, float most) const {
    Choice out{0, subtracted.number, added.number};
    const float range = std::max(most, 0.0F) - std::min(least, 0.0F);
    if (added.field != nullptr) {
      out.scale = (most - least) / (high - low);
      out.added = least - low * out.scale;
    } else if (subtracted.field != nullptr) {
      out.scale = range / (high - low);
      const float zero = out.scale > 0 ? std::nearbyint(-std::min(least, 0.0F) / out.scale) + low : low;
      out.subtracted = std::clamp(zero, low + subtracted.number, high + subtracted.number);
    } else {
      // The value of the largest size becomes the lowest code, which is farther from the middle than the highest.
      out.scale = (-least > most ? least : most) / (low - subtracted.number);
    }
    return out;
  }
};

/// Chooses the coefficients of every group, and stores them.
std::array<Groups, 3> choose_grid(const Quantiser& quantiser, const std::vector<float>& values, const Dims& dims) {
  const std::array<int64_t, 2> count = dims_of(*quantiser.scale.field);
  const int64_t rows = dims[0] / count[0], columns = dims[1] / count[1];
  std::array<Groups, 3> out{Groups{count, {}}, Groups{count, {}}, Groups{count, {}}};
  for (int64_t r = 0; r < count[0]; ++r) {
    for (int64_t c = 0; c < count[1]; ++c) {
      float least = INFINITY, most = -INFINITY;
      for (int64_t i = 0; i < rows; ++i) {
        const float* row = values.data() + (r * rows + i) * dims[1] + c * columns;
        const auto [low, high] = std::minmax_element(row, row + columns);
        least = std::min(least, *low);
        most = std::max(most, *high);
      }
      const Quantiser::Choice choice = quantiser.choose(least, most);
      out[0].values.push_back(choice.scale);
      out[1].values.push_back(choice.subtracted);
      out[2].values.push_back(choice.added);
    }
  }
  // What the fields hold of them is what counts.
  const Target targets[] = {quantiser.scale, quantiser.subtracted, quantiser.added};
  for (std::size_t k = 0; k < 3; ++k) {
    if (targets[k].field == nullptr) continue;
    for (float& value : out[k].values) value -= targets[k].number;
    store(on_grid(out[k], dims_of(*targets[k].field), "a coefficient"), *targets[k].field);
    out[k] = fetched(*targets[k].field);
    for (float& value : out[k].values) value += targets[k].number;
  }
  return out;
}

Repacked quantise(const std::vector<float>& values, const Dims& dims, const Packed& to) {
  const ValueField& code = code_of(to);
  const int width = bits(code.desc.dtype);
  const bool sign = kind(code.desc.dtype) == DTypeKind::signed_integer;
  if (!is_integer(code.desc.dtype) || width > 8)
    throw Error(ErrorCode::unsupported,
                "repack: values are rounded to integer codes of up to 8 bits, and those of " +
                    std::string(to.format.name) + " are " + std::string(name(code.desc.dtype)),
                "to", std::string(to.format.name), "integer codes");
  Quantiser quantiser{target_of(to, to.affine.scale, 1), target_of(to, to.affine.subtracted, 0),
                      target_of(to, to.affine.added, 0), sign ? -std::ldexp(1.0F, width - 1) : 0, 0};
  quantiser.high = quantiser.low + std::ldexp(1.0F, width) - 1;
  const auto [scale, subtracted, added] = choose_grid(quantiser, values, dims);
  const std::array<int64_t, 2> fine{dims[0], dims[1]};
  std::vector<float> codes(values.size());
  Repacked out{.exact = false};
  double squares = 0;
  for (int64_t r = 0; r < dims[0]; ++r) {
    for (int64_t c = 0; c < dims[1]; ++c) {
      const auto i = static_cast<std::size_t>(r * dims[1] + c);
      const float s = scale.at(r, c, fine), z = subtracted.at(r, c, fine), m = added.at(r, c, fine);
      const float wanted = s == 0 ? z : std::nearbyint((values[i] - m) / s) + z;
      codes[i] = std::clamp(wanted, quantiser.low, quantiser.high);
      const double error = std::abs(double{(codes[i] - z) * s + m} - double{values[i]});
      if (!std::isfinite(error)) {
        throw Error(ErrorCode::invalid_argument,
                    "repack: value (" + std::to_string(r) + "," + std::to_string(c) + ") is " +
                        std::to_string(values[i]) + ", and its scale in " + std::string(to.format.name) + " is " +
                        std::to_string(s) + "; infinities, NaN and scales that overflow their type have no codes",
                    "scale", std::to_string(s), "finite values and scales");
      }
      out.largest_error = std::max(out.largest_error, error);
      squares += error * error;
    }
  }
  out.rms_error = values.empty() ? 0 : std::sqrt(squares / static_cast<double>(values.size()));
  out.exact = out.largest_error == 0;
  reorder({Layout::contiguous(dims), DType::f32}, codes, code.desc, writable(code.buffer));
  return out;
}

}  // namespace

Repacked repack(const PackedTensor& from, std::span<const PackedBuffer> src, const PackedTensor& to,
                std::span<const PackedTarget> dst, const RepackOptions& options) {
  std::vector<PackedBuffer> buffers;
  for (const PackedTarget& target : dst) buffers.emplace_back(target.first, target.second);
  const Packed source = packed_of(from, value_fields(from, src));
  Packed target = packed_of(to, value_fields(to, buffers));
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
    move_exactly(source, target, options.run);
    return {};
  } catch (const Error& error) {
    if (!options.requantise || error.field() != "grid") throw;
  }
  const TensorDesc dense(Layout::contiguous(from.values), DType::f32);
  std::vector<float> all(static_cast<std::size_t>(dense.layout.elements()));
  dequantize(from, src, dense, all, options.run);
  return quantise(all, from.values, target);
}

}  // namespace relayout::cpu
