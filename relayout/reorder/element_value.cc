// Numbers for elements: read from a text, and encoded exactly or refused.
#include "relayout/reorder/element_value.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "relayout/core/error.h"
#include "relayout/reorder/cast.h"

namespace relayout {
namespace {

/// Doubles of at least this magnitude are always whole, and no longer say which whole number somebody meant.
constexpr double kManyWholes = 0x1p53;

[[noreturn]] void refuse_value(const ElementValue& value, DType dtype, std::string_view what, const std::string& why,
                               const std::string& limit) {
  throw Error(ErrorCode::invalid_argument,
              std::string(what) + " " + value.text() + " is no value of " + std::string(name(dtype)) + ", " + why,
              std::string(what), value.text(), limit);
}

Int128 lowest_of(DType dtype) {
  return kind(dtype) == DTypeKind::signed_integer ? -(Int128{1} << (bits(dtype) - 1)) : Int128{0};
}

Int128 highest_of(DType dtype) {
  if (kind(dtype) == DTypeKind::boolean) return 1;
  return (Int128{1} << (bits(dtype) - (kind(dtype) == DTypeKind::signed_integer ? 1 : 0))) - 1;
}

std::string digits_of(Int128 value) {
  return value < 0 ? std::to_string(static_cast<int64_t>(value)) : std::to_string(static_cast<uint64_t>(value));
}

double decoded(DType dtype, uint64_t element) {
  double out = 0;
  with_dtype(dtype, [&](auto type) {
    constexpr DType kType = decltype(type)::value;
    out = load<double, kType>(read_element<kType>(&element, 0));
  });
  return out;
}

/// Whether converting a finite number gave the largest value of a type without infinity and NaN, although the next
/// value, if there were one, would be as near.
bool saturates(DType dtype, double number) {
  if (bits(dtype) >= 8) return false;
  const uint64_t most = (uint64_t{1} << (bits(dtype) - 1)) - 1;
  const double largest = decoded(dtype, most);
  return std::fabs(number) >= largest + (largest - decoded(dtype, most - 1)) / 2;
}

}  // namespace

ElementValue value_of(uint64_t bits, DType dtype) {
  if (is_floating(dtype)) return decoded(dtype, bits);
  ElementValue out;
  with_dtype(dtype, [&](auto type) {
    constexpr DType kType = decltype(type)::value;
    const Storage<kType> element = read_element<kType>(&bits, 0);
    out = kType == DType::boolean ? ElementValue(element != 0) : ElementValue(element);
  });
  return out;
}

bool in_range(double number, DType dtype) {
  // A long double holds the ends of all ranges.
  return number >= static_cast<long double>(lowest_of(dtype)) && number <= static_cast<long double>(highest_of(dtype));
}

std::string range_text(DType dtype) { return digits_of(lowest_of(dtype)) + " to " + digits_of(highest_of(dtype)); }

ElementValue ElementValue::parse(std::string_view text, std::string_view what) {
  const std::string_view digits = text.starts_with('-') || text.starts_with('+') ? text.substr(1) : text;
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorCode::parse, std::string(what) + ": \"" + escaped(text, 40) + "\" " + why, std::string(what),
                escaped(text, 40), "a number");
  };
  const char* const end = digits.data() + digits.size();
  ElementValue out;
  if (!digits.empty() && std::ranges::all_of(digits, [](char ch) { return ch >= '0' && ch <= '9'; })) {
    const auto [rest, status] = std::from_chars(digits.data(), end, out.magnitude_);
    if (status == std::errc::result_out_of_range) fail("does not fit 64 bits; give it a decimal point to round it");
    out.negative_ = text[0] == '-' && out.magnitude_ != 0;
    return out;
  }
  out.whole_ = false;
  const auto [rest, status] = std::from_chars(digits.data(), end, out.real_);
  if (digits.empty() || digits[0] == '-' || rest != end || status == std::errc::invalid_argument) fail("is no number");
  if (status == std::errc::result_out_of_range) fail("is no number that f64 holds");
  if (text[0] == '-') out.real_ = -out.real_;
  return out;
}

double ElementValue::real() const {
  if (!whole_) return real_;
  const auto magnitude = static_cast<double>(magnitude_);
  return negative_ ? -magnitude : magnitude;
}

std::string ElementValue::text() const {
  if (whole_) return (negative_ ? "-" : "") + std::to_string(magnitude_);
  char buffer[32];
  const auto [end, status] = std::to_chars(std::begin(buffer), std::end(buffer), real_);
  std::string out(buffer, end);
  // A point tells it from a whole number.
  return out.find_first_not_of("-0123456789") == std::string::npos ? out + ".0" : out;
}

uint64_t ElementValue::second_word() const { return whole_ ? magnitude_ : std::bit_cast<uint64_t>(real_); }

bool ElementValue::operator==(const ElementValue& other) const {
  return first_word() == other.first_word() && second_word() == other.second_word();
}

uint64_t element_bits(const ElementValue& value, DType dtype, std::string_view what) {
  const auto refuse = [&](const std::string& why, const std::string& limit) {
    refuse_value(value, dtype, what, why, limit);
  };
  if (is_floating(dtype)) {
    const double real = value.real();
    const uint64_t out = encode(dtype, real);
    const double held = decoded(dtype, out);
    const std::string type(name(dtype));
    if (value.whole_) {
      const bool exact =
          std::isfinite(held) && std::fabs(held) < 0x1p64 && static_cast<uint64_t>(std::fabs(held)) == value.magnitude_;
      if (!exact)
        refuse("which does not hold this whole number exactly; with a decimal point it is rounded",
               "a value of " + type);
    } else if (std::isinf(real) && !std::isinf(held)) {
      refuse("which has no infinity", "a finite number");
    } else if (std::isnan(real) && !std::isnan(held)) {
      refuse("which has no NaN", "a number");
    } else if (dtype == DType::f8_e8m0 && real <= 0) {
      refuse("which has numbers above 0 only", "a value of " + type);
    } else if (std::isfinite(real) && (!std::isfinite(held) || saturates(dtype, real))) {
      refuse("whose largest number is below it", "a value of " + type);
    } else if (real != 0 && held == 0) {
      refuse("whose smallest number above 0 is further from it than 0", "a value of " + type);
    }
    return out;
  }
  const std::string range = range_text(dtype);
  const std::string holds = "which holds whole numbers from " + range;
  if (!value.whole_) {
    if (!(std::trunc(value.real_) == value.real_) || std::isinf(value.real_)) refuse(holds, range);
    if (std::fabs(value.real_) >= kManyWholes) {
      refuse("as from 2^53 on a floating-point number does not say which whole number is meant: give an integer",
             range);
    }
  }
  const Int128 magnitude = value.whole_ ? Int128{value.magnitude_} : static_cast<Int128>(std::fabs(value.real_));
  const bool negative = value.whole_ ? value.negative_ : value.real_ < 0;
  const Int128 number = negative ? -magnitude : magnitude;
  if (number < lowest_of(dtype) || number > highest_of(dtype)) refuse(holds, range);
  return static_cast<uint64_t>(number) & (~uint64_t{0} >> (64 - bits(dtype)));
}

uint64_t padding_bits(const ElementValue& value, DType dtype) {
  if (dtype == DType::f8_e8m0 && value.real() == 0) return 0;
  return element_bits(value, dtype, "padding");
}

}  // namespace relayout
