// The notations that are tags in other letters: tvm, cudnn, mnn, ncnn, tnn, tflite, acl and mace.
//
//     tvm:NCHW16c      nChw16c       capitals are outer, a number and a small letter is a block
//     cudnn:NC/32HW32  nChw32c       CUDNN_TENSOR_NCHW_VECT_C with 32 channels a vector
//     mnn:C4NHW4       Cnhw4c        what MNN's CPU and Metal kernels do with NC4HW4
//     tflite:HDWC4     h C/4 w 4c    TensorFlow Lite GPU: D are the slices of four channels
//     acl:OHWIo8i4     OhwI8o4i      Arm Compute Library: outputs interleaved by 8, inputs in blocks of 4
#include <algorithm>

#include "relayout/core/format.h"
#include "relayout/core/letters.h"
#include "relayout/core/nearest.h"
#include "relayout/core/notations/notation.h"
#include "relayout/core/tag_names.h"

namespace relayout {
namespace {

/// A name of a format and the tag that it is.
struct Name {
  std::string_view name;
  std::string_view tag;
  std::string_view letters;  // of the dims, where the tag does not name them
  bool one_image = false;    // N must be 1
};

/// Filters have their own letters: K outputs, C inputs, R rows and S columns of the filter.
constexpr Name kCudnn[] = {
    {"NCHW", "nchw", ""},      {"NHWC", "nhwc", ""},         {"NCDHW", "ncdhw", ""},       {"NDHWC", "ndhwc", ""},
    {"NC/4HW4", "nChw4c", ""}, {"NC/32HW32", "nChw32c", ""}, {"KCRS", "oihw", ""},         {"KRSC", "ohwi", ""},
    {"CRSK", "ihwo", ""},      {"KC/4RS4", "oIhw4i", ""},    {"KC/32RS32", "oIhw32i", ""},
};
constexpr Name kMnn[] = {{"NCHW", "nchw", ""},
                         {"NHWC", "nhwc", ""},
                         {"NC4HW4", "nChw4c", ""},
                         {"C4NHW4", "Bacd4b", "nchw"},
                         {"NHWC4", "acdB4b", "nchw"}};
constexpr Name kNcnn[] = {
    {"NC4HW4", "nChw4c", "", true}, {"NC8HW8", "nChw8c", "", true}, {"NC16HW16", "nChw16c", "", true}};
constexpr Name kTnn[] = {{"NCHW", "nchw", ""},        {"NHWC", "nhwc", ""},     {"NHWC4", "acdB4b", "nchw"},
                         {"NC2HW2", "nChw2c", ""},    {"NC4HW4", "nChw4c", ""}, {"NC8HW8", "nChw8c", ""},
                         {"NC16HW16", "nChw16c", ""}, {"NCDHW", "ncdhw", ""},   {"NHC4W4", "nh|Cw4c", ""}};
constexpr Name kTflite[] = {{"BHWC", "acdb", "nchw"},
                            {"DHWC4", "aBcd4b", "nchw", true},
                            {"HWDC4", "acdB4b", "nchw", true},
                            {"HDWC4", "acBd4b", "nchw", true}};

/// One of a list of names, each of which is the whole text.
Spelled read_name(NotationText& text, std::string_view system, std::span<const Name> names) {
  const std::size_t at = text.at();
  const std::string_view word = text.all();
  const auto found = std::ranges::find(names, word, &Name::name);
  if (found == names.end()) {
    std::string list;
    std::vector<std::string_view> known;
    for (const Name& name : names) {
      list += (list.empty() ? "" : ", ") + std::string(name.name);
      known.push_back(name.name);
    }
    text.fail(at, std::string(system) + " has no such format; there are " + list + did_you_mean(word, known));
  }
  Spelled out;
  out.tag = found->tag;
  out.names = found->letters;
  if (found->one_image) out.unit_dim = 0;
  return out;
}

}  // namespace

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

/// Source: the cuDNN API's cudnnTensorFormat_t and its page on layouts.
Spelled read_cudnn(NotationText& text) {
  if (text.rest() == "NCHW_VECT_C")
    text.fail("CUDNN_TENSOR_NCHW_VECT_C has 4 or 32 channels a vector, by its type: NC/4HW4 or NC/32HW32");
  return read_name(text, "cuDNN", kCudnn);
}

/// Source: MNN, schema/default/Tensor.fbs and docs. NC4HW4 is what its name says; the kernels of MNN for CPUs and Metal
/// lay such a tensor out as C4NHW4, which is the same for one image. NHWC4 has channels rounded up to a multiple of 4.
Spelled read_mnn(NotationText& text) { return read_name(text, "MNN", kMnn); }

/// Source: ncnn, src/mat.h. A Mat has no batch, and a channel of its packed form (elempack 4, 32-bit elements) needs no
/// gap to begin at a multiple of 16 bytes.
Spelled read_ncnn(NotationText& text) { return read_name(text, "ncnn", kNcnn); }

/// Source: TNN, include/tnn/core/common.h (DataFormat) and core/blob.cc. NHC4W4 is the image of its OpenCL device.
Spelled read_tnn(NotationText& text) { return read_name(text, "TNN", kTnn); }

/// Source: TensorFlow Lite, delegates/gpu/api.h (DataLayout). D is the number of slices of four channels.
Spelled read_tflite(NotationText& text) { return read_name(text, "TensorFlow Lite GPU", kTflite); }

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

std::vector<std::string> notation_names() {
  const std::pair<std::string_view, std::span<const Name>> lists[] = {
      {"cudnn:", kCudnn}, {"mnn:", kMnn}, {"ncnn:", kNcnn}, {"tflite:", kTflite}, {"tnn:", kTnn}};
  std::vector<std::string> out;
  for (const auto& [system, names] : lists) {
    for (const Name& name : names) out.push_back(std::string(system) + std::string(name.name));
  }
  for (const auto& [name, tag] : mace_names()) out.emplace_back(name);
  return out;
}

Spelled read_mace(NotationText& text) {
  const std::size_t at = text.at();
  const std::string word = "mace:" + std::string(text.all());
  for (const auto& [mace_name, mace_tag] : mace_names()) {
    if (word != mace_name) continue;
    Spelled out;
    out.tag = mace_tag;
    if (mace_tag.find('m') != std::string_view::npos) out.unit_dim = 0;  // a depthwise filter's multiplier
    return out;
  }
  std::string near;
  for (const std::string& name : names_near(word)) near += (near.empty() ? "" : ", ") + name;
  text.fail(at, "MACE has no such image" + (near.empty() ? "" : "\n  did you mean " + near + "?"));
}

}  // namespace relayout
