// Plan::explain() and Plan::kernel(): a plan in words.
#include <string>

#include "relayout/core/format.h"
#include "relayout/core/print.h"
#include "relayout/reorder/outline/outline_words.h"

namespace relayout {
namespace {

constexpr std::size_t kMaxBoxesShown = 6;

std::string letters(int ndims) {
  std::string out;
  for (int d = 0; d < ndims; ++d) out += static_cast<char>('a' + d);
  return out;
}

std::string side(const char* name_of_side, const TensorDesc& desc) {
  const Layout& layout = desc.layout;
  const auto tag = tag_of(layout);
  std::string out = std::string("  ") + name_of_side + "  " + std::string(name(desc.dtype)) + " ";
  out += tag ? *tag : digits_text(layout, letters(layout.ndims()));
  if (layout.offset0() != 0) out += ", from offset " + std::to_string(layout.offset0());
  if (layout.padded()) out += ", padded to " + join(layout.padded_dims(), "x");
  return out + "\n";
}

std::string unit_text(int unit_bits, int64_t stride) {
  return std::to_string(stride) + (unit_bits == 8 ? " bytes" : " elements");
}

std::string step_text(const BoxOutline& box, int64_t src, int64_t dst) {
  return unit_text(box.unit_bits[0], src) + " -> " + unit_text(box.unit_bits[1], dst);
}

std::string axis_text(const BoxOutline& box, const OutlineAxis& axis) {
  if (axis.table) return std::to_string(axis.extent) + " steps by table";
  return std::to_string(axis.extent) + " steps of " + step_text(box, axis.src, axis.dst);
}

std::string box_text(const BoxOutline& box) {
  std::string out = "    " + plural(box.elements, "element") + ": " + box.kernel + "\n";
  const auto add_rests = [&](std::size_t behind) {
    for (const OutlineRest& rest : box.rests) {
      if (rest.behind == behind) out += "      rest  one more of " + step_text(box, rest.src, rest.dst) + "\n";
    }
  };
  add_rests(0);
  for (std::size_t a = 0; a < box.axes.size(); ++a) {
    const OutlineAxis& axis = box.axes[a];
    if (axis.role == OutlineAxis::Role::piece || (box.one_run && axis.role == OutlineAxis::Role::along_dst)) continue;
    out += "      " + std::string(name(axis.role)) + "  " + axis_text(box, axis) + "\n";
    add_rests(a + 1);
  }
  return out;
}

std::string tables_text(const std::vector<IndexTable>& tables, const char* moved) {
  std::string out;
  for (const IndexTable& table : tables) {
    const auto count = static_cast<int64_t>(table.entries().size());
    out += "        dim ";
    out += static_cast<char>('a' + table.dim());
    out += std::string(" is ") + moved + " through a table of " + plural(count, "entry", "entries");
    if (table.block() > 1) out += ", each for " + plural(table.block(), "index", "indices");
    out += "\n";
  }
  return out;
}

}  // namespace

std::string PlanData::kernel(const BoxPlan& box) const {
  if (const auto* tiles = box.as<TileRuns>(); tiles && tiles->by_lines()) return kernel(tiles->largest());
  if (const auto* lines = box.as<ProgrammedLines>()) {
    return "lines of " + std::to_string(lines->program->width) + " bytes by permutations, " +
           std::to_string(lines->program->windows_of_unit()) + " windows for " +
           std::to_string(lines->program->lines_of_unit()) + " lines";
  }
  const int64_t bytes = box.piece[kSrc];
  const std::string pieces = bytes == 0 ? "single elements" : std::to_string(bytes) + "-byte elements";
  std::string out;
  switch (box.shape()) {
    case KernelShape::copy:
      if (box.as<RepeatedRuns>()) {
        out = "repeat " + plural(bytes, "byte") + " in runs of " + plural(box.bytes_along_dst(), "byte");
        break;
      }
      out = "copy runs of " + plural(box.long_runs ? box.along_dst.count * bytes : bytes, "byte");
      break;
    case KernelShape::transpose: out = "transpose of " + pieces; break;
    case KernelShape::gather: out = (bytes == 0 ? "by way of bytes, " : "one by one, ") + pieces; break;
    case KernelShape::fill: return "fill";
  }
  if (box.as<RegisterTiles>()) out += " by tiles of registers";
  if (converts()) out = "convert, " + out;
  out += ", blocks of " + std::to_string(box.along_src.block) + " x " + std::to_string(box.along_dst.block);
  return box.ahead > 0 ? out + ", fetched " + plural(box.ahead, "byte") + " ahead" : out;
}

std::string PlanData::explain() const {
  const auto line = [](const std::string& words) { return words.empty() ? "" : "  " + words + "\n"; };
  std::string out = "reorder of " + (dims().empty() ? "a scalar" : join(dims(), "x")) + " (" +
                    plural(*checked_product(dims()), "element") + ")\n";
  out += side("from", src()) + tables_text(attributes().src_index, "read");
  out += side("to  ", dst()) + tables_text(attributes().dst_index, "written") + line(values_words(*this));
  if (dst().layout.empty() || *checked_product(dims()) == 0) return out + "  nothing to do";
  out += "  " + plural(static_cast<int64_t>(boxes().size()), "box", "boxes") + "\n";
  for (std::size_t i = 0; i < std::min(boxes().size(), kMaxBoxesShown); ++i)
    out += box_text(outline_of(*this, boxes()[i]));
  if (boxes().size() > kMaxBoxesShown) out += "    and " + std::to_string(boxes().size() - kMaxBoxesShown) + " more\n";
  out += line(padding_words(*this)) + line(store_words(*this));
  if (code()) out += "  done by " + plural(code()->bytes(), "byte") + " of machine code, generated for this plan\n";
  const Cost c = cost();
  return out + "  reads " + std::to_string(c.bytes_read) + " bytes, writes " + std::to_string(c.bytes_written);
}

}  // namespace relayout
