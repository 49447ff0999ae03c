// Which of the texts it is, and what oneDNN's lines and headers of safetensors files say: see tensor_text.h.
#include "relayout/interop/tensor_text.h"

#include <algorithm>
#include <map>

#include "relayout/interop/array_text.h"
#include "relayout/interop/files/safetensors_layouts.h"
#include "relayout/interop/onednn_verbose.h"

namespace relayout {
namespace {

std::string_view trimmed(std::string_view text) {
  static constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t from = text.find_first_not_of(kBlanks);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kBlanks) + 1 - from);
}

bool is_onednn_line(std::string_view text) {
  return text.starts_with("onednn_verbose,") || text.starts_with("dnnl_verbose,");
}
bool is_onednn_tensor(std::string_view text) {
  return text.substr(0, text.find(' ')).find(":blocked:") != std::string_view::npos;
}
/// A record in JSON, {"fields": ...}, is no header.
bool is_safetensors_header(std::string_view text) {
  return text.starts_with('{') && text.find("\"shape\"") != std::string_view::npos &&
         text.find("\"data_offsets\"") != std::string_view::npos;
}
bool begins_as_tensor_text(std::string_view text) {
  return is_onednn_line(text) || is_onednn_tensor(text) || is_safetensors_header(text) || is_array_text(text);
}

/// "dst of onednn_verbose,...": the name and the text behind it; no name where the text begins at once.
std::pair<std::optional<std::string_view>, std::string_view> split_name(std::string_view text) {
  static constexpr std::string_view kOf = " of ";
  text = trimmed(text);
  if (begins_as_tensor_text(text)) return {std::nullopt, text};
  for (std::size_t at = text.find(kOf); at != std::string_view::npos; at = text.find(kOf, at + 1)) {
    const std::string_view rest = trimmed(text.substr(at + kOf.size()));
    if (begins_as_tensor_text(rest)) return {text.substr(0, at), rest};
  }
  return {std::nullopt, text};
}

TextTensor onednn_tensor(const onednn::VerboseTensor& tensor) {
  TextTensor out{.name = tensor.name};
  try {
    // Without dims, which the text may leave to be said apart, the layout is not checked before it is bound.
    if (tensor.dims) out.dtype = onednn::tensor_of(tensor).dtype;
    out.expression = onednn::expression_of(tensor);
    if (out.expression.empty()) {
      throw Error(ErrorCode::unsupported, "oneDNN: " + escaped(onednn::to_text(tensor)) + " does not say a layout",
                  "layout");
    }
    if (!tensor.dims) out.dtype = parse_dtype(tensor.data_type);
    out.dims = tensor.dims;
  } catch (const Error& error) {
    out = {.name = tensor.name, .problem = error};
  }
  return out;
}

std::vector<TextTensor> onednn_line(std::string_view text) {
  std::vector<TextTensor> out;
  std::map<std::string, int> seen;
  for (const onednn::VerboseTensor& tensor : onednn::parse_verbose_line(text).tensors) {
    out.push_back(onednn_tensor(tensor));
    if (const int number = seen[tensor.name]++; number > 0) out.back().name += " " + std::to_string(number);
  }
  return out;
}

/// "src_f32:p:blocked:aBcd16b:f0 2x17x5x4".
TextTensor onednn_tensor_and_dims(std::string_view text) {
  const std::size_t blank = std::min(text.find(' '), text.size());
  onednn::VerboseTensor tensor = onednn::parse_verbose_tensor(text.substr(0, blank));
  if (const std::string_view dims = trimmed(text.substr(blank)); !dims.empty()) tensor.dims = parse_dims(dims);
  TextTensor out = onednn_tensor(tensor);
  out.name.clear();
  return out;
}

/// Adds what one value of the header says.
void read_header_value(std::vector<StoredTensor>& tensors, std::string& layouts, const JsonEvent& event) {
  if (event.keys.empty()) return;
  if (event.keys[0] == kSafeTensorsMetadata) {
    if (event.depth == 2 && event.keys[1] == kSafeTensorsLayoutKey) layouts = event.text;
    return;
  }
  if (event.depth == 1) tensors.emplace_back().name = event.keys[0];
  if (event.keys.size() < 2) return;
  StoredTensor& tensor = tensors.back();
  if (event.keys[1] == "dtype" && event.depth == 2) {
    tensor.type_name = event.text;
    const auto type = std::ranges::find(kSafeTensorsTypes, event.text, &SafeTensorsType::name);
    if (type != kSafeTensorsTypes.end()) tensor.dtype = type->dtype;
  } else if (event.keys[1] == "shape" && event.depth == 3) {
    int64_t count = tensor.shape.size();
    push_extent(tensor.shape, count, tensor.name, event, "shape");
    check_rank(tensor.name, count, "shape");
  }
}

