// Parts written into tensors of files that exist, against loops over their indices.
#include "relayout/checkpoint/whole.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "tests/support/tensor_files.h"

namespace relayout::checkpoint {
namespace {

using Floats = std::vector<float>;

/// A raw file of f32 elements that count down from -1.
Floats make_raw(const std::filesystem::path& path, std::size_t count) {
  Floats out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = -1 - static_cast<float>(i);
  write_file(path, std::as_bytes(std::span(out)), true);
  return out;
}
Floats read_raw(const std::filesystem::path& path) {
  const TensorFile file = TensorFile::open(path);
  const auto values = file.elements<float>(0);
  return {values.begin(), values.end()};
}

TEST(WholeTensor, TakesPartsOfAnyLayout) {
  std::mt19937 random(1);
  const auto number = [&](int64_t low, int64_t high) { return std::uniform_int_distribution(low, high)(random); };
  const TestFolder folder;
  for (const char* layout : {"abc", "cab", "aBc4b", "Abc8a", "ABc2b3a", "strides:60,1,7", "cBa3b"}) {
    for (int round = 0; round < 20; ++round) {
      const Dims dims{number(1, 9), number(1, 7), number(1, 6)};
      if (std::string(layout) == "strides:60,1,7" && dims[2] * 7 > 60) continue;
      Dims begin, part;
      for (int d = 0; d < 3; ++d) {
        begin.push_back(number(0, dims[d]));
        part.push_back(number(0, dims[d] - begin[d]));
      }
      const Format format = Format::parse(layout);
      const Layout whole = format.bind(dims), piece = Format::parse("bca").bind(part);
      const auto path = folder / "whole.raw";
      Floats want = make_raw(path, static_cast<std::size_t>(whole.span()));
      Floats values(static_cast<std::size_t>(piece.span()));
      std::iota(values.begin(), values.end(), 1.0F);
      for (int64_t a = 0; a < part[0]; ++a)
        for (int64_t b = 0; b < part[1]; ++b)
          for (int64_t c = 0; c < part[2]; ++c)
            want[static_cast<std::size_t>(whole.offset(Dims{begin[0] + a, begin[1] + b, begin[2] + c}))] =
                values[static_cast<std::size_t>(piece.offset(Dims{a, b, c}))];
      WholeTensor file = WholeTensor::open(path, {.layout = format, .dims = dims, .dtype = DType::f32});
      file.write({.desc = {piece, DType::f32}, .bytes = std::as_bytes(std::span(values))}, begin);
      EXPECT_EQ(read_raw(path), want) << layout << " " << join(dims) << " part " << join(part) << " at " << join(begin);
    }
  }
}

TEST(WholeTensor, ElementsThatShareBytesKeepTheirNeighbours) {
  const TestFolder folder;
  for (int first = 0; first < 5; ++first) {
    for (int count = 0; count + first <= 5; ++count) {
      const std::vector<uint8_t> before{0x21, 0x43, 0x65, 0x87, 0xa9};  // s4, two dims of 2x5
      write_file(folder / "whole.bin", std::as_bytes(std::span(before)), true);
      const std::vector<uint8_t> part(static_cast<std::size_t>(count), 0);  // s4 zeros, 2 x count
      WholeTensor file = WholeTensor::open(folder / "whole.bin",
                                           {.layout = Format::parse("ab"), .dims = Dims{2, 5}, .dtype = DType::u4});
      file.write({.desc = {Layout::contiguous(Dims{2, count}), DType::u4}, .bytes = std::as_bytes(std::span(part))},
                 Dims{0, first});
      const TensorFile read = TensorFile::open(folder / "whole.bin");
      for (int i = 0; i < 10; ++i) {
        const int nibble = std::to_integer<int>(read.bytes(0)[static_cast<std::size_t>(i) / 2]) >> (4 * (i % 2)) & 15;
        const bool written = i % 5 >= first && i % 5 < first + count;
        EXPECT_EQ(nibble, written ? 0 : i + 1) << first << " " << count << " " << i;
      }
    }
  }
}

TEST(WholeTensor, RefusesBeforeAByteIsWritten) {
  const TestFolder folder;
  const auto path = folder / "whole.raw";
  const Floats before = make_raw(path, 24);
  const auto why = [&](const Dims& part, const Dims& begin, DType dtype = DType::f32) {
    const std::vector<double> values(64);
    return error_of([&] {
             WholeTensor file =
                 WholeTensor::open(path, {.layout = Format::parse("ab"), .dims = Dims{4, 6}, .dtype = DType::f32});
             file.write({.desc = {Layout::contiguous(part), dtype}, .bytes = std::as_bytes(std::span(values))}, begin);
           })
        .message();
  };
  EXPECT_NE(why({2, 3}, {3, 0}).find("dim 0 would reach from 3 to 5 of 4"), std::string::npos);
  EXPECT_NE(why({2, 3}, {0, -1}).find("dim 1 would reach from -1 to 2 of 6"), std::string::npos);
  EXPECT_NE(why({2}, {0}).find("the part has 1 dims"), std::string::npos);
  EXPECT_NE(why({2, 3}, {0, 0}, DType::f64).find("does not hold all of its values"), std::string::npos);
  EXPECT_NE(why({4, 6}, {INT64_MAX, 0}).find("does not fit"), std::string::npos);
  EXPECT_EQ(read_raw(path), before);
}

}  // namespace
}  // namespace relayout::checkpoint
