// One tensor of a verbose line of oneDNN, as text and as a layout: see onednn_verbose.h.
#include "relayout/interop/onednn_verbose.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "relayout/core/format.h"
#include "relayout/interop/onednn.h"
#include "relayout/interop/onednn_numbers.h"

namespace relayout::onednn {
namespace {

/// All types that oneDNN writes. A name and a type are joined by "_", which names and types have too, so that the types
/// must be known.
constexpr std::string_view kVerboseTypes[] = {"undef", "f16",  "bf16",    "f32",     "s32",     "s8",
                                              "u8",    "f64",  "boolean", "f8_e5m2", "f8_e4m3", "s4",
                                              "u4",    "e8m0", "f4_e2m1", "f4_e3m0", "s64"};

[[noreturn]] void refuse_text(ErrorCode code, std::string_view text, const std::string& field, std::string_view value,
                              const std::string& why, const std::string& allowed) {
  throw Error(code, "tensor \"" + escaped(text, 120) + "\": " + why, field, escaped(value), allowed);
}

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find(separator, at);
    out.push_back(text.substr(at, end - at));
    if (end == std::string_view::npos) return out;
    at = end + 1;
  }
}

bool is_type(std::string_view text) { return std::ranges::find(kVerboseTypes, text) != std::end(kVerboseTypes); }

/// Splits "src_layer_f32" into its name and its type.
bool split_name(std::string_view text, VerboseTensor& out) {
  for (const std::string_view type : kVerboseTypes) {
    if (!text.ends_with(type)) continue;
    const std::string_view name = text.substr(0, text.size() - type.size());
    if (!name.ends_with('_')) continue;
    out.name = name.substr(0, name.size() - 1);
    out.data_type = type;
    return true;
  }
  return false;
}

/// Whether a part of a text begins the extra fields: "f0", "f9", "f0_mask2".
bool begins_extra(std::string_view part) {
  return part.starts_with('f') && are_digits(part.substr(1, part.find('_') - 1));
}

/// The tag's blocks, outermost first. False where it is no tag in letters a to l.
bool is_tag(std::string_view tag) {
  std::size_t at = 0;
  while (at < tag.size() && ((tag[at] >= 'a' && tag[at] <= 'l') || (tag[at] >= 'A' && tag[at] <= 'L'))) ++at;
  if (at == 0) return false;
  while (at < tag.size()) {
    const std::size_t first = at;
    while (at < tag.size() && tag[at] >= '0' && tag[at] <= '9') ++at;
    if (at == first || at == tag.size() || tag[at] < 'a' || tag[at] > 'l') return false;
    ++at;
  }
  return true;
}

/// Why a tensor is no layout.
struct NoLayout {
  std::string field, value, why;
};
std::optional<NoLayout> no_layout(const VerboseTensor& tensor) {
  if (tensor.format_kind == "undef" || tensor.data_type == "undef")
    return NoLayout{"format_kind", tensor.format_kind, "there is no such tensor, its format is undef"};
  if (tensor.format_kind == "any")
    return NoLayout{"format_kind", "any", "its format is any, and only a primitive chooses a layout for it"};
  if (tensor.format_kind != "blocked")
    return NoLayout{"format_kind", tensor.format_kind,
                    "its format kind is " + escaped(tensor.format_kind) + ", which is no layout"};
  if (tensor.tag == "*" || tensor.strides.find('*') != std::string::npos)
    return NoLayout{"format_tag", "*", "its strides are only known when it runs"};
  if (tensor.extra != "f0" && !tensor.extra.empty())
    return NoLayout{
        "extra", tensor.extra,
        "its extra fields are " + escaped(tensor.extra) + ", compensation terms or the like, which no layout has"};
  if (tensor.properties.find('o') != std::string::npos)
    return NoLayout{"properties", tensor.properties,
                    "its properties have an o for padded offsets, and the text does not say them"};
  return std::nullopt;
}

