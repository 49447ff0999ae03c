// Tests of metadata values: GGUF's bytes there and back, JSON, and bytes that are no value.
#include "relayout/checkpoint/metadata.h"

#include <gtest/gtest.h>

#include "tests/support/tensor_files.h"

namespace relayout::checkpoint {
namespace {

using std::string_literals::operator""s;

MetadataValue read_all(ValueType type, const std::string& bytes) {
  std::size_t taken = 0;
  const MetadataValue out = MetadataValue::read(type, bytes_of(bytes), taken);
  EXPECT_EQ(taken, bytes.size());
  EXPECT_EQ(out.encoded(), bytes);
  return out;
}

TEST(Metadata, ReadsEachType) {
  struct Case {
    ValueType type;
    std::string bytes, json;
    std::optional<int64_t> integer;
  };
  const Case cases[] = {{ValueType::u8, "\xff", "255", 255},
                        {ValueType::s8, "\xff", "-1", -1},
                        {ValueType::u16, "\x01\x02", "513", 513},
                        {ValueType::s16, "\xfe\xff", "-2", -2},
                        {ValueType::u32, "\xff\xff\xff\xff", "4294967295", 4294967295},
                        {ValueType::s32, "\xff\xff\xff\xff", "-1", -1},
                        {ValueType::f32, "\0\0\xc0\x3f"s, "1.5", {}},
                        {ValueType::f32, "\0\0\x80\x7f"s, "\"inf\"", {}},
                        {ValueType::boolean, "\1", "true", 1},
                        {ValueType::u64, "\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615", {}},
                        {ValueType::s64, "\xff\xff\xff\xff\xff\xff\xff\xff", "-1", -1},
                        {ValueType::f64, "\0\0\0\0\0\0\xf8\x3f"s, "1.5", {}},
                        {ValueType::text, "\3\0\0\0\0\0\0\0a\"\n"s, R"("a\"\n")", {}},
                        {ValueType::text, "\3\0\0\0\0\0\0\0\xc3\xa4\xff"s, "\"\xc3\xa4\\ufffd\"", {}},
                        {ValueType::array, "\0\0\0\0\3\0\0\0\0\0\0\0\1\2\3"s, "[1, 2, 3]", {}},
                        {ValueType::array,
                         "\x9\0\0\0\2\0\0\0\0\0\0\0"
                         "\0\0\0\0\1\0\0\0\0\0\0\0\1"
                         "\x8\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0x"s,
                         R"([[1], ["x"]])",
                         {}}};
  for (const Case& c : cases) {
    const MetadataValue value = read_all(c.type, c.bytes);
    EXPECT_EQ(value.json(), c.json);
    EXPECT_EQ(value.integer(), c.integer) << c.json;
    EXPECT_EQ(value.type(), c.type);
  }
}

TEST(Metadata, ShowsTheBeginOfLongArrays) {
  const MetadataValue texts = MetadataValue::of(std::vector<std::string>{"a", "b", "c"});
  EXPECT_EQ(texts.json(2), R"(["a", "b", ...])");
  EXPECT_EQ(texts.count(), 3U);
  const std::string inner = "\0\0\0\0\3\0\0\0\0\0\0\0\1\2\3"s;
  EXPECT_EQ(read_all(ValueType::array, "\x9\0\0\0\2\0\0\0\0\0\0\0"s + inner + inner).json(2),
            "[[1, 2, ...], [1, 2, ...]]");
}

TEST(Metadata, MakesValues) {
  EXPECT_EQ(MetadataValue::of(7U), read_all(ValueType::u32, "\7\0\0\0"s));
  EXPECT_EQ(MetadataValue::of(uint64_t{7}).json(), "7");
  EXPECT_EQ(MetadataValue::of(int64_t{-7}).json(), "-7");
  EXPECT_EQ(MetadataValue::of(0.5).number(), 0.5);
  EXPECT_EQ(MetadataValue::of(true).json(), "true");
  EXPECT_EQ(MetadataValue().text(), "");
  EXPECT_ERROR(ErrorCode::invalid_argument, (void)MetadataValue::of(7U).text());
}

TEST(Metadata, RefusesBytesThatAreNoValue) {
  const auto refused = [](ValueType type, const std::string& bytes) {
    return error_of([&] {
             std::size_t taken = 0;
             (void)MetadataValue::read(type, bytes_of(bytes), taken);
           })
        .code();
  };
  EXPECT_EQ(refused(ValueType::u32, "abc"), ErrorCode::corrupt);
  EXPECT_EQ(refused(ValueType::boolean, "\2"), ErrorCode::corrupt);
  EXPECT_EQ(refused(ValueType::text, "\2\0\0\0\0\0\0\0a"s), ErrorCode::corrupt);
  EXPECT_EQ(refused(ValueType::text,
                    "\xff\xff\xff\xff\xff\xff\xff\xff"
                    "a"),
            ErrorCode::corrupt);
  EXPECT_EQ(refused(ValueType::array, "\xd\0\0\0\1\0\0\0\0\0\0\0a"s), ErrorCode::corrupt);
  EXPECT_EQ(refused(ValueType::array,
                    "\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"
                    "a"s),
            ErrorCode::corrupt);
  EXPECT_EQ(refused(ValueType::array, "\x7\0\0\0\2\0\0\0\0\0\0\0\1\2"s), ErrorCode::corrupt);
  std::string deep;
  for (int depth = 0; depth < 20; ++depth) deep += "\x9\0\0\0\1\0\0\0\0\0\0\0"s;
  EXPECT_EQ(refused(ValueType::array, deep), ErrorCode::limit);
}

}  // namespace
}  // namespace relayout::checkpoint
