// Random reorders: all kinds of layouts, types, attributes and paddings.
#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "relayout/core/layout.h"
#include "relayout/reorder/attributes.h"

namespace relayout::test {

/// One reorder to check. Equal seeds give equal cases.
struct Case {
  TensorDesc src, dst;
  Attributes attributes;
  std::string text;  // description for a failure's message
};

/// A case of at most `max_elements` logical elements.
Case random_case(std::mt19937_64& rng, int64_t max_elements);

/// A random layout of these dims: tags with blocks (nesting or not, several levels over several dims), parts of larger
/// tensors, strides with gaps, flips and offsets, images. If `source`, also broadcast and overlapping layouts.
Layout random_layout(std::mt19937_64& rng, const Dims& dims, bool source, std::string* text);

/// Bytes of interesting values of a type: special values, small integers, random bits.
std::vector<std::byte> random_bytes(std::mt19937_64& rng, DType dtype, int64_t bytes);

/// A uniform integer of [low, high].
int64_t pick(std::mt19937_64& rng, int64_t low, int64_t high);

}  // namespace relayout::test