std::vector<TextTensor> safetensors_header(std::string_view text) {
  std::vector<StoredTensor> tensors;
  std::string layouts;
  const FileLimits limits;
  walk_json(text, limits.json_depth, "safetensors",
            [&](const JsonEvent& event) { read_header_value(tensors, layouts, event); });
  if (!layouts.empty()) apply_layouts(tensors, layouts, limits, {}, kSafeTensorsTypes);
  std::vector<TextTensor> out;
  for (const StoredTensor& tensor : tensors) {
    TextTensor& said = out.emplace_back(TextTensor{.name = tensor.name, .problem = tensor.problem});
    if (!tensor.problem && !tensor.dtype) {
      said.problem = Error(ErrorCode::unsupported,
                           "safetensors: tensor \"" + escaped(tensor.name) + "\" has the type " +
                               escaped(tensor.type_name) + ", which has no name here",
                           "dtype", escaped(tensor.type_name));
    }
    if (said.problem) continue;
    said.expression = tensor.layout ? tensor.layout->text() : "contiguous";
    said.dims = tensor.dims ? *tensor.dims : tensor.shape;
    said.dtype = tensor.dtype;
  }
  return out;
}

std::vector<TextTensor> tensors_behind_name(std::string_view text) {
  if (is_onednn_line(text)) return onednn_line(text);
  if (is_safetensors_header(text)) return safetensors_header(text);
  if (is_onednn_tensor(text)) return {onednn_tensor_and_dims(text)};
  if (is_array_text(text)) {
    const ArrayText array = read_array_text(text);
    return {{.expression = array.expression, .dims = array.dims, .dtype = array.dtype}};
  }
  throw Error(ErrorCode::parse,
              "text: " + escaped(text) +
                  " is no array of PyTorch or NumPy, no line or tensor of oneDNN and no header of a safetensors file",
              "layout", escaped(text));
}

/// "src, wei, dst", or the first of many.
std::string listed_names(const std::vector<TextTensor>& tensors) {
  static constexpr std::size_t kMostNames = 12;
  std::string out;
  for (std::size_t i = 0; i < std::min(tensors.size(), kMostNames); ++i)
    out += (i ? ", " : "") + escaped(tensors[i].name);
  return out + (tensors.size() > kMostNames ? " and " + std::to_string(tensors.size() - kMostNames) + " more" : "");
}

/// Refuses what was given apart and is not what the text says.
[[noreturn]] void refuse_given(const char* what, const std::string& given, const std::string& said) {
  throw Error(ErrorCode::invalid_argument,
              std::string("text: it says the ") + what + " " + said + ", and " + escaped(given) + " was given besides",
              what, escaped(given), said);
}

}  // namespace

bool is_tensor_text(std::string_view text) { return begins_as_tensor_text(split_name(text).second); }

std::vector<TextTensor> tensors_in_text(std::string_view text) { return tensors_behind_name(split_name(text).second); }

TextTensor tensor_in_text(std::string_view text) {
  const auto [name, rest] = split_name(text);
  const std::vector<TextTensor> all = tensors_behind_name(rest);
  const TextTensor* found = all.size() == 1 && !name ? all.data() : nullptr;
  if (name) {
    const auto named = std::ranges::find(all, *name, &TextTensor::name);
    if (named != all.end()) found = &*named;
  }
  if (!found) {
    const std::string count = std::to_string(all.size()) + (all.size() == 1 ? " tensor" : " tensors");
    const std::string which = name ? "no tensor is called " + escaped(*name) + "; it has " + count : "it has " + count;
    const std::string how =
        all.empty() ? "" : "; write, for example, \"" + escaped(all[0].name) + " of \" before the text";
    throw Error(ErrorCode::invalid_argument, "text: " + which + (all.empty() ? "" : ": " + listed_names(all)) + how,
                "layout", name ? escaped(*name) : "", listed_names(all));
  }
  if (found->problem) throw *found->problem;
  return *found;
}

TypedLayout in_expressions(TypedLayout typed) {
  if (!is_tensor_text(typed.text)) return typed;
  const TextTensor said = tensor_in_text(typed.text);
  typed.text = said.expression;
  if (said.dims) {
    if (typed.dims && parse_dims(*typed.dims) != *said.dims) refuse_given("dims", *typed.dims, join(*said.dims));
    typed.dims = join(*said.dims);
  }
  if (said.dtype) {
    if (typed.dtype && parse_dtype(*typed.dtype) != *said.dtype)
      refuse_given("dtype", *typed.dtype, std::string(name(*said.dtype)));
    typed.dtype = std::string(name(*said.dtype));
  }
  return typed;
}

}  // namespace relayout
