// Padding as memory: what it holds, and how it is set.
//
// Padding are the indices between a dim's extent and its capacity, such as channels 17 to 23 of 17 channels in nChw8c.
// They are part of the buffer. Primitives of oneDNN and others assume that they hold 0 and leave them so; a loop over
// the whole buffer may break that, and the sums of the next primitive are then wrong without any error.
//
//     const TensorDesc desc(Format::parse("nChw8c").bind({2, 17, 5, 4}), DType::f32);
//     for (float& x : buffer) x = std::exp(x);                       // touches padding: exp(0) is 1
//     first_dirty_padding(desc, buffer)->index;                      // 0,17,0,0; its offset is 321
//     fill_padding(desc, buffer);                                    // zeros again; elements as they were
//
// for_each_run() of core/runs.h is the loop that leaves padding alone. Gaps, which strides leave between elements, are
// no padding: nothing here reads or writes them.
#pragma once

#include <optional>

#include "relayout/core/elements.h"
#include "relayout/reorder/attributes.h"

namespace relayout {

/// Writes a value of the type to every element of the padding. Elements and gaps stay as they are, also in a byte that
/// sub-byte elements share. Padding::keep() writes nothing. An offset at which an element lies as well (indices that
/// share one) counts as the element. `data` is the start of the buffer (offset0 is in the layout) and may have any
/// alignment. Cost: for_each_padding_run() and the writes. Errors: limit as there, invalid_argument (no value of the
/// type, element_value.h).
void fill_padding(const TensorDesc& desc, void* data, const Padding& padding = {});

/// An element of the padding: an index of it, and its offset in elements.
struct PaddingElement {
  Dims index;
  int64_t offset = 0;
  friend bool operator==(const PaddingElement&, const PaddingElement&) = default;
};

/// The element of the padding with the smallest offset that does not hold the value, 0 unless given; nothing where all
/// do, or with Padding::keep(). Values are compared, not bits: -0.0 is 0, as no sum or product that is not zero itself
/// changes by its sign; any NaN is a NaN, and is no other value; any byte of a bool other than 0 is true. Cost and
/// errors: as fill_padding().
std::optional<PaddingElement> first_dirty_padding(const TensorDesc& desc, const void* data,
                                                  const Padding& padding = {});

/// The same two, checked: they take vectors, arrays and spans, of elements or of bytes (core/elements.h). Errors,
/// beside those: invalid_argument where elements are of another type than the tensor, with both types; buffer_too_small
/// gives need and have in bytes.
void fill_padding(const TensorDesc& desc, const Elements& data, const Padding& padding = {});
std::optional<PaddingElement> first_dirty_padding(const TensorDesc& desc, const ConstElements& data,
                                                  const Padding& padding = {});

}  // namespace relayout
