// Plans to JSON and back: see plan_file.h.
#include "tools/plan_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>

#include "relayout/graph/validate.h"
#include "tools/model.h"

namespace relayout::tools {
namespace {

using graph::Copy;
using graph::CopyId;
using graph::Graph;
using graph::kNone;
using graph::LayoutPlan;

constexpr int kMaxDepth = 32;
constexpr std::uintmax_t kMaxBytes = std::uintmax_t{1} << 30;

[[noreturn]] void wrong(const std::string& what) {
  throw Failure(kBadData, Error(ErrorCode::invalid_argument, "plan: " + what, "plan"));
}

Json parsed(const std::string& path) {
  std::error_code status;
  const std::uintmax_t bytes = std::filesystem::file_size(path, status);
  std::ifstream file(path, std::ios::binary);
  if (status || !file) {
    throw Failure(kIo, Error(ErrorCode::io, escaped(path, 4096) + ": cannot be read", "path", escaped(path, 4096)));
  }
  if (bytes > kMaxBytes) wrong(fmt::format("{} has {} bytes; at most {}", escaped(path, 4096), bytes, kMaxBytes));
  try {
    return Json::parse(file, [](int depth, Json::parse_event_t, Json&) {
      if (depth > kMaxDepth) wrong(fmt::format("JSON that is nested deeper than {}", kMaxDepth));
      return true;
    });
  } catch (const Json::exception& error) {
    wrong(escaped(path, 4096) + " is no JSON: " + printable(error.what()));
  }
}

const Json& field(const Json& of, const char* key, const std::string& where) {
  if (!of.is_object() || !of.contains(key)) wrong(fmt::format("{} has no \"{}\"", where, key));
  return of.at(key);
}

const Json& list(const Json& of, const char* key, const std::string& where) {
  const Json& out = field(of, key, where);
  if (!out.is_array()) wrong(fmt::format("\"{}\" of {} is no list", key, where));
  return out;
}

int64_t number(const Json& json, const std::string& where) {
  const bool fits =
      json.is_number_integer() && (!json.is_number_unsigned() ||
                                   json.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
  if (!fits) wrong(where + " is no whole number");
  return json.get<int64_t>();
}

std::string text(const Json& json, const std::string& where) {
  if (!json.is_string()) wrong(where + " is no text");
  return json.get<std::string>();
}

/// The number of a copy, null being none; that it exists is seen later.
CopyId copy_number(const Json& json, const std::string& where) {
  if (json.is_null()) return kNone;
  const int64_t out = number(json, where);
  if (out < 0 || out > std::numeric_limits<CopyId>::max()) wrong(fmt::format("{}: {} is no copy", where, out));
  return static_cast<CopyId>(out);
}

std::vector<CopyId> copy_numbers(const Json& json, const std::string& where) {
  std::vector<CopyId> out;
  for (const Json& item : json) out.push_back(copy_number(item, where));
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

Layout layout_of(const Json& copy, const Dims& dims, const std::string& where) {
  const Json& of_dims = list(copy, "digits", where);
  if (static_cast<int>(of_dims.size()) != dims.size()) wrong(where + ": \"digits\" are of another rank");
  std::vector<Digits> digits;
  for (const Json& dim : of_dims) {
    Digits& out = digits.emplace_back();
    if (!dim.is_array()) wrong(where + ": \"digits\" are no lists");
    for (const Json& digit : dim) {
      if (!digit.is_array() || digit.size() != 2) wrong(where + ": a digit is no [extent, stride]");
      out.push_back({number(digit[0], where), number(digit[1], where)});
    }
  }
  return Layout::from_digits(dims, digits, number(field(copy, "offset", where), where));
}

void compare_tensors(const Json& plan, const Graph& graph, const std::vector<std::string>& names) {
  const Json& tensors = field(plan, "tensors", "the plan");
  if (!tensors.is_object()) wrong("\"tensors\" is no object");
  for (std::size_t t = 0; t < names.size(); ++t) {
    const std::string called = "tensor \"" + escaped(names[t]) + "\"";
    if (!tensors.contains(names[t])) wrong("it is of another model: it has no " + called);
    const Json& tensor = tensors.at(names[t]);
    const Json &dims = field(tensor, "dims", called), &dtype = field(tensor, "dtype", called);
    const Json want = json_of(graph.tensors[t].dims);
    if (dims != want) {
      wrong(fmt::format("{} has dims {} there, {} in the model (a plan is for one batch size)", called,
                        printable(dims.dump()), want.dump()));
    }
    if (text(dtype, called) != name(graph.tensors[t].dtype)) {
      wrong(fmt::format("{} is {} there, {} in the model", called, escaped(text(dtype, called)),
                        name(graph.tensors[t].dtype)));
    }
  }
  if (tensors.size() != names.size()) {
    wrong(fmt::format("it is of another model: it has {} tensors, the model {}", tensors.size(), names.size()));
  }
}

std::vector<Copy> read_copies(const Json& plan, const Graph& graph, const std::vector<std::string>& names) {
  std::map<std::string, graph::TensorId> by_name;
  for (std::size_t t = 0; t < names.size(); ++t) by_name[names[t]] = static_cast<graph::TensorId>(t);
  std::vector<Copy> out;
  for (const Json& json : list(plan, "copies", "the plan")) {
    const std::string where = fmt::format("copy {}", out.size());
    const auto tensor = by_name.find(text(field(json, "tensor", where), where));
    if (tensor == by_name.end()) wrong(where + " is of no tensor of the model");
    Copy& copy = out.emplace_back();
    copy.tensor = tensor->second;
    copy.layout = layout_of(json, graph.tensor(copy.tensor).dims, where);
    if (const std::string said = text(field(json, "layout", where), where); said != graph::expression_of(copy.layout)) {
      wrong(fmt::format("{} is called {}, its digits are {}", where, escaped(said, 200),
                        graph::expression_of(copy.layout)));
    }
    if (json.contains("from")) copy.from = copy_number(json["from"], where);
    if (json.contains("view_of")) copy.view_of = copy_number(json["view_of"], where);
    if (json.contains("reason")) copy.reason = text(json["reason"], where);
  }
  return out;
}

/// Every implementation is one that the backend offers in these layouts; whether it is slow is the backend's word.
void find_implementations(LayoutPlan& plan, const Graph& graph, const graph::Backend& backend) {
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const auto id = static_cast<graph::NodeId>(n);
    const graph::Node& node = graph.nodes[n];
    if (plan.nodes[n].implementation == "view" || node.kind == graph::Kind::barrier) continue;
    const graph::Implementation way = graph::implementation_of(plan, id);
    std::optional<graph::Implementation> forward;
    if (node.hint != kNone) forward = graph::implementation_of(plan, node.hint);
    const auto found = graph::offered(backend, graph, id, way, forward ? &*forward : nullptr);
    if (!found) {
      throw Failure(kUnsupported,
                    Error(ErrorCode::unsupported,
                          fmt::format("plan: {} with {} threads has no implementation {} for \"{}\" in these layouts",
                                      backend.name(), backend.threads(), escaped(way.name), escaped(node.name)),
                          "implementation", escaped(way.name)));
    }
    plan.nodes[n].reference = found->reference;
  }
}

}  // namespace

Json operands_json(const std::vector<CopyId>& copies) {
  Json out = Json::array();
  for (CopyId id : copies) out.push_back(id == kNone ? Json() : Json(id));
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
                 {"layout", graph::expression_of(copy.layout)},
                 {"digits", layout_json(copy.layout)},
                 {"offset", copy.layout.offset0()}};
    if (copy.from != kNone) json["from"] = copy.from;
    if (copy.view_of != kNone) json["view_of"] = copy.view_of;
    if (!copy.reason.empty()) json["reason"] = copy.reason;
    copies.push_back(std::move(json));
  }
  out["inputs"] = operands_json(plan.inputs);
  out["outputs"] = operands_json(plan.outputs);
  return out;
}

