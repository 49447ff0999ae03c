// Where nodes, reorders and lines of plans go, and the drawing of one plan.
#include "relayout/show/plan_drawing.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "relayout/core/error.h"
#include "relayout/show/index.h"

namespace relayout::show {
namespace {

constexpr double kNodeWidth = 208, kNodeHeight = 52, kEndWidth = 170, kEndHeight = 36;
// A diamond, and beside it the words that say how many bytes it moves.
constexpr double kReorderWidth = 116, kReorderHeight = 30, kDiamond = 26;
// Places of reorders that a plan does not have are empty, so they are beside the lines.
constexpr double kReorderWeight = 0.02;
constexpr std::size_t kMostLetters = 30, kMostLettersOfEnds = 24;
constexpr double kPlanHead = 64;

/// Places for reorders are kept by tensor. A reorder of one plan takes the place that another plan has for the same
/// first reader, so that what is alike stands in the same place.
class Placer {
 public:
  explicit Placer(const PlanScene& scene) : scene_(scene) {
    check(scene);
    const ShownPlan& chosen = scene.plans[at(scene.chosen)];
    for (std::size_t n = 0; n < scene.nodes.size(); ++n)
      add_box({.kind = PlanBox::Kind::node, .number = static_cast<int>(n), .width = kNodeWidth, .height = kNodeHeight});
    for (const auto& [kind, count] : {std::pair{PlanBox::Kind::input, chosen.inputs.size()},
                                      std::pair{PlanBox::Kind::output, chosen.outputs.size()}}) {
      first_[kind] = static_cast<int>(out_.boxes.size());
      for (std::size_t i = 0; i < count; ++i)
        add_box({.kind = kind, .number = static_cast<int>(i), .width = kEndWidth, .height = kEndHeight});
    }
  }

  PlacedPlans place() {
    for (std::size_t p = 0; p < scene_.plans.size(); ++p) {
      out_.fillings.emplace_back();
      if (scene_.plans[p].has_plan()) fill(static_cast<int>(p));
    }
    std::vector<LayeredNode> nodes;
    for (const PlanBox& box : out_.boxes)
      nodes.push_back({box.width, box.height, box.kind == PlanBox::Kind::reorder ? kReorderWeight : 1});
    const Layered drawn = layered(nodes, edges_);
    for (std::size_t b = 0; b < out_.boxes.size(); ++b) {
      out_.boxes[b].x = drawn.nodes[b].x;
      out_.boxes[b].y = drawn.nodes[b].y;
    }
    for (std::size_t e = 0; e < edges_.size(); ++e) out_.lines[e].points = drawn.lines[e];
    out_.width = drawn.width;
    out_.height = drawn.height;
    return std::move(out_);
  }

 private:
  struct Place {
    int box = 0, first_reader = 0;
  };

  int add_box(const PlanBox& box) {
    out_.boxes.push_back(box);
    return static_cast<int>(out_.boxes.size()) - 1;
  }

  int box_of(const PlanFacts::Reader& reader) const {
    return reader.output ? first_.at(PlanBox::Kind::output) + reader.number : reader.number;
  }

  /// The box that a copy comes out of; -1 of constants.
  int source_box(const PlanFacts& facts, const std::map<int, int>& reorder_boxes, int copy) const {
    const PlanFacts::Made& made = facts.made(copy);
    switch (made.maker) {
      case PlanFacts::Maker::node: return made.number;
      case PlanFacts::Maker::input: return first_.at(PlanBox::Kind::input) + made.number;
      case PlanFacts::Maker::reorder: {
        const auto found = reorder_boxes.find(copy);
        return found == reorder_boxes.end() ? -1 : found->second;
      }
      default: return -1;
    }
  }

  /// The place of a reorder: behind `after`, a place of the same tensor or -1, and not in `taken`.
  int place_of(int tensor, int first_reader, int after, const std::set<int>& taken) {
    std::vector<Place>& places = places_[tensor];
    for (const Place& place : places) {
      if (place.first_reader == first_reader && place.box > after && !taken.contains(place.box)) return place.box;
    }
    const int box =
        add_box({.kind = PlanBox::Kind::reorder, .number = tensor, .width = kReorderWidth, .height = kReorderHeight});
    places.push_back({box, first_reader});
    return box;
  }

