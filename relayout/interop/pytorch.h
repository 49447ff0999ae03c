// PyTorch: tensors as sizes, strides and a storage offset; its memory formats and its views, by its own rules.
//
//     const TensorDesc nhwc(Format::parse("nhwc").bind({1, 64, 5, 4}), DType::f32);
//     pytorch::TensorMeta x = pytorch::to_pytorch(nhwc);                  // strides 1280, 1, 256, 64
//     pytorch::is_contiguous(x, MemoryFormat::channels_last);            // true
//     pytorch::reshape(x, {64, 20}).copies;                              // true: no strides say it
//     pytorch::code(nhwc);     // torch.empty_strided((1, 64, 5, 4), (1280, 1, 256, 64), dtype=torch.float32)
//
// core/view.h has the same views of layouts. They differ in two ways. In PyTorch the strides of dims of extent 0 and 1
// are a part of a tensor, as they decide which memory format it is taken for, so the functions here compute them by
// PyTorch's formulas. And they take PyTorch's arguments and refuse what PyTorch refuses: a scalar has a dim 0 (or -1)
// in some of them, squeeze() leaves a dim that is not 1 alone, narrow() takes a negative start. Law, wherever the
// tensor has elements: from_pytorch(f(x)) == f(from_pytorch(x)).
//
// What is refused is Error{invalid_argument}, unless a comment says more, and Error{overflow} where an extent, a stride
// or an offset would not fit 64 bits, which PyTorch computes with what is left of it. A negative dim counts from the
// end.
//
// Source: PyTorch 2, c10/core/{MemoryFormat,Contiguity}.h, ATen/native/TensorShape.cpp,
// ATen/{TensorUtils,ExpandUtils}.cpp. The test `pytorch_layouts` compares everything here with the library, by random
// tensors and chains of views.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout::pytorch {

/// What a torch.Tensor says of itself. Strides and the offset count elements; neither is negative.
struct TensorMeta {
  Dims sizes{}, strides{};
  int64_t storage_offset = 0;
  DType dtype = DType::f32;

  friend bool operator==(const TensorMeta&, const TensorMeta&) = default;
};

/// "torch.float32". Error{unsupported} names a type that PyTorch does not have: sub-byte types, of which PyTorch's
/// int4, uint4 and their like are names without storage.
std::string_view dtype_name(DType dtype);
/// The type of "torch.float32" or "float32"; PyTorch's other names ("float", "half", "long") count too.
/// Error{unsupported} names one that has no type here.
DType dtype_of(std::string_view name);

/// The tensor's layout. Errors: invalid_argument (counts that differ, a negative extent or offset), unsupported (a
/// negative stride, which PyTorch does not have), overflow.
TensorDesc from_pytorch(const TensorMeta& meta);
/// The tensor of that layout. Error{unsupported} names what PyTorch cannot say: the dim that is blocked or padded, the
/// stride that is negative, or the type. A negative stride of a dim with one index, which means nothing, becomes 1.
/// Law: from_pytorch(to_pytorch(desc)) == desc.
TensorMeta to_pytorch(const TensorDesc& desc);

/// One line of Python that makes a tensor of this layout: torch.empty_strided(...), or where it does not begin its
/// storage torch.as_strided(torch.empty(...), ...). Errors as in to_pytorch().
std::string code(const TensorDesc& desc);

/// tensor.is_contiguous(memory_format=...). A tensor may be contiguous in two formats at once.
bool is_contiguous(const TensorMeta& meta, MemoryFormat format = MemoryFormat::contiguous);
/// The same of to_pytorch(); false where PyTorch has no such tensor.
bool is_contiguous(const Layout& layout, MemoryFormat format = MemoryFormat::contiguous);
/// tensor.is_non_overlapping_and_dense() of C++: whether the elements fill one run of memory, each once. PyTorch takes
/// every tensor without elements for one.
bool is_non_overlapping_and_dense(const TensorMeta& meta);

