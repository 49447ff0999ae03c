// Systems whose layouts are a list of names: "cudnn:NC/32HW32" (not for users).
//
//     constexpr SystemName kNames[] = {{"NHWC", "nhwc"}, {"NC/4HW4", "nChw4c"}};
//     const NamedSystem& cudnn() { ... {"cudnn", "cuDNN", kNames} ... }
//
// A file of this folder is a system: its table, with the source of each name, and nothing else where a tag says all. To
// add one: write that file, declare its function here, and give it a line in kNotations (../list.cc). The names
// then are layout expressions, are offered for misspelt words, and are found by names_of() (interop/names_elsewhere.h).
#pragma once

#include <span>
#include <string_view>

#include "relayout/core/notations/notation.h"

namespace relayout {

/// A name of a layout and what it means.
struct SystemName {
  std::string_view name;
  std::string_view layout;        // a tag
  std::string_view letters = "";  // of the dims, where the tag does not name them
  bool one_image = false;         // N must be 1
};

struct NamedSystem {
  std::string_view name;   // "cudnn", before the colon
  std::string_view title;  // "cuDNN", in messages
  std::span<const SystemName> names;
};

/// Reads one of the system's names, which is all that stands behind the colon. An error lists the names.
Spelled read_name(NotationText& text, const NamedSystem& system);

/// The same as a function of the text alone, for the list of notations.
template <const NamedSystem& (*system)()>
Spelled read_system(NotationText& text) {
  return read_name(text, system());
}

namespace systems {

const NamedSystem& cudnn();
const NamedSystem& mnn();
const NamedSystem& ncnn();
const NamedSystem& tflite();
const NamedSystem& tnn();

}  // namespace systems
}  // namespace relayout
