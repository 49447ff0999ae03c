// Profiles of ONNX Runtime as traces. A profile says the operator, the shapes and types of operands, and the time of
// each node in each run; it names no tensors and has no attributes. A model's nodes, where they are given, say both.
//
// What counts as a reorder: ReorderInput and ReorderOutput, by which the CPU provider enters and leaves its blocked
// layout NCHWc (8 or 16 channels in a block, whose number the profile does not say), and Transpose. A transposition to
// or from channels last next to NCHWc is part of ReorderOutput or ReorderInput: then their plain side is N, spatial
// dims, C.
#include "relayout/explain/readers.h"
#include "relayout/explain/readers/tensors.h"

#ifdef RELAYOUT_HAVE_JSON
#include <algorithm>
#include <array>
#include <map>

#include "relayout/explain/json.h"
#endif

namespace relayout::explaining {

#ifdef RELAYOUT_HAVE_JSON
namespace {

/// Operators that compute each element, or each channel, alone.
constexpr std::array<std::string_view, 30> kElementwise = {
    "Relu", "Sigmoid", "Tanh", "Elu", "LeakyRelu", "HardSigmoid", "HardSwish", "Clip",  "Gelu",      "Erf",
    "Exp",  "Log",     "Sqrt", "Abs", "Neg",       "Floor",       "Ceil",      "Add",   "Sub",       "Mul",
    "Div",  "Pow",     "Min",  "Max", "Sum",       "Cast",        "PRelu",     "Swish", "QuickGelu", "Identity"};

constexpr const char* kRecourse =
    "ONNX Runtime decides that: its optimiser keeps NCHWc through Relu, Sigmoid, Tanh, Add, Sum, Mul, Concat, "
    "BatchNormalization, pooling and Resize alone. Use one of these there, or report it (--replay).";

struct Operand {
  std::string dtype;
  Dims dims;
};

std::vector<Operand> operands_of(const Json& args, const char* key) {
  std::vector<Operand> out;
  const auto list = args.find(key);
  if (list == args.end() || !list->is_array()) return out;
  for (const Json& entry : *list) {
    Operand operand;
    if (!entry.is_object() || entry.empty()) continue;
    operand.dtype = entry.begin().key();
    if (!entry.begin().value().is_array() || entry.begin().value().size() > static_cast<std::size_t>(kMaxDims))
      continue;
    for (const Json& dim : entry.begin().value())
      operand.dims.push_back(dim.is_number_integer() ? dim.get<int64_t>() : 0);
    out.push_back(std::move(operand));
  }
  return out;
}

class ProfileReader {
 public:
  ProfileReader(const Json& all, std::span<const NamedNode> nodes) : all_(all) {
    for (const NamedNode& node : nodes) nodes_[node.name] = &node;
  }

  Trace read() {
    Trace out{.system = "ONNX Runtime", .source = "profile", .recourse = kRecourse};
    block_ = find_block();
    int64_t place = 0;
    for (const Json& entry : all_) {
      ++place;
      const std::string name = node_name(entry);
      if (!name.empty()) out.events.push_back(event_of(entry, name, place));
    }
    if (out.events.empty())
      throw Error(ErrorCode::parse, "explain: the profile of ONNX Runtime has no node that was run", "text");
    if (nchwc_)
      out.notes.push_back("The profile does not say how many channels a block of NCHWc has; " + std::to_string(block_) +
                          " are assumed, because all channels in that layout are multiples of it.");
    if (unknown_ > 0)
      out.notes.push_back("The order of dims of " + std::to_string(unknown_) +
                          " reorders is not clear from the profile; of those that are Transpose nodes "
                          "--model OPTIMISED.onnx says it (SessionOptions.optimized_model_filepath).");
    return out;
  }

 private:
  static std::string node_name(const Json& entry) {
    constexpr std::string_view kEnd = "_kernel_time";
    std::string name = text_of(entry, "name");
    if (text_of(entry, "cat") != "Node" || !name.ends_with(kEnd)) return "";
    name.resize(name.size() - kEnd.size());
    return name.empty() ? "?" : name;
  }

  int64_t find_block() {
    int64_t block = 16;
    for (const Json& entry : all_) {
      const auto args = entry.find("args");
      if (args == entry.end() || !text_of(*args, "op_name").starts_with("Reorder")) continue;
      nchwc_ = true;
      for (const Operand& operand : operands_of(*args, "output_type_shape")) {
        if (text_of(*args, "op_name") == "ReorderInput" && operand.dims.size() > 1 && operand.dims[1] % 16 != 0)
          block = 8;
      }
    }
    return block;
  }

