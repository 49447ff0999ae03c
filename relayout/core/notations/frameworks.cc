// The notations that are tags in other letters: tvm, acl and mace. Those that are lists of names are in systems/.
//
//     tvm:NCHW16c      nChw16c       capitals are outer, a number and a small letter is a block
//     acl:OHWIo8i4     OhwI8o4i      Arm Compute Library: outputs interleaved by 8, inputs in blocks of 4
#include <algorithm>

#include "relayout/core/format.h"
#include "relayout/core/letters.h"
#include "relayout/core/notations/notation.h"
#include "relayout/core/tag_names.h"

namespace relayout {
/// Source: TVM, include/tvm/tir/data_layout.h.
Spelled read_tvm(NotationText& text) {
  const std::size_t first = text.at();
  const TvmAxes axes = read_tvm_axes(text);
  const auto order = logical_order(axes.outer);
  if (!order) text.fail(first, "these letters are the dims of no domain, so that their logical order is not known");
  return spelled_tvm(axes, *order);
}

TvmAxes read_tvm_axes(NotationText& text) {
  TvmAxes out;
  if (text.done()) text.fail("the axes are missing, for example NCHW16c");
  while (!text.done()) {
    const std::size_t at = text.at();
    const char ch = text.peek();
    if (is_capital(ch)) {
      if (!out.blocks.empty()) text.fail("a capital behind a block, so that the block is not innermost");
      if (out.outer.find(small_letter(ch)) != std::string::npos) text.fail("this dim stands here a second time");
      out.outer += small_letter(ch);
      text.take(ch);
      continue;
    }
    const bool number = ch >= '0' && ch <= '9';
    if (!number) text.fail("expected a capital, or a block: a number and a small letter");
    const int64_t size = text.number("block", 1);
    const char letter = text.peek();
    if (letter < 'a' || letter > 'z') text.fail("expected the small letter of the block's dim");
    if (out.outer.find(letter) == std::string::npos) text.fail("a block of a dim that is not among the capitals");
    if (size > kMaxBlock) text.fail(at, "a block of over " + std::to_string(kMaxBlock));
    if (out.blocks.size() == static_cast<std::size_t>(kMaxBlocks))
      text.fail(at, "more than " + std::to_string(kMaxBlocks) + " blocks");
    text.take(letter);
    out.blocks.emplace_back(letter, size);
  }
  return out;
}

Spelled spelled_tvm(const TvmAxes& axes, std::string_view order) {
  Spelled out;
  out.names = order;
  const auto generic = [&](char letter) { return static_cast<char>('a' + order.find(letter)); };
  for (const char letter : axes.outer) {
    const bool blocked = std::ranges::any_of(axes.blocks, [&](const auto& block) { return block.first == letter; });
    out.tag += static_cast<char>(generic(letter) + (blocked ? 'A' - 'a' : 0));
  }
  for (const auto& [letter, size] : axes.blocks) out.tag += std::to_string(size) + generic(letter);
  return out;
}

/// Source: Arm Compute Library, arm_compute/core/CoreTypes.h (WeightFormat): outputs are interleaved by the number
/// behind o, and inputs stand in blocks of the number behind i, innermost.
Spelled read_acl(NotationText& text) {
  const std::size_t first = text.at();
  const std::string_view order = text.letters();
  Spelled out;
  if (order == "OHWI") out.tag = "ohwi";
  if (order == "OIHW") out.tag = "oihw";
  if (order == "HWIO") out.tag = "hwio";
  if (!out.tag.empty()) return out;
  if (order != "OHWIo") text.fail(first, "Arm's weights are OHWI, OIHW, HWIO or OHWIo and a number, as OHWIo8i4");
  const auto block = [&] {
    const std::size_t at = text.at();
    const int64_t size = text.number("block", 1);
    if (size > kMaxBlock) text.fail(at, "a block of over " + std::to_string(kMaxBlock));
    return std::to_string(size);
  };
  const std::string outputs = block();
  const bool blocked = text.take('i');
  out.tag = (blocked ? "OhwI" : "Ohwi") + outputs + "o";
  if (blocked) out.tag += block() + "i";
  if (text.take("_bf16")) text.fail("_bf16 says the elements' type, which a layout does not have; leave it out");
  return out;
}

Spelled read_mace(NotationText& text) {
  const std::size_t at = text.at();
  const std::string word = "mace:" + std::string(text.all());
  for (const auto& [mace_name, mace_tag] : mace_names()) {
    if (word != mace_name) continue;
    Spelled out;
    out.tag = mace_tag;
    if (mace_tag.find('m') != std::string_view::npos) out.limit = DimLimit{0, 1, 1};  // a depthwise filter's multiplier
    return out;
  }
  std::string near;
  for (const std::string& name : names_near(word)) near += (near.empty() ? "" : ", ") + name;
  text.fail(at, "MACE has no such image" + (near.empty() ? "" : "\n  did you mean " + near + "?"));
}

}  // namespace relayout
