// Elements in memory, as the library's functions take them: a range whose type says what its elements are, or bytes.
//
//     std::vector<float> in(...), out(...);
//     cpu::reorder(src, in, dst, out);             // both descriptions must say f32
//     std::vector<std::byte> raw = ...;
//     cpu::reorder(src, raw, dst, out);            // bytes hold elements of any type
//
// A parameter of the type ConstElements or Elements takes every contiguous range: vectors, arrays, spans, also of
// several dims as in `float x[2][3]`. A function that knows the tensor's description calls checked_bytes(), which
// compares type and size with it. So no function reads floats as halves, or writes behind the end of a buffer.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>

#include "relayout/core/layout.h"

namespace relayout {

/// The element type that a C++ type is, or nothing: float is f32, int8_t s8, bool is DType::boolean. Floating types of
/// libraries are known by their digits and exponents, as std::numeric_limits has them: Eigen::half and PyTorch's
/// c10::Half are f16, C++23's std::bfloat16_t is bf16, and float8_e4m3fn of PyTorch and Eigen is f8_e4m3. A type
/// without them is made known by a specialization:
///
///     template <>
///     inline constexpr std::optional<relayout::DType> relayout::kElementType<MyHalf> = relayout::DType::f16;
template <typename T>
inline constexpr std::optional<DType> kElementType = []() -> std::optional<DType> {
  using Limits = std::numeric_limits<T>;
  constexpr bool kText = std::is_same_v<T, char> || std::is_same_v<T, wchar_t> || std::is_same_v<T, char8_t> ||
                         std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>;
  if (std::is_same_v<T, bool>) return DType::boolean;
  if (!Limits::is_specialized || kText) return std::nullopt;
  constexpr int kBits = static_cast<int>(8 * sizeof(T));
  if (Limits::is_integer) {
    if (Limits::digits + (Limits::is_signed ? 1 : 0) != kBits) return std::nullopt;
    for (const DTypeRow& row : kDTypeRows) {
      const auto kind = Limits::is_signed ? DTypeKind::signed_integer : DTypeKind::unsigned_integer;
      if (row.kind == kind && row.bits == kBits) return row.dtype;
    }
    return std::nullopt;
  }
  struct Float {
    DType dtype;
    int bits, digits, max_exponent, min_exponent;
  };
  constexpr Float kFloats[] = {{DType::f64, 64, 53, 1024, -1021}, {DType::f32, 32, 24, 128, -125},
                               {DType::f16, 16, 11, 16, -13},     {DType::bf16, 16, 8, 128, -125},
                               {DType::f8_e5m2, 8, 3, 16, -13},   {DType::f8_e4m3, 8, 4, 9, -5}};
  for (const Float& f : kFloats) {
    // PyTorch gives f8_e4m3 the largest exponent that it would have with infinities. The type that has them is another.
    const bool named_8 = f.dtype == DType::f8_e4m3 && Limits::max_exponent == 8;
    if (kBits == f.bits && Limits::digits == f.digits && (named_8 || Limits::max_exponent == f.max_exponent) &&
        Limits::min_exponent == f.min_exponent && (f.dtype != DType::f8_e4m3 || !Limits::has_infinity))
      return f.dtype;
  }
  return std::nullopt;
}();

/// Types that hold bytes of no type.
template <typename T>
inline constexpr bool kIsByte = std::is_same_v<T, std::byte> || std::is_same_v<T, char>;

namespace elements_detail {

/// The type of the elements of a range, also where these are arrays.
template <typename R>
using ElementOf =
    std::remove_cv_t<std::remove_all_extents_t<std::remove_reference_t<std::ranges::range_reference_t<R>>>>;

template <typename R>
concept ElementRange = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    std::is_trivially_copyable_v<ElementOf<R>> &&(kIsByte<ElementOf<R>> || kElementType<ElementOf<R>>.has_value());

/// Whether elements may be written, and stay after the call.
template <typename R>
concept WritableRange = ElementRange<R> && std::ranges::borrowed_range<R> &&
    !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

template <typename T>
constexpr std::optional<DType> type_of() {
  if constexpr (kIsByte<T>) {
    return std::nullopt;
  } else {
    return kElementType<T>;
  }
}

}  // namespace elements_detail

/// Elements that are read. A view: the range must live as long as it.
class ConstElements {
 public:
  /// No bytes, as of an empty tensor.
  ConstElements() = default;
  template <elements_detail::ElementRange R>
  requires(!std::is_base_of_v<ConstElements, std::remove_cvref_t<R>>)
      ConstElements(R&& range)  // NOLINT: a range becomes elements by itself
      : bytes_(reinterpret_cast<const std::byte*>(std::ranges::data(range)),
               std::ranges::size(range) * sizeof(std::ranges::range_value_t<R>)),
        type_(elements_detail::type_of<elements_detail::ElementOf<R>>()) {}
  template <typename T>
  requires elements_detail::ElementRange<std::span<const T>> ConstElements(const T* data, std::size_t count)
      : ConstElements(std::span<const T>(data, count)) {}

  std::span<const std::byte> bytes() const { return bytes_; }
  /// The type of the elements, or nothing for bytes.
  std::optional<DType> dtype() const { return type_; }

 protected:
  std::span<const std::byte> bytes_;
  std::optional<DType> type_;
};

/// Elements that are written. It takes no range that would be gone after the call, such as a vector that a function
/// returned.
class Elements : public ConstElements {
 public:
  Elements() = default;
  template <elements_detail::WritableRange R>
  requires(!std::is_base_of_v<ConstElements, std::remove_cvref_t<R>>) Elements(R&& range)
      : ConstElements(range) {}  // NOLINT: as above
  template <typename T>
  requires elements_detail::WritableRange<std::span<T>> Elements(T* data, std::size_t count)
      : Elements(std::span<T>(data, count)) {}

  std::span<std::byte> bytes() const { return {const_cast<std::byte*>(bytes_.data()), bytes_.size()}; }
};

/// Whether a range of type `given` holds elements of type `wanted`: it is that type, or, for a type that C++20 has no
/// arrays of (the small floating types, bool, and sub-byte types, several in a byte), the unsigned integers of its
/// width.
bool holds_elements(DType given, DType wanted);

/// The elements' bytes, of which there are at least `need`. Errors, which name the operation and the side ("source"):
/// invalid_argument where the range's type does not hold elements of type `dtype`, with both types; buffer_too_small,
/// with both sizes in bytes.
std::span<const std::byte> checked_bytes(const ConstElements& elements, DType dtype, int64_t need,
                                         std::string_view operation, std::string_view side);
std::span<std::byte> checked_bytes(const Elements& elements, DType dtype, int64_t need, std::string_view operation,
                                   std::string_view side);
/// The same for a buffer of a tensor, which needs desc.span_bytes().
std::span<const std::byte> checked_bytes(const ConstElements& elements, const TensorDesc& desc,
                                         std::string_view operation, std::string_view side);
std::span<std::byte> checked_bytes(const Elements& elements, const TensorDesc& desc, std::string_view operation,
                                   std::string_view side);

/// Turns the bytes of each element of `item_bytes` round, in place, as elements of a foreign byte order need it.
/// Error{invalid_argument} for other sizes than 0 and 1, which change nothing, and 2, 4 and 8.
void swap_bytes(std::span<std::byte> bytes, int item_bytes);

}  // namespace relayout
