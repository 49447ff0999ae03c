// Look-ups in the table of element types.
#include "relayout/core/dtype.h"

#include <array>

#include "relayout/core/extents.h"

namespace relayout {
namespace {

constexpr bool rows_are_in_order() {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (static_cast<int>(kDTypeRows[i].dtype) != i) return false;
  }
  return true;
}
static_assert(rows_are_in_order(), "kDTypeRows needs one row for each DType, in the order of the enumerators");

constexpr auto kAll = [] {
  std::array<DType, kDTypeCount> all{};
  for (int i = 0; i < kDTypeCount; ++i) all[static_cast<std::size_t>(i)] = static_cast<DType>(i);
  return all;
}();

const DTypeRow& row(DType dtype) { return kDTypeRows[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::string_view name(DType dtype) { return row(dtype).name; }
int bits(DType dtype) { return row(dtype).bits; }
DTypeKind kind(DType dtype) { return row(dtype).kind; }
std::span<const DType> all_dtypes() { return kAll; }

std::optional<int64_t> bytes_for(DType dtype, int64_t elements) {
  if (bits(dtype) >= 8) return checked_mul(elements, bits(dtype) / 8);
  // Eight elements have `bits` bytes, so that nothing overflows on the way.
  return elements / 8 * bits(dtype) + ceil_div(elements % 8 * bits(dtype), 8);
}

std::optional<DType> find_dtype(std::string_view text) {
  for (DType dtype : kAll) {
    if (name(dtype) == text) return dtype;
  }
  return std::nullopt;
}

}  // namespace relayout
