// The lines that oneDNN prints with ONEDNN_VERBOSE=2 (or dnnl_set_verbose): their tensors as layouts, and layouts as
// their text. No header of oneDNN is needed.
//
//     const TensorDesc src = onednn::from_verbose("src_f32:p:blocked:aBcd16b:f0", {2, 17, 5, 4});
//     onednn::to_verbose(src, "src", {2, 6});     // src_f32:p:blocked:aBcd16b:f0
//     onednn::to_verbose(src, "src", {3, 7});     // src:f32:p:blocked:aBcd16b::f0
//
//     const onednn::VerboseLine line = onednn::parse_verbose_line(
//         "onednn_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:abcd:f0 dst_f32:p:blocked:aBcd16b:f0,,,"
//         "2x17x5x4,0.01");
//     line.primitive;                             // reorder
//     onednn::tensor_of(line.tensors[1]);         // aBcd16b of 2 x 17 x 5 x 4, f32
//
// A tensor is written in three ways, by version:
//
//     oneDNN 2.x to 3.1    name_type:properties:kind:tag:extra
//     oneDNN 3.2 to 3.5    name_type:properties:kind:tag:strides:extra
//     from oneDNN 3.6 on   name:type:properties:kind:tag:strides:extra
//
// `properties` are letters: a (the user left the format to the primitive), p (padded), o (padded offsets), 0 (an
// offset0). `tag` has the dims in the order of their strides. `strides` is empty where the elements and their padding
// leave no gaps. `extra` begins with flags, f0 for none. A text says less than a descriptor: it has no dims, which
// stand in the line's problem field, no offset, and before oneDNN 3.2 no strides, so that a tensor of those versions is
// taken for one without gaps.
//
// Source: oneDNN's documentation page "Verbose Mode", and what the libraries 2.6.3, 3.2 and 3.13 print; the test
// `onednn` compares with the library that is installed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout::onednn {

/// A version of oneDNN. The ways in which it writes a tensor changed with 3.2, 3.6 and 3.7, where a stride of 0 came to
/// stand outermost.
struct LibraryVersion {
  int major = 3, minor = 7;
  friend auto operator<=>(const LibraryVersion&, const LibraryVersion&) = default;
};

/// Which of the three ways above.
enum class VerboseSyntax : uint8_t { without_strides, with_strides, name_apart };
VerboseSyntax syntax_of(LibraryVersion version);

/// One tensor of a line, as it is written.
struct VerboseTensor {
  VerboseSyntax syntax = VerboseSyntax::without_strides;
  std::string name{};         // the argument: src, wei, bia, dst, data, src_layer, diff_src ...
  std::string data_type{};    // f32 ..., undef where there is no such tensor
  std::string properties{};   // of the letters a p o 0
  std::string format_kind{};  // blocked, any, undef, wino, rnn_packed, opaque, sparse ...
  /// Of a blocked tensor the tag in letters, or "*" for runtime strides; of another one what stands in its place.
  std::string tag{};
  /// "480x160x32x8" in numbers of elements, as in the text; empty where there are no gaps.
  std::string strides{};
  std::string extra{};  // f0, f1:s8m1, f8:zpm1 ...; empty where it is not written
  std::string mask{};   // of a matmul's bias: in which dims it has more than one element

  /// The dims, where the line says them.
  std::optional<Dims> dims{};

  friend bool operator==(const VerboseTensor&, const VerboseTensor&) = default;
};

/// Reads one tensor's text. Error{parse} names the field that is wrong.
VerboseTensor parse_verbose_tensor(std::string_view text);
/// The text again: to_text(parse_verbose_tensor(text)) == text.
std::string to_text(const VerboseTensor& tensor);

/// The layout as an expression (core/format.h): the tag, "strides:..." where there are strides and no blocks,
/// "digits:..." where there are strides and blocks and the dims are known. Empty where there is none: of a tensor that
/// tensor_of() refuses, whose text does not say its offset (property 0), or whose tag or strides are malformed. No
/// errors.
std::string expression_of(const VerboseTensor& tensor);

