// The product by its definition, row by row.
#include "relayout/execute/own/recurrent/product.h"

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

}  // namespace relayout::execute