  /// The first box that reads a copy, at once or through further reorders.
  int first_reader(const PlanFacts& facts, const std::vector<std::vector<int>>& made_of, int copy) const {
    int first = static_cast<int>(out_.boxes.size());
    std::vector<int> left = {copy};
    while (!left.empty()) {
      const int next = left.back();
      left.pop_back();
      for (const PlanFacts::Reader& reader : facts.readers(next)) first = std::min(first, box_of(reader));
      left.insert(left.end(), made_of[at(next)].begin(), made_of[at(next)].end());
    }
    return first;
  }

  void fill(int p) {
    const PlanFacts facts(scene_, p);
    const ShownPlan& plan = facts.plan();
    std::vector<std::vector<int>> made_of(plan.copies.size());
    for (const int reorder : facts.reorders()) made_of[at(plan.copies[at(reorder)].from)].push_back(reorder);
    std::map<int, int> reorder_boxes;
    std::map<int, std::set<int>> taken;
    // What a reorder is made of comes before it.
    std::vector<int> left;
    for (const int reorder : facts.reorders()) {
      if (facts.made(plan.copies[at(reorder)].from).maker != PlanFacts::Maker::reorder) left.push_back(reorder);
    }
    for (std::size_t next = 0; next < left.size(); ++next) {
      const int reorder = left[next], from = plan.copies[at(reorder)].from, tensor = plan.copies[at(reorder)].tensor;
      const auto before = reorder_boxes.find(from);
      const int box = place_of(tensor, first_reader(facts, made_of, reorder),
                               before == reorder_boxes.end() ? -1 : before->second, taken[tensor]);
      taken[tensor].insert(box);
      reorder_boxes[reorder] = box;
      out_.fillings.back().reorders.push_back({box, reorder});
      left.insert(left.end(), made_of[at(reorder)].begin(), made_of[at(reorder)].end());
    }
    for (std::size_t c = 0; c < plan.copies.size(); ++c) {
      const auto copy = static_cast<int>(c);
      const int source = source_box(facts, reorder_boxes, copy);
      if (source == -1) continue;
      for (const PlanFacts::Reader& reader : facts.readers(copy)) flow(source, box_of(reader), copy, plan);
      for (const int reorder : made_of[c]) flow(source, reorder_boxes.at(reorder), copy, plan);
    }
  }

  void flow(int from, int to, int copy, const ShownPlan& plan) {
    const int tensor = plan.copies[at(copy)].tensor;
    const auto [known, added] = lines_.try_emplace({from, to, tensor}, static_cast<int>(out_.lines.size()));
    if (added) {
      out_.lines.push_back({from, to});
      const int net = nets_.try_emplace({from, tensor}, static_cast<int>(nets_.size())).first->second;
      edges_.push_back({.from = from, .to = to, .net = net, .port = tensor});
    }
    out_.fillings.back().flows.push_back({known->second, copy});
  }

