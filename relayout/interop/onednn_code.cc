// A tensor as C++ of oneDNN: by the name of its tag, or by strides: see onednn.h.
#include <algorithm>
#include <span>

#include "relayout/core/format.h"
#include "relayout/interop/onednn.h"
#include "relayout/interop/onednn_tag_names.h"
#include "relayout/interop/onednn_verbose.h"

namespace relayout::onednn {
namespace {

bool has_word(std::string_view list, std::string_view word) {
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(' ', at), list.size());
    if (list.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

/// Which of the versions whose headers were read is the first that has a name; nothing where none has.
std::optional<LibraryVersion> first_version_of_tag(std::string_view tag) {
  if (has_word(kTagNames, tag)) return LibraryVersion{2, 6};
  if (has_word(kTagNamesOf3_2, tag)) return LibraryVersion{3, 2};
  if (has_word(kTagNamesOf3_13, tag)) return LibraryVersion{3, 13};
  return std::nullopt;
}

/// The same of a type in dnnl.hpp. Error{unsupported} for bool, which has a number and no name there.
LibraryVersion first_version_of_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return {3, 2};
    case DType::f8_e5m2:
    case DType::f8_e4m3:
    case DType::f8_e8m0:
    case DType::f4_e2m1:
    case DType::s4:
    case DType::u4:
    case DType::s64: return {3, 13};
    case DType::boolean:
      throw Error(ErrorCode::unsupported,
                  "oneDNN has no tensors of bool: dnnl::memory::data_type has no such name; it has " + type_names(),
                  "dtype", "bool", type_names());
    default: return {2, 6};
  }
}

/// "f64 is in oneDNN 3.2, not in 2.6.3"; empty of what 2.6.3 has.
std::string since(std::string_view what, LibraryVersion version) {
  if (version == LibraryVersion{2, 6}) return "";
  const bool old = version == LibraryVersion{3, 2};
  return std::string(what) + (old ? " is in oneDNN 3.2, not in 2.6.3" : " is in oneDNN 3.13, not in 3.2");
}

/// "  // first; second" of those that are not empty.
std::string comment_of(std::initializer_list<std::string> parts) {
  std::string out;
  for (const std::string& part : parts) {
    if (!part.empty()) out += (out.empty() ? "  // " : "; ") + part;
  }
  return out;
}

std::string list_of(std::span<const int64_t> numbers) { return "{" + join(numbers, ", ") + "}"; }

/// The fields of a descriptor that no public constructor makes.
std::string fields_text(const BlockedDesc& fields) {
  const auto count = static_cast<std::size_t>(fields.ndims), blocks = static_cast<std::size_t>(fields.inner_nblks);
  std::string out = "dims " + list_of(std::span(fields.dims).first(count)) + ", padded_dims " +
                    list_of(std::span(fields.padded_dims).first(count)) + ", offset0 " +
                    std::to_string(fields.offset0) + ", strides " + list_of(std::span(fields.strides).first(count));
  if (blocks > 0)
    out += ", inner_blks " + list_of(std::span(fields.inner_blks).first(blocks)) + ", inner_idxs " +
           list_of(std::span(fields.inner_idxs).first(blocks));
  return out;
}

bool is_padded(const BlockedDesc& fields) {
  const auto count = static_cast<std::size_t>(fields.ndims);
  return !std::ranges::equal(std::span(fields.dims).first(count), std::span(fields.padded_dims).first(count));
}

/// Says why neither a tag nor strides make the descriptor.
[[noreturn]] void refuse_descriptor(const BlockedDesc& fields, const std::optional<std::string>& tag,
                                    const StrideVerdict& verdict) {
  std::string why = verdict.reason, field = "strides", value;
  std::string limit = "strides of " + std::to_string(verdict.least) + " or more";
  if (fields.inner_nblks > 0) {
    why = tag ? "none of oneDNN 2.6.3, 3.2 and 3.13 has a name for the tag " + *tag : "its blocks are no tag";
    field = "format_tag", value = tag.value_or(""), limit = "a tag with a name in dnnl_format_tag_t";
  } else if (is_padded(fields)) {
    why = "it is padded without blocks", field = "padded_dims", limit = "dims";
  }
  if (fields.offset0 != 0) {
    why = "it begins at offset " + std::to_string(fields.offset0) + ", as only a submemory does";
    field = "offset0", value = std::to_string(fields.offset0), limit = "0";
  }
  throw Error(ErrorCode::unsupported,
              "no constructor of dnnl::memory::desc makes this: " + why + "; the fields of its descriptor are " +
                  fields_text(fields),
              field, value, limit);
}

}  // namespace

std::string code(const TensorDesc& desc) {
  const BlockedDesc fields = to_onednn(desc);
  const std::string type = type_name(desc.dtype), of_type = since(type, first_version_of_type(desc.dtype));
  const std::string head =
      "dnnl::memory::desc md(" + list_of(desc.layout.dims()) + ", dnnl::memory::data_type::" + type + ", ";
  const std::optional<std::string> tag = tag_of(desc.layout);
  if (const auto version = tag ? first_version_of_tag(*tag) : std::nullopt) {
    std::string names;
    for (const std::string& alias : aliases_of(*tag)) names += (names.empty() ? "" : ", ") + alias;
    return head + "dnnl::memory::format_tag::" + *tag + ");" + comment_of({names, since(*tag, *version), of_type});
  }
  const StrideVerdict verdict = accepts(desc);
  const bool plain = fields.inner_nblks == 0 && !is_padded(fields) && fields.offset0 == 0;
  if (!plain || !verdict.accepted) refuse_descriptor(fields, tag, verdict);
  return head + "dnnl::memory::dims" +
         list_of(std::span(fields.strides).first(static_cast<std::size_t>(fields.ndims))) + ");" +
         comment_of({of_type});
}

}  // namespace relayout::onednn
