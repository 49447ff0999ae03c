// PyTorch: copy_ from a strided view into a strided view, which permutes and converts.
//
// A blocked tensor is a view of higher rank: nchw -> nChw16c is a copy_ between views of n, c/16, hw, c%16. PyTorch's
// contiguous(memory_format) and to(dtype) are this copy_ into a tensor that they make; here it is there before.
#include <ATen/ATen.h>
#include <omp.h>
#include <torch/version.h>

#include <optional>

#include "bench/compare/axes.h"
#include "bench/compare/entries.h"

namespace relayout::bench {
namespace {

std::optional<at::ScalarType> scalar_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return at::kDouble;
    case DType::f32: return at::kFloat;
    case DType::f16: return at::kHalf;
    case DType::bf16: return at::kBFloat16;
    case DType::s64: return at::kLong;
    case DType::s32: return at::kInt;
    case DType::s16: return at::kShort;
    case DType::s8: return at::kChar;
    case DType::u8: return at::kByte;
    case DType::boolean: return at::kBool;
    default: return std::nullopt;
  }
}

/// A type of as many bits, for moves of one that PyTorch lacks.
std::optional<at::ScalarType> same_width(DType dtype) {
  switch (bits(dtype)) {
    case 8: return at::kByte;
    case 16: return at::kShort;
    case 32: return at::kInt;
    case 64: return at::kLong;
    default: return std::nullopt;
  }
}

at::Tensor view(const std::vector<CommonAxis>& axes, int64_t CommonAxis::*stride, const TensorDesc& desc,
                at::ScalarType type, const void* data) {
  std::vector<int64_t> extents, strides;
  for (const CommonAxis& axis : axes) {
    extents.push_back(axis.extent);
    strides.push_back(axis.*stride);
  }
  auto* first = static_cast<char*>(const_cast<void*>(data)) + desc.layout.offset0() * (bits(desc.dtype) / 8);
  return at::from_blob(first, extents, strides, at::TensorOptions().dtype(type));
}

std::function<void()> prepare(const TensorDesc& src, const void* src_data, const TensorDesc& dst, void* dst_data,
                              const Attributes& attributes, int threads, std::string* why) try {
  if (attributes.arithmetic()) {
    *why = "no one call scales and converts into a tensor that is there";
    return {};
  }
  auto from = scalar_type(src.dtype), to = scalar_type(dst.dtype);
  if (src.dtype == dst.dtype && !from) from = to = same_width(src.dtype);
  if (!from || !to) {
    *why = "no such type";
    return {};
  }
  const auto axes = common_axes(src.layout, dst.layout, attributes.padding, why);
  if (!axes) return {};
  const at::Tensor source = view(*axes, &CommonAxis::src_stride, src, *from, src_data);
  const at::Tensor destination = view(*axes, &CommonAxis::dst_stride, dst, *to, dst_data);
  return [source, destination, threads] {
    omp_set_num_threads(threads);  // what PyTorch goes by, and another competitor may have changed
    const at::NoGradGuard no_grad;
    destination.copy_(source);
  };
} catch (const std::exception& error) {
  *why = error.what();
  return {};
}

}  // namespace

Competitor torch_competitor() { return {"torch", TORCH_VERSION, prepare}; }

}  // namespace relayout::bench
