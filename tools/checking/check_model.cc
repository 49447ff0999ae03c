// Compares a certificate with the model that it is said to be about.
#include <fmt/format.h>

#include <algorithm>

#include "relayout/graph/plan/layout_plan.h"
#include "tools/checking/check_steps.h"

namespace relayout::tools::check {
namespace {

using graph::Graph;
using graph::kNone;
using graph::TensorId;

/// Walks the certificate's operations, which stand in this order: one for each tensor that no node writes (inputs and
/// constants), one for each node, one for each output of the model.
class ModelComparison {
 public:
  ModelComparison(const CertificateFile& file, const Graph& graph, const std::vector<std::string>& names)
      : file_(file), graph_(graph), names_(names), written_(graph.tensors.size()) {
    for (const graph::Node& node : graph.nodes) {
      for (TensorId t : node.dst) written_[at(t == kNone ? 0 : t)] = written_[at(t == kNone ? 0 : t)] || t != kNone;
    }
  }

  void run() {
    const auto written = static_cast<std::size_t>(std::ranges::count(written_, true));
    const std::size_t first = graph_.tensors.size() - written;
    expect_count(first + graph_.nodes.size() + graph_.outputs.size());
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
      if (!written_[t]) compare_source(static_cast<TensorId>(t));
    }
    for (const graph::Node& node : graph_.nodes) compare_node(node, first);
    for (TensorId t : graph_.outputs) {
      expect({}, {t}, "output", names_[at(t)]);
      expect_primitive(-1);
      expect_layout(t, file_.problem.operations[next_].choices, true);
      ++next_;
    }
  }

 private:
  void expect_count(std::size_t count) const {
    if (file_.operations.size() == count) return;
    bad_item("certificate.operations",
             fmt::format("there are {}, but the model has {}", file_.operations.size(), count));
  }

  /// The next operation must read `src`, write `dst` and have the name `called`. `what` is the part of the model that
  /// it stands for, for messages.
  void expect(const std::vector<TensorId>& dst, const std::vector<TensorId>& src, const std::string& what,
              const std::string& called) const {
    const auto present = [](std::vector<TensorId> tensors) {
      std::erase(tensors, kNone);
      return tensors;
    };
    const proof::Operation& op = file_.problem.operations[next_];
    const JsonItem& item = file_.operations[next_];
    if (op.src != present(src) || op.dst != present(dst)) {
      bad_item(item.where, "reads or writes other tensors than the model's " + what);
    }
    const JsonItem is = item["name"];
    if (is.text() != called) bad_item(is.where, in_quotes(is.text()) + ", but " + in_quotes(called) + " in the model");
  }
  /// The next operation must be the primitive of that number, or with -1 no primitive.
  void expect_primitive(int number) const {
    const JsonItem& item = file_.operations[next_];
    const int is = item.has("primitive") ? item["primitive"].index(graph_.nodes.size()) : -1;
    if (is == number) return;
    bad_item(item.where, number < 0 ? "is a primitive, but is none in the model"
                                    : fmt::format("must be primitive {}, as in the model", number));
  }

  void compare_source(TensorId t) {
    const graph::Tensor& tensor = graph_.tensor(t);
    expect({t}, {}, (tensor.constant() ? "constant " : "input ") + in_quotes(tensor.name), names_[at(t)]);
    expect_primitive(-1);
    const JsonItem& item = file_.operations[next_];
    const bool constant = item.has("constant") && item["constant"].boolean();
    if (constant != tensor.constant())
      bad_item(item.where,
               std::string(constant ? "is a constant, but not" : "is no constant, but is one") + " in the model");
    expect_layout(t, file_.problem.operations[next_].choices, false);
    ++next_;
  }

  void compare_node(const graph::Node& node, std::size_t first) {
    expect(node.dst, node.src, std::string(name(node.kind)) + " " + in_quotes(node.name), node.name);
    expect_primitive(static_cast<int>(next_ - first));
    const int hint = file_.problem.operations[next_].hint;
    if (hint >= 0 && (node.hint == kNone || at(hint) != first + at(node.hint))) {
      bad_item(file_.operations[next_].where + ".hint",
               fmt::format("{} is not the forward node that the model names", hint));
    }
    ++next_;
  }

  /// Some layouts are fixed, and no choice may have another one: a constant is row-major, and an input or output has
  /// the layout that the model gives it, if any. `read`: the operation reads the tensor (an output of the model).
  void expect_layout(TensorId t, const std::vector<proof::Choice>& choices, bool read) const {
    const graph::Tensor& tensor = graph_.tensor(t);
    if (!tensor.constant() && !tensor.layout) return;
    const Layout fixed = tensor.constant() ? Layout::contiguous(tensor.dims) : *tensor.layout;
    const std::string wanted = graph::expression_of(fixed);
    const std::vector<JsonItem> places = file_.tensors[at(t)]["places"].list();
    for (const proof::Choice& choice : choices) {
      for (std::size_t p = 0; p < places.size(); ++p) {
        const bool there = read ? (choice.src[0] >> p & 1) != 0 : choice.dst[0] == static_cast<int>(p);
        if (!there || places[p].text() == wanted) continue;
        bad_item(places[p].where,
                 fmt::format("{} {} is in {}, but in {} in the model", read ? "the output" : "the input or constant",
                             in_quotes(tensor.name), in_quotes(places[p].text()), in_quotes(wanted)));
      }
    }
  }

  const CertificateFile& file_;
  const Graph& graph_;
  const std::vector<std::string>& names_;  // of tensors
  std::vector<bool> written_;
  std::size_t next_ = 0;
};

}  // namespace

void compare_model(const CertificateFile& file, const Graph& graph, const std::vector<std::string>& names) {
  if (file.names != names) bad_item("certificate.tensors", "must be those of the model, in its order");
  ModelComparison(file, graph, names).run();
}

}  // namespace relayout::tools::check
