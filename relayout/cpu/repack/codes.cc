// Codes of packed formats: see codes.h.
#include "relayout/cpu/repack/codes.h"

#include <algorithm>

#include "relayout/cpu/reorder.h"

namespace relayout::cpu {
namespace {

/// Where codes lie in memory between their formats: a byte each, in row-major order.
TensorDesc dense_codes(const Packed& side, const Dims& dims) {
  return {Layout::contiguous(dims), CodeRange(side).low < 0 ? DType::s8 : DType::u8};
}

std::vector<uint8_t> fetched_codes(const Packed& side, const Dims& dims, const RunOptions& options) {
  const TensorDesc dense = dense_codes(side, dims);
  std::vector<uint8_t> out(static_cast<std::size_t>(dense.layout.elements())), plane(out.size());
  for (const auto& [name, shift] : side.affine.code) {
    const ValueField& field = side.field(name);
    reorder(field.desc, field.buffer, dense, std::as_writable_bytes(std::span(plane)), {}, options);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint8_t>(out[i] | plane[i] << shift);
  }
  return out;
}

}  // namespace

CodeRange::CodeRange(const Packed& side) {
  for (const ValueExpression::Affine::Plane& plane : side.affine.code) {
    const DType type = side.field(plane.field).desc.dtype;
    const int width = bits(type) + plane.shift;
    const bool sign = kind(type) == DTypeKind::signed_integer;
    integers = integers && is_integer(type) && width <= 8;
    if (!integers) return;
    low = sign ? -(1 << (width - 1)) : 0;
    high = std::max(high, (1 << (sign ? width - 1 : width)) - 1);
  }
}

void store_codes(const Packed& side, const std::vector<uint8_t>& codes, const Dims& dims, const RunOptions& options) {
  const TensorDesc dense = dense_codes(side, dims);
  std::vector<uint8_t> plane(codes.size());
  for (const auto& [name, shift] : side.affine.code) {
    const ValueField& field = side.field(name);
    const unsigned mask = side.affine.code.size() == 1 ? 0xff : (1U << bits(field.desc.dtype)) - 1;
    for (std::size_t i = 0; i < codes.size(); ++i) plane[i] = static_cast<uint8_t>(codes[i] >> shift & mask);
    reorder(dense, std::as_bytes(std::span(plane)), field.desc, writable(field.buffer), {}, options);
  }
}

bool same_planes(const Packed& from, const Packed& to) {
  return std::ranges::equal(from.affine.code, to.affine.code, [&](const auto& a, const auto& b) {
    return a.shift == b.shift && from.field(a.field).desc.dtype == to.field(b.field).desc.dtype;
  });
}

std::string codes_text(const Packed& side) {
  const CodeRange range(side);
  return range.integers ? std::to_string(range.low) + " to " + std::to_string(range.high)
                        : std::string(name(side.field(side.affine.code[0].field).desc.dtype));
}

void move_codes(const Packed& from, const Packed& to, int added, const Dims& dims, const RunOptions& options) {
  if (added == 0 && same_planes(from, to)) {
    for (std::size_t p = 0; p < from.affine.code.size(); ++p) {
      const ValueField &src = from.field(from.affine.code[p].field), &dst = to.field(to.affine.code[p].field);
      reorder(src.desc, src.buffer, dst.desc, writable(dst.buffer), {}, options);
    }
    return;
  }
  std::vector<uint8_t> codes = fetched_codes(from, dims, options);
  for (uint8_t& code : codes) code = static_cast<uint8_t>(code + added);
  store_codes(to, codes, dims, options);
}

}  // namespace relayout::cpu
