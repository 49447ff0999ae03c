// oneDNN's own memory descriptors as layouts, and back, for programs that include oneDNN's headers and link its
// library.
//
//     const dnnl::memory::desc md({2, 17, 5, 4}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::nChw8c);
//     const TensorDesc desc = onednn::from_desc(md);    // the layout nChw8c of 2 x 17 x 5 x 4, f32
//     onednn::to_desc(desc) == md;                      // true
//
// The rule is that of interop/onednn.h; here the fields come from the library's types and go into them. All functions
// are inline, so that relayout itself needs no oneDNN, and relayout/relayout.h does not include this header. It
// compiles with oneDNN 2, whose descriptor is a struct, and with oneDNN 3, whose descriptor is opaque: there the fields
// are queried, and a descriptor is made by strides, by the name of a tag, or as a part of such a tensor.
//
// Both directions are exact, or Error{unsupported} says what stands in the way: from the library a format that a
// primitive is still to choose (any), opaque formats (Winograd's, packed RNN weights), runtime dims and compensation
// terms; to the library negative strides, blocks that are not dense and innermost, types that the library does not have
// and, in oneDNN 3, layouts that it has no constructor for.
#pragma once

#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>
#include <array>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "relayout/core/format.h"
#include "relayout/interop/onednn.h"

