// What reading and writing GGUF share: the types of its tensors, and the keys that relayout adds.
//
// A GGUF file is: "GGUF", version, number of tensors, number of keys; the keys with their typed values; of each tensor
// its name, dims (the innermost first), type and offset; and behind padding the tensors' bytes, each at a multiple of
// the value of general.alignment, or of 32.
//
// relayout records a tensor's layout under the key "relayout.layout.NAME", as the text that .safetensors has for it:
//
//     relayout.layout.conv1.weight = {"layout":"ohwi","dims":[64,3,7,7],"dtype":"f32","from":"oihw"}
//
// Source: ggml's docs/gguf.md; PyPI's package gguf reads and writes the same files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "relayout/core/dtype.h"
#include "relayout/core/packed/packed.h"

namespace relayout::checkpoint {

inline constexpr std::string_view kGgufMagic = "GGUF", kGgufAlignmentKey = "general.alignment",
                                  kGgufLayoutKey = "relayout.layout.";
inline constexpr uint32_t kGgufAlignment = 32;

/// A type of GGUF's tensors: `values` of a row are `bytes`. One that has a DType has elements of it; all others are
/// blocks.
struct GgufType {
  uint32_t number;
  std::string_view name;
  int64_t values, bytes;
  std::optional<DType> dtype = {};
};
/// Nothing for a number or a name that is not known.
const GgufType* gguf_type(uint32_t number);
const GgufType* gguf_type(std::string_view name);
const GgufType* gguf_type(DType dtype);
/// The packed format of the blocks, "ggml:q4_0" of Q4_0, or nothing where no layout says them.
const PackedFormat* packed_of(const GgufType& type);
/// The type of a packed format, or nothing.
const GgufType* gguf_type(const PackedFormat& format);
/// The names of all types that are read, for messages.
std::string gguf_type_names();

}  // namespace relayout::checkpoint
