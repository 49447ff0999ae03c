// The table of GGUF's types, by the numbers of ggml_type.
#include <algorithm>
#include <array>

#include "relayout/checkpoint/formats/gguf.h"
#include "relayout/core/letters.h"

namespace relayout::checkpoint {
namespace {

constexpr std::array<GgufType, 33> kGgufTypes{{
    {0, "F32", 1, 4, DType::f32},  {1, "F16", 1, 2, DType::f16},
    {2, "Q4_0", 32, 18},           {3, "Q4_1", 32, 20},
    {6, "Q5_0", 32, 22},           {7, "Q5_1", 32, 24},
    {8, "Q8_0", 32, 34},           {10, "Q2_K", 256, 84},
    {11, "Q3_K", 256, 110},        {12, "Q4_K", 256, 144},
    {13, "Q5_K", 256, 176},        {14, "Q6_K", 256, 210},
    {15, "Q8_K", 256, 292},        {16, "IQ2_XXS", 256, 66},
    {17, "IQ2_XS", 256, 74},       {18, "IQ3_XXS", 256, 98},
    {19, "IQ1_S", 256, 50},        {20, "IQ4_NL", 32, 18},
    {21, "IQ3_S", 256, 110},       {22, "IQ2_S", 256, 82},
    {23, "IQ4_XS", 256, 136},      {24, "I8", 1, 1, DType::s8},
    {25, "I16", 1, 2, DType::s16}, {26, "I32", 1, 4, DType::s32},
    {27, "I64", 1, 8, DType::s64}, {28, "F64", 1, 8, DType::f64},
    {29, "IQ1_M", 256, 56},        {30, "BF16", 1, 2, DType::bf16},
    {34, "TQ1_0", 256, 54},        {35, "TQ2_0", 256, 66},
    {39, "MXFP4", 32, 17},         {40, "NVFP4", 64, 36},
    {41, "Q1_0", 128, 18},
}};

template <typename Wanted>
const GgufType* find_gguf_type(Wanted wanted) {
  const auto found = std::ranges::find_if(kGgufTypes, wanted);
  return found == kGgufTypes.end() ? nullptr : &*found;
}

}  // namespace

const GgufType* gguf_type(uint32_t number) {
  return find_gguf_type([&](const GgufType& type) { return type.number == number; });
}
const GgufType* gguf_type(std::string_view name) {
  return find_gguf_type([&](const GgufType& type) { return type.name == name; });
}
const GgufType* gguf_type(DType dtype) {
  return find_gguf_type([&](const GgufType& type) { return type.dtype == dtype; });
}

const PackedFormat* packed_of(const GgufType& type) {
  if (type.dtype) return nullptr;
  // Q4_K is ggml:q4_K, and MXFP4 is ggml:mxfp4: letters differ in their size alone.
  constexpr std::string_view kSystem = "ggml:";
  for (const PackedFormat& format : packed::ggml().formats) {
    if (std::ranges::equal(format.name.substr(kSystem.size()), type.name, {}, small_letter, small_letter))
      return &format;
  }
  return nullptr;
}

const GgufType* gguf_type(const PackedFormat& format) {
  return find_gguf_type([&](const GgufType& type) { return packed_of(type) == &format; });
}

std::string gguf_type_names() {
  std::string out;
  for (const GgufType& type : kGgufTypes) out += (out.empty() ? "" : " ") + std::string(type.name);
  return out;
}

}  // namespace relayout::checkpoint
