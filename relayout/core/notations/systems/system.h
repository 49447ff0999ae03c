// Systems whose layouts are a list of names: "cudnn:NC/32HW32" (not for users).
//
//     constexpr SystemName kNames[] = {{"NHWC", "nhwc"}, {"NC/4HW4", "nChw4c"}};
//     const NamedSystem& cudnn() { ... {"cudnn", "cuDNN", kNames} ... }
//
// A file of this folder is a system: its table, with the source of each name, and nothing else where a tag says all. To
// add one: write that file, declare its function here, and give it a line in kNotations (../list.cc). A name that means
// another tag for another rank, or for other extents, has a line in the table for each, one behind the other. The names
// then are layout expressions, are listed by `relayout tags --system`, are offered for misspelt words, and are found by
// names_of() (interop/names_elsewhere.h).
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "relayout/core/dtype.h"
#include "relayout/core/notations/notation.h"

namespace relayout {

/// A name of a layout and what it means.
struct SystemName {
  std::string_view name;
  std::string_view layout;        // a tag, with ";align=" too, formulas of digits ("digits:(A,B)|(B,1)"), "contiguous"
  std::string_view letters = "";  // of the dims, where the tag does not name them
  int bytes = 0;                  // a '$' in the tag stands for the elements that so many bytes hold
  std::optional<DimLimit> limit{};  // the extents that a dim must have
  std::string_view places = "";     // of the tag's blocks, a figure each: Spelled::places
};

struct NamedSystem {
  std::string_view name;   // "cudnn", before the colon
  std::string_view title;  // "cuDNN", in messages
  std::span<const SystemName> names;
  /// The type of elements where a name depends on it and none is given behind it: "ascend:NC1HWC0:s8".
  DType type = DType::f32;
};

/// What one line of a table means for elements of the type.
Spelled spelled_name(const SystemName& name, DType type);

/// Reads one of the system's names, with a colon and a type behind it where it depends on the type. An error lists the
/// names.
Spelled read_name(NotationText& text, const NamedSystem& system);

/// The same as a function of the text alone, for the list of notations.
template <const NamedSystem& (*system)()>
Spelled read_system(NotationText& text) {
  return read_name(text, system());
}

namespace systems {

const NamedSystem& amx();
const NamedSystem& ascend();
const NamedSystem& audio();
const NamedSystem& cublaslt();
const NamedSystem& cudnn();
const NamedSystem& executorch();
const NamedSystem& mnn();
const NamedSystem& ncnn();
const NamedSystem& tenstorrent();
const NamedSystem& tensorrt();
const NamedSystem& tflite();
const NamedSystem& tnn();
const NamedSystem& vllm();
const NamedSystem& vnni();
const NamedSystem& yuv();

}  // namespace systems
}  // namespace relayout