void check_kind(const VerboseTensor& tensor, const std::string& text) {
  if (const std::optional<NoLayout> reason = no_layout(tensor)) {
    refuse_text(ErrorCode::unsupported, text, reason->field, reason->value, reason->why,
                "a blocked tensor without extra fields");
  }
}

/// Whether the properties say that the tensor begins behind its memory's first element.
bool has_offset(const VerboseTensor& tensor) { return tensor.properties.find('0') != std::string::npos; }

/// Refuses an offset that the properties do not say, and one that they say and that is not given.
void check_offset(const VerboseTensor& tensor, const std::string& text, std::optional<int64_t> offset0) {
  if (has_offset(tensor) && !offset0) {
    refuse_text(ErrorCode::unsupported, text, "properties", tensor.properties,
                "its properties have a 0 for an offset, and the text does not say which; give it", "offset0");
  }
  if (has_offset(tensor) == (offset0.value_or(0) != 0)) return;
  refuse_text(ErrorCode::invalid_argument, text, "properties", tensor.properties,
              has_offset(tensor)
                  ? "its properties have a 0 for an offset, and the one that is given is none"
                  : "its properties have no 0 for an offset, and the one that is given is " + std::to_string(*offset0),
              has_offset(tensor) ? "an offset0 above 0" : "no offset0");
}

DType dtype_of(const VerboseTensor& tensor, const std::string& text) {
  const std::string_view name = tensor.data_type;
  for (const DType dtype : all_dtypes()) {
    if (type_name(dtype) == name) return dtype;
  }
  refuse_text(ErrorCode::unsupported, text, "data_type", name, "there is no type " + escaped(name) + " here",
              "f32, bf16, s8 ...");
}

/// The layout of a tag with strides of its own.
Layout with_strides(const VerboseTensor& tensor, const std::string& text, const Layout& dense, DType dtype) {
  const std::optional<Dims> strides = numbers_of(tensor.strides);
  if (!strides) {
    refuse_text(ErrorCode::parse, text, "strides", tensor.strides,
                "its strides \"" + escaped(tensor.strides) + "\" are no numbers with x between", "up to 12 numbers");
  }
  if (strides->size() != dense.ndims()) {
    refuse_text(ErrorCode::invalid_argument, text, "strides", tensor.strides,
                "it has " + std::to_string(strides->size()) + " strides for " + std::to_string(dense.ndims()) + " dims",
                std::to_string(dense.ndims()));
  }
  BlockedDesc fields = to_onednn({dense, dtype});
  std::ranges::copy(*strides, fields.strides.begin());
  return from_onednn(fields).layout;
}

/// The letters of the dims from the largest stride to the smallest, as oneDNN sorts them.
std::string outer_letters(const BlockedDesc& fields, const std::array<int64_t, kMaxDims>& blocks,
                          LibraryVersion version) {
  std::vector<std::size_t> order(static_cast<std::size_t>(fields.ndims));
  std::iota(order.begin(), order.end(), 0);
  const auto stride = [&](std::size_t d) {
    const int64_t own = fields.strides[d];
    // From 3.7 on dims that repeat stand outermost.
    return own == 0 && version >= LibraryVersion{3, 7} ? std::numeric_limits<int64_t>::max() : own;
  };
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return std::pair(stride(a), fields.padded_dims[a] / blocks[a]) >
           std::pair(stride(b), fields.padded_dims[b] / blocks[b]);
  });
  std::string out;
  for (const std::size_t d : order) out += static_cast<char>((blocks[d] == 1 ? 'a' : 'A') + static_cast<int>(d));
  return out;
}

}  // namespace

VerboseSyntax syntax_of(LibraryVersion version) {
  if (version < LibraryVersion{3, 2}) return VerboseSyntax::without_strides;
  return version < LibraryVersion{3, 6} ? VerboseSyntax::with_strides : VerboseSyntax::name_apart;
}

