// Values of packed matrices and of random records against loops over all indices: bits are read one by one, and the
// formula is computed for each value alone.
#include "relayout/cpu/dequantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "relayout/core/format.h"
#include "relayout/cpu/isa.h"
#include "relayout/cpu/reorder.h"
#include "tests/support/testing.h"

namespace relayout::cpu {
namespace {

using ByteList = std::vector<std::byte>;

uint64_t read_bits(const ByteList& bytes, int64_t first, int count) {
  uint64_t out = 0;
  for (int i = count; i-- > 0;) {
    const int64_t bit = first + i;
    out = out << 1 | (std::to_integer<unsigned>(bytes[static_cast<std::size_t>(bit / 8)]) >> bit % 8 & 1);
  }
  return out;
}

/// The number that an element's bits are, by the definition of its type.
float decoded(DType type, uint64_t raw) {
  const int width = bits(type);
  const auto small = [&](int exponent_bits, int bias) {
    const int fraction_bits = width - 1 - exponent_bits;
    const int exponent = static_cast<int>(raw >> fraction_bits) & ((1 << exponent_bits) - 1);
    const double fraction = std::ldexp(static_cast<double>(raw & ((1ULL << fraction_bits) - 1)), -fraction_bits);
    const double size = exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
    return static_cast<float>(raw >> (width - 1) ? -size : size);
  };
  if (type == DType::f32) return small(8, 127);
  if (type == DType::bf16) return small(8, 127);
  if (type == DType::f16) return small(5, 15);
  if (type == DType::f8_e4m3) return small(4, 7);
  if (type == DType::f4_e2m1) return small(2, 1);
  if (type == DType::f8_e8m0) return static_cast<float>(std::ldexp(1.0, static_cast<int>(raw) - 127));
  if (kind(type) == DTypeKind::signed_integer && raw >> (width - 1))
    return static_cast<float>(static_cast<int64_t>(raw) - (int64_t{1} << width));
  return static_cast<float>(raw);
}

float element(const ValueField& field, const ByteList& bytes, int64_t r, int64_t c, const Dims& values) {
  const Layout& layout = field.desc.layout;
  const int width = bits(field.desc.dtype);
  const int64_t at = layout.offset({r / (values[0] / layout.dim(0)), c / (values[1] / layout.dim(1))});
  return decoded(field.desc.dtype, read_bits(bytes, at * width, width));
}

/// Random bytes in which no floating field has an infinity or a NaN.
ByteList random_bytes(int64_t count, std::mt19937& random) {
  ByteList out(static_cast<std::size_t>(count));
  for (std::byte& each : out) each = static_cast<std::byte>(random());
  return out;
}

void make_finite(const ValueField& field, ByteList& bytes) {
  if (!is_floating(field.desc.dtype) || bits(field.desc.dtype) < 8) return;
  const int width = bits(field.desc.dtype) / 8;
  for (int64_t r = 0; r < field.desc.layout.dim(0); ++r)
    for (int64_t c = 0; c < field.desc.layout.dim(1); ++c)
      bytes[static_cast<std::size_t>((field.desc.layout.offset({r, c}) + 1) * width - 1)] &= std::byte{0xbb};
}

uint32_t bits_of(float value) {
  uint32_t out;
  std::memcpy(&out, &value, sizeof out);
  return out;
}

/// Compares all values with those of the expression at each index alone.
void expect_values(const ValueExpression& expression, const std::vector<ValueField>& fields,
                   const std::vector<const ByteList*>& bytes, const Dims& values, const std::string& layout,
                   const std::string& what) {
  const TensorDesc dst(Format::parse(layout).bind(values), DType::f32);
  std::vector<float> out(static_cast<std::size_t>(dst.layout.span()), -77);
  evaluate(expression, fields, dst, out);
  int64_t wrong = 0;
  for (int64_t r = 0; r < values[0]; ++r) {
    for (int64_t c = 0; c < values[1]; ++c) {
      const float expected = expression.value([&](std::string_view name) {
        for (std::size_t k = 0; k < fields.size(); ++k) {
          if (fields[k].name == name) return element(fields[k], *bytes[k], r, c, values);
        }
        return 0.0F;
      });
      wrong += bits_of(out[static_cast<std::size_t>(dst.layout.offset({r, c}))]) != bits_of(expected);
    }
  }
  EXPECT_EQ(wrong, 0) << what << " " << join(values) << " " << layout;
}

TEST(Dequantize, EveryFormatIsItsFormula) {
  std::mt19937 random(5);
  for (const PackedSystem& system : packed_systems()) {
    for (const PackedFormat& format : system.formats) {
      for (const Dims& values : {Dims{128, 256}, Dims{256, 768}}) {
        const PackedTensor tensor{.format = std::string(format.name), .values = values};
        std::vector<std::string_view> names = buffers_of(format);
        std::vector<ByteList> bytes;
        std::vector<PackedBuffer> buffers;
        for (const std::string_view name : names)
          bytes.push_back(random_bytes(packed_record(format, values, name).bytes(), random));
        for (std::size_t k = 0; k < names.size(); ++k) buffers.emplace_back(std::string(names[k]), bytes[k]);
        const std::vector<ValueField> fields = value_fields(tensor, buffers);
        std::vector<const ByteList*> of_field;
        for (const ValueField& field : fields) {
          const std::string_view buffer = format.field(field.name).buffer;
          of_field.push_back(&bytes[static_cast<std::size_t>(std::ranges::find(names, buffer) - names.begin())]);
          make_finite(field, const_cast<ByteList&>(*of_field.back()));
        }
        for (const char* layout : {"ab", "AB16b16a"})
          expect_values(value_of(format), fields, of_field, values, layout, tensor.format);
      }
    }
  }
}

TEST(Dequantize, FormulasOfFieldsInAnyLayouts) {
  std::mt19937 random(6);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  const char* layouts[] = {"ab", "ba", "aB4b", "ab;align=8", "AB3a2b"};
  for (int n = 0; n < 200; ++n) {
    const Dims groups{draw(1, 6), draw(1, 6)};
    const Dims values{groups[0] * draw(1, 20), groups[1] * draw(1, 40)};
    const Dims fine{draw(0, 1) ? groups[0] : 1, groups[1]};
    std::vector<ValueField> fields;
    std::vector<ByteList> bytes;
    const auto add = [&](const std::string& name, const Dims& dims, DType type) {
      const TensorDesc desc(Format::parse(layouts[draw(0, 4)]).bind(dims), type);
      bytes.push_back(random_bytes(desc.span_bytes() + 1, random));
      fields.push_back({name, desc, {}});
      make_finite(fields.back(), bytes.back());
    };
    add("q", values, draw(0, 1) ? DType::u4 : DType::s8);
    add("s", groups, draw(0, 1) ? DType::f16 : DType::f32);
    add("z", fine, draw(0, 1) ? DType::u4 : DType::bf16);
    std::vector<const ByteList*> of_field;
    for (std::size_t k = 0; k < fields.size(); ++k) {
      fields[k].buffer = bytes[k];
      of_field.push_back(&bytes[k]);
    }
    if (groups == values || fine == values) continue;  // a coefficient that would be a code
    const char* formulas[] = {"s * (q - z)", "s * q + z", "(s + 2) * (q - 3) - z * 0.5", "q - s"};
    expect_values(ValueExpression::parse(formulas[n % 4]), fields, of_field, values, layouts[draw(0, 4)], "random");
  }
}

TEST(Dequantize, IsEqualOnEveryInstructionSetAndNumberOfThreads) {
  std::mt19937 random(8);
  const Dims values{64, 4096};
  const PackedTensor tensor{.format = "ggml:q4_1", .values = values};
  const ByteList bytes = random_bytes(packed_record(packed_format(tensor.format), values).bytes(), random);
  const std::vector<PackedBuffer> buffers{{"", bytes}};
  const TensorDesc dst(Layout::contiguous(values), DType::f16);
  std::vector<uint16_t> first(static_cast<std::size_t>(dst.layout.span())), other(first.size());
  dequantize(tensor, buffers, dst, first, {}, {.threads = 1});
  const std::string before(isa());
  for (const std::string_view name : available_isas()) {
    set_isa(name);
    std::ranges::fill(other, 0);
    dequantize(tensor, buffers, dst, other, {}, {.threads = 3, .grain_bytes = 1});
    EXPECT_EQ(first, other) << name;
  }
  set_isa(before);
}

TEST(Dequantize, OtherTypesSwizzlesAndAttributesAreAReorderOfTheValues) {
  std::mt19937 random(9);
  struct Case {
    std::string layout;
    DType dtype;
    bool scaled = false;
  };
  // Several steps of rows, the last one of a single row more.
  for (const Dims& values : {Dims{1029, 1024}, Dims{96, 64}, Dims{1, 64}}) {
    const PackedTensor tensor{.format = "ggml:q4_1", .values = values};
    ByteList bytes = random_bytes(packed_record(packed_format(tensor.format), values).bytes(), random);
    const std::vector<PackedBuffer> buffers{{"", bytes}};
    for (const ValueField& field : value_fields(tensor, buffers)) make_finite(field, bytes);
    std::vector<float> dense(static_cast<std::size_t>(values[0] * values[1]));
    const TensorDesc plain(Layout::contiguous(values), DType::f32);
    dequantize(tensor, buffers, plain, dense);
    for (const Case& each :
         {Case{"ab", DType::s8}, Case{"ba", DType::f64}, Case{"AB16b16a", DType::u8, true}, Case{"ab", DType::f4_e2m1},
          Case{"ab;swizzle=1,2,3", DType::f16}, Case{"ba", DType::f32, true}, Case{"Ab8a", DType::u4}}) {
      const TensorDesc dst(Format::parse(each.layout).bind(values), each.dtype);
      Attributes attributes;
      if (each.scaled) {
        attributes.src_scale = {std::vector<double>(static_cast<std::size_t>(values[0] * values[1] / 64)), 3, {1, 64}};
        for (double& scale : attributes.src_scale.values) scale = 1 + random() % 5;
        attributes.padding = Padding::of(1);
      }
      ByteList found(static_cast<std::size_t>(dst.span_bytes()), std::byte{7}), expected = found;
      dequantize(tensor, buffers, dst, found, attributes);
      reorder(plain, dense, dst, expected, attributes);
      EXPECT_EQ(found, expected) << each.layout << " " << name(each.dtype) << " " << join(values);
    }
  }
}

// Rows whose groups are in the order of activations have the values of their group's coefficients.
TEST(Dequantize, ActOrder) {
  constexpr int64_t kRows = 64, kColumns = 24, kGroup = 16, kGroups = kRows / kGroup;
  std::mt19937 random(8);
  std::vector<int64_t> group_of;
  for (int64_t k = 0; k < kRows; ++k) group_of.push_back(k % kGroups);
  std::ranges::shuffle(group_of, random);
  std::vector<uint8_t> words(kRows * kColumns / 2), zeros(kGroups * kColumns / 2);
  for (auto* bytes : {&words, &zeros}) {
    for (uint8_t& byte : *bytes) byte = static_cast<uint8_t>(random());
  }
  std::vector<float> scales(kGroups * kColumns), out(kRows * kColumns), expected(kRows * kColumns);
  for (float& scale : scales) scale = static_cast<float>(random() % 100) / 64;
  const auto nibble = [](const std::vector<uint8_t>& bytes, int64_t at) {
    return static_cast<float>(bytes[static_cast<std::size_t>(at / 2)] >> (at % 2 * 4) & 15);
  };
  for (int64_t k = 0; k < kRows; ++k) {
    const int64_t g = group_of[static_cast<std::size_t>(k)];
    for (int64_t n = 0; n < kColumns; ++n) {
      const float q = nibble(words, (k / 8 * kColumns + n) * 8 + k % 8), z = nibble(zeros, g * kColumns + n) + 1;
      expected[static_cast<std::size_t>(n * kRows + k)] = scales[static_cast<std::size_t>(g * kColumns + n)] * (q - z);
    }
  }
  PackedTensor tensor{.format = "gptq", .values = {kRows, kColumns}, .group = kGroup, .types = {{"s", DType::f32}}};
  tensor.group_of = group_of;
  const std::vector<PackedBuffer> buffers{{"qweight", words}, {"qzeros", zeros}, {"scales", scales}};
  const TensorDesc dst(Format::parse("ba").bind({kRows, kColumns}), DType::f32);
  dequantize(tensor, buffers, dst, out);
  EXPECT_EQ(out, expected);

  const auto message = [&](std::vector<int64_t> groups) {
    tensor.group_of = std::move(groups);
    return test::error_of([&] { dequantize(tensor, buffers, dst, out); }).message();
  };
  EXPECT_EQ(message({0, 1}), "dequantize: group_of has 2 entries; dim 0 of the values has 64 indices");
  group_of[5] = 4;
  EXPECT_EQ(message(group_of), "dequantize: group_of puts index 5 in group 4; there are 4");
  EXPECT_EQ(message(std::vector<int64_t>(kRows, 2)),
            "dequantize: group_of puts more than 16 indices in group 2, of which each has that many");
}

TEST(Dequantize, SaysWhatIsWrong) {
  const ByteList bytes(18 * 4), few(8);
  std::vector<float> out(128);
  const TensorDesc dst(Layout::contiguous({2, 64}), DType::f32);
  const auto message = [&](const PackedTensor& tensor, const std::vector<PackedBuffer>& buffers,
                           const TensorDesc& to) -> std::string {
    try {
      dequantize(tensor, buffers, to, to.dtype == DType::f32 ? Elements(out) : Elements());
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  };
  const PackedTensor good{.format = "ggml:q4_0", .values = {2, 64}};
  EXPECT_EQ(message(good, {{"", bytes}}, dst), "");
  EXPECT_NE(message(good, {}, dst).find("is not given"), std::string::npos);
  EXPECT_NE(message(good, {{"", few}}, dst).find("have 8"), std::string::npos);
  EXPECT_NE(message(good, {{"", bytes}}, {Layout::contiguous({64, 2}), DType::f32}).find("has dims 64,2"),
            std::string::npos);
  EXPECT_NE(message({.format = "gptq", .values = {128, 8}}, {{"qweight", bytes}}, dst).find("tensor scales"),
            std::string::npos);
}

}  // namespace
}  // namespace relayout::cpu
