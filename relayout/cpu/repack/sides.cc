// Coefficients of packed formats as numbers: see sides.h.
#include "relayout/cpu/repack/sides.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "relayout/cpu/reorder.h"

namespace relayout::cpu {
namespace {

using Operation = ValueExpression::Operation;

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

}  // namespace

[[noreturn]] void grids_differ(const std::string& why) {
  throw Error(ErrorCode::unsupported, "repack: " + why + "; requantising would round the values", "grid", why,
              "formats of the same grid");
}

std::string shortest(float value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::array<int64_t, 2> dims_of(const ValueField& field) { return {field.desc.layout.dim(0), field.desc.layout.dim(1)}; }

Groups fetched(const ValueField& field) {
  Groups out{dims_of(field), {}};
  out.values.resize(static_cast<std::size_t>(out.count[0] * out.count[1]));
  reorder(field.desc, field.buffer, {Layout::contiguous(field.desc.layout.dims()), DType::f32}, out.values);
  return out;
}

Packed packed_of(const PackedTensor& tensor, std::vector<ValueField> fields) {
  const PackedFormat& format = packed_format(tensor.format);
  Packed out{format, value_of(format), {}, std::move(fields)};
  out.affine = out.value.affine([&](std::string_view name) {
    return format.field(name).group == std::array<int64_t, 2>{1, 1};
  });
  return out;
}

Groups coefficient(const Packed& side, std::optional<std::size_t> node, float otherwise, bool negative) {
  Groups out = node ? coefficient(side, *node) : Groups{{1, 1}, {otherwise}};
  for (float& value : out.values) value = negative ? -value : value;
  return out;
}

std::optional<Target> field_of(const Packed& side, std::optional<std::size_t> node, float otherwise) {
  if (!node) return Target{nullptr, otherwise};
  const auto& nodes = side.value.nodes();
  const auto& top = nodes[*node];
  if (top.operation == Operation::number) return Target{nullptr, static_cast<float>(top.number)};
  if (top.operation == Operation::name) return Target{&side.field(top.name), 0};
  const bool sum = top.operation == Operation::add && nodes[top.a].operation == Operation::name &&
                   nodes[top.b].operation == Operation::number;
  if (!sum) return std::nullopt;
  return Target{&side.field(nodes[top.a].name), static_cast<float>(nodes[top.b].number)};
}

Target target_of(const Packed& side, std::optional<std::size_t> node, float otherwise) {
  if (const std::optional<Target> found = field_of(side, node, otherwise)) return *found;
  throw Error(ErrorCode::unsupported,
              "repack: " + std::string(side.format.name) +
                  " is not written, as its coefficients are computed of several "
                  "fields: " +
                  std::string(side.format.value),
              "to", std::string(side.format.name), "a format whose scales are one field");
}

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

}  // namespace relayout::cpu
