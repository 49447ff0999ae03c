// The layout header of .safetensors files, which says what the stored arrays are, and the errors that name a tensor
// (internal to interop/files; safetensors.h shows a file).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/error.h"
#include "relayout/interop/files/json_walk.h"
#include "relayout/interop/files/safetensors_types.h"
#include "relayout/interop/files/tensor_file.h"

namespace relayout {

/// Of the file's own metadata, and its key for the layout header.
inline constexpr std::string_view kSafeTensorsMetadata = "__metadata__", kSafeTensorsLayoutKey = "relayout";

[[noreturn]] void fail_tensor(ErrorCode code, std::string_view tensor, const std::string& what, std::string value = {});
[[noreturn]] void corrupt_tensor(std::string_view tensor, const std::string& what, std::string value = {});

/// Counts the extent that an event has, and adds it to dims where these have room. Error{corrupt}: it is none.
void push_extent(Dims& dims, int64_t& count, std::string_view tensor, const JsonEvent& event, const char* field);

/// Error{limit}: the extents that push_extent() counted are more than a tensor here has dims.
void check_rank(std::string_view tensor, int64_t count, const char* field);

/// The shape of the array that holds a layout, before its views: its physical axes, or where it has none, one axis as
/// long as the span.
Dims physical_array(const Format& layout, const Dims& dims);

/// Gives tensors what the layout header says of them. What is wrong with one is its problem; what is wrong with the
/// header itself is an Error: corrupt, limit, unsupported (another version).
void apply_layouts(std::vector<StoredTensor>& tensors, std::string_view text, const FileLimits& limits,
                   std::string_view wanted, SafeTensorsTypes types);

}  // namespace relayout
