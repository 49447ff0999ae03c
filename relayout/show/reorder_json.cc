// Reorders as JSON: outlines, and moves as short lists of numbers.
#include "relayout/show/escape.h"
#include "relayout/show/reorder_view.h"

namespace relayout::show {
namespace {

std::string number(int64_t value) { return std::to_string(value); }

template <typename List, typename Text>
std::string listed(const List& items, const Text& text) {
  std::string out = "[";
  for (const auto& item : items) out += (out.size() == 1 ? "" : ",") + text(item);
  return out + "]";
}

std::string numbers(const Dims& values) { return listed(values, number); }

std::string axis_json(const OutlineAxis& axis, const Layout& dst, const std::string& letters) {
  const auto part = [](const OutlineAxis::Part& p) {
    return "[" + number(p.dim) + "," + number(p.place) + "," + number(p.extent) + "]";
  };
  return "{\"role\":\"" + std::string(name(axis.role)) + "\",\"words\":" + json_quoted(axis_words(axis, dst, letters)) +
         ",\"extent\":" + number(axis.extent) + ",\"src\":" + number(axis.src) + ",\"dst\":" + number(axis.dst) +
         ",\"table\":" + (axis.table ? "true" : "false") + ",\"parts\":" + listed(axis.parts, part) + "}";
}

std::string buffer_json(const OutlineBuffer& buffer) {
  return std::string("{\"side\":\"") + (buffer.reads ? "src" : "dst") + "\",\"stretches\":" + number(buffer.stretches) +
         ",\"run\":" + number(buffer.run) + "}";
}

std::string rest_json(const OutlineRest& rest) {
  return "[" + number(static_cast<int64_t>(rest.behind)) + "," + number(rest.src) + "," + number(rest.dst) + "]";
}

std::string outline_json(const BoxOutline& box, const BoxWords& words, const Layout& dst, const std::string& letters) {
  const auto axis = [&](const OutlineAxis& a) { return axis_json(a, dst, letters); };
  const auto line = [](const NestLine& nest) {
    return "[" + number(nest.depth) + "," + json_quoted(nest.words) + "," + json_quoted(nest.steps) + "]";
  };
  return "{\"heading\":" + json_quoted(words.heading) + ",\"method\":" + json_quoted(box.method) +
         ",\"why\":" + json_quoted(box.why) + ",\"kernel\":" + json_quoted(box.kernel) +
         ",\"elements\":" + number(box.elements) + ",\"past_cache\":" + (box.past_cache ? "true" : "false") +
         ",\"unit_bits\":[" + number(box.unit_bits[0]) + "," + number(box.unit_bits[1]) + "],\"unit\":\"" + box.unit +
         "\",\"block\":[" + number(box.block[0]) + "," + number(box.block[1]) + "],\"region_blocks\":[" +
         number(box.region_blocks[0]) + "," + number(box.region_blocks[1]) + "],\"blocks\":" + number(box.blocks) +
         ",\"first\":" + numbers(box.first) + ",\"origin\":" + numbers(box.origin) +
         ",\"extents\":" + numbers(box.extents) + ",\"axes\":" + listed(box.axes, axis) +
         ",\"buffers\":" + listed(box.buffers, buffer_json) + ",\"rests\":" + listed(box.rests, rest_json) +
         ",\"nest\":" + listed(words.nest, line) + "}";
}

std::string loop_json(const FoldedLoop& loop) {
  return "[" + number(loop.times) + "," + number(loop.src) + "," + number(loop.dst) + "," + number(loop.block) + "]";
}

std::string moves_json(const FoldedMoves& moves) {
  return "[" + number(moves.src) + "," + number(moves.dst) + "," + number(moves.count) + "," +
         (moves.fill ? "1" : "0") + "," + listed(moves.loops, loop_json) + "]";
}

std::string blocks_json(const FoldedBlocks& blocks) {
  return "[" + number(blocks.box) + "," + number(blocks.block) + "," + number(blocks.src) + "," + number(blocks.dst) +
         "," + listed(blocks.loops, loop_json) + "," + listed(blocks.moves, moves_json) + "]";
}

}  // namespace

std::string reorder_json(const ReorderView& view, const Layout& dst, const std::string& letters) {
  const ReorderWords words = reorder_words(view, dst, letters);
  std::size_t next = 0;
  const auto box = [&](const BoxOutline& b) { return outline_json(b, words.boxes[next++], dst, letters); };
  std::string out = "{\"summary\":" + json_quoted(words.summary) + ",\"values\":" + json_quoted(view.values) +
                    ",\"padding\":" + json_quoted(view.padding) + ",\"store\":" + json_quoted(view.store);
  out += ",\"boxes\":" + listed(view.boxes, box);
  out += ",\"fills\":" + listed(view.fills, box);
  out += ",\"more\":" + number(view.more) + ",\"complete\":" + (view.complete ? "true" : "false");
  return out + ",\"blocks\":" + listed(view.blocks, blocks_json) + "}";
}

}  // namespace relayout::show
