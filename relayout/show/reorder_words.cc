// A reorder in words: which indices a box covers, its nest, and what its axes are.
#include "relayout/show/reorder_view.h"

namespace relayout::show {
namespace {

std::string letter(const std::string& letters, int dim) { return letters.substr(static_cast<std::size_t>(dim), 1); }

std::string counted(int64_t count, const std::string& one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

std::string stride_words(const BoxOutline& box, const OutlineAxis& axis) {
  if (axis.role == OutlineAxis::Role::piece) return "";
  if (axis.table) return "by a table";
  const auto unit = [](int bits) { return bits == 8 ? std::string(" bytes") : std::string(" elements"); };
  if (box.method == "fill") return std::to_string(axis.dst) + unit(box.unit_bits[1]);
  const bool same = (box.unit_bits[0] == 8) == (box.unit_bits[1] == 8);
  return std::to_string(axis.src) + (same ? "" : unit(box.unit_bits[0])) + " -> " + std::to_string(axis.dst) +
         unit(box.unit_bits[1]);
}

/// What the blocks of a box are: their sizes, and their order.
std::string blocks_words(const BoxOutline& box) {
  if (box.unit != "block") return counted(box.blocks, box.unit) + ", one at a time";
  const auto [along_src, along_dst] = box.region_blocks;
  std::string out = "blocks of " + std::to_string(box.block[0]) + " along the source x " +
                    std::to_string(box.block[1]) + " along the destination: ";
  if (along_src * along_dst == 1) return out + "one";
  if (along_dst == 1) return out + std::to_string(along_src) + ", along the source";
  if (along_src == 1) return out + std::to_string(along_dst) + ", along the destination";
  return out + std::to_string(along_src) + " x " + std::to_string(along_dst) + ", along the source first";
}

std::string buffers_words(const BoxOutline& box) {
  std::string out;
  for (const OutlineBuffer& buffer : box.buffers) {
    out += std::string(out.empty() ? "" : "; ") + (buffer.reads ? "read" : "written") + " by way of the cache in " +
           std::to_string(buffer.stretches) + (buffer.stretches == 1 ? " stretch of " : " stretches of ") +
           counted(buffer.run, "element");
  }
  return out;
}

BoxWords box_words(const BoxOutline& box, const std::string& heading, const Layout& dst, const std::string& letters) {
  BoxWords out{heading + ": " + counted(box.elements, "element")};
  if (const std::string covered = covered_words(box, letters); !covered.empty()) out.heading += ", " + covered;
  out.lines = {{"method", box.method}, {"why", box.why}};
  if (box.method != "fill") out.lines.emplace_back("kernel", box.kernel);
  out.lines.emplace_back("stored", box.past_cache ? "past the cache, in whole lines" : "through the cache");
  if (!box.buffers.empty()) out.lines.emplace_back("buffers", buffers_words(box));
  out.nest = nest_lines(box, dst, letters);
  return out;
}

}  // namespace

std::string axis_words(const OutlineAxis& axis, const Layout& dst, const std::string& letters) {
  std::string out;
  for (auto part = axis.parts.rbegin(); part != axis.parts.rend(); ++part) {
    const int64_t place = part->place < 0 ? -part->place : part->place;
    out += (part->place < 0 ? "-" : "") + letter(letters, part->dim);
    if (place > 1) out += "/" + std::to_string(place);
    // Digits are told from whole dims, and from what a dim has outside of all blocks.
    if (place > 0 && place * part->extent < dst.dim(part->dim) && axis.parts.size() == 1)
      out += "%" + std::to_string(part->extent);
    if (part + 1 != axis.parts.rend() && out.size() > 1) out += " ";
  }
  return out;
}

std::string covered_words(const BoxOutline& box, const std::string& letters) {
  std::string out;
  for (int d = 0; d < box.origin.size(); ++d) {
    const int64_t first = box.origin[d], last = first + box.extents[d] - 1;
    out += (d == 0 ? "" : ", ") + letter(letters, d) + " " + std::to_string(first) +
           (last > first ? ".." + std::to_string(last) : "");
  }
  return out;
}

std::vector<NestLine> nest_lines(const BoxOutline& box, const Layout& dst, const std::string& letters) {
  static constexpr const char* kRoles[] = {"", "rows ", "columns ", "piece "};
  std::vector<NestLine> out;
  int depth = 0;
  bool blocks = false;
  const auto block_line = [&] {
    if (!std::exchange(blocks, true)) out.push_back({blocks_words(box), "", depth++});
  };
  for (const OutlineAxis& axis : box.axes) {
    if (axis.role != OutlineAxis::Role::loop) block_line();
    const std::string what = axis_words(axis, dst, letters), role = kRoles[static_cast<std::size_t>(axis.role)];
    out.push_back({"for " + role + (what.empty() ? "" : what + " ") + "in 0.." + std::to_string(axis.extent - 1),
                   stride_words(box, axis), depth++});
  }
  block_line();
  return out;
}

ReorderWords reorder_words(const ReorderView& view, const Layout& dst, const std::string& letters) {
  ReorderWords out;
  for (const std::string& words : {view.values, view.padding, view.store}) {
    if (!words.empty()) out.summary += (out.summary.empty() ? "" : "; ") + words;
  }
  if (view.boxes.empty()) out.summary += "; nothing is moved";
  const auto add = [&](const std::vector<BoxOutline>& boxes, const std::string& one) {
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      const std::string number =
          boxes.size() == 1 ? "" : " " + std::to_string(i + 1) + " of " + std::to_string(boxes.size());
      out.boxes.push_back(box_words(boxes[i], one + number, dst, letters));
    }
  };
  add(view.boxes, "box");
  add(view.fills, "padding");
  return out;
}

}  // namespace relayout::show
