// The product by its definition, row by row.
#include "relayout/execute/own/product/product.h"

namespace relayout::execute {

void plain_product(const MatrixProduct& p) {
  for (int64_t r = 0; r < p.rows; ++r) {
    float* out = p.out + r * p.out_row;
    for (int64_t k = 0; k < p.inner; ++k) {
      const float a = p.a[r * p.a_row + k];
      for (int64_t c = 0; c < p.columns; ++c) out[c] += a * p.b[k * p.b_row + c];
    }
  }
}

void plain_transposed_product(const MatrixProduct& p) {
  for (int64_t r = 0; r < p.rows; ++r) {
    for (int64_t c = 0; c < p.columns; ++c) {
      float sum = 0;
      for (int64_t k = 0; k < p.inner; ++k) sum += p.a[r * p.a_row + k] * p.b[c * p.b_row + k];
      p.out[r * p.out_row + c] += sum;
    }
  }
}

}  // namespace relayout::execute
