// The modes of CuTe's layouts as lists of digits, and the errors of its algebra (shared by cute*.cc).
#pragma once

#include <string>
#include <vector>

#include "relayout/core/layout.h"

namespace relayout::cute {

/// Modes or digits, leftmost (innermost) first.
using Modes = std::vector<Digit>;

/// "3:32".
inline std::string mode_text(const Digit& digit) {
  return std::to_string(digit.extent) + ":" + std::to_string(digit.stride);
}

/// Error{unsupported}.
[[noreturn]] void refuse(const std::string& operation, const std::string& why, const std::string& field,
                         const std::string& value, const std::string& limit);

/// Error{unsupported} for an offset and, unless `capacities`, for padding; each is named.
void check_no_padding(const Layout& layout, const std::string& operation, bool capacities);
/// The same, and no empty layouts: what the algebra works on. `which` is the layout's letter in the message.
void check_operand(const Layout& layout, const std::string& operation, const std::string& which);

/// The modes of coalesce(layout); {1:0} where the layout has one index.
Modes coalesced(const Layout& layout);
Modes coalesced(Modes modes);

/// a after b, for each dim of b; and the modes of the complement: compose() and complement() before they are layouts.
std::vector<Modes> composed(const Layout& a, const std::vector<Modes>& b);
Modes complement_of(const Layout& a, int64_t cosize);

/// The layout whose dims have these digits; no digits are one of {1:0}. Error{limit}: too many.
Layout layout_of_modes(const std::vector<Modes>& dims, const std::string& operation);
/// A dim for each mode.
Layout layout_of_dims(const Modes& modes, const std::string& operation);

/// The digits of each dim, without extents of 1.
std::vector<Modes> dims_of(const Layout& layout);
/// All of them in one list.
Modes joined(const std::vector<Modes>& parts);

/// a * b; Error{overflow} names the operation.
int64_t product_of(int64_t a, int64_t b, const std::string& operation);

}  // namespace relayout::cute
