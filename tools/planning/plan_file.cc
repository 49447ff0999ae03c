// Plans to JSON and back: see plan_file.h.
#include "tools/planning/plan_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>

#include "relayout/execute/run/order.h"
#include "relayout/graph/ir/post_ops.h"
#include "relayout/graph/plan/validate.h"
#include "tools/planning/model.h"

namespace relayout::tools {
namespace {

using graph::Copy;
using graph::CopyId;
using graph::Graph;
using graph::kNone;
using graph::LayoutPlan;

[[noreturn]] void wrong(const std::string& what) {
  throw Failure(kBadData, Error(ErrorCode::invalid_argument, "plan: " + what, "plan"));
}

/// The number of a copy; null is no copy. validate() checks later that the copy exists.
CopyId copy_number(const JsonItem& item) {
  return item.json.is_null() ? kNone : item.index(std::size_t{std::numeric_limits<CopyId>::max()});
}

std::vector<CopyId> copy_numbers(const JsonItem& list) {
  std::vector<CopyId> out;
  for (const JsonItem& item : list.list()) out.push_back(copy_number(item));
  return out;
}

Json layout_json(const Layout& layout) {
  Json digits = Json::array();
  for (int d = 0; d < layout.ndims(); ++d) {
    Json& dim = digits.emplace_back(Json::array());
    for (const Digit& digit : layout.digits(d)) dim.push_back({digit.extent, digit.stride});
  }
  return digits;
}

Layout layout_of(const JsonItem& copy, const Dims& dims) {
  std::vector<Digits> digits;
  for (const JsonItem& dim : copy["digits"].list()) {
    Digits& out = digits.emplace_back();
    for (const JsonItem& digit : dim.list()) {
      if (digit.size() != 2) bad_item(digit.where, "is not a pair [extent, stride]");
      out.push_back({digit[std::size_t{0}].integer(), digit[std::size_t{1}].integer()});
    }
  }
  return Layout::from_digits(dims, digits, copy["offset"].integer());
}

void compare_tensors(const JsonItem& tensors, const Graph& graph, const std::vector<std::string>& names) {
  for (std::size_t t = 0; t < names.size(); ++t) {
    const std::string called = "tensor " + in_quotes(names[t]);
    if (!tensors.has(names[t].c_str())) wrong("it was made for another model: it has no " + called);
    const JsonItem tensor = tensors[names[t]];
    const std::string dtype = tensor["dtype"].text(), want = json_of(graph.tensors[t].dims).dump();
    if (tensor["dims"].json.dump() != want) {
      wrong(fmt::format("{} has dims {} in the plan and {} in the model (a plan is for the dims that it was made for)",
                        called, escaped(tensor["dims"].json.dump(), 200), want));
    }
    if (dtype != name(graph.tensors[t].dtype)) {
      wrong(fmt::format("{} is {} in the plan and {} in the model", called, escaped(dtype),
                        name(graph.tensors[t].dtype)));
    }
  }
  if (tensors.size() != names.size()) {
    wrong(fmt::format("it was made for another model: it has {} tensors, and the model has {}", tensors.size(),
                      names.size()));
  }
}

std::vector<Copy> read_copies(const JsonItem& copies, const Graph& graph, const std::vector<std::string>& names) {
  std::map<std::string, graph::TensorId> by_name;
  for (std::size_t t = 0; t < names.size(); ++t) by_name[names[t]] = static_cast<graph::TensorId>(t);
  std::vector<Copy> out;
  for (const JsonItem& json : copies.list()) {
    const auto tensor = by_name.find(json["tensor"].text());
    if (tensor == by_name.end()) bad_item(json.where, "the model has no tensor " + in_quotes(json["tensor"].text()));
    Copy& copy = out.emplace_back();
    copy.tensor = tensor->second;
    copy.layout = read_layout(json, graph.tensor(copy.tensor).dims);
    copy.opaque = read_opaque(json);
    if (json.has("from")) copy.from = copy_number(json["from"]);
    if (json.has("view_of")) copy.view_of = copy_number(json["view_of"]);
    if (json.has("reason")) copy.reason = json["reason"].text();
  }
  return out;
}

/// Refuses a primitive whose post-ops are not the node's.
void compare_post_ops(const JsonItem& primitive, const graph::Node& node) {
  const FileJson want = FileJson::parse(post_ops_json(node).dump());
  const FileJson is = primitive.has("post_ops") ? primitive["post_ops"].json : FileJson::array();
  if (is == want) return;
  wrong(fmt::format("it was made for another model: primitive {} has the post-ops {}, but {} in the model",
                    in_quotes(node.name), escaped(is.dump(), 400), escaped(want.dump(), 400)));
}

/// Reads the primitives. They must be the model's by name, kind and pass, because the plan of another model with equal
/// shapes would pass all other checks.
std::vector<graph::PlannedNode> read_primitives(const JsonItem& primitives, const Graph& graph) {
  std::vector<graph::PlannedNode> out;
  for (const JsonItem& primitive : primitives.list()) {
    if (out.size() < graph.nodes.size()) {
      const graph::Node& node = graph.nodes[out.size()];
      for (const auto& [key, want] :
           {std::pair{"name", std::string_view(node.name)}, {"kind", name(node.kind)}, {"pass", name(node.pass)}}) {
        if (primitive[key].text() == want) continue;
        wrong(fmt::format("it was made for another model: primitive {} has the {} {}, but {} in the model", out.size(),
                          key, in_quotes(primitive[key].text()), in_quotes(std::string(want))));
      }
      compare_post_ops(primitive, node);
    }
    graph::PlannedNode& node = out.emplace_back();
    node.implementation = primitive["implementation"].text();
    node.src = copy_numbers(primitive["src"]);
    node.dst = copy_numbers(primitive["dst"]);
  }
  return out;
}

/// ", with ... of ..." for the sources that the plan has in opaque formats.
std::string opaque_text(const graph::Implementation& implementation) {
  std::string out;
  for (const std::optional<graph::Opaque>& opaque : implementation.opaque) {
    if (!opaque) continue;
    out += fmt::format("{} the opaque format {} ({} bytes, {:016x}) of {}", out.empty() ? ", with" : " and",
                       escaped(opaque->name), opaque->bytes, opaque->hash, escaped(opaque->backend));
  }
  return out;
}

/// The opaque copies that a node reads get the formats of this implementation. They are made of the constants when the
/// plan is loaded, so another number of threads may have them in another format.
void take_formats(LayoutPlan& plan, std::size_t node, const graph::Implementation& implementation) {
  const std::vector<CopyId>& src = plan.nodes[node].src;
  for (std::size_t i = 0; i < src.size(); ++i) {
    if (implementation.opaque_src(i)) plan.copies[static_cast<std::size_t>(src[i])].opaque = implementation.opaque[i];
  }
}

/// Checks that the backend offers every implementation in these layouts. Whether one is a (slow) reference, or rounds
/// more, is taken from the backend and not from the file.
void find_implementations(LayoutPlan& plan, const Graph& graph, const graph::Backend& backend) {
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const auto id = static_cast<graph::NodeId>(n);
    const graph::Node& node = graph.nodes[n];
    if (plan.nodes[n].implementation == "view" || node.kind == graph::Kind::barrier) continue;
    const graph::Implementation wanted = graph::implementation_of(plan, id);
    std::optional<graph::Implementation> forward;
    if (node.hint != kNone) forward = graph::implementation_of(plan, node.hint);
    auto found = graph::matching_implementation(backend, graph, id, wanted, forward ? &*forward : nullptr);
    if (!found && plan.threads != backend.threads()) {
      found = graph::matching_implementation(backend, graph, id, wanted, forward ? &*forward : nullptr, true);
      if (found) take_formats(plan, n, *found);
    }
    if (!found) {
      throw Failure(kUnsupported,
                    Error(ErrorCode::unsupported,
                          fmt::format("plan: {} with {} threads has no implementation {} for \"{}\" in these layouts{}",
                                      backend.name(), backend.threads(), escaped(wanted.name), escaped(node.name),
                                      opaque_text(wanted)),
                          "implementation", escaped(wanted.name)));
    }
    plan.nodes[n].reference = found->reference;
    plan.nodes[n].rounds_more = found->rounds_more;
  }
}

}  // namespace

