// The obviously right reorder: an odometer over all indices, one element at a time.
//
// Start at reference_reorder() at the end. Before it stand how elements lie in memory, and what the attributes do to a
// number; how numbers are decoded and encoded is in reference_cast.cc.
#include "relayout/reorder/reference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "relayout/core/error.h"
#include "relayout/reorder/reference_cast.h"

namespace relayout {
namespace {

using reference::Number;

/// Calls f(index) for every index of a box of these extents, the last dim fastest.
template <typename F>
void for_each_index(const Dims& extents, F f) {
  for (int64_t extent : extents) {
    if (extent == 0) return;
  }
  Dims index(extents.size(), 0);
  while (true) {
    f(index);
    int d = extents.size() - 1;
    while (d >= 0 && ++index[d] == extents[d]) index[d--] = 0;
    if (d < 0) return;
  }
}

/// The offset of an index, which may also be one of padding: takes each dim's index apart digit by digit, innermost
/// first. Then the swizzle flips each bit of a field whose bit of the other field is set.
int64_t offset_of(const Layout& layout, const Dims& index) {
  int64_t offset = layout.offset0();
  for (int d = 0; d < layout.ndims(); ++d) {
    int64_t rest = index[d];
    for (const Digit& digit : layout.digits_under_swizzle(d)) {
      offset += rest % digit.extent * digit.stride;
      rest /= digit.extent;
    }
  }
  const Swizzle& swizzle = layout.swizzle();
  int64_t flipped = offset;
  for (int bit = 0; bit < swizzle.bits(); ++bit) {
    const int low = swizzle.base() + bit, high = low + std::abs(swizzle.shift());
    const int from = swizzle.shift() > 0 ? high : low, into = swizzle.shift() > 0 ? low : high;
    if (offset / (int64_t{1} << from) % 2 == 1)
      flipped += flipped / (int64_t{1} << into) % 2 == 0 ? int64_t{1} << into : -(int64_t{1} << into);
  }
  return flipped;
}

/// The bits of element `offset`.
uint64_t read(DType dtype, const void* data, int64_t offset) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  if (bits(dtype) < 8) {
    uint64_t out = 0;
    for (int b = 0; b < bits(dtype); ++b) {
      const int64_t at = offset * bits(dtype) + b;
      out |= uint64_t{bytes[at / 8] >> (at % 8) & 1u} << b;
    }
    return out;
  }
  const int size = bits(dtype) / 8;
  uint64_t out = 0;
  for (int b = 0; b < size; ++b) out |= uint64_t{bytes[offset * size + b]} << (8 * b);
  return out;
}

void write(DType dtype, void* data, int64_t offset, uint64_t value) {
  auto* bytes = static_cast<uint8_t*>(data);
  if (bits(dtype) < 8) {
    for (int b = 0; b < bits(dtype); ++b) {
      const int64_t at = offset * bits(dtype) + b;
      const int bit = 1 << (at % 8);
      bytes[at / 8] = static_cast<uint8_t>((bytes[at / 8] & ~bit) | (value >> b & 1 ? bit : 0));
    }
    return;
  }
  const int size = bits(dtype) / 8;
  for (int b = 0; b < size; ++b) bytes[offset * size + b] = static_cast<uint8_t>(value >> (8 * b));
}

/// The attribute's value for an index: row-major over the groups of the dims in its mask.
double value_at(const PerMask& attribute, const Dims& dims, const Dims& index) {
  int64_t at = 0;
  for (int d = 0; d < dims.size(); ++d) {
    if (!(attribute.mask >> d & 1)) continue;
    const int64_t group = attribute.groups.empty() ? 1 : attribute.groups[d];
    at = at * ((dims[d] + group - 1) / group) + index[d] / group;
  }
  return attribute.values[static_cast<std::size_t>(at)];
}

template <typename T>
T to_compute(const Number& number) {
  return number.nan ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(number.value);
}

/// Computes the formula of attributes.h in T, with one rounding for each step. volatile keeps the compiler from fusing
/// steps.
template <typename T>
Number arithmetic(const Number& src, const Number& dst_old, const Attributes& a, const Dims& dims, const Dims& index) {
  volatile T t = to_compute<T>(src);
  if (a.subtracts()) {
    double subtracted = a.src_zero_point.values.empty() ? 0 : value_at(a.src_zero_point, dims, index);
    const double scale = a.src_scale.values.empty() ? 1 : value_at(a.src_scale, dims, index);
    if (!a.mean.values.empty()) subtracted += value_at(a.mean, dims, index) / scale;
    t = t - static_cast<T>(subtracted);
  }
  if (!a.src_scale.values.empty()) t = t * static_cast<T>(value_at(a.src_scale, dims, index));
  if (a.beta != 0) {
    volatile T product = static_cast<T>(a.beta) * to_compute<T>(dst_old);
    t = t + product;
  }
  if (!a.dst_scale.values.empty()) t = t / static_cast<T>(value_at(a.dst_scale, dims, index));
  if (!a.dst_zero_point.values.empty()) t = t + static_cast<T>(value_at(a.dst_zero_point, dims, index));
  const T result = t;
  if (std::isnan(result)) return {0, true, false, uint64_t{1} << 51};
  return {result, false, false, 0};
}

/// The bits to write for one element; `dst_old` is what the destination holds.
uint64_t converted(DType src_type, uint64_t src, DType dst_type, uint64_t dst_old, const Attributes& attributes,
                   const Dims& dims, const Dims& index) {
  if (!attributes.arithmetic()) return reference::convert(src_type, src, dst_type);
  const ComputeType compute = reference::compute_type_of(src_type, dst_type, true);
  const Number from = reference::decode(src_type, src);
  const Number old = reference::decode(dst_type, dst_old);
  const Number result = compute == ComputeType::f32 ? arithmetic<float>(from, old, attributes, dims, index)
                                                    : arithmetic<double>(from, old, attributes, dims, index);
  return reference::encode(dst_type, result, compute);
}

/// check_attributes() has seen that the type holds the value.
uint64_t padding_bits_of(const ElementValue& value, DType dtype) {
  if (dtype == DType::f8_e8m0 && value.real() == 0) return 0;  // it has no zero
  Number number = reference::decode(DType::f64, std::bit_cast<uint64_t>(value.real()));
  // A long double holds every whole number of 64 bits.
  if (value.whole()) number.value = std::stold(value.text());
  return reference::encode(dtype, number, ComputeType::i128);
}

/// Where an index stands behind index tables, or nothing where one of them says that it stands nowhere.
std::optional<Dims> through(const std::vector<IndexTable>& tables, Dims index) {
  for (const IndexTable& table : tables) {
    int64_t& i = index[table.dim()];
    const int64_t entry = table.entries()[static_cast<std::size_t>(i / table.block())];
    if (entry == IndexTable::kNone) return {};
    i = entry * table.block() + i % table.block();
  }
  return index;
}

std::string index_text(Dims extents, int64_t ordinal) {
  for (int d = extents.size() - 1; d >= 0; --d) {
    const int64_t extent = extents[d];
    extents[d] = ordinal % extent;
    ordinal /= extent;
  }
  return "(" + join(extents) + ")";
}

/// Error{not_injective} if two indices within `extents` share an offset: sort all offsets and look.
void check_offsets_differ(const Layout& layout, const Dims& extents) {
  std::vector<std::pair<int64_t, int64_t>> offsets;  // offset, ordinal of the index
  for_each_index(extents, [&](const Dims& index) {
    offsets.emplace_back(offset_of(layout, index), static_cast<int64_t>(offsets.size()));
  });
  std::sort(offsets.begin(), offsets.end());
  const auto same = std::adjacent_find(offsets.begin(), offsets.end(),
                                       [](const auto& a, const auto& b) { return a.first == b.first; });
  if (same == offsets.end()) return;
  const std::string a = index_text(extents, same[0].second), b = index_text(extents, same[1].second);
  const std::string offset = std::to_string(same->first);
  throw Error(ErrorCode::not_injective,
              "reorder: destination indices " + a + " and " + b + " share the element at offset " + offset, "dst",
              a + " and " + b, "every index its own element");
}

}  // namespace

