// Tensors in the words in which programs print them: PyTorch's and NumPy's shapes and strides, oneDNN's lines, headers
// of safetensors files. The command, Python and pages read them wherever they take a layout expression.
//
//     tensor_in_text("torch (1,64,5,4) strides (1280,1,256,64)")
//         // strides:1280,1,256,64 of dims 1,64,5,4
//     tensor_in_text("np.ndarray(shape=(2, 3), dtype=np.float64, buffer=buf, strides=(8, 16))")
//         // strides:1,2 of dims 2,3, f64
//     tensor_in_text("src_f32:p:blocked:aBcd16b:f0 2x17x5x4")
//         // aBcd16b of dims 2,17,5,4, f32
//     tensor_in_text("dst of onednn_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:abcd:f0 "
//                    "dst_f32:p:blocked:aBcd16b:f0,,,2x17x5x4,0.01")
//         // aBcd16b of dims 2,17,5,4, f32
//     tensors_in_text(R"({"w":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]}})")
//         // w: contiguous of dims 2,3, f16
//
// An array is `torch` or `numpy` (`np`), which may be a name behind a point (torch.empty_strided), and lists in
// brackets: the shape and the strides, in this order or behind "shape" (size, sizes, dims) and "strides" (stride). A
// type may stand anywhere, "offset" is followed by a number, and words and signs between them are passed over, so that
// what spelling("pytorch") and spelling("numpy") write is read again. Strides and offset count elements for PyTorch and
// bytes for NumPy, which is why NumPy's text must say the type. Without strides an array is row-major.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/core/error.h"
#include "relayout/core/layout.h"

namespace relayout {

/// A tensor that a text describes.
struct TextTensor {
  /// "dst", "model.embed.weight"; the second of a name is "src 1". Empty where the text has one tensor without a name.
  std::string name{};
  /// Of core/format.h, and its dims before any views. No dims: the text does not say them.
  std::string expression{};
  std::optional<Dims> dims{};
  std::optional<DType> dtype{};
  /// Why the tensor has no layout; the fields above but its name are then empty.
  std::optional<Error> problem{};
};

/// Whether a text begins as one of these, also behind "NAME of ". No layout expression does.
bool is_tensor_text(std::string_view text);

/// All tensors of a text, in its order. Errors: parse, unsupported, invalid_argument, as the systems' own readers have
/// them (onednn_verbose.h, files/json_walk.h); parse where it is none of these texts.
std::vector<TextTensor> tensors_in_text(std::string_view text);

/// The one tensor of a text, or with "NAME of " in front of the text the one of that name. Errors: those above, the
/// tensor's problem, and invalid_argument, which lists the names, where the text has several or none of this name.
TextTensor tensor_in_text(std::string_view text);

/// A layout as people type it: an expression or a text as above, and dims and type where these are said apart.
struct TypedLayout {
  std::string text{};
  std::optional<std::string> dims{}, dtype{};
};

/// The same with an expression for its text. What the text says of dims and type is filled in; nothing changes where it
/// is no text as above. Errors: those of tensor_in_text(); invalid_argument where dims or type are given and the text
/// says others.
TypedLayout in_expressions(TypedLayout typed);

}  // namespace relayout