LayoutPlan read_plan(const std::string& path, const Graph& graph, const graph::Backend& backend) {
  const Json json = parsed(path);
  const std::vector<std::string> names = tensor_names(graph);
  compare_tensors(json, graph, names);
  LayoutPlan out;
  from_data([&] {
    out.policy = text(field(json, "policy", "the plan"), "\"policy\"");
    out.backend = backend.name();
    out.threads =
        static_cast<int>(std::clamp<int64_t>(number(field(json, "threads", "the plan"), "\"threads\""), 0, INT_MAX));
    out.copies = read_copies(json, graph, names);
    for (const Json& primitive : list(json, "primitives", "the plan")) {
      const std::string where = fmt::format("primitive {}", out.nodes.size());
      graph::PlannedNode& node = out.nodes.emplace_back();
      node.implementation = text(field(primitive, "implementation", where), where);
      node.src = copy_numbers(list(primitive, "src", where), where);
      node.dst = copy_numbers(list(primitive, "dst", where), where);
    }
    out.inputs = copy_numbers(list(json, "inputs", "the plan"), "\"inputs\"");
    out.outputs = copy_numbers(list(json, "outputs", "the plan"), "\"outputs\"");
    graph::validate(graph, out);
  });
  find_implementations(out, graph, backend);
  return out;
}

}  // namespace relayout::tools
