// Descriptor: a Layout and a type as oneDNN's memory descriptor, and back (internal to execute/onednn).
//
// The rule is that of interop/onednn_desc.h, and here what it refuses is no error: both conversions are exact or give
// nothing. A descriptor can only have strides >= 0 and blocks that are dense and innermost; a Layout has no
// Winograd transform, no packed RNN weights and no compensation terms. Many primitives refuse a descriptor whose
// offset0 is not 0, so descriptor() makes it 0, and whoever runs the primitive adds the layout's offset0 to the data
// pointer.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout::execute {

/// oneDNN's type for `dtype`, or nothing if it has none.
std::optional<dnnl::memory::data_type> data_type_of(DType dtype);

/// The descriptor with these strides, blocks and padded dims, and with offset0 of 0.
std::optional<dnnl::memory::desc> descriptor(const Layout& layout, DType dtype);
/// A descriptor whose layout a primitive chooses.
std::optional<dnnl::memory::desc> any_descriptor(const Dims& dims, DType dtype);
/// The layout of a descriptor, with its offset0; nothing if it is empty, or holds something that a layout cannot
/// describe.
std::optional<Layout> layout_of(const dnnl::memory::desc& desc);

/// The same layout with another offset0.
Layout moved(const Layout& layout, int64_t offset0);
/// The same layout with its tag's strides for dims of extent 1, if it has a tag. Layouts are equal whatever these are,
/// but kernels take some of them for the order of dims or for lengths of rows.
Layout with_plain_strides(const Layout& layout);

/// An equal layout with the strides of one family of tags, or nothing if no tag of the family is this layout. Strides
/// of dims of extent 1 are free in a Layout, but oneDNN compares them with those of the tags that it knows. `unblocked`
/// spells a dim that is a single block without it, because gemm wants weights so that other kernels have in blocks.
enum class Spelling : uint8_t { as_given, plain, channels_last, blocked16, blocked8, blocked4, unblocked };
inline constexpr int kSpellingCount = 7;
std::optional<Layout> spelled(const Layout& layout, Spelling spelling);
/// The layout of that family for these dims; nothing if the family has none for the rank.
std::optional<Layout> layout_in(const Dims& dims, Spelling spelling);

}  // namespace relayout::execute