Json operands_json(const std::vector<CopyId>& copies) {
  Json out = Json::array();
  for (CopyId id : copies) out.push_back(id == kNone ? Json() : Json(id));
  return out;
}

Json post_ops_json(const graph::Node& node) {
  Json out = Json::array();
  for (const graph::PostOp& op : node.post_ops) {
    Json& json =
        out.emplace_back(Json{{"name", escaped(op.name)}, {"kind", name(graph::kind_of(op))}, {"src", op.src}});
    if (const auto* eltwise = std::get_if<graph::EltwiseAttributes>(&op.function)) {
      json["algorithm"] = name(eltwise->algorithm);
      json["alpha"] = eltwise->alpha;
      json["beta"] = eltwise->beta;
    } else if (const auto* binary = std::get_if<graph::BinaryAttributes>(&op.function)) {
      json["algorithm"] = name(binary->algorithm);
    } else {
      json["scales"] = std::get<graph::SumAttributes>(op.function).scales;
    }
  }
  return out;
}

Json copies_json(const Graph& graph, const LayoutPlan& plan, const std::vector<std::string>& names) {
  Json out;
  Json& tensors = out["tensors"] = Json::object();
  for (std::size_t t = 0; t < names.size(); ++t) {
    tensors[names[t]] = {{"dims", json_of(graph.tensors[t].dims)}, {"dtype", name(graph.tensors[t].dtype)}};
  }
  Json& copies = out["copies"] = Json::array();
  for (const Copy& copy : plan.copies) {
    Json json = {{"tensor", names[static_cast<std::size_t>(copy.tensor)]},
                 {"layout", graph::expression_of(copy.layout, copy.opaque)},
                 {"digits", layout_json(copy.layout)},
                 {"offset", copy.layout.offset0()}};
    if (copy.opaque) {
      json["opaque"] = {{"backend", copy.opaque->backend},
                        {"name", copy.opaque->name},
                        {"bytes", copy.opaque->bytes},
                        {"hash", fmt::format("{:016x}", copy.opaque->hash)}};
    }
    if (copy.from != kNone) json["from"] = copy.from;
    if (copy.view_of != kNone) json["view_of"] = copy.view_of;
    if (!copy.reason.empty()) json["reason"] = copy.reason;
    copies.push_back(std::move(json));
  }
  out["inputs"] = operands_json(plan.inputs);
  out["outputs"] = operands_json(plan.outputs);
  // The names of the outputs, written only where one differs from the name of its tensor.
  Json output_names = Json::array();
  bool same = true;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    output_names.push_back(escaped(graph.output_name(i)));
    same = same && graph.output_name(i) == graph.tensor(graph.outputs[i]).name;
  }
  if (!same) out["output_names"] = std::move(output_names);
  return out;
}

