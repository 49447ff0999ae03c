// PlanScene: what is shown of the layout plans of a model, as one value for all writers: a page, a drawing, text, and
// the file of another viewer.
//
// It has no types of graphs, so that a plan from memory (graph/optimize/plan_scene.h) and one from a file are shown
// alike. What follows from it, as who makes a copy and who reads it, is in PlanFacts.
//
//     plan_html(scene)                // a page that a browser opens from disk
//     svg(plan_drawing(scene, 0))     // plan_drawing.h
//     plan_text(scene, true)          // for a terminal
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "relayout/core/extents.h"

namespace relayout::show {

struct ShownTensor {
  std::string name;
  Dims dims;
  std::string dtype;
};

/// A primitive of the model; the same under all policies.
struct ShownNode {
  std::string name, kind;
  std::string pass = {};
  std::vector<std::string> post_ops = {};  // merged into it: "relu (n7)"
};

/// A tensor in one layout. Numbers that are not known are left out; no number is infinite.
struct ShownCopy {
  int tensor = 0;
  /// The layout as people call it, and what colours go by: "nChw16c".
  std::string form;
  /// The exact layout expression, where it says more than the form: strides, and offsets in the memory of another copy.
  std::string exact = {};
  int from = -1;     // the copy that a reorder makes this one of, or -1
  int view_of = -1;  // the copy in whose memory it lies, or -1
  /// Of a reorder: why it is there, the bytes that it reads and writes, and its time in microseconds.
  std::string reason = {};
  std::optional<int64_t> bytes = {};
  std::optional<double> us = {};
};

/// How a node is computed; src and dst are copies by number, -1 where an operand is absent.
struct ShownStep {
  std::string implementation;
  std::vector<int> src = {}, dst = {};
  std::optional<double> us = {};
  bool reference = false, rounds_more = false;
};

/// A plan by one policy, or why there is none.
struct ShownPlan {
  std::string policy;
  std::string problem = {};
  std::optional<double> predicted_us = {}, cost_us = {}, measured_us = {};
  std::optional<int64_t> reorders = {}, reorder_bytes = {}, load_reorders = {};
  /// One step for each node; empty where only the totals are known, or nothing.
  std::vector<ShownStep> steps = {};
  std::vector<ShownCopy> copies = {};
  std::vector<int> inputs = {}, outputs = {};  // copies

  bool has_plan() const { return !steps.empty(); }
};

struct PlanScene {
  std::string title;
  std::string backend = {}, prices = {};  // "onednn 2.6.3"; "analytic" or "measured"
  std::vector<ShownTensor> tensors = {};
  std::vector<ShownNode> nodes = {};
  std::vector<std::string> outputs = {};  // names
  std::vector<ShownPlan> plans = {};
  int chosen = 0;                       // the plan that is shown first, which is one that has_plan()
  std::vector<std::string> notes = {};  // sentences that concern all
};

/// Errors: invalid_argument where a number names no tensor, no copy or no plan, a plan has another number of steps than
/// nodes, inputs or outputs than the chosen one, or copies are made of each other in a circle.
void check(const PlanScene& scene);

/// What follows from one plan.
class PlanFacts {
 public:
  /// Of a scene that check() has passed, which must stay.
  PlanFacts(const PlanScene& scene, int plan);

  enum class Maker : uint8_t { constant, input, node, reorder };
  struct Made {
    Maker maker = Maker::constant;
    int number = 0;  // of the input, of the node, or of the copy that a reorder reads
  };
  /// A node, or an output, that reads a copy.
  struct Reader {
    bool output = false;
    int number = 0;
    friend bool operator==(const Reader&, const Reader&) = default;
  };

  const ShownPlan& plan() const { return plan_; }
  const Made& made(int copy) const { return made_[static_cast<std::size_t>(copy)]; }
  const std::vector<Reader>& readers(int copy) const { return readers_[static_cast<std::size_t>(copy)]; }
  /// Reorders of each run that something reads, and those of constants, which run once at load; by copy.
  const std::vector<int>& reorders() const { return reorders_; }
  const std::vector<int>& load_reorders() const { return load_reorders_; }
  /// Whether a copy is a constant's, or made of one.
  bool constant(int copy) const;

  /// "The source is nChw8c because n0 (convolution) writes it; n3 keeps it." Whole sentences about where the layout of
  /// the copy that a reorder reads comes from.
  std::string source_words(int reorder) const;
  /// The form of a node's first destination, which colours it; "" where it has none.
  std::string form_of(int node) const;

 private:
  const ShownCopy& copy(int number) const { return plan_.copies[static_cast<std::size_t>(number)]; }
  std::string node_words(int node) const;

  const PlanScene& scene_;
  const ShownPlan& plan_;
  std::vector<Made> made_;
  std::vector<std::vector<Reader>> readers_;
  std::vector<int> reorders_, load_reorders_;
};

/// The forms of all plans' data, those of most copies first: their place is their colour. Those of constants, which no
/// node writes, come last.
std::vector<std::string> forms_of(const PlanScene& scene);
/// The role of a form's colour in drawings: a series, of which the last is all that come later.
std::string form_colour(const std::vector<std::string>& forms, const std::string& form);

/// "12.3 us", "4.56 ms"; "3.8 KiB".
std::string microseconds_words(double us);
std::string bytes_words(int64_t bytes);
/// At most `most` characters, with an ellipsis in the middle where there are more.
std::string shortened(const std::string& text, std::size_t most);

/// Policies with their totals, reorders by their cost, and nodes, for a terminal.
std::string plan_text(const PlanScene& scene, bool colour);

}  // namespace relayout::show
