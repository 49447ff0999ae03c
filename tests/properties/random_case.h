// Random reorders: layouts of every kind the algebra has, all types, attributes, paddings.
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
  std::string text;  // what it is, for a failure's message
};

/// A case of at most `max_elements` logical elements.
Case random_case(std::mt19937_64& rng, int64_t max_elements);

/// A layout of these dims: tags with blocks (nesting or not, several levels of several dims), parts of larger tensors,
/// strides with gaps, flips and offsets, images. With `source`, broadcast and overlapping ones too.
Layout random_layout(std::mt19937_64& rng, const Dims& dims, bool source, std::string* text);

/// Bytes that mean interesting values of a type: specials, small integers, any bits.
std::vector<std::byte> random_bytes(std::mt19937_64& rng, DType dtype, int64_t bytes);

/// A uniform integer of [low, high].
int64_t pick(std::mt19937_64& rng, int64_t low, int64_t high);

}  // namespace relayout::test
