// The element types of .safetensors files and the names that the format gives them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "relayout/core/dtype.h"

namespace relayout {

struct SafeTensorsType {
  DType dtype;
  std::string_view name;
};
using SafeTensorsTypes = std::span<const SafeTensorsType>;
inline constexpr std::array<SafeTensorsType, 19> kSafeTensorsTypes{{{DType::f64, "F64"},
                                                                    {DType::f32, "F32"},
                                                                    {DType::f16, "F16"},
                                                                    {DType::bf16, "BF16"},
                                                                    {DType::f8_e5m2, "F8_E5M2"},
                                                                    {DType::f8_e4m3, "F8_E4M3"},
                                                                    {DType::f8_e8m0, "F8_E8M0"},
                                                                    {DType::f6_e3m2, "F6_E3M2"},
                                                                    {DType::f6_e2m3, "F6_E2M3"},
                                                                    {DType::f4_e2m1, "F4"},
                                                                    {DType::s64, "I64"},
                                                                    {DType::s32, "I32"},
                                                                    {DType::s16, "I16"},
                                                                    {DType::s8, "I8"},
                                                                    {DType::u64, "U64"},
                                                                    {DType::u32, "U32"},
                                                                    {DType::u16, "U16"},
                                                                    {DType::u8, "U8"},
                                                                    {DType::boolean, "BOOL"}}};

/// Whether the format stores so many elements of a type as its own: it has the type, and they fill whole bytes.
inline bool stores_as_its_own(SafeTensorsTypes types, DType dtype, int64_t elements) {
  const auto found = std::ranges::find(types, dtype, &SafeTensorsType::dtype);
  return found != types.end() && elements % byte_period(dtype) == 0;
}

/// Types of the format whose elements are never converted here: they are read as their bytes.
struct ForeignSafeTensorsType {
  std::string_view name;
  int bits;
};
inline constexpr std::array<ForeignSafeTensorsType, 3> kForeignSafeTensorsTypes{
    {{"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"C64", 64}}};

/// Whether a type is called as the format calls its own, also those that nobody here knows: "F8_E8M0", "X9".
constexpr bool is_safetensors_type(std::string_view name) {
  bool out = !name.empty() && name[0] >= 'A' && name[0] <= 'Z';
  for (const char ch : name) out = out && ((ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || ch == '_');
  return out;
}

}  // namespace relayout
