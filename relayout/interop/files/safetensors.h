// The .safetensors format, as bytes in memory: a length, a JSON header, the tensors' bytes.
//
//     <u64 n> {"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}} <24 bytes>
//
// The tensors cover the buffer exactly: without holes and without overlap. Source: the format's README.
//
// relayout adds a layout header that other readers pass over: the metadata key "relayout" holds a JSON text
//
//     {"version":1,"tensors":{"w":{"layout":"aBcd16b","dims":[2,17,5,4],"dtype":"f32"}}}
//
// that says which layout expression and logical dims the physical array has. All three are optional,
// but layout and dims go together. The notes of a tensor stand there too, each where there is one: "from" (a layout),
// "strides" (of the tensor that was saved), and "packed" with "packed_dims" (the bytes are blocks of a packed format).
// Types that the format lacks (s4, u4, every one without a row in safetensors_types.h), and sub-byte elements that do
// not fill their last byte, are stored as flat U8 bytes, and dtype says what they are. Readers that do not know the key
// see plain arrays.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/interop/files/safetensors_types.h"
#include "relayout/interop/files/tensor_file.h"

namespace relayout {

struct SafeTensors {
  std::vector<StoredTensor> tensors;  // in the header's order
  std::vector<int64_t> offsets;       // of their bytes, from the start of the file
  std::vector<Metadata> metadata;     // without the layout header
};

/// Reads and checks a whole file's header; the tensors' bytes are not touched. What is wrong with one tensor is its
/// problem; what is wrong with the file is an Error: corrupt (tensors that overlap or leave bytes out), limit,
/// unsupported (the layout header's version, no nlohmann-json).
/// If `wanted` names a tensor, only the names and offsets of the others are read. `types` are those that
/// the format has; tests pass others.
SafeTensors parse_safetensors(std::span<const std::byte> file, const FileLimits& limits, std::string_view wanted = {},
                              SafeTensorsTypes types = kSafeTensorsTypes);

/// Whether a file that begins with these bytes (9 are enough) may be a .safetensors file.
bool looks_like_safetensors(std::span<const std::byte> start, int64_t file_size);

/// Everything before the first data byte, for a file of these tensors; 8-byte aligned. The tensors' bytes follow in
/// `order`, the widest elements first, so that each tensor is aligned to its elements. Errors: invalid_argument (a name
/// or key that is not UTF-8, is reserved, or is there twice; a layout that does not fit the shape), overflow.
struct SafeTensorsHead {
  std::string text;
  std::vector<std::size_t> order;
};
SafeTensorsHead safetensors_head(std::span<const TensorSpec> specs, std::span<const Metadata> metadata,
                                 SafeTensorsTypes types = kSafeTensorsTypes);
/// The same for one tensor.
std::string safetensors_head(const TensorSpec& spec, SafeTensorsTypes types = kSafeTensorsTypes);

}  // namespace relayout
