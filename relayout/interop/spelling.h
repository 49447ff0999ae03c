// Spellings: a tensor's layout in the words of each system, as text to paste into a program of that system.
//
//     const TensorDesc desc(Format::parse("nhwc").bind({2, 3, 5, 4}), DType::f32);
//     spelling("pytorch", desc).text;    // torch.empty_strided((2, 3, 5, 4), (60, 1, 12, 3), dtype=torch.float32)
//     spelling("tvm", desc).text;        // NHWC
//     spelling("mace", desc).refusal;    // MACE has no image of this layout: ...
//
// The texts are made by each system's own file, by the function code() of its namespace, whose comment says what the
// text is and what it assumes. To add a system: write its file and its line in kSystems (spelling.cc).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "relayout/core/layout.h"

namespace relayout {

struct Spelling {
  std::string_view system;
  /// What to paste; several lines where one does not say it. Empty where the system cannot say the layout.
  std::string text{};
  /// Why it cannot, naming the dim and the number that stand in the way; empty where it can.
  std::string refusal{};
};

/// The systems, in alphabetical order.
std::span<const std::string_view> systems();

/// A layout in the words of one system. `letters` name the dims, as Format::dim_names() gives them, for C's parameters
/// and TVM's axes; without them these are i0, i1, ... and those of activations. Error{invalid_argument} lists the
/// systems where there is none of this name, and suggests one that is near.
Spelling spelling(std::string_view system, const TensorDesc& desc, std::string_view letters = {});

}  // namespace relayout
