// The values of a record's fields: quantised weights become floating numbers in any layout.
//
//     // A matrix of ggml's q4_0, 4096 x 11008, whose blocks are in `bytes`:
//     cpu::dequantize({.format = "ggml:q4_0", .values = {4096, 11008}}, {{"", bytes}}, dst, out);
//
//     // Any formula of any fields, each with its own layout: those with the values' dims are codes, and the others are
//     // coefficients, one for so many values as their dims are smaller.
//     cpu::evaluate(ValueExpression::parse("s * (q - z)"), fields, dst, out);
//
// The values are those of ValueExpression::value(): each operation rounds to f32 once, and the result is then rounded
// to the destination's type. A NaN becomes the positive quiet one. Results are bit-equal on every instruction set and
// number of threads.
//
// A destination in f32, f16, bf16, f8_e5m2 or f8_e4m3 takes the values as they are computed. One of another type, with
// a swizzle or with attributes takes them by a reorder of some rows at a time, which costs a pass through the cache.
//
// Tiles of some thousand codes are brought into row-major order by a plan of their own, a byte each; one kernel then
// converts them with the coefficients of their groups, straight into the destination where its rows are dense.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "relayout/core/packed/packed.h"
#include "relayout/core/record/value.h"
#include "relayout/cpu/evaluate/value_field.h"
#include "relayout/cpu/threads.h"
#include "relayout/reorder/attributes.h"

namespace relayout::cpu {

/// Writes the value of every index of `dst`. Fields have two dims, as the destination: its own dims, for codes, or dims
/// that divide these. `attributes` are those of a reorder from these values, in f32, to the destination. Errors:
/// invalid_argument (a field that is missing, has other dims, or is a code of more than 8 bits unless it alone is the
/// code; attributes that do not fit), unsupported (an expression that is not affine in its codes), buffer_too_small,
/// not_injective, overlap (a buffer that shares memory with the destination).
void evaluate(const ValueExpression& expression, std::span<const ValueField> fields, const TensorDesc& dst,
              const Elements& out, const Attributes& attributes = {}, const RunOptions& options = {});

/// A matrix of a packed format.
struct PackedTensor {
  std::string format;  // "ggml:q4_0"
  Dims values;         // of the matrix
  int64_t group = 0;   // values of a group, where the format's fields leave it open; 0: the format's own
  /// The types of fields that have others than the table of the format says, such as bf16 scales.
  std::vector<std::pair<std::string, DType>> types{};
  /// Of weights in the order of activations (GPTQ's act-order): the group of each index of the dim that has groups, its
  /// g_idx. Empty where it is index / group.
  std::vector<int64_t> group_of{};
};
/// A buffer of it, by its name in buffers_of(); the only one may have an empty name.
using PackedBuffer = std::pair<std::string, ConstElements>;

/// The fields of a packed matrix that its value needs, with their places in the buffers. Errors: those of
/// packed_format() and field_dims(), invalid_argument for a buffer that is missing or a name that is none's.
std::vector<ValueField> value_fields(const PackedTensor& tensor, std::span<const PackedBuffer> buffers);
/// The buffers that these fields lie in, in the format's order.
std::vector<std::string_view> value_buffers(const PackedFormat& format);
/// The formula of a packed format's values over its fields, with its planes in the place of the code.
ValueExpression value_of(const PackedFormat& format);

/// evaluate() of a packed matrix. `dst` has its dims. With PackedTensor::group_of, the codes are brought into the order
/// of their groups by an index table (core/index_table.h), and the values out of it again by the same one, which takes
/// the memory of both once more. Errors: those of both functions above and of evaluate(), and invalid_argument where
/// group_of does not have each group as often as the format has indices of one.
void dequantize(const PackedTensor& tensor, std::span<const PackedBuffer> buffers, const TensorDesc& dst,
                const Elements& out, const Attributes& attributes = {}, const RunOptions& options = {});

}  // namespace relayout::cpu