  const PlanScene& scene_;
  PlacedPlans out_;
  std::map<PlanBox::Kind, int> first_;
  std::map<int, std::vector<Place>> places_;  // by tensor
  std::map<std::tuple<int, int, int>, int> lines_;
  std::map<std::pair<int, int>, int> nets_;
  std::vector<LayeredEdge> edges_;
};

std::string shape_words(const ShownTensor& tensor) {
  const std::string dims = join(tensor.dims, "x");
  return (dims.empty() ? "scalar" : dims) + " " + tensor.dtype;
}

const ShownTensor& tensor_of(const PlanScene& scene, const ShownPlan& plan, int copy) {
  return scene.tensors[at(plan.copies[at(copy)].tensor)];
}

/// The sentences that browsers show at the pointer.
std::string box_title(const PlanScene& scene, const PlanFacts& facts, const PlanBox& box, int copy) {
  const ShownPlan& plan = facts.plan();
  if (box.kind == PlanBox::Kind::reorder) {
    const ShownCopy& to = plan.copies[at(copy)];
    return "reorder of " + tensor_of(scene, plan, copy).name + ": " + plan.copies[at(to.from)].form + " to " + to.form +
           (to.bytes ? ", " + bytes_words(*to.bytes) : "") + (to.us ? ", " + microseconds_words(*to.us) : "") + "\n" +
           to.reason + "\n" + facts.source_words(copy);
  }
  std::string out;
  for (const std::string& line : box_words(scene, facts, box, copy)) out += (out.empty() ? "" : "\n") + line;
  if (box.kind != PlanBox::Kind::node) return out;
  const ShownStep& step = plan.steps[at(box.number)];
  out = scene.nodes[at(box.number)].name + "\n" + step.implementation;
  for (const auto* operands : {&step.src, &step.dst}) {
    for (const int number : *operands) {
      if (number == -1) continue;
      out += std::string("\n") + (operands == &step.src ? "reads " : "writes ") + tensor_of(scene, plan, number).name +
             " " + shape_words(tensor_of(scene, plan, number)) + " " + plan.copies[at(number)].form;
    }
  }
  return out;
}

class Artist {
 public:
  Artist(const PlanScene& scene, int plan)
      : scene_(scene),
        placed_(placed_plans(scene)),
        facts_(scene, plan),
        filling_(placed_.fillings[at(plan)]),
        forms_(forms_of(scene)),
        out_(std::max(placed_.width, 640.0), placed_.height + kPlanHead,
             scene.title + ", policy " + facts_.plan().policy) {}

  Drawing draw() {
    head();
    // Each line on a darker one, which sets it off from the paper.
    for (const bool casing : {true, false}) {
      for (const PlanFilling::Flow& flow : filling_.flows) {
        std::vector<DrawnPoint> points = placed_.lines[at(flow.line)].points;
        for (DrawnPoint& where : points) where.y += kPlanHead;
        out_.add(Line{.points = curved_path(points),
                      .stroke = casing ? std::string(kRule) : colour(flow.copy),
                      .width = casing ? 4.5 : 2.5});
      }
    }
    std::map<int, int> copies;  // by the box of a reorder
    for (const PlanFilling::Reorder& reorder : filling_.reorders) copies[reorder.box] = reorder.copy;
    for (std::size_t b = 0; b < placed_.boxes.size(); ++b) {
      const PlanBox& box = placed_.boxes[b];
      const auto reorder = copies.find(static_cast<int>(b));
      if (box.kind == PlanBox::Kind::reorder && reorder == copies.end()) continue;
      add(box, reorder == copies.end() ? -1 : reorder->second);
    }
    return std::move(out_);
  }

 private:
  std::string colour(int copy) const { return form_colour(forms_, facts_.plan().copies[at(copy)].form); }

  /// The title, the totals and the legend.
  void head() {
    const ShownPlan& plan = facts_.plan();
    out_.add(Words{.x = 16, .y = 22, .words = shortened(out_.title(), 90), .size = 14, .bold = true});
    std::string totals = std::to_string(facts_.reorders().size()) + " reorders";
    if (plan.reorder_bytes) totals += ", " + bytes_words(*plan.reorder_bytes);
    if (plan.predicted_us) totals += "; predicted " + microseconds_words(*plan.predicted_us);
    if (plan.measured_us) totals += "; measured " + microseconds_words(*plan.measured_us);
    out_.add(Words{.x = 16, .y = 40, .words = totals, .fill = std::string(kFaint)});
    std::set<std::string> used;
    for (const PlanFilling::Flow& flow : filling_.flows) used.insert(plan.copies[at(flow.copy)].form);
    double x = 16;
    for (const std::string& form : forms_) {
      if (!used.contains(form) || x > out_.width() - 150) continue;
      const std::string words = shortened(form, 24);
      out_.add(Box{.x = x, .y = 48, .width = 14, .height = 12, .fill = form_colour(forms_, form), .radius = 2});
      out_.add(Words{.x = x + 18, .y = 58, .words = words, .size = 11});
      x += 36 + 6.6 * static_cast<double>(words.size());
    }
  }

