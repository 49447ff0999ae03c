// A number that somebody gives for the elements of a type: exactly that number, or an error.
//
//     element_bits(300, DType::u8, "padding")                 // Error: u8 holds whole numbers from 0 to 255
//     element_bits(9007199254740993, DType::s64, "padding")   // that number, which no double holds
//     element_bits(0.1, DType::f32, "padding")                // the f32 next to 0.1
//
// Converting an element saturates and rounds (cast.h), because it has to give something for every element. Who writes
// one number means that number, so for it the rules are these:
//
//     a whole number    (an integer of C++ or Python, digits in a text) itself, if the type holds exactly that
//     another number    (a double, a text with a point or an exponent) for an integer type or bool itself, if it
//                       is whole and below 2^53; for a floating type the nearest one that is finite, and 0 only of 0
//     infinity, NaN     for an integer type or bool an error; for a floating type itself, if it has infinities,
//                       and a quiet NaN, if it has NaN
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "relayout/core/dtype.h"

namespace relayout {

class ElementValue {
 public:
  /// 0, as a whole number.
  constexpr ElementValue() = default;
  /// Both are implicit, so that a plain number can be given wherever a value is asked for.
  template <std::integral T>
  constexpr ElementValue(T number)  // NOLINT(google-explicit-constructor)
      : negative_(std::is_signed_v<T> && number < T{}),
        magnitude_(negative_ ? uint64_t{0} - static_cast<uint64_t>(number) : static_cast<uint64_t>(number)) {}
  template <std::floating_point T>
  constexpr ElementValue(T number) : whole_(false), real_(number) {}  // NOLINT(google-explicit-constructor)

  /// Reads "300", "-1", "0.5", "1e-3", "nan", "inf" or "-inf". Error{parse} names `what`.
  static ElementValue parse(std::string_view text, std::string_view what);

  /// Whether it was given as a whole number.
  bool whole() const { return whole_; }
  /// The nearest double.
  double real() const;
  /// In decimal digits, from which parse() makes it again.
  std::string text() const;

  /// The same number given in the same way; a NaN equals itself.
  bool operator==(const ElementValue& other) const;
  /// What hashes and comparisons by words need: together they tell two values apart.
  uint64_t first_word() const { return (whole_ ? 1u : 0u) | (negative_ ? 2u : 0u); }
  uint64_t second_word() const;

 private:
  friend uint64_t element_bits(const ElementValue& value, DType dtype, std::string_view what);
  bool whole_ = true, negative_ = false;
  uint64_t magnitude_ = 0;
  double real_ = 0;  // where it is not whole
};

/// The bits of the element that holds the value, in the low bits, by the table above. Error{invalid_argument} names
/// `what`, the value and the type, and says what the type holds.
uint64_t element_bits(const ElementValue& value, DType dtype, std::string_view what);

/// The bits of an element of padding. These are those of the value, but f8_e8m0 has no 0: there 0 is the byte 0, which
/// means 2^-127.
uint64_t padding_bits(const ElementValue& value, DType dtype);

/// The value of an element's bits: a whole number for the integer types and bool, else the double that equals it.
ElementValue value_of(uint64_t bits, DType dtype);

/// Whether a number lies between the least and the greatest of an integer type or bool.
bool in_range(double number, DType dtype);
/// "-128 to 127" for s8.
std::string range_text(DType dtype);

}  // namespace relayout