/// tensor.suggest_memory_format() of C++, by which operators choose the format of their results. It looks at strides of
/// dims of extent 1 too, and at their order only, so that it neither follows from is_contiguous() nor implies it.
MemoryFormat suggest_memory_format(const TensorMeta& meta);

/// A result that is a view of the tensor, or a new tensor, whose storage begins with it.
struct Result {
  TensorMeta meta;
  bool copies = false;

  friend bool operator==(const Result&, const Result&) = default;
};

/// tensor.contiguous(memory_format=...). Error{invalid_argument} where the format is not one of the tensor's rank.
Result contiguous(const TensorMeta& meta, MemoryFormat format = MemoryFormat::contiguous);
/// What clone() and torch.empty_like() make with torch.preserve_format, which is their default: the same strides where
/// the tensor is non-overlapping and dense; otherwise dense strides whose dims keep the order of the tensor's strides.
TensorMeta preserve_format(const TensorMeta& meta);

/// tensor.view(sizes), of which one may be -1. Error{needs_copy} names the dims that stand in the way.
TensorMeta view(const TensorMeta& meta, const Dims& sizes);
/// tensor.reshape(sizes): the view where there is one, else a row-major copy.
Result reshape(const TensorMeta& meta, const Dims& sizes);
/// tensor.flatten(start_dim, end_dim).
Result flatten(const TensorMeta& meta, int start_dim = 0, int end_dim = -1);

/// out dim i is dim order[i].
TensorMeta permute(const TensorMeta& meta, std::span<const int> order);
TensorMeta transpose(const TensorMeta& meta, int dim0, int dim1);
/// `length` indices from `start`, which counts from the end where it is negative.
TensorMeta narrow(const TensorMeta& meta, int dim, int64_t start, int64_t length);
TensorMeta select(const TensorMeta& meta, int dim, int64_t index);
/// Extents of 1 repeat, -1 keeps an extent, and new dims may stand in front.
TensorMeta expand(const TensorMeta& meta, const Dims& sizes);
/// Without all dims of extent 1.
TensorMeta squeeze(const TensorMeta& meta);
/// Without that dim, if its extent is 1.
TensorMeta squeeze(const TensorMeta& meta, int dim);
TensorMeta unsqueeze(const TensorMeta& meta, int dim);
/// The windows of `size` indices at steps of `step`: a new last dim counts inside a window.
TensorMeta unfold(const TensorMeta& meta, int dim, int64_t size, int64_t step);
/// The elements whose index of dim2 is that of dim1 plus `offset`, along a new last dim.
TensorMeta diagonal(const TensorMeta& meta, int64_t offset = 0, int dim1 = 0, int dim2 = 1);
/// Other sizes and strides over the same storage; the tensor's own offset where none is given. Where the number of
/// elements of the storage is given, the result must lie in it, as in PyTorch.
TensorMeta as_strided(const TensorMeta& meta, const Dims& sizes, const Dims& strides,
                      std::optional<int64_t> storage_offset = {}, std::optional<int64_t> storage_elements = {});

/// One way to read a tensor's strides.
struct Interpretation {
  /// "contiguous", "channels_last", "channels_last_3d"; the name of another order of dims, such as "chwn"; "like
  /// channels_last", of a part of such a tensor; "expanded"; or "strided" where none of these holds.
  std::string name;
  /// One sentence.
  std::string why;
  /// Whether suggest_memory_format() takes the tensor for it. Its answer for all that it does not recognize is
  /// `contiguous`, so that no reading may have it.
  bool suggested = false;
};
/// All readings of a tensor: there are several where a dim has extent 1 or 0, since its stride decides nothing then.
/// The memory formats stand first. An order of dims is listed under its first name only.
std::vector<Interpretation> interpretations(const TensorMeta& meta);
/// The same of to_pytorch(), with its errors.
std::vector<Interpretation> interpretations(const Layout& layout);

}  // namespace relayout::pytorch
