// Checking what is asked for, and what follows from it.
#include "relayout/reorder/request/request.h"

#include <limits>
#include <string>

#include "relayout/reorder/boxes/methods/sub_byte.h"
#include "relayout/reorder/cast.h"

namespace relayout {
namespace {

void check_injective(const Layout& layout, const Attributes& attributes) {
  const auto refuse = [](const Dims& a, const Dims& b, int64_t offset) {
    throw Error(ErrorCode::not_injective,
                "reorder: the destination is not injective: indices (" + join(a) + ") and (" + join(b) +
                    ") share offset " + std::to_string(offset),
                "dst", join(a) + " and " + join(b), "one offset an index");
  };
  const bool padding_written = attributes.padding.kind != Padding::Kind::keep && attributes.dst_index.empty() &&
                               layout.padded() && !layout.empty();
  if (padding_written && layout.injective_with_padding()) return;
  if (const auto pair = layout.collision()) refuse(pair->first, pair->second, layout.offset(pair->first));
  if (!padding_written) return;
  // The padding collides: name two indices of the layout in which it counts as elements.
  const Layout plain = layout.plain();
  std::vector<Digits> digits;
  for (int d = 0; d < layout.ndims(); ++d) digits.push_back(plain.digits_of(d));
  const Layout whole =
      Layout::from_digits(layout.padded_dims(), digits, layout.offset0()).with_swizzle(layout.swizzle());
  if (const auto pair = whole.collision()) refuse(pair->first, pair->second, whole.offset(pair->first));
}

int64_t bytes_of(const Request& request) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const TensorDesc &src = request.src, &dst = request.dst;
  if (!request.indexed()) return checked_add(src.span_bytes(), dst.span_bytes()).value_or(kMost);
  // A part of either side may be much less than all of it.
  const auto bits_moved = checked_mul(*checked_product(request.dims), int64_t{bits(src.dtype) + bits(dst.dtype)});
  return bits_moved.value_or(kMost) / 8;
}

}  // namespace

Request::Request(const TensorDesc& from, const TensorDesc& to, const Attributes& with, const Machine& on,
                 const Tuning& tuned)
    : src(from), dst(to), attributes(with), machine(on), tuning(tuned) {
  dims = reorder_dims(src.layout, dst.layout, attributes);
  check_attributes(attributes, src, dst);
  check_injective(dst.layout, attributes);
  converts = src.dtype != dst.dtype || attributes.arithmetic();
  if (empty()) return;
  steps = no_attributes(src.layout.ndims());
  if (attributes.arithmetic()) {
    if (compute_type(src.dtype, dst.dtype, true) == ComputeType::f32)
      values = expand_attributes<float>(attributes, dims, &steps);
    else
      wide_values = expand_attributes<double>(attributes, dims, &steps);
  }
  if (indexed()) index_dims = indexed_dims(src.layout, dst.layout, attributes, steps, dims);
  bytes = bytes_of(*this);
  if (!fills_padding() && !fills_missing()) return;
  const uint64_t element = padding_bits(attributes.padding.value, dst.dtype);
  const auto byte = byte_of_equal(dst.dtype, element);
  fill_bits = byte ? *byte : element;
}

bool Request::empty() const { return indexed() ? checked_product(dims) == 0 : dst.layout.empty(); }

std::vector<Box> Request::boxes(const Dims& extents, Tables& of_boxes) const {
  auto out = indexed() ? refine_indexed(src.layout, dst.layout, steps, dims, index_dims, of_boxes)
                       : refine(src.layout, dst.layout, steps, Dims(extents.size(), 0), extents, of_boxes);
  for (Box& box : out) {
    scale(box, units(src.dtype), units(dst.dtype));
    simplify(box);
  }
  return out;
}

std::vector<Box> Request::padding(uint32_t filled, Tables& of_boxes) const {
  std::vector<Box> out;
  if (fills_padding()) out = refine_padding(dst.layout, filled, of_boxes);
  if (fills_missing()) {
    for (Box& box : refine_missing(dst.layout, dims, index_dims, of_boxes)) out.push_back(std::move(box));
  }
  for (Box& box : out) {
    scale(box, units(dst.dtype), units(dst.dtype));
    simplify(box);
  }
  return out;
}

}  // namespace relayout
