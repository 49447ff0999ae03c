// relayout any: one primitive by the layout `any`: what the specification has a program ask for each operand, what
// `any` then takes, and everything else that the backend offers, with layouts and times.
#include <fmt/format.h>

#include <algorithm>

#include "relayout/graph/ir/operands.h"
#include "relayout/graph/plan/layout_names.h"
#include "tools/planning/planning.h"
#include "tools/planning/primitive.h"

namespace relayout::tools {
namespace {

using graph::Graph;
using graph::Implementation;
using graph::Operand;
using graph::PrimitiveChoice;

struct AnyOptions {
  PrimitiveFlags primitive;
  PlanFlags plan;
};

/// One primitive of the graph with its choices.
struct Listed {
  graph::NodeId node = graph::kNone;
  std::vector<Operand> operands;
  std::vector<PrimitiveChoice> choices;

  const PrimitiveChoice* by_any() const {
    const auto found = std::ranges::find(choices, true, &PrimitiveChoice::by_any);
    return found == choices.end() ? nullptr : &*found;
  }
};

const std::optional<Layout>& layout_for(const Implementation& implementation, const Operand& operand) {
  return (operand.is_src ? implementation.src : implementation.dst)[static_cast<std::size_t>(operand.index)];
}

const std::optional<graph::Opaque>& opaque_of(const Implementation& implementation, const Operand& operand) {
  static const std::optional<graph::Opaque> none;
  return operand.is_src ? implementation.opaque_src(static_cast<std::size_t>(operand.index)) : none;
}

/// The layout of an operand in the letters that people use.
std::string shown_layout(const Graph& g, const Operand& operand, const Implementation& implementation) {
  const std::optional<Layout>& layout = layout_for(implementation, operand);
  if (!layout) return "-";
  return graph::LayoutNames(g).of(operand.tensor, *layout, opaque_of(implementation, operand));
}

/// The primitive and, in training, its backward primitives, each with the forward implementation that `any` takes.
std::vector<Listed> listed(const Graph& g, Planner& planner) {
  std::vector<Listed> out;
  for (graph::NodeId n = 0; n < static_cast<graph::NodeId>(g.nodes.size()); ++n) {
    const graph::Node& node = g.node(n);
    if (n != 0 && node.hint != 0) continue;
    const PrimitiveChoice* forward = n == 0 ? nullptr : out[0].by_any();
    std::vector<PrimitiveChoice> choices = planner.choices(n, forward ? &forward->implementation : nullptr);
    out.push_back({n, operands(node), std::move(choices)});
    if (out[0].choices.empty()) {
      throw Failure(kUnsupported, Error(ErrorCode::unsupported,
                                        fmt::format("any: {} has no implementation of this {}",
                                                    planner.backend().name(), name(node.kind)),
                                        "KIND", std::string(name(node.kind))));
    }
  }
  return out;
}

/// An implementation by its name and the layouts in which it differs from the other.
std::string named(const Graph& g, const Listed& one, const PrimitiveChoice& choice, const PrimitiveChoice& other) {
  std::string layouts;
  for (const Operand& operand : one.operands) {
    const std::string layout = shown_layout(g, operand, choice.implementation);
    if (layout == shown_layout(g, operand, other.implementation)) continue;
    layouts += fmt::format("{}{} {}", layouts.empty() ? " (" : ", ", operand.name, layout);
  }
  return choice.implementation.name + (layouts.empty() ? "" : layouts + ")");
}

std::string verdict_text(const Graph& g, const Listed& one) {
  static constexpr double kSame = 0.99;  // less of a gain is none that is worth a word
  const PrimitiveChoice* any = one.by_any();
  if (!any) return "  `any` finds nothing here.\n";
  const PrimitiveChoice& fastest = one.choices.front();
  if (&fastest == any || fastest.us > kSame * any->us) {
    const bool none = &fastest == any || fastest.us >= any->us;
    return fmt::format("  `any` takes {}, and no other is faster{}.\n", any->implementation.name,
                       none ? "" : " by more than 1 %");
  }
  return fmt::format("  `any` takes {}; {} would take {:.0f} % of its time.\n", named(g, one, *any, fastest),
                     named(g, one, fastest, *any), 100 * fastest.us / any->us);
}

std::string listed_text(const Graph& g, const Listed& one) {
  const graph::Node& node = g.node(one.node);
  std::string out = bold(fmt::format("{}, {}", name(node.kind), name(node.pass))) + "\n\n";
  const PrimitiveChoice* any = one.by_any();
  std::vector<std::vector<std::string>> asked{{"operand", "dims", "type", "the table asks for", "`any` takes"}};
  for (const Operand& operand : one.operands) {
    const graph::Tensor& tensor = g.tensor(operand.tensor);
    asked.push_back({std::string(operand.name), dims_text(tensor.dims), std::string(name(tensor.dtype)),
                     std::string(name(operand.asked)), any ? shown_layout(g, operand, any->implementation) : "-"});
  }
  out += table(asked) + "\n";
  std::vector<std::vector<std::string>> rows{{"implementation"}};
  for (const Operand& operand : one.operands) {
    if (g.tensor(operand.tensor).dims.size() > 1) rows[0].emplace_back(operand.name);
  }
  rows[0].insert(rows[0].end(), {"time", ""});
  for (const PrimitiveChoice& choice : one.choices) {
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(choice.implementation.name);
    for (const Operand& operand : one.operands) {
      if (g.tensor(operand.tensor).dims.size() <= 1) continue;
      row.push_back(shown_layout(g, operand, choice.implementation));
    }
    row.push_back(time_text(choice.us));
    row.emplace_back(choice.by_any ? "any" : choice.implementation.rounds_more ? "rounds more" : "");
  }
  return out + table(rows) + "\n" + verdict_text(g, one);
}

Json listed_json(const Graph& g, const Listed& one) {
  const graph::Node& node = g.node(one.node);
  const PrimitiveChoice* any = one.by_any();
  const auto expression = [](const Implementation& implementation, const Operand& operand) {
    const std::optional<Layout>& layout = layout_for(implementation, operand);
    return layout ? Json(graph::expression_of(*layout, opaque_of(implementation, operand))) : Json(nullptr);
  };
  Json list = Json::array(), choices = Json::array();
  for (const Operand& operand : one.operands) {
    const graph::Tensor& tensor = g.tensor(operand.tensor);
    list.push_back({{"name", operand.name},
                    {"dims", tools::json_of(tensor.dims)},
                    {"dtype", name(tensor.dtype)},
                    {"asked", name(operand.asked)},
                    {"any", any ? expression(any->implementation, operand) : Json(nullptr)}});
  }
  for (const PrimitiveChoice& choice : one.choices) {
    Json layouts = Json::array();
    for (const Operand& operand : one.operands) layouts.push_back(expression(choice.implementation, operand));
    choices.push_back({{"implementation", choice.implementation.name},
                       {"reference", choice.implementation.reference},
                       {"rounds_more", choice.implementation.rounds_more},
                       {"us", choice.us},
                       {"any", choice.by_any},
                       {"layouts", std::move(layouts)}});
  }
  return {{"kind", name(node.kind)},
          {"pass", name(node.pass)},
          {"operands", std::move(list)},
          {"choices", std::move(choices)}};
}

int run_any(const AnyOptions& options, bool json) {
  require_isa();
  check_plan_flags(options.plan);
  const Graph g = primitive_graph(options.primitive);
  Planner planner(g, options.plan);
  const std::vector<Listed> all = listed(g, planner);
  write_warnings(planner.warnings());
  if (json) {
    Json primitives = Json::array();
    for (const Listed& one : all) primitives.push_back(listed_json(g, one));
    write_stdout(json_text({{"backend", planner.backend().name()},
                            {"threads", planner.backend().threads()},
                            {"cost", options.plan.cost},
                            {"primitives", std::move(primitives)}}));
    return kOk;
  }
  std::string text;
  for (const Listed& one : all) text += listed_text(g, one) + "\n";
  write_stdout(text + fmt::format("  Times are {}, with {} on {}.\n",
                                  options.plan.cost == "measured" ? "measured" : "predicted from this machine's speeds",
                                  counted(planner.backend().threads(), "thread"), planner.backend().name()));
  return kOk;
}

}  // namespace

Verb add_any(CommandLine& line) {
  auto [command, json] = add_verb(
      line, "any", "List what a backend offers for one primitive, and what the layout `any` takes of it",
      "  relayout any convolution --src 1,3,224,224 --weights 64,3,7,7 --attr strides=2 --attr pads=3\n"
      "  relayout any convolution --src 8,64,56,56 --weights 64,64,3,3 --attr pads=1 --training\n"
      "  relayout any pooling --src 1,64,112,112 --src-layout nChw16c --attr kernel=3 --attr strides=2\n"
      "  relayout any convolution --src 1,64,56,56 --weights 64,64,3,3 --attr pads=1 --dtype s8 --constant-weights\n"
      "  relayout any convolution --src 1,64,56,56 --weights 64,64,3,3 --dtype u8 --weights-dtype s8 --dst-dtype u8\n"
      "  relayout any rnn --src 10,4,32 --weights 1,1,32,4,64 --attr cell=lstm --cost measured --json\n"
      "The table is the oneAPI specification's: compute-bound primitives are asked for `any` everywhere, memory-bound\n"
      "ones take their source as it is and choose the destination; backward, gradients are `any`, and data is actual,\n"
      "that is, as it is. Listed are the fastest first; slow references only where there is nothing else.");
  auto options = std::make_shared<AnyOptions>();
  add_primitive_flags(command, options->primitive);
  add_primitive_cost_flags(command, options->plan);
  return {command, [options, json = json] { return run_any(*options, *json); }, json};
}

}  // namespace relayout::tools
