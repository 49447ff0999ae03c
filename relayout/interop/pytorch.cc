// PyTorch's tensors as layouts, their memory formats, and the copies that keep one. The views are pytorch_views.cc.
#include "relayout/interop/pytorch.h"

#include <algorithm>
#include <numeric>

#include "relayout/core/overflow.h"
#include "relayout/interop/pytorch_parts.h"
#include "relayout/interop/strided.h"

namespace relayout::pytorch {
namespace {

struct TorchType {
  DType dtype;
  std::string_view name, other_name;
};
constexpr TorchType kTorchTypes[] = {{DType::f64, "torch.float64", "torch.double"},
                                     {DType::f32, "torch.float32", "torch.float"},
                                     {DType::f16, "torch.float16", "torch.half"},
                                     {DType::bf16, "torch.bfloat16", ""},
                                     {DType::f8_e5m2, "torch.float8_e5m2", ""},
                                     {DType::f8_e4m3, "torch.float8_e4m3fn", ""},
                                     {DType::f8_e8m0, "torch.float8_e8m0fnu", ""},
                                     {DType::s64, "torch.int64", "torch.long"},
                                     {DType::s32, "torch.int32", "torch.int"},
                                     {DType::s16, "torch.int16", "torch.short"},
                                     {DType::s8, "torch.int8", ""},
                                     {DType::u64, "torch.uint64", ""},
                                     {DType::u32, "torch.uint32", ""},
                                     {DType::u16, "torch.uint16", ""},
                                     {DType::u8, "torch.uint8", ""},
                                     {DType::boolean, "torch.bool", ""}};

std::string torch_type_names() {
  std::string out;
  for (const TorchType& type : kTorchTypes) out += (out.empty() ? "" : ", ") + std::string(type.name);
  return out;
}

/// The dims of a channels-last format from the innermost out; empty for `contiguous`.
Dims channels_last_order(MemoryFormat format) {
  if (format == MemoryFormat::channels_last) return {1, 3, 2, 0};
  if (format == MemoryFormat::channels_last_3d) return {1, 4, 3, 2, 0};
  return {};
}

/// Whether the order of the strides is that of a channels-last format. Ambiguous strides are not: where C has stride 0,
/// and where nothing but the batch has a stride of its own.
bool strides_like(const TensorMeta& meta, MemoryFormat format) {
  const Dims order = channels_last_order(format);
  if (order.size() != meta.sizes.size() || meta.strides[1] == 0) return false;
  int64_t least = 0;
  for (int64_t at : order) {
    const int d = static_cast<int>(at);
    const int64_t stride = meta.strides[d];
    if (meta.sizes[d] == 0 || stride < least || (d == 0 && least == meta.strides[1])) return false;
    least = stride;
    if (meta.sizes[d] > 1) least = product("suggest_memory_format", stride, meta.sizes[d], d);
  }
  return true;
}

/// Which of two dims should be the inner one in a dense tensor: a negative number for `a`, a positive one for `b`, and
/// 0 where the strides do not say.
int inner_of(const TensorMeta& meta, int a, int b) {
  const int64_t stride_a = meta.strides[a], stride_b = meta.strides[b];
  if (stride_a == 0 || stride_b == 0) return 0;
  if (stride_a != stride_b) return stride_a < stride_b ? -1 : 1;
  return meta.sizes[a] > meta.sizes[b] ? 1 : 0;
}

/// The dims from the innermost out. A stride of 0 compares with nothing, so this order is not transitive, and the steps
/// of the sort are a part of the definition: it is PyTorch's insertion sort, which begins with row-major order.
std::vector<int> memory_order(const TensorMeta& meta) {
  std::vector<int> order(static_cast<std::size_t>(meta.sizes.size()));
  std::iota(order.rbegin(), order.rend(), 0);
  for (std::size_t next = 1; next < order.size(); ++next) {
    std::size_t moving = next;
    for (std::size_t k = next; k-- > 0;) {
      const int inner = inner_of(meta, order[k], order[moving]);
      if (inner < 0) break;
      if (inner == 0) continue;
      std::swap(order[k], order[moving]);
      moving = k;
    }
  }
  return order;
}

}  // namespace

int64_t product(const char* operation, int64_t a, int64_t b, int d) {
  const auto out = checked_mul(a, b);
  if (out) return *out;
  throw Error(ErrorCode::overflow,
              std::string("pytorch: ") + operation + ": " + std::to_string(a) + " times " + std::to_string(b) +
                  " of dim " + std::to_string(d) + " overflows 64 bits",
              "dims[" + std::to_string(d) + "]", std::to_string(a),
              std::to_string(std::numeric_limits<int64_t>::max()));
}

int64_t elements(const TensorMeta& meta) {
  const auto count = checked_product(meta.sizes);
  if (count) return *count;
  throw_too_many("pytorch: ", meta.sizes, meta.sizes, "elements overflow 64 bits", "sizes");
}

void check(const TensorMeta& meta) {
  const auto refuse_entry = [](const std::string& list, int d, int64_t value) {
    throw Error(ErrorCode::invalid_argument,
                "pytorch: " + list + "[" + std::to_string(d) + "] is " + std::to_string(value),
                list + "[" + std::to_string(d) + "]", std::to_string(value), "0 or more");
  };
  if (meta.sizes.size() != meta.strides.size())
    throw Error(ErrorCode::invalid_argument,
                "pytorch: there are " + std::to_string(meta.strides.size()) + " strides for " +
                    std::to_string(meta.sizes.size()) + " sizes",
                "strides", std::to_string(meta.strides.size()), std::to_string(meta.sizes.size()));
  for (int d = 0; d < meta.sizes.size(); ++d) {
    if (meta.sizes[d] < 0) refuse_entry("sizes", d, meta.sizes[d]);
    if (meta.strides[d] < 0) refuse_stride("PyTorch has no negative strides", d, meta.strides[d], "0 or more");
  }
  if (meta.storage_offset < 0)
    throw Error(ErrorCode::invalid_argument, "pytorch: the storage offset is " + std::to_string(meta.storage_offset),
                "storage_offset", std::to_string(meta.storage_offset), "0 or more");
}

Dims row_major(const Dims& sizes) {
  Dims out(sizes.size(), 1);
  const bool empty = std::ranges::find(sizes, 0) != sizes.end();
  for (int d = sizes.size() - 1; d > 0; --d) {
    const int64_t extent = std::max<int64_t>(sizes[d], 1);
    // The strides of a tensor without elements may be any, and no other are kept where these do not fit.
    out[d - 1] = empty ? checked_mul(out[d], extent).value_or(0) : product("strides", out[d], extent, d);
  }
  return out;
}

std::string_view dtype_name(DType dtype) {
  for (const TorchType& type : kTorchTypes) {
    if (type.dtype == dtype) return type.name;
  }
  const std::string known(relayout::name(dtype));
  throw Error(ErrorCode::unsupported,
              "PyTorch has no tensors of single elements of fewer than 8 bits, so none of " + known + "; it has " +
                  torch_type_names(),
              "dtype", known, torch_type_names());
}

DType dtype_of(std::string_view name) {
  const std::string full = (name.starts_with("torch.") ? "" : "torch.") + std::string(name);
  for (const TorchType& type : kTorchTypes) {
    if (type.name == full || type.other_name == full) return type.dtype;
  }
  throw Error(ErrorCode::unsupported,
              "pytorch: \"" + escaped(name) + "\" has no type here; there are " + torch_type_names(), "dtype",
              escaped(name), torch_type_names());
}

TensorDesc from_pytorch(const TensorMeta& meta) {
  check(meta);
  return {Layout::strided(meta.sizes, meta.strides, meta.storage_offset), meta.dtype};
}

TensorMeta to_pytorch(const TensorDesc& desc) {
  dtype_name(desc.dtype);
  const Layout& layout = desc.layout;
  TensorMeta out{layout.dims(), one_stride_a_dim(layout, "PyTorch"), layout.offset0(), desc.dtype};
  for (int d = 0; d < layout.ndims(); ++d) {
    if (out.strides[d] >= 0) continue;
    if (layout.dim(d) > 1 && !layout.empty())
      refuse_stride("PyTorch has no negative strides", d, out.strides[d], "0 or more");
    out.strides[d] = 1;
  }
  return out;
}

std::string code(const TensorDesc& desc) {
  const TensorMeta meta = to_pytorch(desc);
  const std::string dtype = ", dtype=" + std::string(dtype_name(meta.dtype)) + ")";
  const std::string shape = python_tuple(meta.sizes) + ", " + python_tuple(meta.strides);
  if (meta.storage_offset == 0) return "torch.empty_strided(" + shape + dtype;
  return "torch.as_strided(torch.empty(" + std::to_string(desc.layout.span()) + dtype + ", " + shape + ", " +
         std::to_string(meta.storage_offset) + ")";
}

bool is_contiguous(const TensorMeta& meta, MemoryFormat format) {
  return from_pytorch(meta).layout.contiguous_in(format);
}

bool is_contiguous(const Layout& layout, MemoryFormat format) {
  try {
    return is_contiguous(to_pytorch({layout, DType::u8}), format);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return false;
  }
}

bool is_non_overlapping_and_dense(const TensorMeta& meta) {
  check(meta);
  if (elements(meta) == 0) return true;
  std::vector<int> dims;
  for (int d = 0; d < meta.sizes.size(); ++d) {
    if (meta.sizes[d] > 1) dims.push_back(d);
  }
  std::ranges::sort(dims, std::ranges::less{}, [&](int d) { return meta.strides[d]; });
  int64_t expected = 1;
  for (int d : dims) {
    if (meta.strides[d] != expected) return false;
    expected *= meta.sizes[d];
  }
  return true;
}

MemoryFormat suggest_memory_format(const TensorMeta& meta) {
  check(meta);
  for (MemoryFormat format : {MemoryFormat::channels_last, MemoryFormat::channels_last_3d}) {
    if (strides_like(meta, format)) return format;
  }
  return MemoryFormat::contiguous;
}

Result contiguous(const TensorMeta& meta, MemoryFormat format) {
  const Dims order = channels_last_order(format);
  if (!order.empty() && order.size() != meta.sizes.size())
    throw Error(ErrorCode::invalid_argument,
                "pytorch: contiguous: " + std::string(name(format)) + " takes " + std::to_string(order.size()) +
                    " dims, and the tensor has " + std::to_string(meta.sizes.size()),
                "sizes", std::to_string(meta.sizes.size()), std::to_string(order.size()));
  if (is_contiguous(meta, format)) return {meta, false};
  Result out{{meta.sizes, row_major(meta.sizes), 0, meta.dtype}, true};
  int64_t stride = 1;
  for (int64_t at : order) {
    const int d = static_cast<int>(at);
    out.meta.strides[d] = stride;
    stride = elements(meta) == 0 ? checked_mul(stride, meta.sizes[d]).value_or(0)
                                 : product("contiguous", stride, meta.sizes[d], d);
  }
  return out;
}

TensorMeta preserve_format(const TensorMeta& meta) {
  TensorMeta out = meta;
  out.storage_offset = 0;
  if (is_non_overlapping_and_dense(meta)) return out;
  int64_t stride = 1;
  for (int d : memory_order(meta)) {
    out.strides[d] = stride;
    stride = product("preserve_format", stride, std::max<int64_t>(meta.sizes[d], 1), d);
  }
  return out;
}

}  // namespace relayout::pytorch
