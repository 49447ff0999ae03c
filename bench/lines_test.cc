// Lines that are touched, compared with a count over every index.
#include "bench/lines.h"

#include <gtest/gtest.h>

#include <set>

#include "relayout/core/format.h"

namespace relayout::bench {
namespace {

/// The law in lines.h, word for word.
int64_t counted_one_by_one(const TensorDesc& desc, Touched what, int64_t misalign) {
  static constexpr int64_t kLineBits = 64 * 8;
  const Layout& layout = desc.layout;
  const Dims most = what == Touched::elements ? layout.dims() : layout.padded_dims();
  const int64_t width = bits(desc.dtype);
  std::set<int64_t> lines;
  Dims index(layout.ndims(), 0);
  const int64_t total = what == Touched::elements ? layout.elements() : layout.padded_elements();
  for (int64_t i = 0; i < total; ++i) {
    int64_t rest = i;
    for (int d = 0; d < index.size(); ++d) {
      index[d] = rest % most[d];
      rest /= most[d];
    }
    const int64_t first = misalign * 8 + layout.offset(index) * width;
    for (int64_t bit : {first, first + width - 1}) lines.insert(bit / kLineBits);
  }
  return static_cast<int64_t>(lines.size());
}

struct Example {
  const char* layout;
  Dims dims;
};

const Example kExamples[] = {
    {"nchw", {2, 3, 5, 7}},
    {"nhwc", {2, 17, 5, 3}},
    {"nChw16c", {2, 3, 5, 7}},
    {"nChw16c", {1, 35, 3, 3}},
    {"nChw5c", {3, 13, 3, 5}},
    {"aBcd48b", {2, 50, 3, 2}},
    {"OIhw4i16o4i", {17, 19, 3, 1}},
    {"strides:200,50,7,1", {3, 4, 5, 7}},                // rows that lie apart
    {"strides:100000,1000,1", {2, 3, 4}},                // gaps that are much longer than a line
    {"strides:896,1,28,4", {2, 3, 5, 7}},                // 3 of 4 channels
    {"strides:0,1,0", {4, 9, 5}},                        // repeated
    {"strides:-40,1@80", {3, 30}},                       // backwards
    {"strides:37,5@11", {9, 7}},                         // 7 elements of 37
    {"strides:2,3", {3, 2}},                             // strides that interleave
    {"nchw.narrow(1,2,3).narrow(3,1,5)", {2, 8, 3, 9}},  // a part of a buffer
    {"ab;align=24", {5, 21}},
    {"nh|Cw4c", {2, 6, 3, 5}},
};

TEST(Lines, AreThoseOfEveryElement) {
  for (const Example& example : kExamples) {
    const Layout layout = Format::parse(example.layout).bind(example.dims);
    for (DType dtype : {DType::f64, DType::f32, DType::u16, DType::u8, DType::s4}) {
      for (int64_t misalign : {0, 1, 3, 16, 63, 64, 100}) {
        for (Touched what : {Touched::elements, Touched::elements_and_padding}) {
          const TensorDesc desc(layout, dtype);
          ASSERT_EQ(lines_touched(desc, what, misalign), counted_one_by_one(desc, what, misalign))
              << example.layout << " " << join(example.dims) << " " << name(dtype) << " +" << misalign
              << (what == Touched::elements ? " elements" : " and padding");
        }
      }
    }
  }
}

TEST(Lines, WrittenDown) {
  const auto lines = [](const char* layout, const Dims& dims, DType dtype, Touched what, int64_t misalign = 0) {
    return lines_touched({Format::parse(layout).bind(dims), dtype}, what, misalign);
  };
  EXPECT_EQ(lines("a", {16}, DType::f32, Touched::elements), 1);
  EXPECT_EQ(lines("a", {17}, DType::f32, Touched::elements), 2);
  EXPECT_EQ(lines("a", {16}, DType::f32, Touched::elements, 16), 2);
  EXPECT_EQ(lines("a", {129}, DType::u4, Touched::elements), 2);
  // 3 of 16 channels: each line is read, whole or not. 3 of 32: the second line of each block is not.
  EXPECT_EQ(lines("nChw16c", {2, 3, 5, 5}, DType::f32, Touched::elements), 50);
  EXPECT_EQ(lines("nChw32c", {2, 3, 5, 5}, DType::f32, Touched::elements), 50);
  EXPECT_EQ(lines("nChw32c", {2, 3, 5, 5}, DType::f32, Touched::elements_and_padding), 100);
  // A gap of a line in each row of two.
  EXPECT_EQ(lines("strides:32,1", {8, 16}, DType::f32, Touched::elements_and_padding), 8);
  EXPECT_EQ(lines("nchw", {2, 0, 5, 5}, DType::f32, Touched::elements_and_padding), 0);
  EXPECT_THROW(lines("strides:1,1", {3, 3}, DType::f32, Touched::elements), Error);
}

TEST(Lines, OfBothSides) {
  const Dims dims{2, 3, 5, 5};
  const TensorDesc blocked(Format::parse("nChw32c").bind(dims), DType::f32),
      plain(Format::parse("nchw").bind(dims), DType::u8);
  EXPECT_EQ(bytes_of_lines(blocked, plain), 64 * (50 + 3));
  EXPECT_EQ(bytes_of_lines(plain, blocked), 64 * (3 + 100));
  EXPECT_EQ(bytes_of_lines(plain, blocked, 48), 64 * (4 + 101));
}

}  // namespace
}  // namespace relayout::bench