VerboseTensor parse_verbose_tensor(std::string_view text) {
  const auto refuse = [&](const std::string& field, std::string_view value, const std::string& why,
                          const std::string& allowed) {
    refuse_text(ErrorCode::parse, text, field, value, why, allowed);
  };
  VerboseTensor out;
  std::vector<std::string_view> parts = split_at(text, ':');
  const bool apart = parts.size() >= 2 && is_type(parts[1]);
  if (apart) {
    out.name = parts[0];
    out.data_type = parts[1];
    parts.erase(parts.begin());
  } else if (!split_name(parts[0], out)) {
    refuse("data_type", parts[0], "\"" + escaped(parts[0]) + "\" is no name and type", "name_f32 or name:f32");
  }
  if (out.name.empty()) refuse("name", "", "it has no name", "src, dst ...");
  if (parts.size() < 4) refuse("format_kind", text, "it has too few fields", "type:properties:kind:tag:extra");
  out.properties = parts[1];
  if (out.properties.find_first_not_of("apo0") != std::string::npos) {
    refuse("properties", out.properties,
           "its properties \"" + escaped(out.properties) + "\" are not of the letters a p o 0", "a, p, o, 0");
  }
  out.format_kind = parts[2];
  if (out.format_kind.empty()) refuse("format_kind", "", "its format kind is empty", "blocked, any, undef, wino ...");
  const auto first = parts.begin() + 3;
  const auto extra = std::find_if(first, parts.end(), begins_extra);
  auto between = extra - first;
  // Without a tensor nothing follows, and the last colon stands for the extra fields.
  if (extra == parts.end()) --between;
  if (between < 1 || between > 2 || (extra == parts.end() && !parts.back().empty())) {
    refuse("extra", text, "no extra fields (f0) stand behind its tag and strides", "f0");
  }
  out.syntax =
      apart ? VerboseSyntax::name_apart : (between == 2 ? VerboseSyntax::with_strides : VerboseSyntax::without_strides);
  if (apart && between != 2) refuse("strides", text, "there is no field for strides", "tag:strides:extra");
  out.tag = first[0];
  if (between == 2) out.strides = first[1];
  for (auto part = extra; part != parts.end(); ++part) out.extra += (part == extra ? "" : ":") + std::string(*part);
  if (const std::size_t mask = out.extra.find("_mask"); mask != std::string::npos) {
    out.mask = out.extra.substr(mask + 5);
    out.extra.resize(mask);
    if (!are_digits(out.mask))
      refuse("mask", out.mask, "its mask \"" + escaped(out.mask) + "\" is no number", "a number");
  }
  if (out.format_kind == "blocked" && out.tag != "*" && !is_tag(out.tag)) {
    refuse("format_tag", out.tag, "\"" + escaped(out.tag) + "\" is no tag of the letters a to l", "a tag");
  }
  return out;
}

std::string to_text(const VerboseTensor& tensor) {
  std::string out = tensor.name + (tensor.syntax == VerboseSyntax::name_apart ? ":" : "_") + tensor.data_type + ":" +
                    tensor.properties + ":" + tensor.format_kind + ":" + tensor.tag + ":";
  if (tensor.syntax != VerboseSyntax::without_strides) out += tensor.strides + ":";
  return out + tensor.extra + (tensor.mask.empty() ? "" : "_mask" + tensor.mask);
}

std::string expression_of(const VerboseTensor& tensor) {
  if (no_layout(tensor) || has_offset(tensor)) return "";
  try {
    if (tensor.strides.empty()) {
      Format::parse(tensor.tag);
      return tensor.tag;
    }
    const std::optional<Dims> strides = numbers_of(tensor.strides);
    if (!strides) return "";
    if (tensor.tag.find_first_of("0123456789") == std::string::npos) return "strides:" + join(*strides);
    return tensor.dims ? digits_expression(tensor_of(tensor, *tensor.dims).layout) : "";
  } catch (const Error&) {  // a tag of the wrong letters, or dims and properties that contradict each other
    return "";
  }
}

