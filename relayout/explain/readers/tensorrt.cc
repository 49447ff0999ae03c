// Layers of TensorRT engines as traces: the JSON of trtexec --exportLayerInfo (with --profilingVerbosity=detailed, or
// the engine inspector's own), and times of --exportProfile. Layers of the type Reformat are the reorders; their names
// begin with "Reformatting CopyNode" where the builder put them in.
//
// A format is written in words: "Row major linear FP32", "Channel major FP16 format where channel % 8 == 0",
// "Thirty-two wide channel vectorized row major Int8 format".
#include "relayout/explain/readers.h"
#include "relayout/explain/readers/tensors.h"

#ifdef RELAYOUT_HAVE_JSON
#include <algorithm>
#include <charconv>
#include <map>

#include "relayout/explain/json.h"
#endif

namespace relayout::explaining {

#ifdef RELAYOUT_HAVE_JSON
namespace {

std::string dtype_of_format(const std::string& words) {
  static constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"BF16", "bf16"}, {"FP16", "f16"},  {"FP32", "f32"},  {"Half", "f16"},  {"Float", "f32"}, {"Int8", "s8"},
      {"INT8", "s8"},   {"Int32", "s32"}, {"INT32", "s32"}, {"Int64", "s64"}, {"Bool", "bool"}, {"FP8", "f8_e4m3"}};
  for (const auto& [word, type] : kTypes) {
    if (words.find(word) != std::string::npos) return std::string(type);
  }
  return "";
}

/// The tag with dim 1 in blocks behind the others: blocked("abcd", 32) is aBcd32b.
std::string blocked_tag(std::string tag, int64_t block) {
  if (tag.size() < 2) return "";
  tag[1] = 'B';
  return tag + std::to_string(block) + "b";
}

/// Channels innermost, in whole groups of `block`: acdB8b.
std::string channels_major(int rank, int64_t block) {
  std::string tag = plain_tag(rank);
  if (tag.size() < 2) return "";
  tag.erase(1, 1);
  return tag + (block > 1 ? "B" + std::to_string(block) + "b" : "b");
}

std::string tag_of_format(const std::string& words, int rank) {
  static constexpr std::pair<std::string_view, int64_t> kWide[] = {
      {"Two wide", 2}, {"Four wide", 4}, {"Sixteen wide", 16}, {"Thirty-two wide", 32}};
  for (const auto& [word, block] : kWide) {
    if (words.find(word) != std::string::npos) return blocked_tag(plain_tag(rank), block);
  }
  if (words.find("Channel major") != std::string::npos) {
    const std::size_t sign = words.find("% ");
    int64_t block = 1;
    if (sign != std::string::npos) std::from_chars(words.data() + sign + 2, words.data() + words.size(), block);
    return channels_major(rank, block);
  }
  if (words.find("Row major linear") != std::string::npos) return plain_tag(rank);
  return "";
}

Tensor tensor_of_layer(const Json& entry) {
  const std::string words = text_of(entry, "Format/Datatype").empty()
                                ? text_of(entry, "Format") + " " + text_of(entry, "Datatype")
                                : text_of(entry, "Format/Datatype");
  std::optional<Dims> dims;
  if (const auto list = entry.find("Dimensions"); list != entry.end() && list->is_array()) {
    dims.emplace();
    for (const Json& dim : *list) {
      if (dims->size() < kMaxDims && dim.is_number_integer()) dims->push_back(dim.get<int64_t>());
    }
  }
  const std::string tag = dims ? tag_of_format(words, dims->size()) : "";
  Tensor out = described(text_of(entry, "Name"), tag, dims, dtype_of_format(words));
  if (out.layout.empty()) out.layout = words;
  out.key = out.name;
  return out;
}

/// Mean milliseconds by the layer's name.
std::map<std::string, double> layer_times(std::string_view profile) {
  std::map<std::string, double> out;
  if (profile.empty()) return out;
  const Json all = parse_json(profile, "TensorRT's profile");
  if (!all.is_array())
    throw Error(ErrorCode::parse, "explain: TensorRT's profile is no list, as --exportProfile writes it", "profile");
  for (const Json& entry : all) {
    const auto mean = number_of(entry, "averageMs");
    if (mean) out[text_of(entry, "name")] = plausible_ms(*mean).value_or(0);
  }
  if (out.empty())
    throw Error(ErrorCode::parse, "explain: TensorRT's profile has no layer with a name and averageMs", "profile");
  return out;
}

Freedom freedom_of_kind(const std::string& kind) {
  for (const std::string_view word : {"PointWise", "ElementWise", "Activation", "Pooling", "Scale"}) {
    if (kind.find(word) != std::string::npos) return Freedom::any;
  }
  return Freedom::fixed;
}

}  // namespace

Trace read_tensorrt_layers(std::string_view text, std::string_view profile) {
  const Json all = parse_json(text, "the layer information of TensorRT");
  const auto layers = all.find("Layers");
  if (!all.is_object() || layers == all.end() || !layers->is_array())
    throw Error(ErrorCode::parse, "explain: the layer information of TensorRT has no list \"Layers\"", "text");
  const std::map<std::string, double> times = layer_times(profile);
  Trace out{.system = "TensorRT", .source = "layer information", .in_order = false};
  int64_t place = 0, names_alone = 0;
  std::size_t matched = 0;
  for (const Json& layer : *layers) {
    ++place;
    if (!layer.is_object()) {  // without detailed verbosity a layer is its name alone
      ++names_alone;
      continue;
    }
    Event event{.place = place, .name = text_of(layer, "Name"), .kind = text_of(layer, "LayerType")};
    event.implementation = text_of(layer, "TacticName");
    event.detail = text_of(layer, "Origin");
    event.freedom = freedom_of_kind(event.kind);
    for (const auto& [key, list] : {std::pair("Inputs", &event.reads), std::pair("Outputs", &event.writes)}) {
      const auto entries = layer.find(key);
      if (entries == layer.end() || !entries->is_array()) continue;
      for (const Json& entry : *entries) list->push_back(tensor_of_layer(entry));
    }
    if (const auto time = times.find(event.name); time != times.end()) event.ms = time->second, ++matched;
    event.reorder = event.kind == "Reformat" && !event.reads.empty() && !event.writes.empty();
    out.events.push_back(std::move(event));
  }
  if (names_alone > 0)
    out.notes.push_back(std::to_string(names_alone) +
                        " layers are names alone; build with --profilingVerbosity=detailed to see their tensors.");
  if (times.empty())
    out.notes.push_back("There are no times; --profile FILE gives those of trtexec --exportProfile.");
  else if (matched < times.size())
    out.notes.push_back(std::to_string(times.size() - matched) + " times of the profile belong to no layer.");
  return out;
}
#else
Trace read_tensorrt_layers(std::string_view, std::string_view) {
  throw Error(ErrorCode::unsupported, "explain: this build has no nlohmann-json, which TensorRT's files are read with");
}
#endif

}  // namespace relayout::explaining