namespace relayout::onednn {

/// The fields of a blocked descriptor as they are, compensation terms left out. Nothing for a descriptor that is empty
/// or of another format kind.
inline std::optional<BlockedDesc> fields_of(const dnnl::memory::desc& desc);

/// The descriptor with these fields; nothing where this version of oneDNN cannot make one. Whether the library knows
/// the type is not asked. Errors as from_onednn() in oneDNN 3.
inline std::optional<dnnl::memory::desc> descriptor_of(const BlockedDesc& fields);

/// Whether a descriptor of these fields has compensation terms or the like beside its elements. Where oneDNN 3 gives no
/// way to find out, the answer is yes.
inline bool has_extra(const dnnl::memory::desc& desc, const BlockedDesc& fields);

/// The layout and the type of a descriptor, offset0 included. Errors: unsupported, see above, and those of
/// from_onednn().
inline TensorDesc from_desc(const dnnl::memory::desc& desc);

/// The descriptor of a layout, or of fields, offset0 included. Strides that dnnl_memory_desc_init_by_strides refuses
/// (see accepts()) are kept by oneDNN 2 and refused by oneDNN 3. Errors: unsupported, see above, and those of
/// to_onednn() and from_onednn(). Law: from_desc(to_desc(desc)) == desc.
inline dnnl::memory::desc to_desc(const BlockedDesc& fields);
inline dnnl::memory::desc to_desc(const TensorDesc& desc);

// ---- Implementation: first what is alike in all versions, then what differs.

namespace desc_detail {

[[noreturn]] inline void refuse(const std::string& operation, const std::string& why, const std::string& field,
                                const std::string& value, const std::string& allowed) {
  throw Error(ErrorCode::unsupported, operation + ": " + why, field, value, allowed);
}

/// What a descriptor is that is not blocked.
[[noreturn]] inline void refuse_kind(int ndims, dnnl_format_kind_t kind) {
  if (ndims == 0 || kind == dnnl_format_kind_undef) {
    refuse("from_desc", "the descriptor is empty", "format_kind", "undef", "blocked");
  }
  if (kind == dnnl_format_kind_any) {
    refuse("from_desc", "the descriptor's format is any, and only a primitive chooses its layout", "format_kind", "any",
           "blocked");
  }
  const std::string name = dnnl_fmt_kind2str(kind);
  refuse("from_desc", "the descriptor's format kind is " + name + ", whose memory is no layout", "format_kind", name,
         "blocked");
}

/// Why this oneDNN cannot make a descriptor of this layout.
inline std::string no_constructor(const BlockedDesc& fields, const TensorDesc& desc) {
  const std::string begins =
      fields.offset0 == 0 ? "" : "it begins at offset " + std::to_string(fields.offset0) + " and ";
  if (fields.inner_nblks == 0) {
    for (int d = 0; d < fields.ndims; ++d) {
      if (desc.layout.capacity(d) == desc.layout.dim(d)) continue;
      return "dim " + std::to_string(d) + " is padded without blocks, from " + std::to_string(desc.layout.dim(d)) +
             " to " + std::to_string(desc.layout.capacity(d));
    }
    const StrideVerdict verdict = accepts(desc);
    return verdict.accepted ? begins + "is no part of a tensor with these strides" : verdict.reason;
  }
  if (const std::optional<std::string> tag = tag_of(desc.layout)) return "oneDNN has no name for its tag, " + *tag;
  return begins + "has blocks whose outer strides are those of no tag that oneDNN has a name for, nor of a part of it";
}

}  // namespace desc_detail

#if DNNL_VERSION_MAJOR >= 3

namespace desc_detail {

inline bool is_made(const dnnl::memory::desc& desc) { return desc.get(true) != nullptr; }

inline dnnl::memory::dims first_of(const std::array<int64_t, kMaxDims>& list, int count) {
  return {list.begin(), list.begin() + count};
}

/// Whether the descriptor is made and describes this tensor. Constructors know no offset and no padding of their own,
/// so they may have made another one.
inline bool describes(const dnnl::memory::desc& made, const TensorDesc& desc) {
  const std::optional<BlockedDesc> fields = is_made(made) ? fields_of(made) : std::nullopt;
  return fields && from_onednn(*fields) == desc;
}

/// The names of tags that oneDNN has for these inner blocks ("8a2b"). Dims of extent 1 may stand anywhere in a tag, so
/// that one layout can have several names.
inline std::vector<dnnl::memory::format_tag> tags_of(const BlockedDesc& fields) {
  std::string inner;
  for (std::size_t k = 0; k < static_cast<std::size_t>(fields.inner_nblks); ++k)
    inner += std::to_string(fields.inner_blks[k]) + static_cast<char>('a' + fields.inner_idxs[k]);
  std::vector<dnnl::memory::format_tag> out;
  for (int i = dnnl_format_tag_any + 1; i < dnnl_format_tag_last; ++i) {
    const std::string_view name = dnnl_fmt_tag2str(static_cast<dnnl_format_tag_t>(i));
    const std::size_t outer = name.find_first_of("0123456789");
    if (outer != static_cast<std::size_t>(fields.ndims) || name.substr(outer) != inner) continue;
    out.push_back(static_cast<dnnl::memory::format_tag>(i));
  }
  return out;
}

/// A tensor of which another one is a part.
struct Whole {
  dnnl::memory::dims dims, offsets;
};

/// The smallest tensor without gaps between its dims of which these fields can be a part. The offset of each dim
/// follows from offset0, and what a dim has beyond its own extent from the strides of its neighbours. The dims of the
/// mask `at_start`, of which the part has one block, add nothing to offset0.
inline std::optional<Whole> whole_of(const BlockedDesc& fields, unsigned at_start) {
  const auto count = static_cast<std::size_t>(fields.ndims);
  std::vector<int64_t> blocks(count, 1), outer(count), steps(count);
  int64_t inner = 1;
  for (std::size_t k = 0; k < static_cast<std::size_t>(fields.inner_nblks); ++k) {
    blocks[static_cast<std::size_t>(fields.inner_idxs[k])] *= fields.inner_blks[k];
    inner *= fields.inner_blks[k];
  }
  Whole out{dnnl::memory::dims(count), dnnl::memory::dims(count)};
  std::vector<std::size_t> order;  // from the largest stride to the smallest
  for (std::size_t d = 0; d < count; ++d) {
    outer[d] = fields.padded_dims[d] / blocks[d];
    if (outer[d] != 1 && ((at_start >> d) & 1) != 0) return std::nullopt;
    steps[d] = outer[d] == 1 && fields.strides[d] < inner ? inner : fields.strides[d];
    if (steps[d] < 1 && fields.inner_nblks > 0) return std::nullopt;
    order.push_back(d);
  }
  const auto key = [&](std::size_t d) { return std::tuple(steps[d], ((at_start >> d) & 1) == 0, outer[d]); };
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return key(a) > key(b); });
  int64_t rest = fields.offset0;
  for (std::size_t at = 0; at < count; ++at) {
    const std::size_t d = order[at];
    const int64_t start = steps[d] > 0 && ((at_start >> d) & 1) == 0 ? rest / steps[d] : 0;
    rest -= start * steps[d];
    int64_t has = start + outer[d];
    if (at > 0 && fields.inner_nblks > 0) {
      const int64_t outside = steps[order[at - 1]];
      if (outside % steps[d] != 0 || outside / steps[d] < has) return std::nullopt;
      has = outside / steps[d];
    }
    out.offsets[d] = start * blocks[d];
    // A part that ends within a block must end where the tensor ends.
    const bool last = has == start + outer[d];
    if (!last && fields.dims[d] % blocks[d] != 0) return std::nullopt;
    out.dims[d] = last ? out.offsets[d] + fields.dims[d] : has * blocks[d];
  }
  const bool dense = fields.inner_nblks == 0 || (count > 0 && steps[order.back()] == inner);
  return rest == 0 && dense ? std::optional(out) : std::nullopt;
}