TensorDesc tensor_of(const VerboseTensor& tensor, const Dims& dims, std::optional<int64_t> offset0) {
  const std::string text = to_text(tensor);
  check_kind(tensor, text);
  const DType dtype = dtype_of(tensor, text);
  Layout layout = Format::parse(tensor.tag).bind(dims);
  if (!tensor.strides.empty()) layout = with_strides(tensor, text, layout, dtype);
  const bool padded = tensor.properties.find('p') != std::string::npos;
  if (padded != layout.padded()) {
    refuse_text(ErrorCode::invalid_argument, text, "properties", tensor.properties,
                std::string("its properties say that it is ") + (padded ? "" : "not ") + "padded, and of dims " +
                    join(dims, "x") + " it is " + (padded ? "not" : "padded"),
                padded ? "no p" : "p");
  }
  check_offset(tensor, text, offset0);
  if (offset0.value_or(0) != 0) {
    std::vector<Digits> digits;
    for (int d = 0; d < layout.ndims(); ++d) digits.push_back(layout.digits_of(d));
    layout = Layout::from_digits(dims, digits, *offset0);
  }
  return {layout, dtype};
}

TensorDesc tensor_of(const VerboseTensor& tensor, std::optional<int64_t> offset0) {
  const std::string text = to_text(tensor);
  check_kind(tensor, text);
  if (!tensor.dims) {
    refuse_text(ErrorCode::invalid_argument, text, "dims", "",
                "the line does not say its dims, or only when it runs; give them", "dims");
  }
  return tensor_of(tensor, *tensor.dims, offset0);
}

TensorDesc from_verbose(std::string_view text, const Dims& dims, std::optional<int64_t> offset0) {
  return tensor_of(parse_verbose_tensor(text), dims, offset0);
}

VerboseTensor verbose_tensor(const TensorDesc& desc, std::string_view name, LibraryVersion version) {
  const BlockedDesc fields = to_onednn(desc);
  VerboseTensor out{.syntax = syntax_of(version), .name = std::string(name), .format_kind = "blocked", .extra = "f0"};
  out.data_type = type_name(desc.dtype);
  out.dims = desc.layout.dims();
  const auto ndims = static_cast<std::size_t>(fields.ndims);
  if (!std::ranges::equal(std::span(fields.dims).first(ndims), std::span(fields.padded_dims).first(ndims)))
    out.properties += "p";
  if (fields.offset0 != 0) out.properties += "0";
  std::array<int64_t, kMaxDims> blocks{};
  blocks.fill(1);
  std::string inner;
  for (std::size_t k = 0; k < static_cast<std::size_t>(fields.inner_nblks); ++k) {
    blocks[static_cast<std::size_t>(fields.inner_idxs[k])] *= fields.inner_blks[k];
    inner += std::to_string(fields.inner_blks[k]) + static_cast<char>('a' + fields.inner_idxs[k]);
  }
  out.tag = outer_letters(fields, blocks, version) + inner;
  if (out.syntax == VerboseSyntax::without_strides) return out;
  // oneDNN's rule for when a descriptor has no gaps. Its size is 0 where there is an offset.
  const std::span<const int64_t> strides = std::span(fields.strides).first(ndims);
  const auto elements = checked_product(std::span(fields.padded_dims).first(ndims));
  const auto bytes = elements ? bytes_for(desc.dtype, *elements) : std::nullopt;
  const bool repeats = std::ranges::find(strides, 0) != strides.end();
  if (repeats || !bytes || *bytes != size(fields)) out.strides = join(strides, "x");
  return out;
}

std::string to_verbose(const TensorDesc& desc, std::string_view name, LibraryVersion version) {
  return to_text(verbose_tensor(desc, name, version));
}

}  // namespace relayout::onednn
