// What a box plan is called, and why it is done this way: one function a method, as its header says it.
#include "relayout/reorder/outline/outline_words.h"

#include <algorithm>
#include <charconv>

#include "relayout/core/dtype.h"
#include "relayout/reorder/outline/move_walker.h"

namespace relayout {
namespace {

struct Words {
  std::string method, why;
};

/// Writes the words of a box.
class Explainer {
 public:
  Explainer(const PlanData& plan, const BoxPlan& box) : plan_(plan), box_(box) {}

  Words operator()(const LongCopy&) const {
    return {"copy runs", "runs of " + bytes(box_.bytes_along_dst()) +
                             " follow each other on both sides, so that each is "
                             "copied by itself"};
  }
  Words operator()(const RepeatedRuns&) const {
    return {"repeat",
            "the source does not step along the innermost axis of the destination, so that one piece fills a "
            "run"};
  }
  Words operator()(const CopiedPieces&) const {
    return {"copy pieces", bytes(box_.piece[kDst]) +
                               " follow each other on both sides, too few to be copied by "
                               "themselves"};
  }
  Words operator()(const Transposition&) const { return {"transpose", kTransposes}; }
  Words operator()(const Gather&) const {
    return {"gather", "elements follow each other on at most one side, so that they are moved one by one"};
  }
  Words operator()(const RegisterTiles&) const {
    return {"transpose by tiles of registers",
            "runs are short on both sides, so that squares of 16 by 16 bytes are transposed in registers"};
  }
  Words operator()(const ProgrammedLines&) const {
    return {"line program",
            "the lines of the destination hold bytes of a few lines of the source, so that each is put "
            "together by permutations of bytes"};
  }
  Words operator()(const SubByte&) const {
    return {"unpack and pack", "elements of " + std::to_string(bits(plan_.dst().dtype)) +
                                   " bits do not start at whole bytes, so that they are unpacked, moved and packed"};
  }
  Words operator()(const Fill&) const { return {"fill", "padding of the destination is set to a value"}; }
  Words operator()(const ConvertedRuns&) const {
    return {"convert runs", "runs follow each other on both sides, so that values are converted from run to run"};
  }
  Words operator()(const ConvertedTransposition&) const { return {"convert and transpose", kTransposes}; }
  Words operator()(const ConvertedElements& method) const {
    if (method.runs)
      return {"convert pieces", "only a few values follow each other on both sides, so that they go by a buffer"};
    return {"convert one by one", "values follow each other on at most one side, so that they go by a buffer"};
  }
  Words operator()(const Stages& method) const {
    const std::string sides = method.reads && method.writes ? "both sides are"
                              : method.reads                ? "the source is read"
                                                            : "the destination is written";
    return {"stages", sides + (method.reads && method.writes ? " reached" : "") +
                          " in long stretches by way of the cache, and elements change places there"};
  }
  Words operator()(const TileRuns& tiles) const {
    if (tiles.by_lines()) {
      return {"line programs",
              "several boxes write to the same lines of the destination, so that each run of it is put together by "
              "permutations of bytes, and runs that read the same lines take turns"};
    }
    return {"tiles",
            "several boxes write to the same lines of the destination, so that each line is written once, tile "
            "by tile"};
  }

 private:
  static constexpr const char* kTransposes =
      "rows follow each other in the source and columns in the destination, so that squares are transposed";

  static std::string bytes(int64_t count) { return plural(count, "byte"); }

  const PlanData& plan_;
  const BoxPlan& box_;
};

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
  Words words = std::visit(Explainer(plan, box), box.method);
  out.method = std::move(words.method);
  out.why = std::move(words.why);
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
