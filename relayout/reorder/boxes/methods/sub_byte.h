// Sub-byte elements that can neither be joined to bytes nor be done by stages, moved by way of a buffer in which each
// takes a byte (internal to reorder).
#pragma once

#include <optional>

#include "relayout/reorder/boxes/loops.h"
#include "relayout/reorder/boxes/methods/told.h"

namespace relayout {

struct SubByte {
  static constexpr Told kTold{KernelShape::gather, "unpack and pack",
                              "elements do not start at whole bytes, so that they are unpacked, moved and packed"};
  bool operator==(const SubByte&) const = default;
};

/// Makes a box of elements of `bits` bits, fewer than 8, one of bytes, where a run of them starts and ends at whole
/// bytes throughout.
bool join_to_bytes(Box& box, int bits, Tables* tables = nullptr);
/// Plans a box of elements of so many bits that could not be joined.
Planned<SubByte> plan_sub_byte(Box box, int bits);

/// The byte that elements of a sub-byte type with these bits make where only they are in it; nothing where bytes
/// differ, as those of 6 bits do, and for types of whole bytes.
std::optional<uint8_t> byte_of_equal(DType dtype, uint64_t element);

}  // namespace relayout
