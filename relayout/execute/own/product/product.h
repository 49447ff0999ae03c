// Products of small row-major matrices, for the instruction set in use (internal to execute).
#pragma once

#include <cstdint>

namespace relayout::execute {

/// out += a b for a of rows x inner, b of inner x columns and out of rows x columns, each row-major with so many
/// elements from a row to the next.
struct MatrixProduct {
  const float* a = nullptr;
  const float* b = nullptr;
  float* out = nullptr;
  int64_t rows = 0, inner = 0, columns = 0;
  int64_t a_row = 0, b_row = 0, out_row = 0;
  /// Whether b lies in memory, and not in a cache: of few rows the next rows of b are then fetched ahead.
  bool fetches_ahead = false;
};
using ProductFunction = void (*)(const MatrixProduct&);

/// In plain C++: one sum after another.
void plain_product(const MatrixProduct& p);
/// The same where b is stored transposed: element (k, c) at c * b_row + k.
void plain_transposed_product(const MatrixProduct& p);
/// By Highway, for the instruction set in use (cpu::isa()); the plain ones where that is "scalar" or there is no
/// Highway.
ProductFunction product_function();
ProductFunction transposed_product_function();

}  // namespace relayout::execute
