// Elements in memory: which C++ types are which element types, what a parameter takes, and what it refuses.
#include "relayout/core/elements.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "relayout/core/error.h"
#include "relayout/core/format.h"
#include "tests/support/testing.h"

namespace relayout {

/// A floating type of a library, with these limits.
template <int kBytes, int kDigits, int kMax, int kMin, bool kInfinity = true>
struct LibraryFloat {
  uint8_t bytes[kBytes];
};
/// A type that says nothing of itself.
struct UnknownHalf {
  uint16_t bits;
};
struct Pixel {
  uint8_t r, g, b;
};
template <>
inline constexpr std::optional<DType> kElementType<UnknownHalf> = DType::f16;

}  // namespace relayout

template <int kBytes, int kDigits, int kMax, int kMin, bool kInfinity>
struct std::numeric_limits<relayout::LibraryFloat<kBytes, kDigits, kMax, kMin, kInfinity>> {
  static constexpr bool is_specialized = true, is_integer = false, is_signed = true, has_infinity = kInfinity;
  static constexpr int digits = kDigits, max_exponent = kMax, min_exponent = kMin;
};

namespace relayout {
namespace {

using test::desc;
using test::error_of;

template <typename T>
constexpr bool kReads = std::is_convertible_v<T, ConstElements>;
template <typename T>
constexpr bool kWrites = std::is_convertible_v<T, Elements>;

TEST(Elements, TypesOfCxx) {
  EXPECT_EQ(kElementType<float>, DType::f32);
  EXPECT_EQ(kElementType<double>, DType::f64);
  EXPECT_EQ(kElementType<int8_t>, DType::s8);
  EXPECT_EQ(kElementType<uint8_t>, DType::u8);
  EXPECT_EQ(kElementType<short>, DType::s16);
  EXPECT_EQ(kElementType<uint16_t>, DType::u16);
  EXPECT_EQ(kElementType<int>, DType::s32);
  EXPECT_EQ(kElementType<unsigned>, DType::u32);
  EXPECT_EQ(kElementType<long>, DType::s64);
  EXPECT_EQ(kElementType<long long>, DType::s64);
  EXPECT_EQ(kElementType<unsigned long long>, DType::u64);
  EXPECT_EQ(kElementType<bool>, DType::boolean);
  EXPECT_EQ(kElementType<char>, std::nullopt);
  EXPECT_EQ(kElementType<char16_t>, std::nullopt);
  EXPECT_EQ(kElementType<long double>, std::nullopt);
  EXPECT_EQ(kElementType<Pixel>, std::nullopt);
  EXPECT_EQ(kElementType<UnknownHalf>, DType::f16);
}

TEST(Elements, FloatsOfLibraries) {
  EXPECT_EQ((kElementType<LibraryFloat<2, 11, 16, -13>>), DType::f16);
  EXPECT_EQ((kElementType<LibraryFloat<2, 8, 128, -125>>), DType::bf16);
  EXPECT_EQ((kElementType<LibraryFloat<1, 3, 16, -13>>), DType::f8_e5m2);
  EXPECT_EQ((kElementType<LibraryFloat<1, 4, 9, -5, false>>), DType::f8_e4m3) << "float8_e4m3fn of ml_dtypes and Eigen";
  EXPECT_EQ((kElementType<LibraryFloat<1, 4, 8, -5, false>>), DType::f8_e4m3) << "PyTorch's Float8_e4m3fn";
  // The variants of 8-bit floats that have another range, or infinities, are other types.
  EXPECT_EQ((kElementType<LibraryFloat<1, 4, 8, -5, true>>), std::nullopt) << "float8_e4m3 of ml_dtypes";
  EXPECT_EQ((kElementType<LibraryFloat<1, 4, 8, -6, false>>), std::nullopt) << "float8_e4m3fnuz";
  EXPECT_EQ((kElementType<LibraryFloat<1, 4, 8, -6>>), std::nullopt);
  EXPECT_EQ((kElementType<LibraryFloat<1, 3, 16, -14>>), std::nullopt);
  EXPECT_EQ((kElementType<LibraryFloat<4, 11, 16, -13>>), std::nullopt);
}

TEST(Elements, TakesContiguousRanges) {
  EXPECT_TRUE(kReads<const std::vector<float>&>);
  EXPECT_TRUE(kReads<std::vector<float>>);
  EXPECT_TRUE((kReads<const std::array<int8_t, 4>&>));
  EXPECT_TRUE(kReads<std::span<const double>>);
  EXPECT_TRUE(kReads<const std::string&>);
  EXPECT_TRUE((kReads<const float(&)[2][3]>));
  EXPECT_FALSE(kReads<const float*>);
  EXPECT_FALSE(kReads<const std::vector<bool>&>);
  EXPECT_FALSE(kReads<const std::vector<Pixel>&>);
  EXPECT_FALSE(kReads<const std::vector<std::string>&>);
  EXPECT_TRUE(kWrites<std::vector<float>&>);
  EXPECT_TRUE((kWrites<std::array<uint16_t, 2>&>));
  EXPECT_TRUE(kWrites<std::span<std::byte>>);
  EXPECT_TRUE((kWrites<float(&)[2][3]>));
  EXPECT_FALSE(kWrites<const std::vector<float>&>);
  EXPECT_FALSE(kWrites<std::span<const float>>);
  EXPECT_FALSE(kWrites<std::vector<float>>) << "it would be gone after the call";
}

TEST(Elements, KnowTheirBytesAndType) {
  float matrix[2][3] = {};
  const ConstElements read = matrix;
  EXPECT_EQ(read.bytes().data(), reinterpret_cast<const std::byte*>(matrix));
  EXPECT_EQ(read.bytes().size(), 24U);
  EXPECT_EQ(read.dtype(), DType::f32);
  std::vector<std::byte> bytes(5);
  const Elements written = bytes;
  EXPECT_EQ(written.bytes().data(), bytes.data());
  EXPECT_EQ(written.bytes().size(), 5U);
  EXPECT_EQ(written.dtype(), std::nullopt);
  const Elements part{&matrix[0][0], 2};
  EXPECT_EQ(part.bytes().size(), 8U);
  EXPECT_EQ(part.dtype(), DType::f32);
  EXPECT_TRUE(Elements().bytes().empty());
}

// Each type is held by itself; small floats, sub-byte types and bool also by unsigned integers of their width.
TEST(Elements, WhichTypesHoldWhich) {
  for (const DType wanted : all_dtypes()) {
    for (const DType given : all_dtypes()) {
      const bool nameless = wanted == DType::f16 || wanted == DType::bf16 || wanted == DType::boolean ||
                            bits(wanted) < 8 || wanted == DType::f8_e4m3 || wanted == DType::f8_e5m2 ||
                            wanted == DType::f8_e8m0;
      const DType unsigned_one = bits(wanted) == 16 ? DType::u16 : DType::u8;
      EXPECT_EQ(holds_elements(given, wanted), given == wanted || (nameless && given == unsigned_one))
          << name(given) << " " << name(wanted);
    }
  }
}

TEST(Elements, CheckedBytes) {
  const TensorDesc f32 = desc("nChw8c", {1, 3, 2, 2});
  const std::vector<float> right(32), small(31);
  const std::vector<int32_t> other(32);
  EXPECT_EQ(checked_bytes(right, f32, "reorder", "source").size(), 128U);
  EXPECT_EQ(checked_bytes(std::as_bytes(std::span(other)), f32, "reorder", "source").size(), 128U);
  const Error size = error_of([&] { checked_bytes(small, f32, "reorder", "source"); });
  EXPECT_EQ(size.code(), ErrorCode::buffer_too_small);
  EXPECT_EQ(size.message(), "reorder: the source buffer is too small: need 128 bytes, have 124");
  const Error type = error_of([&] { checked_bytes(other, f32, "reorder", "source"); });
  EXPECT_EQ(type.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(type.message(),
            "reorder: the source holds elements of type s32, but its description says f32 (std::as_bytes() of a span "
            "gives bytes, which hold any type)");
  EXPECT_EQ(type.field(), "source");
  EXPECT_EQ(type.value(), "s32");
  EXPECT_EQ(type.limit(), "f32");
  const TensorDesc bf16(f32.layout, DType::bf16), s4(f32.layout, DType::s4);
  EXPECT_EQ(checked_bytes(std::vector<uint16_t>(32), bf16, "reorder", "source").size(), 64U);
  EXPECT_EQ(checked_bytes(std::vector<uint8_t>(16), s4, "reorder", "source").size(), 16U);
  EXPECT_NE(error_of([&] { checked_bytes(std::vector<int16_t>(32), bf16, "reorder", "source"); })
                .message()
                .find("says bf16, whose bits may be given as u16"),
            std::string::npos);
}

TEST(Elements, SwapBytes) {
  std::string text = "abcdefgh";
  const auto bytes = std::as_writable_bytes(std::span(text));
  swap_bytes(bytes, 0);
  swap_bytes(bytes, 1);
  EXPECT_EQ(text, "abcdefgh");
  swap_bytes(bytes, 2);
  EXPECT_EQ(text, "badcfehg");
  swap_bytes(bytes, 4);
  EXPECT_EQ(text, "cdabghef");
  swap_bytes(bytes, 8);
  EXPECT_EQ(text, "fehgbadc");
  EXPECT_EQ(error_of([&] { swap_bytes(bytes, 3); }).code(), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace relayout