  Event event_of(const Json& entry, const std::string& name, int64_t place) {
    Event out{.place = place, .name = name};
    out.ms = plausible_ms(number_of(entry, "dur").value_or(0) / 1e3);
    const auto args = entry.find("args");
    if (args == entry.end() || !args->is_object()) return out;
    out.kind = text_of(*args, "op_name");
    out.implementation = text_of(*args, "provider");
    const auto reads = operands_of(*args, "input_type_shape"), writes = operands_of(*args, "output_type_shape");
    const auto found = nodes_.find(name);
    const NamedNode* node = found == nodes_.end() ? nullptr : found->second;
    add(out.reads, reads, node ? &node->reads : nullptr, node);
    add(out.writes, writes, node ? &node->writes : nullptr, node);
    if (std::ranges::find(kElementwise, out.kind) != kElementwise.end()) out.freedom = Freedom::any;
    if (!out.reads.empty() && !out.writes.empty()) make_reorder(out, node);
    return out;
  }

  static void add(Tensors& out, const std::vector<Operand>& operands, const std::vector<std::string>* names,
                  const NamedNode* node) {
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const Operand& operand = operands[k];
      Tensor made = described("", plain_tag(operand.dims.size()), operand.dims, operand.dtype);
      made.key = operand.dtype + ":" + join(operand.dims, "x");
      if (names && k < names->size()) {
        made.name = (*names)[k];
        made.key = "named:" + made.name;
        made.weights = std::ranges::find(node->constants, made.name) != node->constants.end();
      }
      out.push_back(std::move(made));
    }
  }

  void make_reorder(Event& event, const NamedNode* node) {
    event.reorder = event.kind == "ReorderInput" || event.kind == "ReorderOutput" || event.kind == "Transpose";
    if (event.kind == "ReorderInput") make_blocked(event.writes.front(), event.reads.front());
    if (event.kind == "ReorderOutput") make_blocked(event.reads.front(), event.writes.front());
    if (event.kind == "Transpose") make_transposition(event, node);
  }

  /// Both sides of a reorder in the dims N, C, spatial ones. Where all but N are equal, it is not known whether the
  /// plain side has its channels last.
  void make_blocked(Tensor& blocked, Tensor& plain) {
    const Dims dims = *plain.dims, other = *blocked.dims;
    const int rank = dims.size();
    const auto same_spatial = [&](int from) {
      for (int d = 2; d < rank; ++d) {
        if (dims[from + d - 2] != other[d]) return false;
      }
      return true;
    };
    const bool same_rank = rank == other.size() && rank > 2;
    const bool channels_first = same_rank && same_spatial(2), channels_last = same_rank && same_spatial(1);
    std::string tag = plain_tag(rank), plain_layout;
    Dims logical = dims;
    if (channels_first != channels_last) {
      plain_layout = channels_first ? tag : tag.substr(0, 1) + tag.substr(2) + tag[1];
      if (channels_last) logical = other, logical[1] = dims[rank - 1];
    } else {
      ++unknown_;
    }
    if (rank > 1) tag[1] = 'B';
    plain = described_again(plain, plain_layout, logical);
    blocked = described_again(blocked, tag + std::to_string(block_) + "b", logical);
  }

  void make_transposition(Event& event, const NamedNode* node) {
    const Tensor& src = event.reads.front();
    Tensor& dst = event.writes.front();
    const std::optional<std::vector<int>> perm =
        node && !node->perm.empty() ? node->perm : order_between(*src.dims, *dst.dims);
    if (!perm || static_cast<int>(perm->size()) != src.dims->size()) {
      ++unknown_;
      dst.layout.clear();
      dst.desc.reset();
      return;
    }
    event.perm = *perm;
    dst = described_again(dst, reordered_tag(*perm), *src.dims);
  }

  const Json& all_;
  std::map<std::string, const NamedNode*> nodes_;
  int64_t block_ = 16, unknown_ = 0;
  bool nchwc_ = false;
};

}  // namespace

Trace read_onnxruntime_profile(std::string_view text, std::span<const NamedNode> nodes) {
  // A program that was stopped leaves the list open, often within an entry; each entry is a line.
  std::string closed(text.substr(0, text.find_last_not_of(" \t\r\n,") + 1));
  if (!closed.empty() && closed.back() != ']') {
    if (closed.back() != '}' || !Json::accept(closed + "]"))
      closed.resize(std::max(closed.rfind("},\n") + 1, closed.rfind("},\r\n") + 1));
    closed += "]";
  }
  const Json all = parse_json(closed, "the profile of ONNX Runtime");
  if (!all.is_array()) throw Error(ErrorCode::parse, "explain: the profile of ONNX Runtime is no list", "text");
  return ProfileReader(all, nodes).read();
}
#else
Trace read_onnxruntime_profile(std::string_view, std::span<const NamedNode>) {
  throw Error(ErrorCode::unsupported, "explain: this build has no nlohmann-json, which profiles are read with");
}
#endif

}  // namespace relayout::explaining
