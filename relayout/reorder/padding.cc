// Sets and checks padding, a run of it at a time.
#include "relayout/reorder/padding.h"

#include <string>

#include "relayout/core/error.h"
#include "relayout/core/runs.h"
#include "relayout/reorder/cast.h"

namespace relayout {
namespace {

template <DType D>
bool same_value(Storage<D> a, Storage<D> b) {
  if constexpr (kIsFloating<D>) {
    const auto x = load<double, D>(a), y = load<double, D>(b);
    return x == y || (x != x && y != y);
  } else if constexpr (D == DType::boolean) {
    return (a != 0) == (b != 0);
  } else {
    return a == b;
  }
}

/// The value as the type stores it.
template <DType D>
Storage<D> stored(const ElementValue& value) {
  const uint64_t bits = padding_bits(value, D);
  return read_element<D>(&bits, 0);
}

}  // namespace

void fill_padding(const TensorDesc& desc, void* data, const Padding& padding) {
  if (padding.kind == Padding::Kind::keep) return;
  with_dtype(desc.dtype, [&]<DType D>(std::integral_constant<DType, D>) {
    const Storage<D> value = stored<D>(padding.value);
    for_each_padding_run(desc.layout, [&](int64_t offset, int64_t length) {
      for (int64_t i = offset; i < offset + length; ++i) write_element<D>(data, i, value);
    });
  });
}

std::optional<PaddingElement> first_dirty_padding(const TensorDesc& desc, const void* data, const Padding& padding) {
  if (padding.kind == Padding::Kind::keep) return std::nullopt;
  std::optional<int64_t> first;
  with_dtype(desc.dtype, [&]<DType D>(std::integral_constant<DType, D>) {
    const Storage<D> value = stored<D>(padding.value);
    // The runs of strides that are not nested do not ascend, so all of them are looked at.
    for_each_padding_run(desc.layout, [&](int64_t offset, int64_t length) {
      const int64_t end = first ? std::min(*first, offset + length) : offset + length;
      for (int64_t i = offset; i < end; ++i) {
        if (same_value<D>(read_element<D>(data, i), value)) continue;
        first = i;
        return;
      }
    });
  });
  if (!first) return std::nullopt;
  PaddingElement out{.index = {}, .offset = *first};
  desc.layout.inverse(*first, &out.index);
  return out;
}

void fill_padding(const TensorDesc& desc, const Elements& data, const Padding& padding) {
  void* const bytes = checked_bytes(data, desc, "fill_padding", "data").data();
  fill_padding(desc, bytes, padding);
}

std::optional<PaddingElement> first_dirty_padding(const TensorDesc& desc, const ConstElements& data,
                                                  const Padding& padding) {
  const void* const bytes = checked_bytes(data, desc, "first_dirty_padding", "data").data();
  return first_dirty_padding(desc, bytes, padding);
}

}  // namespace relayout
