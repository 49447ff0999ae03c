// Layouts as descriptors of the library, by the fields of interop/onednn_desc.h: see descriptor.h.
#include "relayout/execute/onednn/descriptor.h"

#include <algorithm>

#include "relayout/core/format.h"
#include "relayout/interop/onednn_desc.h"

namespace relayout::execute {
namespace {

/// The layout with a stride for every dim of extent 1 that has none. Kernels take some strides for lengths of rows. So
/// the strides are those of the layout's tag or, if it has no tag, lead beyond all other elements.
Layout with_strides(const Layout& layout) {
  bool free = false;
  int64_t beyond = 1;
  for (int d = 0; d < layout.ndims(); ++d) {
    const Digit outer = layout.digits(d).back();
    free = free || (outer.extent == 1 && outer.stride <= 0);
    beyond = std::max(beyond, outer.extent * outer.stride);
  }
  if (!free) return layout;
  if (const std::optional<std::string> tag = tag_of(layout)) return Format::parse(*tag).bind(layout.dims());
  std::vector<Digits> digits;
  for (int d = 0; d < layout.ndims(); ++d) {
    digits.push_back(layout.digits_of(d));
    Digit& outer = digits.back().back();
    if (outer.extent == 1 && outer.stride <= 0) outer.stride = beyond;
  }
  return Layout::from_digits(layout.dims(), digits, layout.offset0());
}

/// The tag of this spelling for a rank, with N C spatial as letters a b c ...; empty if there is none.
std::string tag_in(int ndims, Spelling spelling) {
  std::string spatial;
  for (int d = 2; d < ndims; ++d) spatial += static_cast<char>('a' + d);
  switch (spelling) {
    case Spelling::plain: return ndims < 2 ? std::string(static_cast<std::size_t>(ndims), 'a') : "ab" + spatial;
    case Spelling::channels_last: return ndims >= 2 ? "a" + spatial + "b" : "";
    case Spelling::blocked16: return ndims >= 2 ? "aB" + spatial + "16b" : "";
    case Spelling::blocked8: return ndims >= 2 ? "aB" + spatial + "8b" : "";
    case Spelling::blocked4: return ndims >= 2 ? "aB" + spatial + "4b" : "";
    case Spelling::as_given:
    case Spelling::unblocked: break;
  }
  return "";
}

/// The layout without the outer digit of dims that are one full block; nothing if there is no such dim.
std::optional<Layout> unblocked(const Layout& layout) {
  std::vector<Digits> digits;
  bool changed = false;
  for (int d = 0; d < layout.ndims(); ++d) {
    digits.push_back(layout.digits_of(d));
    Digits& own = digits.back();
    if (own.size() != 2 || own[1].extent != 1 || own[0].extent != layout.dim(d)) continue;
    own = {own[0]};
    changed = true;
  }
  return changed ? std::optional(Layout::from_digits(layout.dims(), digits, layout.offset0())) : std::nullopt;
}

}  // namespace

std::optional<dnnl::memory::data_type> data_type_of(DType dtype) {
  using Type = dnnl::memory::data_type;
  switch (dtype) {
    case DType::f32: return Type::f32;
    case DType::f16: return Type::f16;
    case DType::bf16: return Type::bf16;
    case DType::s32: return Type::s32;
    case DType::s8: return Type::s8;
    case DType::u8: return Type::u8;
    default: return std::nullopt;
  }
}

Layout moved(const Layout& layout, int64_t offset0) {
  if (layout.offset0() == offset0) return layout;
  std::vector<Digits> digits;
  for (int d = 0; d < layout.ndims(); ++d) digits.push_back(layout.digits_of(d));
  return Layout::from_digits(layout.dims(), digits, offset0);
}

Layout with_plain_strides(const Layout& layout) {
  std::vector<Digits> digits;
  for (int d = 0; d < layout.ndims(); ++d) {
    digits.push_back(layout.digits_of(d));
    if (digits.back().back().extent == 1) digits.back().back().stride = 0;
  }
  // Of several tags that say the same, the one of a layout without such strides is the plain one.
  const std::optional<std::string> tag = tag_of(Layout::from_digits(layout.dims(), digits, layout.offset0()));
  return tag ? moved(Format::parse(*tag).bind(layout.dims()), layout.offset0()) : layout;
}

std::optional<dnnl::memory::desc> descriptor(const Layout& layout, DType dtype) {
  const std::optional<dnnl::memory::data_type> type = data_type_of(dtype);
  if (!type || layout.ndims() == 0) return std::nullopt;
  std::optional<onednn::BlockedDesc> fields;
  try {
    fields = onednn::to_onednn({with_strides(layout), dtype});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return std::nullopt;
  }
  fields->offset0 = 0;  // of the data pointer, see descriptor.h
  std::optional<dnnl::memory::desc> desc = onednn::descriptor_of(*fields);
  if (!desc) return std::nullopt;
  // A version of the library that cannot express a layout (blocks with strides of their own) gives another one instead.
  const std::optional<Layout> back = layout_of(*desc);
  return back && *back == moved(layout, 0) ? desc : std::nullopt;
}

std::optional<dnnl::memory::desc> any_descriptor(const Dims& dims, DType dtype) {
  const std::optional<dnnl::memory::data_type> type = data_type_of(dtype);
  if (!type || dims.empty()) return std::nullopt;
  return dnnl::memory::desc(dnnl::memory::dims(dims.begin(), dims.end()), *type, dnnl::memory::format_tag::any);
}

std::optional<Layout> layout_of(const dnnl::memory::desc& desc) {
  const std::optional<onednn::BlockedDesc> fields = onednn::fields_of(desc);
  if (!fields) return std::nullopt;
  std::optional<Layout> layout;
  try {
    layout = onednn::from_onednn(*fields).layout;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::needs_copy) throw;
    return std::nullopt;
  }
  return onednn::has_extra(desc, *fields) ? std::nullopt : layout;
}

std::optional<Layout> layout_in(const Dims& dims, Spelling spelling) {
  const std::string tag = tag_in(dims.size(), spelling);
  if (tag.empty()) return std::nullopt;
  return Format::parse(tag).bind(dims);
}

std::optional<Layout> spelled(const Layout& layout, Spelling spelling) {
  if (spelling == Spelling::as_given) return layout;
  if (spelling == Spelling::unblocked) return unblocked(layout);
  const std::optional<Layout> candidate = layout_in(layout.dims(), spelling);
  if (!candidate) return std::nullopt;
  const Layout there = moved(*candidate, layout.offset0());
  return there == layout ? std::optional(there) : std::nullopt;
}

}  // namespace relayout::execute