Dims read_dims(const JsonItem& dims) {
  std::vector<int64_t> out;
  for (const JsonItem& dim : dims.list()) out.push_back(dim.integer());
  return from_data([&] { return Dims(out); });
}

std::vector<std::optional<Dims>> planned_dims(const JsonItem& plan, std::span<const graph::OnnxInput> inputs) {
  std::vector<std::optional<Dims>> out;
  for (const graph::OnnxInput& input : inputs) {
    const std::string called = "tensor " + in_quotes(input.name);
    if (!plan["tensors"].has(input.name.c_str())) wrong("it was made for another model: it has no " + called);
    out.push_back(read_dims(plan["tensors"][input.name]["dims"]));
    if (std::ssize(input.dims) == out.back()->size()) continue;
    wrong(fmt::format("it was made for another model: {} has {}, and {} in the model", called,
                      counted(out.back()->size(), "dim"), input.dims.size()));
  }
  return out;
}

std::optional<graph::Opaque> read_opaque(const JsonItem& copy) {
  if (!copy.has("opaque")) return std::nullopt;
  const JsonItem opaque = copy["opaque"];
  graph::Opaque out{.backend = opaque["backend"].text(), .name = opaque["name"].text()};
  out.bytes = opaque["bytes"].integer();
  const std::string hash = opaque["hash"].text();
  const auto [end, error] = std::from_chars(hash.data(), hash.data() + hash.size(), out.hash, 16);
  if (error != std::errc() || end != hash.data() + hash.size() || hash.size() != 16)
    bad_item(opaque["hash"].where, in_quotes(hash) + " is not 16 hexadecimal digits");
  return out;
}

