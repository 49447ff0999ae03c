// oneDNN's memory descriptors in numbers: layouts as the fields of a blocked descriptor, and back, and oneDNN's own
// rule about strides as an answer. No header of oneDNN is needed.
//
//     const TensorDesc desc(Format::parse("nChw8c").bind({2, 17, 5, 4}), DType::f32);
//     onednn::BlockedDesc fields = onednn::to_onednn(desc);     // strides 480,160,32,8, inner block 8 of dim 1
//     onednn::size(fields);                                     // 3840, as dnnl_memory_desc_get_size says
//     onednn::from_onednn(fields) == desc;                      // true
//     onednn::accepts({Layout::strided({3, 2}, {2, 3}), DType::f32});
//         // accepted false: the stride 3 of dim 1 is within the 6 elements of dim 0; injective all the same
//
// In oneDNN an index i of a descriptor lies at offset0 plus, for each dim, what i + padded_offset adds by its inner
// blocks and its outer stride. A Layout has no padded offsets: from_onednn() adds what they contribute to offset0, and
// to_onednn() takes them out of it again where it is told them.
//
// Source: oneDNN 2.6.3, dnnl_types.h (dnnl_memory_desc_t, dnnl_blocking_desc_t) and dnnl_memory_desc_init_by_strides;
// the test `onednn` compares everything here with that library.
#pragma once

#include <array>
#include <limits>
#include <string>

#include "relayout/core/layout.h"

namespace relayout::onednn {

/// DNNL_RUNTIME_DIM_VAL: a dim, a stride or an offset that is only known when a primitive runs. A Layout has none, so
/// that the functions here refuse it with Error{unsupported}, which names the field.
inline constexpr int64_t kRuntimeDim = std::numeric_limits<int64_t>::min();

/// The fields of dnnl_memory_desc_t where its format kind is dnnl_blocked, under oneDNN's own names. Strides and
/// offsets count elements. The first `ndims` (of the last two lists `inner_nblks`) entries of each list count, the
/// others are 0.
struct BlockedDesc {
  int ndims = 0;
  std::array<int64_t, kMaxDims> dims{}, padded_dims{}, padded_offsets{};
  int64_t offset0 = 0;
  /// Of the outer index of each dim, that is, of its index divided by the dim's inner blocks.
  std::array<int64_t, kMaxDims> strides{};
  /// The inner blocks, outermost first: how many elements each has, and of which dim.
  int inner_nblks = 0;
  std::array<int64_t, kMaxDims> inner_blks{}, inner_idxs{};
  /// The number of dnnl_data_type_t, as data_type_number() gives it.
  int data_type = 0;

  friend bool operator==(const BlockedDesc&, const BlockedDesc&) = default;
};

/// The number that dnnl_data_type_t has for a type. Those up to u8 (6) exist since oneDNN 1, f64 (7) in oneDNN 3.2, all
/// in 3.13. bool has a number there, but no name in dnnl.hpp and no tensors. Error{unsupported} for the types
/// that oneDNN does not have.
int data_type_number(DType dtype);
/// oneDNN's name of a type, in dnnl.hpp and in its logs: "f32", "e8m0", "boolean".
std::string type_name(DType dtype);
/// The types that oneDNN has tensors of, "f16, bf16, ...", for errors.
std::string type_names();
/// The type of that number; Error{unsupported} names a number that has none here.
DType data_type_of_number(int number);

/// The fields of the descriptor that is this layout, offset0 included. `padded_offsets`, where given, has one entry a
/// dim: how far the tensor begins inside its padded dims. These offsets are then taken out of offset0, and added to the
/// padded dims.
/// Errors: unsupported (rank 0, for which oneDNN has no descriptor; a negative stride that elements lie along; blocks
/// that are not dense and innermost, or more than 12; a type that oneDNN does not have), invalid_argument (padded
/// offsets of another rank, that are negative, no multiples of the dim's block, or more than offset0 has room for).
/// Law: from_onednn(to_onednn(desc, offsets)) == desc.
BlockedDesc to_onednn(const TensorDesc& desc, const Dims& padded_offsets = {});

/// The layout and type that these fields describe.
/// Errors: unsupported (runtime dims, a rank of 0, a type that has no name here), invalid_argument (a field that
/// contradicts another one, named), overflow, needs_copy (a padded offset that cuts a block, or the end of a submemory
/// inside a block, where the part is no single run).
TensorDesc from_onednn(const BlockedDesc& fields);

/// Bytes, as dnnl_memory_desc_get_size() counts them: 0 where a dim is 0, and where offset0 is not 0, since oneDNN has
/// no size for a part of a tensor (TensorDesc::span_bytes has one). The number is that of the fields: other strides of
/// the same layout, or other blocks, may have another size. A block that the padded dims cut counts as none, so that a
/// part inside a block may have the size 0.
/// Errors: unsupported (runtime dims), invalid_argument (fields that contradict each other), overflow.
int64_t size(const BlockedDesc& fields);
/// The same of to_onednn(desc), with its errors.
int64_t size(const TensorDesc& desc);

/// What oneDNN's rule says of a descriptor's strides. Sorted in ascending order, each stride must be at least as large
/// as everything that the dims before it cover; strides of 0 and dims of extent 1 do not count, and a tensor without
/// elements is always accepted. This suffices for a layout without collisions, but it is not necessary, so `injective`
/// has the exact answer beside it.
struct StrideVerdict {
  bool accepted = true;
  /// Where it is not accepted: the dim whose stride is too small, and the dim whose elements the stride falls into;
  /// kInnerBlocks where these are the inner blocks of the layout, and kNoDim where no single stride is the reason.
  int dim = kNoDim, within = kNoDim;
  /// The stride of `dim`, and the least one that the rule allows there.
  int64_t stride = 0, least = 0;
  /// Whether no two elements share an offset, whatever oneDNN says.
  bool injective = true;
  /// One sentence where it is not accepted, else empty.
  std::string reason{};

  static constexpr int kNoDim = -1, kInnerBlocks = -2;
};

/// The verdict of dnnl_memory_desc_init_by_strides, which is about strides without blocks. Here it also answers for
/// inner blocks: these cover the first elements, and a dim covers its outer stride times the number of its blocks. It
/// is not an error that oneDNN has no descriptor for a layout: the verdict's reason says so. Where a product does not
/// fit 63 bits, oneDNN computes with what is left of it; here it counts as the largest number. Error{limit} as in
/// Layout::collision.
StrideVerdict accepts(const TensorDesc& desc);

/// The tensor as C++ of oneDNN: dnnl::memory::desc md(dims, type, tag), where oneDNN has a name for the tag; else by
/// strides, where it has no blocks and oneDNN accepts them. A comment has the tag's other names, and says which version
/// has a name or a type that oneDNN 2.6.3 does not have; the headers of 2.6.3, 3.2 and 3.13 were read.
/// Errors: those of to_onednn(), and unsupported (bool; a descriptor that no public constructor makes, with the reason
/// and its fields).
std::string code(const TensorDesc& desc);

}  // namespace relayout::onednn
