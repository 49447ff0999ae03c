// The layout header of .safetensors files, which says what the stored arrays are, and the errors that name a tensor
// (internal to interop/files; safetensors.h shows a file).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "relayout/core/error.h"
#include "relayout/core/packed/packed.h"
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
void apply_layouts(std::span<StoredTensor> tensors, std::string_view text, const FileLimits& limits,
                   std::string_view wanted, SafeTensorsTypes types);

/// What the layout header says of one tensor, {"layout":...,"dims":...}, as an object of JSON: the layout where there
/// is one, or for `flat` bytes the dims, and the notes; "" where there is nothing to say.
std::string layout_entry(const TensorSpec& spec, bool flat);
/// Takes what such an object says of a tensor. Errors are the tensor's problem.
void apply_layout_entry(StoredTensor& tensor, std::string_view text, const FileLimits& limits, SafeTensorsTypes types);

/// Checks what the notes of an array say: that the packed format exists and has so many bytes for its dims, and that
/// strides are as many as the shape has axes. Error of the code `wrong`, or unsupported for a packed format that is not
/// known.
void check_notes(std::string_view tensor, const TensorNotes& notes, const Dims& shape, int64_t byte_size,
                 ErrorCode wrong);

/// How many bytes the blocks of a packed format have for these values, row-major; nothing where they are no whole
/// blocks or overflow. The format's fields lie in one buffer.
std::optional<int64_t> packed_bytes(const PackedFormat& format, const Dims& values);

}  // namespace relayout