/// A tensor by strides or, where there are blocks, by each tag in turn, and the part of it that describes `desc`: one
/// with exactly these fields, or else the first one, whose strides of dims of extent 1 are others.
inline std::optional<dnnl::memory::desc> part_of(const Whole& whole, const BlockedDesc& fields, const TensorDesc& desc,
                                                 const std::vector<dnnl::memory::format_tag>& tags) {
  const auto type = static_cast<dnnl::memory::data_type>(fields.data_type);
  const dnnl::memory::dims dims = first_of(fields.dims, fields.ndims);
  const auto part = [&](const dnnl::memory::desc& parent) -> std::optional<dnnl::memory::desc> {
    if (!is_made(parent)) return std::nullopt;
    const dnnl::memory::desc out = whole.dims == dims ? parent : parent.submemory_desc(dims, whole.offsets, true);
    return describes(out, desc) ? std::optional(out) : std::nullopt;
  };
  if (fields.inner_nblks == 0)
    return part(dnnl::memory::desc(whole.dims, type, first_of(fields.strides, fields.ndims), true));
  std::optional<dnnl::memory::desc> first;
  for (const dnnl::memory::format_tag tag : tags) {
    const std::optional<dnnl::memory::desc> out = part(dnnl::memory::desc(whole.dims, type, tag, true));
    if (out && fields_of(*out) == fields) return out;
    if (!first) first = out;
  }
  return first;
}

}  // namespace desc_detail

inline std::optional<BlockedDesc> fields_of(const dnnl::memory::desc& desc) {
  if (desc.get(true) == nullptr || desc.get_ndims() == 0) return std::nullopt;
  if (desc.get_format_kind() != dnnl::memory::format_kind::blocked) return std::nullopt;
  BlockedDesc fields{.ndims = desc.get_ndims(),
                     .offset0 = desc.get_submemory_offset(),
                     .inner_nblks = desc.get_inner_nblks(),
                     .data_type = static_cast<int>(desc.get_data_type())};
  std::ranges::copy(desc.get_dims(), fields.dims.begin());
  std::ranges::copy(desc.get_padded_dims(), fields.padded_dims.begin());
  std::ranges::copy(desc.get_padded_offsets(), fields.padded_offsets.begin());
  std::ranges::copy(desc.get_strides(), fields.strides.begin());
  std::ranges::copy(desc.get_inner_blks(), fields.inner_blks.begin());
  std::ranges::copy(desc.get_inner_idxs(), fields.inner_idxs.begin());
  return fields;
}

