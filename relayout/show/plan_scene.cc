// Scenes of plans: what is wrong with them, and what follows from one plan.
#include "relayout/show/plan_scene.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "relayout/core/error.h"
#include "relayout/show/drawing.h"
#include "relayout/show/index.h"

namespace relayout::show {
namespace {

[[noreturn]] void bad_scene(const std::string& what) {
  throw Error(ErrorCode::invalid_argument, "show: the plan " + what, "plan");
}

void check_number(int number, std::size_t end, bool may_be_absent, const std::string& what) {
  if ((number == -1 && may_be_absent) || (number >= 0 && at(number) < end)) return;
  bad_scene("names " + what + " " + std::to_string(number) + ", of which there are " + std::to_string(end));
}

/// Refuses copies that are made of each other in a circle.
void check_circles(const ShownPlan& plan) {
  // 0: not seen, 1: on the way, 2: good.
  std::vector<uint8_t> seen(plan.copies.size());
  for (std::size_t c = 0; c < plan.copies.size(); ++c) {
    std::vector<int> way;
    int next = static_cast<int>(c);
    while (next != -1 && seen[at(next)] == 0) {
      seen[at(next)] = 1;
      way.push_back(next);
      next = plan.copies[at(next)].from;
    }
    if (next != -1 && seen[at(next)] == 1)
      bad_scene("has copy " + std::to_string(next) + " made of itself by reorders");
    for (const int passed : way) seen[at(passed)] = 2;
  }
}

void check_plan(const PlanScene& scene, const ShownPlan& plan, const ShownPlan& chosen) {
  const std::string of = "of the policy " + escaped(plan.policy);
  if (plan.steps.size() != scene.nodes.size()) {
    bad_scene(of + " has " + std::to_string(plan.steps.size()) + " steps for " + std::to_string(scene.nodes.size()) +
              " nodes");
  }
  if (plan.inputs.size() != chosen.inputs.size() || plan.outputs.size() != chosen.outputs.size())
    bad_scene(of + " has other inputs or outputs than the one of " + escaped(chosen.policy));
  const std::size_t copies = plan.copies.size();
  for (const ShownCopy& copy : plan.copies) {
    check_number(copy.tensor, scene.tensors.size(), false, "tensor");
    check_number(copy.from, copies, true, "copy");
    check_number(copy.view_of, copies, true, "copy");
  }
  for (const ShownStep& step : plan.steps) {
    for (const int number : step.src) check_number(number, copies, true, "copy");
    for (const int number : step.dst) check_number(number, copies, true, "copy");
  }
  for (const int number : plan.inputs) check_number(number, copies, false, "copy");
  for (const int number : plan.outputs) check_number(number, copies, false, "copy");
  check_circles(plan);
}

}  // namespace

void check(const PlanScene& scene) {
  check_number(scene.chosen, scene.plans.size(), false, "plan");
  const ShownPlan& chosen = scene.plans[at(scene.chosen)];
  if (!chosen.has_plan()) bad_scene("has no steps");
  if (chosen.outputs.size() != scene.outputs.size()) {
    bad_scene("has " + std::to_string(chosen.outputs.size()) + " outputs and " + std::to_string(scene.outputs.size()) +
              " names of outputs");
  }
  for (const ShownPlan& plan : scene.plans) {
    if (plan.has_plan()) check_plan(scene, plan, chosen);
  }
}

PlanFacts::PlanFacts(const PlanScene& scene, int plan)
    : scene_(scene), plan_(scene.plans[at(plan)]), made_(plan_.copies.size()), readers_(plan_.copies.size()) {
  for (std::size_t i = 0; i < plan_.inputs.size(); ++i)
    made_[at(plan_.inputs[i])] = {Maker::input, static_cast<int>(i)};
  for (std::size_t n = 0; n < plan_.steps.size(); ++n) {
    const auto number = static_cast<int>(n);
    for (const int dst : plan_.steps[n].dst) {
      if (dst != -1) made_[at(dst)] = {Maker::node, number};
    }
    for (const int src : plan_.steps[n].src) {
      if (src == -1 || std::ranges::find(readers_[at(src)], Reader{false, number}) != readers_[at(src)].end()) continue;
      readers_[at(src)].push_back({false, number});
    }
  }
  for (std::size_t o = 0; o < plan_.outputs.size(); ++o)
    readers_[at(plan_.outputs[o])].push_back({true, static_cast<int>(o)});
  for (std::size_t c = 0; c < plan_.copies.size(); ++c) {
    if (plan_.copies[c].from != -1) made_[c] = {Maker::reorder, plan_.copies[c].from};
  }
  for (std::size_t c = 0; c < plan_.copies.size(); ++c) {
    if (made_[c].maker != Maker::reorder) continue;
    (constant(static_cast<int>(c)) ? load_reorders_ : reorders_).push_back(static_cast<int>(c));
  }
}

bool PlanFacts::constant(int number) const {
  while (made(number).maker == Maker::reorder) number = made(number).number;
  return made(number).maker == Maker::constant;
}

std::string PlanFacts::node_words(int node) const {
  return scene_.nodes[at(node)].kind + " " + scene_.nodes[at(node)].name;
}

std::string PlanFacts::source_words(int reorder) const {
  int source = copy(reorder).from;
  const std::string form = copy(source).form;
  std::vector<std::string> keep;  // nodes that pass the layout on, from the last to the first
  for (std::size_t steps = 0; steps <= plan_.steps.size(); ++steps) {
    const Made& by = made(source);
    if (by.maker != Maker::node) break;
    const std::vector<int>& src = plan_.steps[at(by.number)].src;
    const auto same = std::ranges::find_if(
        src, [&](int number) { return number != -1 && !constant(number) && copy(number).form == form; });
    if (same == src.end()) break;
    keep.push_back(scene_.nodes[at(by.number)].name);
    source = *same;
  }
  const Made& by = made(source);
  std::string out = "The source is " + form + " because ";
  const std::string& tensor = scene_.tensors[at(copy(source).tensor)].name;
  if (by.maker == Maker::input) out += "the model's input " + tensor + " has that layout";
  if (by.maker == Maker::node)
    out += node_words(by.number) + " (" + plan_.steps[at(by.number)].implementation + ") writes it";
  if (by.maker == Maker::reorder) out += "a reorder of " + tensor + " has made it so before";
  if (by.maker == Maker::constant) out += "the constant " + tensor + " is stored so";
  if (keep.empty()) return out + ".";
  std::string names = keep.back();
  if (keep.size() > 2) names += " ... (" + std::to_string(keep.size() - 2) + " more)";
  if (keep.size() > 1) names += " and " + keep.front();
  return out + "; " + names + (keep.size() > 1 ? " keep it." : " keeps it.");
}

std::string PlanFacts::form_of(int node) const {
  for (const int dst : plan_.steps[at(node)].dst) {
    if (dst != -1) return copy(dst).form;
  }
  return "";
}

std::vector<std::string> forms_of(const PlanScene& scene) {
  std::map<std::string, int64_t> data, constants;
  for (std::size_t p = 0; p < scene.plans.size(); ++p) {
    if (!scene.plans[p].has_plan()) continue;
    const PlanFacts facts(scene, static_cast<int>(p));
    for (std::size_t c = 0; c < scene.plans[p].copies.size(); ++c)
      ++(facts.constant(static_cast<int>(c)) ? constants : data)[scene.plans[p].copies[c].form];
  }
  std::vector<std::string> out;
  for (const auto* counts : {&data, &constants}) {
    std::vector<std::pair<int64_t, std::string>> sorted;
    for (const auto& [form, count] : *counts) sorted.emplace_back(-count, form);
    std::ranges::sort(sorted);
    for (const auto& [count, form] : sorted) {
      if (std::ranges::find(out, form) == out.end()) out.push_back(form);
    }
  }
  return out;
}

std::string form_colour(const std::vector<std::string>& forms, const std::string& form) {
  const auto place = std::ranges::find(forms, form) - forms.begin();
  return series(std::min<int64_t>(place, kSeries - 1));
}

std::string microseconds_words(double us) {
  static constexpr std::array<const char*, 3> kUnits = {"us", "ms", "s"};
  std::size_t unit = 0;
  for (; std::abs(us) >= 999.5 && unit < 2; ++unit) us /= 1000;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g %s", us, kUnits[unit]);
  return text.data();
}

std::string bytes_words(int64_t bytes) {
  static constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return std::to_string(bytes) + " bytes";
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit < 5; ++unit) value /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", value, kUnits[unit]);
  return text.data();
}

std::string shortened(const std::string& text, std::size_t most) {
  std::vector<std::size_t> begins;  // of characters
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) begins.push_back(i);
  }
  if (begins.size() <= most || most < 3) return text;
  const std::size_t head = most / 2, tail = most - head - 1;
  return text.substr(0, begins[head]) + "\xE2\x80\xA6" + text.substr(begins[begins.size() - tail]);
}

}  // namespace relayout::show