  void add(const PlanBox& box, int copy) {
    const double y = box.y + kPlanHead;
    out_.add(Titled{box_title(scene_, facts_, box, copy)});
    const std::vector<std::string> words = box_words(scene_, facts_, box, copy);
    if (box.kind == PlanBox::Kind::reorder) {
      const double half = kDiamond / 2, left = box.x + box.width / 2 - half, middle = y + box.height / 2;
      out_.add(Line{.points = "M" + point(left + half) + " " + point(middle - half) + "L" + point(left + kDiamond) +
                              " " + point(middle) + "L" + point(left + half) + " " + point(middle + half) + "L" +
                              point(left) + " " + point(middle) + "Z",
                    .width = 2,
                    .fill = colour(copy)});
      out_.add(Words{.x = left + kDiamond + 5, .y = middle + 4, .words = words.empty() ? "" : words[0], .size = 10});
    } else {
      const bool node = box.kind == PlanBox::Kind::node;
      const std::string form = node ? facts_.form_of(box.number) : facts_.plan().copies[at(end_copy(box))].form;
      out_.add(Box{.x = box.x,
                   .y = y,
                   .width = box.width,
                   .height = box.height,
                   .fill = form.empty() ? std::string(kPlain) : form_colour(forms_, form),
                   .stroke = std::string(node && facts_.plan().steps[at(box.number)].reference ? kInk : kRule),
                   .radius = node ? 4.0 : box.height / 2});
      double line = y + (node ? 16 : 15);
      for (std::size_t i = 0; i < words.size(); ++i, line += 14) {
        out_.add(Words{.x = box.x + box.width / 2,
                       .y = line,
                       .words = words[i],
                       .size = i == 0 ? 12.0 : 10.5,
                       .anchor = Anchor::middle,
                       .bold = i == 0});
      }
    }
    out_.add(Ended{});
  }

  int end_copy(const PlanBox& box) const {
    const ShownPlan& plan = facts_.plan();
    return (box.kind == PlanBox::Kind::input ? plan.inputs : plan.outputs)[at(box.number)];
  }

  const PlanScene& scene_;
  const PlacedPlans placed_;
  const PlanFacts facts_;
  const PlanFilling& filling_;
  const std::vector<std::string> forms_;
  Drawing out_;
};

}  // namespace

PlacedPlans placed_plans(const PlanScene& scene) { return Placer(scene).place(); }

std::vector<std::string> box_words(const PlanScene& scene, const PlanFacts& facts, const PlanBox& box, int copy) {
  const ShownPlan& plan = facts.plan();
  switch (box.kind) {
    case PlanBox::Kind::node: {
      const ShownNode& node = scene.nodes[at(box.number)];
      const ShownStep& step = plan.steps[at(box.number)];
      const std::string form = facts.form_of(box.number), time = step.us ? "  " + microseconds_words(*step.us) : "";
      return {shortened(node.name, kMostLetters - 2),
              shortened(node.kind + (form.empty() ? "" : "  " + form), kMostLetters),
              shortened(step.implementation, kMostLetters - time.size()) + time};
    }
    case PlanBox::Kind::reorder: {
      const ShownCopy& to = plan.copies[at(copy)];
      return {to.bytes ? bytes_words(*to.bytes) : ""};
    }
    default: {
      const bool input = box.kind == PlanBox::Kind::input;
      const int number = (input ? plan.inputs : plan.outputs)[at(box.number)];
      const std::string& name = input ? tensor_of(scene, plan, number).name : scene.outputs[at(box.number)];
      return {shortened(name, kMostLettersOfEnds), (input ? "input  " : "output  ") + plan.copies[at(number)].form};
    }
  }
}

Drawing plan_drawing(const PlanScene& scene, int plan) { return Artist(scene, plan).draw(); }

}  // namespace relayout::show
