// The core in a page: what page/typed.js calls of the WebAssembly that it carries.
//
// Strings come in as bytes of UTF-8 in memory that `relayout_room` gives, each behind its end a zero byte: text, dims
// and type of one side or two. JSON comes back, which lives until the next call:
//
//     {"scene": {...}}                                                   as scene_json() writes it
//     {"problem": "...", "side": 0}                                      in the library's words
//     {"problem": "...", "side": 0, "choices": [{"name", "text", "dims", "dtype"}, ...]}
//         of a text with several tensors, as a oneDNN line or the header of a safetensors file
#include <string>
#include <vector>

#include "relayout/interop/tensor_text.h"
#include "relayout/show/escape.h"
#include "relayout/show/html.h"
#include "relayout/show/typed.h"

namespace relayout::show {
namespace {

/// Tensors with a layout, of a text that has several.
std::string choices_json(const std::string& text) {
  std::string out;
  try {
    if (!is_tensor_text(text)) return "";
    const std::vector<TextTensor> tensors = tensors_in_text(text);
    if (tensors.size() < 2) return "";
    for (const TextTensor& tensor : tensors) {
      if (tensor.problem) continue;
      out += (out.empty() ? "{\"name\":" : ",{\"name\":") + json_quoted(tensor.name) +
             ",\"text\":" + json_quoted(tensor.expression) +
             ",\"dims\":" + json_quoted(tensor.dims ? join(*tensor.dims) : "") +
             ",\"dtype\":" + json_quoted(tensor.dtype ? name(*tensor.dtype) : "") + "}";
    }
  } catch (const Error&) {
    return "";
  }
  return ",\"choices\":[" + out + "]";
}

std::string problem_json(const Error& error, const TypedSide& side, std::size_t at) {
  return "{\"problem\":" + json_quoted(error.message()) + ",\"side\":" + std::to_string(at) + choices_json(side.text) +
         "}";
}

std::string answer(const std::vector<TypedSide>& sides) {
  const TypedScene typed = typed_scene(sides);
  if (typed.problem) return problem_json(*typed.problem, sides[typed.side], typed.side);
  try {
    return "{\"scene\":" + scene_json(*typed.scene) + "}";
  } catch (const Error& error) {  // offsets that are too large, or a comparison that would take too long
    return problem_json(error, sides[sides.size() - 1], sides.size() - 1);
  }
}

std::string given, said;

}  // namespace
}  // namespace relayout::show

extern "C" {

/// Room for so many bytes, until the next call.
[[clang::export_name("relayout_room")]] char* relayout_room(unsigned bytes) {
  relayout::show::given.assign(bytes, '\0');
  return relayout::show::given.data();
}

/// What the strings in that room mean; relayout_said_bytes() of JSON.
[[clang::export_name("relayout_typed")]] const char* relayout_typed(int sides) {
  using namespace relayout::show;
  std::vector<TypedSide> typed(static_cast<std::size_t>(sides));
  const char* at = given.data();
  for (TypedSide& side : typed) {
    for (std::string* part : {&side.text, &side.dims, &side.dtype}) {
      *part = at;
      at += part->size() + 1;
    }
  }
  said = answer(typed);
  return said.data();
}
[[clang::export_name("relayout_said_bytes")]] unsigned relayout_said_bytes() {
  return static_cast<unsigned>(relayout::show::said.size());
}

}  // extern "C"
