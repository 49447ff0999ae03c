// What people are told of a method (internal to reorder). Each has it as a constant `kTold`, or, where it depends on
// what the method does, as a function told().
#pragma once

#include <cstdint>
#include <string_view>

namespace relayout {

/// What a method does in one word.
enum class KernelShape : uint8_t {
  copy,       // runs that are contiguous on both sides
  transpose,  // pieces that follow each other in the source along one direction, in the destination along another
  gather,     // anything else, element by element
  fill,       // padding
};
std::string_view name(KernelShape shape);

struct Told {
  KernelShape shape;
  std::string_view method;  // in a word or two: "transpose"
  std::string_view why;     // a sentence without its full stop: why it is this method
};

}  // namespace relayout
