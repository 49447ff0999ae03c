// The types of elements in .npy headers, NumPy's "descr": "<f4", "<V2", "bfloat16", [('re', '<f4'), ('im', '<f4')].
//
// NumPy has no codes of its own for the types of the package ml_dtypes, and writes them as bytes without a type. "<V2"
// is always bfloat16, as the package has no other type of two bytes; "<V1" may be any of fifteen types. So a file that
// is written here says the type, and the shape of sub-byte elements, in a comment behind the dict, which NumPy passes
// over:
//
//     {'descr': '|V1', 'fortran_order': False, 'shape': (2, 3), } # f8_e4m3 (2, 3)
#pragma once

#include <string>
#include <string_view>

#include "relayout/interop/files/npy_literals.h"
#include "relayout/interop/files/tensor_file.h"

namespace relayout {

/// Reads a descr, and sets dtype, dtype_assumed, item_bits, byte_swapped and type_name of a tensor by it. Types that
/// are not converted have no dtype; item_bits is 0 where the name of a type does not say how wide it is. Errors:
/// corrupt, unsupported (objects of Python, elements without bytes).
void read_npy_descr(NpyLiterals& in, StoredTensor& tensor);

/// Takes what the comment behind the dict says of bytes without a type. Nothing where it is no such comment.
void apply_npy_comment(std::string_view comment, StoredTensor& tensor);

/// The descr of a type, and the comment that it needs or "". `shape` becomes that of the array in the file.
struct NpyDescr {
  std::string descr, comment;
};
NpyDescr npy_descr(DType dtype, Dims& shape);
/// Likewise of a type that is not converted. Error{unsupported}: NumPy has none of that name and width.
NpyDescr npy_descr(std::string_view type_name, int item_bits);

}  // namespace relayout
