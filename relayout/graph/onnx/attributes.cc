// Which attributes an ONNX node may have. An attribute that the operator does not have in the model's opset is an
// error: the model means something by it, and leaving it out would compute something else without a word.
//
// An operator states its attributes as words (Operator::attributes):
//
//     "axis keepdims axes:7-17 noop_with_empty_axes:18-"
//
// "axis" is in every opset, "axes:7-17" in opsets 7 to 17, "noop_with_empty_axes:18-" from opset 18 on.
#include <charconv>
#include <limits>

#include "relayout/graph/onnx/importer.h"

namespace relayout::graph::importing {
namespace {

/// One word of Operator::attributes.
struct Known {
  std::string_view name;
  int64_t first = 0, last = std::numeric_limits<int64_t>::max();

  bool in(int64_t opset) const { return opset >= first && opset <= last; }
};

int64_t number_of(std::string_view text, int64_t otherwise) {
  int64_t out = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

Known known_of(std::string_view word) {
  Known out;
  const std::size_t colon = word.find(':');
  out.name = word.substr(0, colon);
  if (colon == std::string_view::npos) return out;
  const std::string_view opsets = word.substr(colon + 1);
  const std::size_t dash = opsets.find('-');
  out.first = number_of(opsets.substr(0, dash), out.first);
  out.last = number_of(opsets.substr(dash + 1), out.last);
  return out;
}

std::optional<Known> find(std::string_view words, std::string_view name) {
  while (!words.empty()) {
    const std::size_t space = words.find(' ');
    const Known known = known_of(words.substr(0, space));
    if (known.name == name) return known;
    words.remove_prefix(space == std::string_view::npos ? words.size() : space + 1);
  }
  return std::nullopt;
}

std::string opsets_of(const Known& known) {
  if (known.last == std::numeric_limits<int64_t>::max()) return "opset " + std::to_string(known.first) + " and later";
  return "opsets " + std::to_string(known.first) + " to " + std::to_string(known.last);
}

}  // namespace

void check_attributes(const Op& op, std::string_view words) {
  std::unordered_set<std::string_view> seen;
  for (const ::onnx::AttributeProto& attribute : op.node.attribute()) {
    const std::string shown = "\"" + escaped(attribute.name()) + "\"";
    if (!seen.insert(attribute.name()).second) op.corrupt("attribute " + shown + " is there twice");
    const std::optional<Known> known = find(words, attribute.name());
    if (known && known->in(op.model.opset)) continue;
    const std::string opset = std::to_string(op.model.opset);
    throw Error(ErrorCode::corrupt,
                "onnx: node \"" + escaped(op.name) + "\" (" + escaped(op.node.op_type()) +
                    "): the operator has no attribute " + shown + " in opset " + opset +
                    (known ? ", only in " + opsets_of(*known) : ""),
                escaped(attribute.name()), "opset " + opset, known ? opsets_of(*known) : std::string(words));
  }
}

}  // namespace relayout::graph::importing