/// The tensor as a layout and a type. `offset0`, which no text says, is needed where the properties have a 0, and is
/// then not 0 itself. Errors: unsupported (any, undef, opaque kinds, runtime dims or strides, compensation and other
/// extra flags, padded offsets, an offset that is not given, a type that has no name here; named), invalid_argument (no
/// dims; dims or strides of another rank; properties that contradict the dims or the offset), parse (a tag or strides
/// that are malformed).
TensorDesc tensor_of(const VerboseTensor& tensor, std::optional<int64_t> offset0 = {});
/// The same for other dims than the line's.
TensorDesc tensor_of(const VerboseTensor& tensor, const Dims& dims, std::optional<int64_t> offset0 = {});
/// The same of a text.
TensorDesc from_verbose(std::string_view text, const Dims& dims, std::optional<int64_t> offset0 = {});

/// A tensor as that version of oneDNN writes it. Errors as to_onednn().
VerboseTensor verbose_tensor(const TensorDesc& desc, std::string_view name, LibraryVersion version);
std::string to_verbose(const TensorDesc& desc, std::string_view name, LibraryVersion version);

/// A line about a primitive: one that was run or created.
struct VerboseLine {
  std::string marker{"onednn_verbose"};  // dnnl_verbose before oneDNN 2.6
  std::string version{};                 // of the format: "" before oneDNN 3.6, then "v1"
  std::string timestamp{};               // with ONEDNN_VERBOSE_TIMESTAMP=1, milliseconds; else empty
  std::string api{};                     // "primitive" from oneDNN 3.3 on
  std::string operation{};  // exec, create:cache_miss, create_nested:cache_hit (inside another primitive) ...
  std::string engine{}, primitive{}, implementation{}, propagation{};
  std::vector<VerboseTensor> tensors{};
  std::string attributes{}, auxiliary{};
  /// The problem in the words of oneDNN's benchdnn: 2x17x5x4, mb1_ic3oc64_ih224oh112kh7sh2dh0ph3 ...
  std::string problem{};
  std::string time{};  // milliseconds

  /// The tensor of that name; of several (binary, concat, sum) the one with that number. Error{invalid_argument} lists
  /// the names.
  const VerboseTensor& tensor(std::string_view name, int number = 0) const;

  friend bool operator==(const VerboseLine&, const VerboseLine&) = default;
};

/// Reads a line. Its tensors get dims where the problem says them, which is nearly everywhere, but neither runtime dims
/// nor those of the destination of a convolution that a depthwise one is fused to, nor the mask's of attention. A
/// primitive that is not known here is read as any other, and its tensors have no dims.
/// Errors: parse (no line of oneDNN, or a field that is wrong, which is named), unsupported (a line about something
/// else than a primitive, such as info or graph; a creation that failed).
VerboseLine parse_verbose_line(std::string_view line);
/// The text again, without a line break.
std::string to_text(const VerboseLine& line);

/// Calls `take(number, line)` for each line of oneDNN in what a program printed, with its number from 1 on. What stands
/// in front of the marker, as a logger's time or a rank, is left out; a line with two markers, as two threads or a
/// missing line break make them, counts as two of that number; lines without a marker are the program's own.
void for_each_verbose_line(std::string_view text, const std::function<void(int64_t, std::string_view)>& take);

/// What a program printed: oneDNN's lines about primitives, each with its number, and oneDNN's other lines (info,
/// graph, failed creations, lines that are cut off) with the reason why parse_verbose_line() refuses them.
struct VerboseLog {
  struct Other {
    int64_t number = 0;
    std::string text{}, why{};
  };
  std::vector<std::pair<int64_t, VerboseLine>> lines{};
  std::vector<Other> others{};
};
VerboseLog read_verbose_log(std::string_view text);

}  // namespace relayout::onednn
