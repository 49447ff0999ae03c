// Pages of mapped files that are walked part by part (reorder/slabs.h).
#pragma once

#include <cstddef>
#include <span>

#include "relayout/core/layout.h"

namespace relayout {

/// Asks the system to map a file in small pages and, where it is written, not to read ahead: with huge pages one
/// touched byte brings in 2 MiB, and a write maps all that was read ahead around it. These are hints. A system that
/// ignores them may take several times the cap.
void map_small_pages(std::span<const std::byte> mapped_bytes, bool written);

/// Gives back the pages of a mapping that a part touched, and those that were mapped along with them. `view` is the
/// part.
void release_slab(const TensorDesc& view, std::span<const std::byte> mapped_bytes);

}  // namespace relayout