inline std::optional<dnnl::memory::desc> descriptor_of(const BlockedDesc& fields) {
  const TensorDesc desc = from_onednn(fields);
  const auto tags = fields.inner_nblks > 0 ? desc_detail::tags_of(fields) : std::vector<dnnl::memory::format_tag>();
  // Most descriptors are no parts of others.
  const desc_detail::Whole itself{desc_detail::first_of(fields.dims, fields.ndims),
                                  dnnl::memory::dims(static_cast<std::size_t>(fields.ndims))};
  std::optional<dnnl::memory::desc> first = desc_detail::part_of(itself, fields, desc, tags);
  if (first && fields_of(*first) == fields) return first;
  for (unsigned at_start = 0; at_start < 1u << fields.ndims; ++at_start) {
    const std::optional<desc_detail::Whole> whole = desc_detail::whole_of(fields, at_start);
    const auto out = whole ? desc_detail::part_of(*whole, fields, desc, tags) : std::nullopt;
    if (out && fields_of(*out) == fields) return out;
    if (!first) first = out;
  }
  return first;
}

inline bool has_extra(const dnnl::memory::desc& desc, const BlockedDesc& fields) {
  // oneDNN 3 does not show compensation terms. A descriptor without them is made from the same fields and compared;
  // where none can be made, the bytes tell, which the terms are counted among.
  const std::optional<dnnl::memory::desc> bare = descriptor_of(fields);
  if (bare && fields_of(*bare) == fields) return *bare != desc;
  return fields.offset0 != 0 || static_cast<int64_t>(desc.get_size()) != size(fields);
}

/// The same of the C interface's handle, which stays the caller's.
inline TensorDesc from_desc(const_dnnl_memory_desc_t desc) {
  dnnl_memory_desc_t copy = nullptr;
  if (dnnl_memory_desc_clone(&copy, desc) != dnnl_success) {
    throw Error(ErrorCode::invalid_argument, "from_desc: oneDNN cannot read this handle of a descriptor", "desc");
  }
  return from_desc(dnnl::memory::desc(copy));
}

namespace desc_detail {
[[noreturn]] inline void refuse_not_blocked(const dnnl::memory::desc& desc) {
  if (desc.get(true) == nullptr) refuse_kind(0, dnnl_format_kind_undef);
  refuse_kind(desc.get_ndims(), static_cast<dnnl_format_kind_t>(desc.get_format_kind()));
}
inline std::string extra_text(const dnnl::memory::desc& desc) {
  return "has " + std::to_string(desc.get_size()) +
         " bytes, and other terms than its elements are or may be among them";
}
}  // namespace desc_detail

#else

namespace desc_detail {
inline bool is_made(const dnnl::memory::desc& desc) { return desc.data.ndims != 0; }
}  // namespace desc_detail

inline std::optional<BlockedDesc> fields_of(const dnnl::memory::desc& desc) {
  const dnnl_memory_desc_t& data = desc.data;
  if (data.ndims == 0 || data.format_kind != dnnl_blocked) return std::nullopt;
  const dnnl_blocking_desc_t& blocking = data.format_desc.blocking;
  BlockedDesc fields{.ndims = data.ndims,
                     .offset0 = data.offset0,
                     .inner_nblks = blocking.inner_nblks,
                     .data_type = static_cast<int>(data.data_type)};
  const auto ndims = static_cast<std::size_t>(data.ndims), nblks = static_cast<std::size_t>(blocking.inner_nblks);
  std::copy_n(data.dims, ndims, fields.dims.begin());
  std::copy_n(data.padded_dims, ndims, fields.padded_dims.begin());
  std::copy_n(data.padded_offsets, ndims, fields.padded_offsets.begin());
  std::copy_n(blocking.strides, ndims, fields.strides.begin());
  std::copy_n(blocking.inner_blks, nblks, fields.inner_blks.begin());
  std::copy_n(blocking.inner_idxs, nblks, fields.inner_idxs.begin());
  return fields;
}

