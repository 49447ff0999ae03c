// A box plan as values and words; what its method is called, and why it is taken, is in the method's header.
#include "relayout/reorder/outline/outline_words.h"

#include <algorithm>
#include <charconv>

#include "relayout/core/dtype.h"
#include "relayout/reorder/outline/move_walker.h"

namespace relayout {
namespace {

std::string stages_text(const std::vector<OutlineBuffer>& buffers) {
  std::string out;
  for (const OutlineBuffer& buffer : buffers) {
    out += (buffer.reads ? ", read in " : ", written in ") + plural(buffer.stretches, "stretch", "stretches") + " of " +
           std::to_string(buffer.run);
  }
  return out;
}

std::string tiles_text(const TileRuns& tiles) {
  if (tiles.by_lines()) {
    const auto runs = static_cast<int64_t>(tiles.runs.size());
    return runs == 1 ? "" : ", the largest of " + plural(runs, "run") + " that take turns";
  }
  int64_t boxes = 0, bytes = 0;
  for (const TileRun& run : tiles.runs) {
    boxes += static_cast<int64_t>(run.boxes.size());
    bytes += run.bytes;
  }
  return ", the largest of " + plural(boxes, "box", "boxes") + " that make a tile" +
         (bytes > 0 ? " of " + plural(bytes, "byte") : "");
}

OutlineAxis axis_of(const Axis& axis, OutlineAxis::Role role) {
  const bool table = axis.table >= 0;
  return {role, axis.extent, table ? 0 : axis.stride[kSrc], table ? 0 : axis.stride[kDst], table, {}};
}

/// Adds what is left at the end of a loop.
void add_rests(const Stages& stages, std::size_t loop, BoxOutline& out) {
  for (const Stages::Rest& rest : stages.rests) {
    if (rest.loop == loop) out.rests.push_back({out.axes.size(), rest.shift[kSrc], rest.shift[kDst]});
  }
}

/// The shortest text that reads back as the same number.
template <typename T>
std::string number(T value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

}  // namespace

int64_t elements_of_piece(const PlanData& plan, const BoxPlan& box) {
  if (box.as<Stages>() || box.as<TileRuns>() || box.as<ProgrammedLines>() || box.as<Fill>()) return 1;
  return std::max<int64_t>(1, piece_bits(box) / bits(plan.dst().dtype));
}

std::string plural(int64_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many.empty() ? one + "s" : many);
}

BoxOutline outline_of(const PlanData& plan, const BoxPlan& box) {
  BoxOutline out;
  const Told told = box.told();
  out.method = told.method;
  out.why = told.why;
  out.elements = box.elements;
  const auto* fill = box.as<Fill>();
  out.past_cache = box.past_cache || (fill && fill->past_cache) || box.as<TileRuns>() != nullptr;
  for (const Operand side : {kSrc, kDst}) out.unit_bits[side] = box.unit_bits[side];
  out.one_run = box.long_runs;
  out.block = {box.along_src.block, box.along_dst.block};
  out.region_blocks = {box.along_src.blocks, box.along_dst.blocks};
  out.blocks = box.blocks;
  if (const auto* stages = box.as<Stages>()) {
    out.unit = "chunk";
    if (stages->reads) out.buffers.push_back({true, stages->in.count, stages->in.run});
    if (stages->writes) out.buffers.push_back({false, stages->out.count, stages->out.run});
  }
  out.kernel = plan.kernel(box) + stages_text(out.buffers);
  if (const auto* tiles = box.as<TileRuns>()) {
    out.unit = "tile";
    out.kernel += tiles_text(*tiles);
  }
  const auto add_axis = [&](const OutlineAxis& axis) {
    if (axis.extent != 1) out.axes.push_back(axis);
  };
  for (std::size_t l = 0; l < box.loops.size(); ++l) {
    add_axis(axis_of(box.loops[l], OutlineAxis::Role::loop));
    if (const auto* stages = box.as<Stages>()) add_rests(*stages, l, out);
  }
  const auto add = [&](const Axes& axes, OutlineAxis::Role role) {
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) add_axis(axis_of(*axis, role));
  };
  add(box.along_src.axes, OutlineAxis::Role::along_src);
  add(box.along_dst.axes, OutlineAxis::Role::along_dst);
  add_axis({OutlineAxis::Role::piece, elements_of_piece(plan, box), 0, 0, false, {}});
  return out;
}

std::string values_words(const PlanData& plan) {
  const Attributes& a = plan.attributes();
  if (!plan.converts()) return "bits are moved, no value changes";
  std::string value = "src";
  if (!a.src_zero_point.values.empty()) value = "(src - src zero point)";
  if (!a.src_scale.values.empty()) value = "src scale * " + value;
  if (!a.mean.values.empty()) value += " - mean";
  if (a.beta != 0) value += " + " + number(a.beta) + " * dst";
  const bool is_sum = a.beta != 0 || !a.mean.values.empty();
  if (!a.dst_scale.values.empty()) value = (is_sum ? "(" + value + ")" : value) + " / dst scale";
  if (!a.dst_zero_point.values.empty()) value += " + dst zero point";
  return "dst = " + std::string(name(plan.dst().dtype)) + "(" + value +
         "), saturated where an integer, rounded to nearest even";
}

std::string padding_words(const PlanData& plan) {
  const Layout& layout = plan.dst().layout;
  const Padding& padding = plan.attributes().padding;
  if (!layout.padded()) return "";
  if (padding.kind == Padding::Kind::keep || !plan.attributes().dst_index.empty()) return "padding is kept as it is";
  return "padding: " + plural(layout.padded_elements() - layout.elements(), "element") + " set to " +
         padding.value.text();
}

std::string store_words(const PlanData& plan) {
  if (!plan.streams()) return "";
  return std::string("written past the cache, as ") +
         (plan.asked_for() ? "was asked for" : "that is expected to take less time");
}

}  // namespace relayout
