// NumPy's structured types: descr texts as NumPy writes them. The test numpy_records compares with NumPy itself.
#include "relayout/interop/numpy_record.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::code_of;

TEST(NumpyRecord, ReadsMembersGapsShapesAndStructsInStructs) {
  const auto type = numpy::record_type(
      "[('a', '|u1'), ('', '|V3'), (('a title', 'b'), '<f4', (2, 3)), ('c', [('x', '<i2'), ('y', '>f2')], (4,)), "
      "('d', '|S5')]");
  ASSERT_EQ(type.fields.size(), 5U);
  EXPECT_EQ(type.bytes, 1 + 3 + 24 + 16 + 5);
  EXPECT_EQ(type.fields[1].name, "b");
  EXPECT_EQ(type.fields[1].byte, 4);
  EXPECT_EQ(type.fields[1].dims, (Dims{2, 3}));
  EXPECT_EQ(type.fields[1].byte_strides, (Dims{12, 4}));
  EXPECT_EQ(type.fields[3].name, "c.y");
  EXPECT_EQ(type.fields[3].byte, 30);
  EXPECT_EQ(type.fields[3].byte_strides, (Dims{4}));
  EXPECT_TRUE(type.fields[3].byte_swapped);
  EXPECT_FALSE(type.fields[4].dtype);
}

TEST(NumpyRecord, IsARecordWhereItsFieldsAreAligned) {
  const auto type = numpy::record_type("[('a', '|u1'), ('', '|V3'), ('b', '<f4', (3,))]");
  const Record record = numpy::record_of(type, {5, 2});
  EXPECT_EQ(record, RecordFormat::parse("record{a:u8, b:f32[3];aligned}").bind({5, 2}));
  EXPECT_EQ(numpy::record_descr(RecordFormat::parse("record{a:u8, b:f32[3];aligned}")),
            "[('a', '|u1'), ('', '|V3'), ('b', '<f4', (3,))]");
  const auto packed = numpy::record_type("[('a', '|u1'), ('b', '<f4')]");
  EXPECT_EQ(code_of([&] { (void)numpy::record_of(packed, {3}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)numpy::record_of(numpy::record_type("[('a', '>f4')]"), {3}); }),
            ErrorCode::unsupported);
  EXPECT_EQ(code_of([] { (void)numpy::record_descr(RecordFormat::parse("record{a:u4[2]}")); }), ErrorCode::unsupported);
}

TEST(NumpyRecord, TakesFieldsFromWhereverTheyLie) {
  std::vector<std::byte> bytes(3 * 5);
  for (int i = 0; i < 3; ++i) {
    const float value = 1.5F + static_cast<float>(i);
    std::memcpy(bytes.data() + i * 5 + 1, &value, 4);
  }
  const auto type = numpy::record_type("[('a', '|u1'), ('b', '<f4')]");
  const auto taken = numpy::take_field(type, "b", {3}, bytes);
  EXPECT_EQ(taken.desc, TensorDesc(Layout::contiguous({3}), DType::f32));
  const float expected[] = {1.5F, 2.5F, 3.5F};
  EXPECT_EQ(std::memcmp(taken.bytes.data(), expected, sizeof expected), 0);
  const auto swapped = numpy::take_field(numpy::record_type("[('a', '>u2'), ('b', '|V3')]"), "a", {3}, bytes);
  EXPECT_EQ(swapped.bytes[0], bytes[1]);
  EXPECT_EQ(code_of([&] { (void)numpy::take_field(type, "c", {3}, bytes); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)numpy::take_field(type, "b", {4}, bytes); }), ErrorCode::buffer_too_small);
}

TEST(NumpyRecord, RefusesOtherTexts) {
  for (const char* text : {"", "'<f4'", "[", "[('a')]", "[('a', '<f4'", "[('a', '<f4')] x", "[('a', '|O')]",
                           "[('a', '<f4', (9223372036854775807, 9223372036854775807))]"})
    EXPECT_THROW((void)numpy::record_type(text), Error) << text;
}

}  // namespace
}  // namespace relayout
