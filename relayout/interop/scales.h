// Block scale factors: where the factors of MXFP8 and NVFP4 matrices lie, as cuBLAS and cuDNN want them.
//
// A matrix of rows x columns, whose columns are the dim that a product sums over, has one factor for 32 (MXFP8) or 16
// (NVFP4) elements of a row. The factors are a matrix of rows x ceil(columns / 32 or 16), stored in tiles of 128 x 4,
// tile after tile along a row of tiles. In a tile, factor (r, k) is at (r % 32) * 16 + r / 32 * 4 + k.
//
//     const scales::Factors factors = scales::factors_of(scales::Kind::mxfp8, 256, 2048);
//     factors.layout.dims();                 // 256 x 64
//     factors.bytes;                         // 16384
//     scales::offset(factors, 130, 40);      // the factor of row 130 and columns 32 to 63, 8225
//
// What is beyond the matrix in the last tiles is memory, of which cuBLAS demands that it exists; its contents do not
// matter for the elements' values. As a layout expression it is scales:128x4, for dims of factors.
//
// Source: cuBLAS 12.8 documentation, "1D Block Scaling for FP8 and FP4 Data Types" and "1D Block Scaling Factors
// Layout".
#pragma once

#include <string_view>

#include "relayout/core/layout.h"

namespace relayout::scales {

enum class Kind : uint8_t { mxfp8, nvfp4 };

/// What a kind is. Neither f8_e8m0 (an exponent alone) nor f4_e2m1 is a type of this library; a factor is one byte.
struct KindRow {
  Kind kind;
  std::string_view name;          // "mxfp8"
  int64_t block;                  // elements of a row that share a factor
  std::string_view factor_type;   // "f8_e8m0" or "f8_e4m3" (whose sign is 0)
  std::string_view element_type;  // "f8_e4m3 or f8_e5m2", "f4_e2m1"
  std::string_view cublas_mode;   // cublasLtMatmulMatrixScale_t
};
const KindRow& row_of(Kind kind);

struct Factors {
  Kind kind = Kind::mxfp8;
  /// The matrix of elements.
  int64_t rows = 0, columns = 0;
  /// Of the factors: dims rows and ceil(columns / block), capacities rounded up to whole tiles. Offsets are bytes.
  Layout layout;
  /// Of the buffer: whole tiles.
  int64_t bytes = 0;
};

/// Errors: invalid_argument (rows or columns below 0), overflow.
Factors factors_of(Kind kind, int64_t rows, int64_t columns);

/// The byte of the factor of one element. Error{invalid_argument}: an element outside the matrix.
int64_t offset(const Factors& factors, int64_t row, int64_t column);

/// What a byte of the buffer holds: the factor of row `row` and columns `first_column` to `last_column`.
struct Place {
  Slot slot = Slot::gap;  // padding behind the matrix; a gap behind the buffer
  int64_t row = 0, first_column = 0, last_column = 0;
};
Place place_of(const Factors& factors, int64_t byte);

}  // namespace relayout::scales
