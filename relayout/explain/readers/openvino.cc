// Execution graphs of OpenVINO as traces: the XML of the runtime model, whose layers have their times, kernels and the
// layouts of what they write. The reader takes tags and attributes as the IR's version 11 has them, and no more of XML.
#include <charconv>
#include <map>

#include "relayout/explain/readers.h"
#include "relayout/explain/readers/tensors.h"

namespace relayout::explaining {
namespace {

/// A tag with its attributes; `closing` of </layer>, `empty` of <edge .../>.
struct Tag {
  std::string name, text;  // the text that follows it, up to the next tag
  std::map<std::string, std::string> attributes;
  bool closing = false, empty = false;
};

std::string unescaped(std::string_view text) {
  static constexpr std::pair<std::string_view, char> kEntities[] = {
      {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
  std::string out;
  while (!text.empty()) {
    bool found = false;
    for (const auto& [entity, letter] : kEntities) {
      if (!text.starts_with(entity)) continue;
      out += letter;
      text.remove_prefix(entity.size());
      found = true;
      break;
    }
    if (found) continue;
    out += text.front();
    text.remove_prefix(1);
  }
  return out;
}

class Xml {
 public:
  explicit Xml(std::string_view text) : rest_(text) {}

  std::optional<Tag> next() {
    for (;;) {
      const std::size_t start = rest_.find('<');
      if (start == std::string_view::npos) return std::nullopt;
      rest_.remove_prefix(start + 1);
      if (rest_.starts_with("!--")) {
        const std::size_t end = rest_.find("-->");
        rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 3);
        continue;
      }
      if (rest_.starts_with("?") || rest_.starts_with("!")) continue;
      return tag();
    }
  }

 private:
  void blanks() {
    while (!rest_.empty() && std::string_view(" \t\r\n").find(rest_.front()) != std::string_view::npos)
      rest_.remove_prefix(1);
  }

  std::string_view word(std::string_view ends) {
    const std::size_t end = std::min(rest_.find_first_of(ends), rest_.size());
    const std::string_view out = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return out;
  }

  Tag tag() {
    Tag out;
    if (rest_.starts_with("/")) {
      out.closing = true;
      rest_.remove_prefix(1);
    }
    out.name = word(" \t\r\n/>");
    for (blanks(); !rest_.empty() && rest_.front() != '>'; blanks()) {
      if (rest_.front() == '/') {
        out.empty = true;
        rest_.remove_prefix(1);
        continue;
      }
      const std::string key(word("= \t\r\n/>"));
      blanks();
      if (!rest_.starts_with("=")) {
        if (key.empty()) break;
        continue;
      }
      rest_.remove_prefix(1);
      blanks();
      if (rest_.empty() || (rest_.front() != '"' && rest_.front() != '\'')) break;
      const char quote = rest_.front();
      rest_.remove_prefix(1);
      out.attributes[key] = unescaped(word(std::string_view(&quote, 1)));
      if (!rest_.empty()) rest_.remove_prefix(1);
    }
    if (rest_.starts_with(">")) rest_.remove_prefix(1);
    out.text = rest_.substr(0, std::min(rest_.find('<'), rest_.size()));
    return out;
  }

  std::string_view rest_;
};

struct Port {
  std::string id;
  Dims dims;
};

struct Layer {
  std::map<std::string, std::string> attributes, data;
  std::vector<Port> inputs, outputs;
};

struct Edge {
  std::string from_layer, from_port, to_layer, to_port;
};

struct ExecutionGraph {
  std::vector<Layer> layers;
  std::vector<Edge> edges;
};

ExecutionGraph graph_of(std::string_view text) {
  ExecutionGraph out;
  std::vector<Port>* ports = nullptr;
  Xml xml(text);
  while (const auto tag = xml.next()) {
    if (tag->name == "layer" && !tag->closing) {
      out.layers.emplace_back().attributes = tag->attributes;
      ports = nullptr;
    } else if (tag->name == "edge") {
      const auto at = [&](const char* key) {
        const auto found = tag->attributes.find(key);
        return found == tag->attributes.end() ? std::string() : found->second;
      };
      out.edges.push_back({at("from-layer"), at("from-port"), at("to-layer"), at("to-port")});
    }
    if (out.layers.empty() || tag->closing) continue;
    Layer& layer = out.layers.back();
    if (tag->name == "data") layer.data = tag->attributes;
    if (tag->name == "input") ports = &layer.inputs;
    if (tag->name == "output") ports = &layer.outputs;
    if (tag->name == "port" && ports != nullptr) {
      const auto id = tag->attributes.find("id");
      ports->push_back({id == tag->attributes.end() ? "" : id->second, {}});
    }
    if (tag->name == "dim" && ports != nullptr && !ports->empty() && ports->back().dims.size() < kMaxDims) {
      int64_t extent = 0;
      std::from_chars(tag->text.data(), tag->text.data() + tag->text.size(), extent);
      ports->back().dims.push_back(extent);
    }
  }
  return out;
}

std::string at(const std::map<std::string, std::string>& all, const char* key) {
  const auto found = all.find(key);
  return found == all.end() ? std::string() : found->second;
}

/// The entry of "abcd,acdb" for an output; the last where there are fewer.
std::string entry(const std::string& list, std::size_t number) {
  std::string_view rest = list;
  for (; number > 0; --number) {
    const std::size_t comma = rest.find(',');
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return std::string(rest.substr(0, rest.find(',')));
}

Freedom freedom_of_layer(const std::string& type) {
  for (const std::string_view free : {"Eltwise", "Relu", "Pooling", "Concatenation", "Softmax", "Interpolate", "Split",
                                      "Sigmoid", "Clamp", "HSwish", "Swish", "Gelu", "Add", "Multiply"}) {
    if (type == free) return Freedom::any;
  }
  return type == "Convolution" || type == "Deconvolution" || type == "GroupConvolution" ? Freedom::channels_last
                                                                                        : Freedom::fixed;
}

class GraphReader {
 public:
  explicit GraphReader(const ExecutionGraph& graph) : graph_(graph) {
    for (const Layer& layer : graph.layers) by_id_[at(layer.attributes, "id")] = &layer;
    for (const Edge& edge : graph.edges) from_[edge.to_layer + ":" + edge.to_port] = &edge;
  }

  Event event_of(const Layer& layer, int64_t place) const {
    Event out{.place = place, .name = at(layer.attributes, "name"), .kind = at(layer.attributes, "type")};
    out.implementation = at(layer.data, "primitiveType");
    out.detail = at(layer.data, "originalLayersNames");
    out.freedom = freedom_of_layer(out.kind);
    const std::string time = at(layer.data, "execTimeMcs");
    double microseconds = 0;
    const bool ran = std::from_chars(time.data(), time.data() + time.size(), microseconds).ec == std::errc();
    if (ran) out.ms = plausible_ms(microseconds / 1e3);
    for (const Port& port : layer.inputs) {
      if (const auto read = tensor_read(layer, port)) out.reads.push_back(*read);
    }
    for (std::size_t k = 0; k < layer.outputs.size(); ++k) out.writes.push_back(written(layer, k));
    // What was not run is a view: the elements stay where they are.
    out.reorder = (out.kind == "Reorder" || out.kind == "Transpose" || out.kind == "Permute") && ran &&
                  !out.reads.empty() && !out.writes.empty();
    if (out.reorder) read_in_dims_of_source(out);
    if (out.kind == "Reorder" && !ran) out.freedom = Freedom::any;
    return out;
  }

 private:
  Tensor written(const Layer& layer, std::size_t output) const {
    const Port& port = layer.outputs[output];
    Tensor out = described(at(layer.attributes, "name"), entry(at(layer.data, "outputLayouts"), output), port.dims,
                           entry(at(layer.data, "outputPrecisions"), output));
    out.key = at(layer.attributes, "id") + ":" + port.id;
    out.weights = at(layer.attributes, "type") == "Const";
    return out;
  }

  std::optional<Tensor> tensor_read(const Layer& layer, const Port& port) const {
    const auto edge = from_.find(at(layer.attributes, "id") + ":" + port.id);
    if (edge == from_.end()) return std::nullopt;
    const auto source = by_id_.find(edge->second->from_layer);
    if (source == by_id_.end()) return std::nullopt;
    for (std::size_t k = 0; k < source->second->outputs.size(); ++k) {
      if (source->second->outputs[k].id == edge->second->from_port) return written(*source->second, k);
    }
    return std::nullopt;
  }

  /// A transposition writes other dims than it reads. Where these tell the order, and the source is plain, its elements
  /// go to a layout of the source's dims.
  static void read_in_dims_of_source(Event& event) {
    const Tensor& src = event.reads.front();
    Tensor& dst = event.writes.front();
    if (!src.dims || !dst.dims || *src.dims == *dst.dims) return;
    const auto order = order_between(*src.dims, *dst.dims);
    if (order && src.layout == plain_tag(src.dims->size()) && dst.layout == src.layout) {
      event.perm = *order;
      dst = described_again(dst, reordered_tag(*order), *src.dims);
    } else {
      dst.desc.reset();
    }
  }

  const ExecutionGraph& graph_;
  std::map<std::string, const Layer*> by_id_;
  std::map<std::string, const Edge*> from_;
};

}  // namespace

Trace read_openvino_graph(std::string_view text) {
  const ExecutionGraph graph = graph_of(text);
  Trace out{.system = "OpenVINO", .source = "execution graph", .in_order = false};
  const GraphReader reader(graph);
  bool ran = false;
  for (const Layer& layer : graph.layers) {
    const std::string type = at(layer.attributes, "type");
    if (type == "Const" || type == "Input" || type == "Output" || type == "Result" || type == "Parameter") continue;
    out.events.push_back(reader.event_of(layer, static_cast<int64_t>(&layer - graph.layers.data()) + 1));
    ran = ran || out.events.back().ms.has_value();
  }
  if (out.events.empty())
    throw Error(ErrorCode::parse, "explain: the execution graph of OpenVINO has no layers that are run", "text");
  if (!ran)
    out.notes.push_back(
        "The graph has no times: compile the model with PERF_COUNT, run it, and take the runtime model "
        "then.");
  else
    out.notes.push_back(
        "Times are means of the runs in front of the graph's making. Layers that were not executed, as "
        "reorders that only rename dims, count as views.");
  return out;
}

}  // namespace relayout::explaining