void reference_reorder(const TensorDesc& src_desc, const void* src, const TensorDesc& dst_desc, void* dst,
                       const Attributes& attributes) {
  const Layout& from = src_desc.layout;
  const Layout& to = dst_desc.layout;
  const Dims dims = reorder_dims(from, to, attributes);
  if (dims.empty() && to.padded()) {
    const TensorDesc dst_vector(to.as_vector(), dst_desc.dtype);
    return reference_reorder({from.as_vector(), src_desc.dtype}, src, dst_vector, dst, attributes);
  }
  check_attributes(attributes, src_desc, dst_desc);
  if (to.empty()) return;
  const bool keep = attributes.padding.kind == Padding::Kind::keep;
  const bool pads = !keep && attributes.dst_index.empty();
  const uint64_t padding_bits = keep ? 0 : padding_bits_of(attributes.padding.value, dst_desc.dtype);
  check_offsets_differ(to, pads ? to.padded_dims() : to.dims());
  for (const IndexTable& table : attributes.src_index)
    table.check(dims[table.dim()], from.dim(table.dim()), false, "src_index");
  for (const IndexTable& table : attributes.dst_index)
    table.check(dims[table.dim()], to.dim(table.dim()), true, "dst_index");

  for_each_index(dims, [&](const Dims& index) {
    const auto src_index = through(attributes.src_index, index), dst_index = through(attributes.dst_index, index);
    if (!dst_index) return;
    const int64_t at = offset_of(to, *dst_index);
    if (!src_index) {
      if (!keep) write(dst_desc.dtype, dst, at, padding_bits);
      return;
    }
    const uint64_t element = read(src_desc.dtype, src, offset_of(from, *src_index));
    const uint64_t old = attributes.beta != 0 ? read(dst_desc.dtype, dst, at) : 0;
    write(dst_desc.dtype, dst, at, converted(src_desc.dtype, element, dst_desc.dtype, old, attributes, dims, index));
  });
  if (!pads) return;

  for_each_index(to.padded_dims(), [&](const Dims& index) {
    const bool logical = std::equal(index.begin(), index.end(), dims.begin(), std::less<>());
    if (!logical) write(dst_desc.dtype, dst, offset_of(to, index), padding_bits);
  });
}

}  // namespace relayout
