// Views of oneDNN's memory descriptors by oneDNN's own rules: a part, other axes, other dims, and equality, as
// functions on the plain fields of onednn.h. No header of oneDNN is needed.
//
//     const onednn::BlockedDesc fields = onednn::to_onednn({Format::parse("nChw8c").bind({2, 17, 5, 4}), DType::f32});
//     onednn::submemory(fields, {2, 9, 5, 4}, {0, 8, 0, 0});  // offset0 160, padded_dims[1] 16
//     onednn::permute_axes(fields, std::array{0, 3, 1, 2});   // dims 2, 5, 4, 17: dim 1 of before is dim 3
//     onednn::reshape(fields, {1, 2, 17, 20});                // a dim of 1 in front; 5 x 4 joined
//     onednn::reshape(fields, {34, 5, 4});                    // Error{invalid_argument}: dim 1 is no stride of dim 0
//     onednn::difference(fields, onednn::reshape(fields, {2, 17, 20, 1}));  // "dims[2] is 5 and 20"
//
// The functions of core/view.h answer whether a view of a layout exists at all. The ones here answer whether oneDNN
// makes it, and with which fields. They accept and refuse what oneDNN does, and the code of the Error is its status:
//
//     invalid_argument   dnnl_invalid_arguments
//     unsupported        dnnl_unimplemented
//     needs_copy         dnnl_success, but with a descriptor of other elements (see reshape)
//     overflow           a number does not fit 63 bits; oneDNN goes on with what is left of it
//
// Beyond that, invalid_argument is thrown for what oneDNN does not look at, and would read or divide by: more than
// kMaxDims dims or blocks, a block below 1, a block of a dim that does not exist, and dims, offsets or a permutation of
// another rank. The types of later versions that data_type_of_number() knows are accepted. One of them is bool, of
// which version 3.8 still makes no descriptors.
//
// Source: oneDNN 2.6.3, the functions named below. Version 3.8 has the same rules, with more types; it names the first
// one dnnl_memory_desc_create_submemory. The test `onednn` compares them with the library of version 2.
#pragma once

#include <span>
#include <string>

#include "relayout/interop/onednn.h"

namespace relayout::onednn {

/// The part of `parent` with the extents `dims` that begins at the index `offsets`, both in elements and with one entry
/// a dim: dnnl_memory_desc_init_submemory. Strides and blocks stay and offset0 grows, so that size() is 0 where the
/// part does not begin at element 0. A part that ends at the right border of a dim keeps the padding behind it; any
/// other has padded_dims = dims, even inside a block. from_onednn() reads these as well.
/// Errors: invalid_argument (extents or offsets below 0, a part that leaves the dim, a type that has no number here),
/// unsupported (runtime dims; rank 0; a dim with a padded offset; an offset that is no multiple of the dim's block; an
/// extent that ends inside a later block than it begins, but not at the right border), overflow.
BlockedDesc submemory(const BlockedDesc& parent, const Dims& dims, const Dims& offsets);

/// The same elements with dim d of before as dim permutation[d]: dnnl_memory_desc_permute_axes. NumPy's and PyTorch's
/// permutations, as relayout::permute, are the inverse.
/// Errors: invalid_argument (no permutation of all dims, naming the entry; runtime dims; rank 0; a type that has no
/// number here).
BlockedDesc permute_axes(const BlockedDesc& fields, std::span<const int> permutation);

/// The same elements in row-major order with the extents `dims`: dnnl_memory_desc_reshape. From the last dim to the
/// first, the dims of both sides are taken in the smallest groups that have the same number of elements:
/// - A dim of 1 that has no padding is dropped, and a new dim of 1 is put in, unless it lies within dims that are split
///   and joined. The new dim's stride is that of the old dim behind it times this dim's extent, divided by its blocks;
///   behind all dims it is the product of all blocks.
/// - A dim that stays as it is keeps stride, blocks, padding and padded offset. A dim of 1 with padding can only stay.
/// - All others are split and joined. The dims before must continue each other exactly, stride[d - 1] = stride[d] *
///   dims[d], and there the stride of a dim of 1 counts too; the first one must have no blocks, no padding and no
///   padded offset. The dims after have the strides of a row-major tensor.
/// - A dim of 0 can only stay as it is, between dims that are reshaped by themselves.
/// With no dims at all, which oneDNN accepts for one element, the result has rank 0 and thus no size.
/// Errors: invalid_argument (all of the above, another number of elements, extents below 0, runtime dims, rank 0, a
/// type that has no number here), overflow. needs_copy where oneDNN accepts what is no reshape: it looks for blocks and
/// padded offsets at the first of the joined dims alone. The padded offset of another one is dropped. The blocks of
/// another one, and those of a dim of 1 that is dropped, are left to the result's dim of the old number, if there is
/// one, as in 2x1x3 of aBc8b to 6. Where no index of that dim reaches these blocks, as in a dim of 1, no element moves,
/// and the result is oneDNN's.
BlockedDesc reshape(const BlockedDesc& fields, const Dims& dims);

/// Whether oneDNN takes two descriptors for equal: dnnl_memory_desc_equal. All fields count but the stride of a dim
/// whose extent and padded extent are both 1. So equal descriptors are equal layouts. The reverse does not hold: a
/// layout may have several descriptors, such as those of nhwc and nChw8c for 8 channels and one pixel, and in a tensor
/// without elements strides count. Two descriptors of rank 0 are equal, whatever else they hold. No errors.
bool equal(const BlockedDesc& a, const BlockedDesc& b);
/// The first field in which oneDNN finds two descriptors different, with both values ("strides[1] is 8 and 5"); empty
/// where equal() is true.
std::string difference(const BlockedDesc& a, const BlockedDesc& b);

}  // namespace relayout::onednn
