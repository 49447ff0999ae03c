// Tensors of readers: from an expression or strides, and a type in any system's words; and their times (internal to
// explain).
#pragma once

#include <string>
#include <string_view>

#include "relayout/explain/trace.h"

namespace relayout::explaining {

/// The tensor with the layout of an expression, bound to dims. Where the expression or the type is not known here, it
/// keeps the words and has no descriptor.
Tensor described(std::string name, const std::string& expression, const std::optional<Dims>& dims,
                 const std::string& dtype);
/// The same of strides in elements; the layout is the tag that they are, where there is one.
Tensor strided(std::string name, const Dims& dims, const Dims& strides, const std::string& dtype);
/// The same tensor, by its name and key, in another layout of other dims.
Tensor described_again(const Tensor& tensor, const std::string& layout, const Dims& dims);
/// The only order of dims by which `from` becomes `to`; nothing where several do.
std::optional<std::vector<int>> order_between(const Dims& from, const Dims& to);
/// A time that a source says; nothing where it is negative, no number, or more than a year.
std::optional<double> plausible_ms(double ms);
/// "abcd" of that rank, and the tag of its dims in another order: reordered_tag({0, 2, 3, 1}) is "acdb".
std::string plain_tag(int rank);
std::string reordered_tag(const std::vector<int>& order);

}  // namespace relayout::explaining
