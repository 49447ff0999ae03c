// What must hold of elements in memory before a function touches them: the type and the size of the description.
#include "relayout/core/elements.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "relayout/core/error.h"

namespace relayout {
namespace {

/// The unsigned integers that hold the bits of a type which C++20 has no arrays of; nothing for the others.
std::optional<DType> bits_type(DType dtype) {
  const bool nameless =
      kind(dtype) == DTypeKind::boolean || (is_floating(dtype) && bits(dtype) < 32) || bits(dtype) < 8;
  if (!nameless) return std::nullopt;
  return bits(dtype) == 16 ? DType::u16 : DType::u8;
}

void check_elements(const ConstElements& elements, DType dtype, int64_t need, std::string_view operation,
                    std::string_view side) {
  // Texts are made where there is an error: small calls cost little more than this check.
  const auto start = [&] { return std::string(operation) + ": the " + std::string(side); };
  if (elements.dtype() && !holds_elements(*elements.dtype(), dtype)) {
    const std::string given(name(*elements.dtype())), wanted(name(dtype));
    const std::optional<DType> held = bits_type(dtype);
    throw Error(ErrorCode::invalid_argument,
                start() + " holds elements of type " + given + ", but its description says " + wanted +
                    (held ? ", whose bits may be given as " + std::string(name(*held)) : "") +
                    " (std::as_bytes() of a span gives bytes, which hold any type)",
                std::string(side), given, wanted);
  }
  const auto size = static_cast<int64_t>(elements.bytes().size());
  if (size < need) {
    throw Error(ErrorCode::buffer_too_small,
                start() + " buffer is too small: need " + std::to_string(need) + " bytes, have " + std::to_string(size),
                std::string(side), std::to_string(size), std::to_string(need));
  }
}

}  // namespace

bool holds_elements(DType given, DType wanted) { return given == wanted || given == bits_type(wanted); }

std::span<const std::byte> checked_bytes(const ConstElements& elements, DType dtype, int64_t need,
                                         std::string_view operation, std::string_view side) {
  check_elements(elements, dtype, need, operation, side);
  return elements.bytes();
}

std::span<std::byte> checked_bytes(const Elements& elements, DType dtype, int64_t need, std::string_view operation,
                                   std::string_view side) {
  check_elements(elements, dtype, need, operation, side);
  return elements.bytes();
}

std::span<const std::byte> checked_bytes(const ConstElements& elements, const TensorDesc& desc,
                                         std::string_view operation, std::string_view side) {
  return checked_bytes(elements, desc.dtype, desc.span_bytes(), operation, side);
}

std::span<std::byte> checked_bytes(const Elements& elements, const TensorDesc& desc, std::string_view operation,
                                   std::string_view side) {
  return checked_bytes(elements, desc.dtype, desc.span_bytes(), operation, side);
}

void swap_bytes(std::span<std::byte> bytes, int item_bytes) {
  const auto swap_all = [&]<typename Word>(Word, auto swap) {
    for (std::size_t at = 0; at + sizeof(Word) <= bytes.size(); at += sizeof(Word)) {
      Word word;
      std::memcpy(&word, bytes.data() + at, sizeof(Word));
      word = swap(word);
      std::memcpy(bytes.data() + at, &word, sizeof(Word));
    }
  };
  switch (item_bytes) {
    case 0:
    case 1: return;
    case 2: return swap_all(uint16_t{}, [](uint16_t v) { return __builtin_bswap16(v); });
    case 4: return swap_all(uint32_t{}, [](uint32_t v) { return __builtin_bswap32(v); });
    case 8: return swap_all(uint64_t{}, [](uint64_t v) { return __builtin_bswap64(v); });
    default:
      throw Error(ErrorCode::invalid_argument, "swap_bytes: elements of " + std::to_string(item_bytes) + " bytes",
                  "item_bytes", std::to_string(item_bytes), "1 2 4 8");
  }
}

}  // namespace relayout
