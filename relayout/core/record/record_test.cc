// Records against a map of every bit of small buffers, which loops over all indices of all fields fill.
#include "relayout/core/record/record.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "relayout/core/format.h"
#include "relayout/core/record/record_format.h"

namespace relayout {
namespace {

Record parsed(const std::string& text, const Dims& dims = {}) { return RecordFormat::parse(text).bind(dims); }

std::string message_of(const std::string& text, const Dims& dims = {}) {
  try {
    (void)parsed(text, dims);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

/// All indices up to the capacities.
std::vector<Dims> indices(const Layout& layout) {
  std::vector<Dims> out;
  const Dims padded = layout.padded_dims();
  for (int64_t n = 0; n < layout.padded_elements(); ++n) {
    Dims index(padded.size(), 0);
    int64_t rest = n;
    for (int d = padded.size(); d-- > 0; rest /= padded[d]) index[d] = rest % padded[d];
    out.push_back(index);
  }
  return out;
}

struct Owner {
  std::size_t field;
  Dims index;
};

/// Who has each bit; false where two have one.
bool fill(std::span<const Field> fields, std::map<int64_t, Owner>& owners) {
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const int64_t width = bits(fields[f].dtype);
    for (const Dims& index : indices(fields[f].layout)) {
      for (int64_t bit = 0; bit < width; ++bit) {
        if (!owners.emplace(fields[f].layout.offset(index) * width + bit, Owner{f, index}).second) return false;
      }
    }
  }
  return true;
}

TEST(Record, HasTheBlocksOfQ4_0) {
  const Record record =
      parsed("record{d:f16[a,b/32] = digits:(3,18)|(2,9), q:u4 = digits:(3,72)|(16,2)(2,1)(2,36)@4}", {3, 64});
  EXPECT_EQ(record.bytes(), 3 * 2 * 18);
  EXPECT_EQ(record.free_bits(), 0);
  const auto places = record.at_byte(18 + 2 + 5);
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(record.fields()[places[0].field].name, "q");
  EXPECT_EQ(places[0].index, (Dims{0, 32 + 5}));
  EXPECT_EQ(places[1].index, (Dims{0, 32 + 16 + 5}));
  EXPECT_EQ(places[1].first_bit, 4);
}

TEST(Record, SaysWhichFieldsShareABit) {
  EXPECT_EQ(message_of("record{a:f16[4] = contiguous, b:u8[2] = contiguous@7}"),
            "record: a(3) and b(0) share bit 0 of byte 7");
  EXPECT_EQ(message_of("record{a:u8[4] = strides:0}"), "record: a(0) and a(3) share bit 0 of byte 0");
  EXPECT_NE(message_of("record{a:u8@0, b:f32@2}").find("field b (f32) begins at byte 2"), std::string::npos);
  EXPECT_NE(message_of("record{a:u8, b:f32}").find("begins at byte 1 behind a"), std::string::npos);
  EXPECT_NE(message_of("record{b:f32, a:u8}", {2}).find("lies in structs of 5 bytes (a is the last member)"),
            std::string::npos);
  // Padding of a field is that field's memory.
  EXPECT_EQ(message_of("record{a:u8[3,5] = nC4c@0, b:u8[1] = contiguous@6}"),
            "record: a(0,6), which is padding, and b(0) share bit 0 of byte 6");
}

TEST(Record, OfStructsAlignsAsC) {
  struct C {
    uint8_t a;
    float b[3];
    uint16_t c;
  };
  const Record record = parsed("record{a:u8, b:f32[3], c:u16;aligned}", {5});
  EXPECT_EQ(record.bytes(), static_cast<int64_t>(5 * sizeof(C)));
  EXPECT_EQ(record.field("b").layout.offset({2, 1}) * 4,
            static_cast<int64_t>(2 * sizeof(C) + offsetof(C, b) + sizeof(float)));
  EXPECT_EQ(record.field("c").layout.offset({4}) * 2, static_cast<int64_t>(4 * sizeof(C) + offsetof(C, c)));
  EXPECT_EQ(record.free_bits(), 8 * 5 * (3 + 2));
  EXPECT_EQ(record.free_bytes(2), (std::vector<std::pair<int64_t, int64_t>>{{1, 3}, {18, 2}}));
}

TEST(Record, TextsThatAreNone) {
  for (const char* text :
       {"", "record", "record{", "record{}x", "record{a}", "record{a:}", "record{a:u9}", "record{a:u8[}",
        "record{a:u8[2}", "record{a:u8, b:u8 = ab}", "record{a:u8@}", "record{a:u8@1 = a}", "record{a:u8 = zz9}",
        "record{a:u8;size=3}", "record{a:u8 = a;aligned}", "record{a:u8;bytes=1;bytes=1}", "record{1a:u8}",
        "record{a:u8[c/0] = a}"}) {
    EXPECT_THROW((void)RecordFormat::parse(text), Error) << text;
  }
  EXPECT_NE(message_of("record{a:u8, a:u8}").find("two fields are called a"), std::string::npos);
  EXPECT_NE(message_of("record{a:u8[b] = a}", {3}).find("no such dim"), std::string::npos);
  EXPECT_NE(message_of("record{a:u8;bytes=0}").find("smaller than their members"), std::string::npos);
  EXPECT_NE(message_of("record{a:u8}", {2, -1}).find("dim 1 is -1"), std::string::npos);
  EXPECT_EQ(parsed("record{}").bytes(), 0);
}

/// A field of random digits somewhere in the first 200 bytes.
Field random_field(std::mt19937& random, const std::string& name) {
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  const DType types[] = {DType::u4, DType::s8, DType::f16, DType::f32, DType::f64};
  Field field{name, types[draw(0, 4)], {}};
  Dims dims;
  std::vector<Digits> digits;
  int64_t stride = draw(1, 3);
  for (int d = draw(0, 2); d-- > 0;) {
    Digits own;
    for (int k = draw(1, 2); k-- > 0;) {
      own.push_back({draw(1, 3), stride});
      stride *= draw(1, 4);
    }
    int64_t capacity = 1;
    for (const Digit& digit : own) capacity *= digit.extent;
    dims.push_back(std::max<int64_t>(1, capacity - draw(0, 1)));
    digits.push_back(own);
  }
  field.layout = Layout::from_digits(dims, digits, draw(0, 100) * 8 / bits(field.dtype));
  return field;
}

TEST(Record, OwnsEachBitOnceOrSaysWhichTwoShareOne) {
  std::mt19937 random(1);
  int accepted = 0, refused = 0;
  for (int n = 0; n < 2000; ++n) {
    std::vector<Field> fields;
    for (int k = std::uniform_int_distribution<int>(1, 3)(random); k-- > 0;)
      fields.push_back(random_field(random, std::string(1, static_cast<char>('a' + k))));
    std::map<int64_t, Owner> owners;
    const auto shared = field_overlap(fields);
    ASSERT_EQ(fill(fields, owners), !shared.has_value());
    if (shared) {
      ++refused;
      const int64_t a = fields[shared->a].layout.offset(shared->index_a) * bits(fields[shared->a].dtype);
      const int64_t b = fields[shared->b].layout.offset(shared->index_b) * bits(fields[shared->b].dtype);
      EXPECT_TRUE(a <= shared->bit && shared->bit < a + bits(fields[shared->a].dtype));
      EXPECT_TRUE(b <= shared->bit && shared->bit < b + bits(fields[shared->b].dtype));
      EXPECT_THROW((void)Record::of(fields), Error);
      continue;
    }
    ++accepted;
    const Record record = Record::of(fields);
    EXPECT_EQ(record.free_bits(), record.bytes() * 8 - static_cast<int64_t>(owners.size()));
    for (int64_t byte = 0; byte < record.bytes(); ++byte) {
      std::map<int, Owner> said;
      for (const Record::Place& place : record.at_byte(byte)) {
        for (int bit = 0; bit < place.bits; ++bit) said.emplace(place.first_bit + bit, Owner{place.field, place.index});
      }
      for (int bit = 0; bit < 8; ++bit) {
        const auto owner = owners.find(byte * 8 + bit);
        ASSERT_EQ(owner != owners.end(), said.contains(bit));
        if (owner == owners.end()) continue;
        EXPECT_EQ(owner->second.field, said.at(bit).field);
        EXPECT_EQ(owner->second.index, said.at(bit).index);
      }
    }
    EXPECT_EQ(parsed(expression_of(record)), record) << expression_of(record);
  }
  EXPECT_GT(accepted, 300);
  EXPECT_GT(refused, 300);
}

}  // namespace
}  // namespace relayout