inline std::optional<dnnl::memory::desc> descriptor_of(const BlockedDesc& fields) {
  dnnl::memory::desc desc;
  dnnl_memory_desc_t& data = desc.data;
  data.ndims = fields.ndims;
  data.data_type = static_cast<dnnl_data_type_t>(fields.data_type);
  data.format_kind = dnnl_blocked;
  std::ranges::copy(fields.dims, data.dims);
  std::ranges::copy(fields.padded_dims, data.padded_dims);
  std::ranges::copy(fields.padded_offsets, data.padded_offsets);
  data.offset0 = fields.offset0;
  dnnl_blocking_desc_t& blocking = data.format_desc.blocking;
  std::ranges::copy(fields.strides, blocking.strides);
  blocking.inner_nblks = fields.inner_nblks;
  std::ranges::copy(fields.inner_blks, blocking.inner_blks);
  std::ranges::copy(fields.inner_idxs, blocking.inner_idxs);
  return desc;
}

inline bool has_extra(const dnnl::memory::desc& desc, const BlockedDesc&) {
  return desc.data.extra.flags != dnnl_memory_extra_flag_none;
}

/// The same of the C interface's struct.
inline TensorDesc from_desc(const dnnl_memory_desc_t& desc) { return from_desc(dnnl::memory::desc(desc)); }

namespace desc_detail {
[[noreturn]] inline void refuse_not_blocked(const dnnl::memory::desc& desc) {
  refuse_kind(desc.data.ndims, desc.data.format_kind);
}
inline std::string extra_text(const dnnl::memory::desc& desc) {
  const uint64_t flags = desc.data.extra.flags;
  std::string out = "has the extra flags " + std::to_string(flags);
  if ((flags & dnnl_memory_extra_flag_compensation_conv_s8s8) != 0) out += ", compensation for s8 sources";
  if ((flags & dnnl_memory_extra_flag_compensation_conv_asymmetric_src) != 0) out += ", compensation for zero points";
  if ((flags & dnnl_memory_extra_flag_rnn_u8s8_compensation) != 0) out += ", compensation of RNN weights";
  if ((flags & dnnl_memory_extra_flag_scale_adjust) != 0) out += ", adjusted values";
  return out;
}
}  // namespace desc_detail

#endif

inline TensorDesc from_desc(const dnnl::memory::desc& desc) {
  const std::optional<BlockedDesc> fields = fields_of(desc);
  if (!fields) desc_detail::refuse_not_blocked(desc);
  TensorDesc out = from_onednn(*fields);
  if (has_extra(desc, *fields)) {
    desc_detail::refuse("from_desc", "the descriptor " + desc_detail::extra_text(desc) + ", which is no layout",
                        "extra", "", "none");
  }
  return out;
}

inline dnnl::memory::desc to_desc(const BlockedDesc& fields) {
  const TensorDesc desc = from_onednn(fields);
  const auto type = static_cast<dnnl::memory::data_type>(fields.data_type);
  if (!desc_detail::is_made({{1}, type, dnnl::memory::dims{1}, true})) {
    desc_detail::refuse("to_desc", "this version of oneDNN has no type " + std::string(name(desc.dtype)), "data_type",
                        std::string(name(desc.dtype)), "a type of the library");
  }
  const std::optional<dnnl::memory::desc> out = descriptor_of(fields);
  if (!out) {
    desc_detail::refuse(
        "to_desc", "no constructor of a descriptor makes this layout: " + desc_detail::no_constructor(fields, desc),
        "layout", digits_expression(desc.layout), "");
  }
  return *out;
}

inline dnnl::memory::desc to_desc(const TensorDesc& desc) { return to_desc(to_onednn(desc)); }

}  // namespace relayout::onednn
