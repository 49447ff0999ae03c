// A tensor as C++ of oneDNN: by the name of its tag, by strides, or as fields: see onednn.h.
#include <algorithm>
#include <span>

#include "relayout/core/format.h"
#include "relayout/interop/onednn.h"

namespace relayout::onednn {
namespace {

/// The tags that have a name in oneDNN 2.6.3, in letters a to l. Which of the tags that its grammar allows got one is
/// no rule, so they are listed; the test `onednn` compares with the header.
constexpr std::string_view kTagNames =
    "a ab ba AB8a2b AB8a4b BA16b2a BA16b4a AB16a16b AB16a32b AB16b16a AB16b32a AB16b64a AB32a16b AB32a32b AB48a16b "
    "AB48a32b BA16a16b BA16a32b BA16a48b BA16a64b AB4b16a4b AB4b32a4b AB4b64a4b AB8b16a2b AB8b32a2b AB8b64a2b "
    "AB16b16a2b AB16b16a4b AB16b32a2b AB16b32a4b AB16b48a2b AB16b48a4b AB16b64a2b AB16b64a4b BA16a16b2a BA16a16b4a "
    "BA16a32b2a BA16a32b4a BA16a48b2a BA16a48b4a BA16a64b2a BA16a64b4a BA4b8a8b2a BA4b8a8b4a BA4b8a16b2a "
    "BA4b8a16b4a AB32a32b8a2b AB32a32b8a4b abc acb bac bca cba Abc4a Acb4a Acb8a aBc4b aBc8b cBa2b cBa4b Abc16a "
    "Acb16a Acb32a Acb48a Acb64a aBc16b aBc32b ABc4a2b ABc4a4b ABc4b4a ABc8a2b ABc8a4b ABc8a8b ABc8b8a AcB16a2b "
    "AcB16a4b AcB32a2b AcB32a4b AcB48a2b AcB48a4b AcB64a2b AcB64a4b aCB16c2b aCB16c4b ABc16a16b ABc16b16a ABc16b32a "
    "ABc16b64a ABc2b8a4b ABc32a16b ABc32a32b ABc40a16b ABc40a32b BAc16a16b BAc16b16a aBC16b16c aBC16b32c aBC32b16c "
    "aBC32b32c aBC48b16c aBC48b32c ABc2b32a8b ABc4b16a4b ABc4b32a4b ABc4b64a4b ABc8a16b2a ABc8b16a2b ABc8b32a2b "
    "ABc8b64a2b BAc8a16b2a ABc16a16b2a ABc16b16a2b ABc16b16a4b ABc16b32a2b ABc16b32a4b ABc16b48a2b ABc16b48a4b "
    "ABc16b64a2b ABc16b64a4b ABc4a8b8a2b ABc4a8b8a4b AcB16b16a2b AcB16b16a4b AcB16b32a2b AcB16b32a4b AcB16b48a2b "
    "AcB16b48a4b AcB16b64a2b AcB16b64a4b BAc4b8a8b2a BAc4b8a8b4a aCB4c8b8c2b aCB4c8b8c4b ABc2a8b16a2b ABc2a8b16a4b "
    "ABc2b8a16b4a BAc2b8a16b2a BAc2b8a16b4a aBC2b8c16b2c aCB4c8b16c2b aCB4c8b16c4b abcd abdc acbd acdb adbc adcb "
    "bacd bcda cdba dcab Abcd4a Abcd8a Acdb4a Acdb8a aBcd4b aBcd8b aBdc4b aBdc8b adCb2c adCb4c cdBa2b cdBa4b "
    "Abcd16a Abcd32a Acdb16a Acdb32a Acdb48a Acdb64a Adcb16a aBcd16b aBcd32b aBdc16b aBdc32b aBdc48b aBdc64b "
    "abCd32c abDc32d ABcd4a2b ABcd4a4b ABcd4b4a ABcd8a2b ABcd8a4b ABcd8a8b ABcd8b8a aBCd4b4c aBCd4c4b aBCd8b2c "
    "aBCd8b4c aBCd8b8c aBCd8c8b AcdB16a2b AcdB16a4b AcdB32a2b AcdB32a4b AcdB48a2b AcdB48a4b AcdB64a2b AcdB64a4b "
    "aBdC16b2c aBdC16b4c aBdC32b2c aBdC32b4c aBdC48b2c aBdC48b4c aBdC64b2c aBdC64b4c abDC32d4c ABcd16a16b "
    "ABcd16b16a ABcd16b32a ABcd16b64a ABcd2b8a4b ABcd32a16b ABcd32a32b ABcd40a16b ABcd40a32b BAcd16a16b BAcd16b16a "
    "aBCd16b16c aBCd16c16b aBCd2b4c2b aBCd2c4b2c aBCd2c8b4c aBCd4b8c2b aBCd4c8b2c aCBd16b16c aCBd16c16b ABcd2b32a8b "
    "ABcd4b16a4b ABcd4b32a4b ABcd4b64a4b ABcd8a16b2a ABcd8b16a2b ABcd8b32a2b ABcd8b64a2b BAcd8a16b2a aBCd4c16b4c "
    "aBCd8b16c2b aBCd8c16b2c aCBd8b16c2b ABcd16a16b2a ABcd16b16a2b ABcd16b16a4b ABcd16b32a2b ABcd16b32a4b "
    "ABcd16b48a2b ABcd16b48a4b ABcd16b64a2b ABcd16b64a4b ABcd2a8b8a2b ABcd4a8b8a2b ABcd4a8b8a4b AcdB16b16a2b "
    "AcdB16b16a4b AcdB16b32a2b AcdB16b32a4b AcdB16b48a2b AcdB16b48a4b AcdB16b64a2b AcdB16b64a4b BAcd4b8a8b2a "
    "BAcd4b8a8b4a aBCd16b16c2b aBCd16c16b2c aBCd16c16b4c aBCd4b8c8b2c aBCd4b8c8b4c aBdC16c16b2c aBdC16c16b4c "
    "aBdC16c32b2c aBdC16c32b4c aBdC16c48b2c aBdC16c48b4c aBdC16c64b2c aBdC16c64b4c aCBd4c8b8c2b aCBd4c8b8c4b "
    "ABcd2a8b16a2b ABcd2a8b16a4b ABcd2b8a16b4a BAcd2b8a16b2a BAcd2b8a16b4a aBCd2b8c16b2c aBCd2b8c16b4c "
    "aBCd2c8b16c2b aCBd2c8b16c2b abcde abced abdec acbde acdeb adecb bacde bcdea cdeba decab Abcde4a Abcde8a "
    "Acdeb4a Acdeb8a aBcde4b aBcde8b aBdec4b aBdec8b adeCb2c adeCb4c cdeBa2b cdeBa4b Abcde16a Abcde32a Acdeb16a "
    "Acdeb32a Acdeb48a Acdeb64a aBcde16b aBcde32b aBdec16b aBdec32b aBdec48b aBdec64b aBedc16b abdCe32c abdEc32e "
    "decbA16a ABcde4a2b ABcde4a4b ABcde4b4a ABcde8a2b ABcde8a4b ABcde8a8b ABcde8b8a aBCde4b4c aBCde4c4b aBCde8b2c "
    "aBCde8b4c aBCde8b8c aBCde8c8b AcdeB16a2b AcdeB16a4b AcdeB32a2b AcdeB32a4b AcdeB48a2b AcdeB48a4b AcdeB64a2b "
    "AcdeB64a4b aBdeC16b2c aBdeC16b4c aBdeC32b2c aBdeC32b4c aBdeC48b2c aBdeC48b4c aBdeC64b2c aBdeC64b4c abdCE32c2e "
    "abdEC32e2c abdEC32e4c ABcde16a16b ABcde16b16a ABcde16b32a ABcde16b64a ABcde2b8a4b ABcde32a16b ABcde32a32b "
    "ABcde40a16b ABcde40a32b BAcde16a16b BAcde16b16a aBCde16b16c aBCde16c16b aBCde2b4c2b aBCde2c4b2c aBCde2c8b4c "
    "aBCde4b8c2b aBCde4c8b2c aCBde16b16c aCBde16c16b ABcde2b32a8b ABcde4b16a4b ABcde4b32a4b ABcde4b64a4b "
    "ABcde8a16b2a ABcde8b16a2b ABcde8b32a2b ABcde8b64a2b BAcde8a16b2a aBCde4c16b4c aBCde8b16c2b aBCde8c16b2c "
    "aCBde8b16c2b ABcde16a16b2a ABcde16b16a2b ABcde16b16a4b ABcde16b32a2b ABcde16b32a4b ABcde16b48a2b ABcde16b48a4b "
    "ABcde16b64a2b ABcde16b64a4b ABcde4a8b8a2b ABcde4a8b8a4b AcdeB16b16a2b AcdeB16b16a4b AcdeB16b32a2b "
    "AcdeB16b32a4b AcdeB16b48a2b AcdeB16b48a4b AcdeB16b64a2b AcdeB16b64a4b BAcde4b8a8b2a BAcde4b8a8b4a "
    "aBCde16b16c2b aBCde16c16b2c aBCde16c16b4c aBCde2b8c8b2c aBCde4b8c8b2c aBCde4b8c8b4c aBdeC16c16b2c "
    "aBdeC16c16b4c aBdeC16c32b2c aBdeC16c32b4c aBdeC16c48b2c aBdeC16c48b4c aBdeC16c64b2c aBdeC16c64b4c "
    "aCBde4c8b8c2b aCBde4c8b8c4b ABcde2a8b16a2b ABcde2a8b16a4b ABcde2b8a16b4a BAcde2b8a16b2a BAcde2b8a16b4a "
    "aBCde2b8c16b2c aBCde2b8c16b4c aBCde2c8b16c2b aCBde2c8b16c2b abcdef abcdfe abdefc abdfce acbdef adefcb defcab "
    "aBcdef4b aBdefc4b aBdefc8b adefCb2c adefCb4c Abcdef16a Abcdef32a aBcdef16b aBdefc16b aBdefc32b aBdefc48b "
    "aBdefc64b aBCdef4b4c aBCdef4c4b aBCdef8b2c aBCdef8b4c aBCdef8b8c aBCdef8c8b aBdefC16b2c aBdefC16b4c "
    "aBdefC32b2c aBdefC32b4c aBdefC48b2c aBdefC48b4c aBdefC64b2c aBdefC64b4c aBCdef16b16c aBCdef16c16b aBCdef2b4c2b "
    "aBCdef2c4b2c aBCdef2c8b4c aBCdef4b8c2b aBCdef4c8b2c aCBdef16b16c aCBdef16c16b aBCdef4c16b4c aBCdef8b16c2b "
    "aBCdef8c16b2c aCBdef8b16c2b aBCdef16b16c2b aBCdef16c16b2c aBCdef16c16b4c aBCdef4b8c8b2c aBCdef4b8c8b4c "
    "aBdefC16c16b2c aBdefC16c16b4c aBdefC16c32b2c aBdefC16c32b4c aBdefC16c48b2c aBdefC16c48b4c aBdefC16c64b2c "
    "aBdefC16c64b4c aCBdef4c8b8c2b aCBdef4c8b8c4b aBCdef2b8c16b2c aBCdef2c8b16c2b aCBdef2c8b16c2b abcdefg abcdegf "
    "abcdefgh abcdefhg abcdefghi abcdefgih abcdefghij abcdefghji abcdefghijk abcdefghikj abcdefghijkl abcdefghijlk";

bool has_name(std::string_view tag) {
  for (std::size_t at = 0; at < kTagNames.size();) {
    const std::size_t end = std::min(kTagNames.find(' ', at), kTagNames.size());
    if (kTagNames.substr(at, end - at) == tag) return true;
    at = end + 1;
  }
  return false;
}

std::string type_text(DType dtype) {
  return "dnnl::memory::data_type::" + std::string(dtype == DType::boolean ? "boolean" : name(dtype));
}

std::string list_of(std::span<const int64_t> numbers) { return "{" + join(numbers, ", ") + "}"; }

/// The fields of a descriptor that no public constructor makes.
std::string fields_text(const BlockedDesc& fields) {
  const auto count = static_cast<std::size_t>(fields.ndims), blocks = static_cast<std::size_t>(fields.inner_nblks);
  std::string out = "//   dims " + list_of(std::span(fields.dims).first(count)) + ", padded_dims " +
                    list_of(std::span(fields.padded_dims).first(count)) + ", offset0 " +
                    std::to_string(fields.offset0) + "\n//   strides " +
                    list_of(std::span(fields.strides).first(count));
  if (blocks > 0)
    out += ", inner_blks " + list_of(std::span(fields.inner_blks).first(blocks)) + ", inner_idxs " +
           list_of(std::span(fields.inner_idxs).first(blocks));
  return out;
}

}  // namespace

std::string code(const TensorDesc& desc) {
  const BlockedDesc fields = to_onednn(desc);
  const auto count = static_cast<std::size_t>(fields.ndims);
  const std::string head = "dnnl::memory::desc md(" + list_of(desc.layout.dims()) + ", " + type_text(desc.dtype) + ", ";
  const std::optional<std::string> tag = tag_of(desc.layout);
  if (tag && has_name(*tag)) {
    std::string names;
    for (const std::string& alias : aliases_of(*tag)) names += (names.empty() ? "  // " : ", ") + alias;
    return head + "dnnl::memory::format_tag::" + *tag + ");" + names;
  }
  const bool padded =
      !std::ranges::equal(std::span(fields.dims).first(count), std::span(fields.padded_dims).first(count));
  const bool plain = fields.inner_nblks == 0 && !padded && fields.offset0 == 0;
  const StrideVerdict verdict = accepts(desc);
  if (plain && verdict.accepted)
    return head + "dnnl::memory::dims" + list_of(std::span(fields.strides).first(count)) + ");";
  std::string why = tag ? "oneDNN has no name for the tag " + *tag : "its blocks are no tag";
  if (plain) why = verdict.reason;
  if (fields.inner_nblks == 0 && padded) why = "it is padded without blocks";
  if (fields.offset0 != 0) why = "it begins at offset " + std::to_string(fields.offset0) + ", as only a submemory does";
  return "// no constructor of dnnl::memory::desc makes this: " + why + "; the fields of its descriptor are\n" +
         fields_text(fields);
}

}  // namespace relayout::onednn