Layout read_layout(const JsonItem& copy, const Dims& dims) {
  const std::string tensor = in_quotes(copy["tensor"].text());
  if (copy["digits"].size() != static_cast<std::size_t>(dims.size())) {
    bad_item(copy["digits"].where, "are those of another number of dims than " + tensor + " has");
  }
  // All layouts of nothing are equal, so digits that reach elements must be looked for.
  for (int d = 0; d < dims.size(); ++d) {
    const JsonItem digits = copy["digits"][static_cast<std::size_t>(d)];
    const auto digit_list = digits.list();
    const bool reaches =
        std::ranges::none_of(digit_list, [](const JsonItem& digit) { return digit[std::size_t{0}].integer() == 0; });
    if (dims[d] == 0 && !digit_list.empty() && reaches)
      bad_item(digits.where, fmt::format("reach elements of dim {} of {}, which has none", d, tensor));
  }
  try {
    const Layout out = layout_of(copy, dims);
    const std::string said = copy["layout"].text(), is = graph::expression_of(out, read_opaque(copy));
    if (said != is)
      bad_item(copy.where,
               fmt::format("of {}: the layout is called {}, but its digits are {}", tensor, in_quotes(said), is));
    return out;
  } catch (const Error& error) {
    bad_item(copy.where, "of " + tensor + ": " + error.message());
  }
}

LayoutPlan read_plan(const JsonItem& plan, const Graph& graph) {
  const std::vector<std::string> names = tensor_names(graph);
  compare_tensors(plan["tensors"], graph, names);
  LayoutPlan out;
  out.policy = plan["policy"].text();
  out.threads = plan["threads"].index(std::size_t{std::numeric_limits<int>::max()});
  out.copies = read_copies(plan["copies"], graph, names);
  out.nodes = read_primitives(plan["primitives"], graph);
  out.inputs = copy_numbers(plan["inputs"]);
  out.outputs = copy_numbers(plan["outputs"]);
  from_data([&] {
    graph::validate(graph, out);
    execute::order_of(graph, out);
  });
  return out;
}

Json training_json(const std::string& training) { return training.empty() ? Json(false) : Json(training); }

std::string read_training(const JsonItem& plan) {
  if (!plan.has("training")) return "";
  const JsonItem training = plan["training"];
  if (training.json.is_string()) {
    std::string out = training.text();
    if (out != kForwardTraining && out != kTrainingStep) {
      bad_item(training.where,
               fmt::format("{} is neither false, \"{}\" nor \"{}\"", in_quotes(out), kForwardTraining, kTrainingStep));
    }
    return out;
  }
  if (!training.boolean()) return "";
  const std::vector<JsonItem> primitives = plan["primitives"].list();
  const auto is_backward = [](const JsonItem& one) { return one["pass"].text().starts_with("backward"); };
  return std::string(std::ranges::any_of(primitives, is_backward) ? kTrainingStep : kForwardTraining);
}

FileJson read_plan_json(const std::string& path, const char* needed) {
  FileJson json = read_json(path);
  const bool is_object = json.is_object();
  if (is_object && json.contains(needed)) return json;
  throw Failure(kBadData,
                Error(ErrorCode::corrupt,
                      fmt::format("{}: is not a plan as relayout plan -o writes it: it {}", escaped(path, 4096),
                                  is_object ? "has no " + in_quotes(needed) : "is not a JSON object"),
                      "path", escaped(path, 4096)));
}

LayoutPlan read_plan(const std::string& path, const Graph& graph, const std::string& training,
                     const graph::Backend& backend) {
  const FileJson json = read_plan_json(path, "tensors");
  if (const std::string planned = read_training({json, ""}); planned != training) {
    const auto what = [](const std::string& of) {
      return of.empty() ? "inference" : of == kTrainingStep ? "a training step" : "the forward pass of training";
    };
    const std::string flag = planned.empty() ? "without --training" : "with --training=" + planned;
    throw Failure(kBadData, Error(ErrorCode::invalid_argument,
                                  fmt::format("plan: {} was made for {}, but this run is for {}: run it {}",
                                              escaped(path, 4096), what(planned), what(training), flag),
                                  "--training", training, planned));
  }
  LayoutPlan out = read_plan(JsonItem{json, ""}, graph);
  out.backend = backend.name();
  find_implementations(out, graph, backend);
  return out;
}

}  // namespace relayout::tools
