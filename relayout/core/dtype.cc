// The table of element types.
#include "relayout/core/dtype.h"

#include <array>
#include <string>

#include "relayout/core/error.h"
#include "relayout/core/extents.h"

namespace relayout {
namespace {

struct Row {
  std::string_view name;
  int bits;
  DTypeKind kind;
};

constexpr auto F = DTypeKind::floating, S = DTypeKind::signed_integer, U = DTypeKind::unsigned_integer,
               B = DTypeKind::boolean;
constexpr std::array<Row, kDTypeCount> kRows{{
    {"f64", 64, F},
    {"f32", 32, F},
    {"f16", 16, F},
    {"bf16", 16, F},
    {"f8_e5m2", 8, F},
    {"f8_e4m3", 8, F},
    {"s64", 64, S},
    {"s32", 32, S},
    {"s16", 16, S},
    {"s8", 8, S},
    {"u64", 64, U},
    {"u32", 32, U},
    {"u16", 16, U},
    {"u8", 8, U},
    {"bool", 8, B},
    {"s4", 4, S},
    {"u4", 4, U},
}};

constexpr auto kAll = [] {
  std::array<DType, kDTypeCount> all{};
  for (int i = 0; i < kDTypeCount; ++i) all[static_cast<std::size_t>(i)] = static_cast<DType>(i);
  return all;
}();

const Row& row(DType dtype) { return kRows[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::string_view name(DType dtype) { return row(dtype).name; }
int bits(DType dtype) { return row(dtype).bits; }
DTypeKind kind(DType dtype) { return row(dtype).kind; }
std::span<const DType> all_dtypes() { return kAll; }

std::optional<int64_t> bytes_for(DType dtype, int64_t elements) {
  if (bits(dtype) >= 8) return checked_mul(elements, bits(dtype) / 8);
  return ceil_div(elements, 8 / bits(dtype));
}

std::optional<DType> find_dtype(std::string_view text) {
  for (DType dtype : kAll) {
    if (name(dtype) == text) return dtype;
  }
  return std::nullopt;
}

DType parse_dtype(std::string_view text) {
  if (auto found = find_dtype(text)) return *found;
  std::string names;
  for (DType dtype : kAll) names += (names.empty() ? "" : ", ") + std::string(name(dtype));
  throw Error(ErrorCode::parse, "dtype: unknown type \"" + escaped(text) + "\"; known are " + names, "dtype",
              escaped(text), names);
}

}  // namespace relayout
