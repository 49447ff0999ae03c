// What of a mapped source is in memory when a view of it was read (internal to checkpoint).
#pragma once

#include <cstddef>
#include <span>

#include "relayout/core/dtype.h"
#include "relayout/core/layout.h"

namespace relayout::checkpoint {

/// Bytes of a source between the first and the last element of a view.
std::span<const std::byte> touched(const Layout& src, DType dtype, std::span<const std::byte> all);

/// About how many bytes are in memory once a view was read: runs that lie far apart count each, with what a page fault
/// maps around it.
double mapped_bytes(const Layout& src, DType dtype);

/// Gives back the pages of these bytes of a source.
void release(std::span<const std::byte> all, std::span<const std::byte> bytes);

}  // namespace relayout::checkpoint
