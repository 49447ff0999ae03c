// Moving coefficients by reorders: see fields.h.
#include "relayout/cpu/repack/fields.h"

#include <algorithm>

#include "relayout/cpu/reorder.h"

namespace relayout::cpu {
namespace {

/// Whether the second type holds every value of the first.
bool holds(DType from, DType to) {
  return from == to || (to == DType::f32 && is_floating(from) && bits(from) <= bits(to));
}

bool small_integer(const ValueField& field) { return is_integer(field.desc.dtype) && bits(field.desc.dtype) <= 8; }

/// A number to all elements of a field, if it holds that.
bool fill_with(float number, const ValueField& to, const RunOptions& options) {
  const TensorDesc one(Layout::contiguous({1, 1}), DType::f32), stored(one.layout, to.desc.dtype);
  float back = 0;
  std::byte element[8];
  const auto bytes = [](auto& of) { return std::as_writable_bytes(std::span(&of, 1)); };
  reorder(one, bytes(number), stored, Elements(std::span(element)));
  reorder(stored, std::span<const std::byte>(element), one, Elements(bytes(back)));
  if (back != number) return false;
  reorder({Layout::strided(to.desc.layout.dims(), {0, 0}), DType::f32}, bytes(number), to.desc, writable(to.buffer), {},
          options);
  return true;
}

/// Integers of up to 8 bits, with `added` to each: to a field, or all equal to a number.
bool move_integers(const ValueField& from, int added, const Target& to, const RunOptions& options) {
  const TensorDesc dense(Layout::contiguous(from.desc.layout.dims()), DType::s16);
  std::vector<int16_t> values(static_cast<std::size_t>(dense.layout.elements()));
  reorder(from.desc, from.buffer, dense, values, {}, options);
  int low = static_cast<int>(to.number), high = low;
  if (to.field) {
    const int width = bits(to.field->desc.dtype);
    const bool sign = kind(to.field->desc.dtype) == DTypeKind::signed_integer;
    low = sign ? -(1 << (width - 1)) : 0;
    high = (1 << (sign ? width - 1 : width)) - 1;
  }
  for (int16_t& value : values) value = static_cast<int16_t>(value + added);
  if (values.empty()) return true;
  const auto [least, most] = std::ranges::minmax(values);
  if (least < low || most > high) return false;
  if (to.field) reorder(dense, values, to.field->desc, writable(to.field->buffer), {}, options);
  return true;
}

}  // namespace

bool move_field(const Target& from, const Target& to, const RunOptions& options) {
  if (!from.field && !to.field) return from.number == to.number;
  if (!from.field) return fill_with(from.number - to.number, *to.field, options);
  if (to.field && !(from.field->desc.layout.dims() == to.field->desc.layout.dims())) return false;
  if (to.field && from.number == to.number && holds(from.field->desc.dtype, to.field->desc.dtype)) {
    reorder(from.field->desc, from.field->buffer, to.field->desc, writable(to.field->buffer), {}, options);
    return true;
  }
  if (!small_integer(*from.field) || (to.field && !small_integer(*to.field))) return false;
  const float added = to.field ? from.number - to.number : from.number;
  return added == static_cast<float>(static_cast<int>(added)) &&
         move_integers(*from.field, static_cast<int>(added), to, options);
}

}  // namespace relayout::cpu
