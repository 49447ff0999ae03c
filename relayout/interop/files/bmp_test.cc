// BMP as views: images made by hand, and headers damaged in every byte.
#include "relayout/interop/files/bmp.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

#include "tests/support/tensor_files.h"

namespace relayout {
namespace {

std::string little(int64_t value, int bytes) {
  std::string out;
  for (int b = 0; b < bytes; ++b) out += static_cast<char>(static_cast<uint64_t>(value) >> (8 * b) & 0xff);
  return out;
}

struct Image {
  int64_t width = 3, height = 2, bits = 24, header = 40, compression = 0, planes = 1;
  std::string masks{};  // behind the first 40 bytes of the header
  int64_t extra = 0;    // bytes between the header and the pixels
};

/// A BMP whose pixel array counts 0, 1, 2 ... modulo 256, padding included.
std::string bmp(const Image& image) {
  const int64_t row = (image.width * image.bits + 31) / 32 * 4, rows = std::abs(image.height);
  std::string head;
  if (image.header == 12) {
    head = little(12, 4) + little(image.width, 2) + little(image.height, 2) + little(image.planes, 2) +
           little(image.bits, 2);
  } else {
    head = little(image.header, 4) + little(image.width, 4) + little(image.height, 4) + little(image.planes, 2) +
           little(image.bits, 2) + little(image.compression, 4) + std::string(20, '\0') + image.masks;
    if (static_cast<int64_t>(head.size()) < image.header) head.resize(static_cast<std::size_t>(image.header), '\0');
  }
  const int64_t pixels = 14 + static_cast<int64_t>(head.size()) + image.extra;
  std::string out = "BM" + little(pixels + row * rows, 4) + little(0, 4) + little(pixels, 4) + head;
  out.resize(static_cast<std::size_t>(pixels), '\x55');
  for (int64_t i = 0; i < row * rows; ++i) out += static_cast<char>(i & 0xff);
  return out;
}

std::string masks(int red, int green, int blue) {
  return little(int64_t{0xff} << (8 * red), 4) + little(int64_t{0xff} << (8 * green), 4) +
         little(int64_t{0xff} << (8 * blue), 4);
}

class Bmp : public ::testing::Test {
 protected:
  TensorFile open(const std::string& bytes, const std::string& name = "x.bmp") {
    write_file(folder_ / name, bytes);
    return TensorFile::open(folder_ / name);
  }
  /// What lies at channel c, row y, column x.
  static int at(const TensorFile& file, int64_t c, int64_t y, int64_t x) {
    const StoredTensor& tensor = file.tensors()[0];
    const Layout layout = tensor.layout->bind(*tensor.dims);
    EXPECT_EQ(layout.span(), tensor.byte_size);
    return std::to_integer<int>(file.bytes(0)[static_cast<std::size_t>(layout.offset({0, c, y, x}))]);
  }
  TestFolder folder_;
};

TEST_F(Bmp, RowsArePaddedAndLieBottomUp) {
  const TensorFile file = open(bmp({}));
  EXPECT_EQ(file.format(), FileFormat::bmp);
  EXPECT_TRUE(file.mapped(0));
  const StoredTensor& tensor = file.tensors()[0];
  EXPECT_EQ(tensor.dtype, DType::u8);
  EXPECT_EQ(tensor.layout->text(), "strides:24,-1,-12,3");
  EXPECT_EQ(*tensor.dims, (Dims{1, 3, 2, 3}));
  // A row is 9 bytes and 3 of padding; the last row's padding is left out.
  EXPECT_EQ(tensor.byte_size, 21);
  // The top row is the second in the file, and red is a pixel's last byte.
  EXPECT_EQ(at(file, 0, 0, 0), 14);
  EXPECT_EQ(at(file, 2, 0, 0), 12);
  EXPECT_EQ(at(file, 0, 1, 0), 2);
  EXPECT_EQ(at(file, 1, 1, 2), 7);
}

TEST_F(Bmp, TopDownAndThirtyTwoBits) {
  const TensorFile down = open(bmp({.height = -2}));
  EXPECT_EQ(down.tensors()[0].layout->text(), "strides:24,-1,12,3");
  EXPECT_EQ(at(down, 0, 0, 0), 2);
  EXPECT_EQ(at(down, 0, 1, 1), 17);
  const TensorFile wide = open(bmp({.bits = 32}));
  EXPECT_EQ(wide.tensors()[0].layout->text(), "strides:24,-1,-12,4");
  EXPECT_EQ(wide.tensors()[0].byte_size, 23);
  EXPECT_EQ(at(wide, 0, 1, 2), 10);
  EXPECT_EQ(at(wide, 2, 0, 2), 20);
}

TEST_F(Bmp, HeadersAndMasks) {
  for (int64_t header : {40, 52, 56, 64, 108, 124}) {
    const TensorFile file = open(bmp({.header = header, .extra = 7}));
    EXPECT_EQ(at(file, 0, 1, 0), 2) << header;
  }
  EXPECT_EQ(at(open(bmp({.header = 12})), 0, 1, 0), 2);
  // The three orders of bytes that are common: BGRA, RGBA, ABGR.
  EXPECT_EQ(open(bmp({.bits = 32, .compression = 3, .masks = masks(2, 1, 0)})).tensors()[0].layout->text(),
            "strides:24,-1,-12,4");
  const TensorFile rgba = open(bmp({.bits = 32, .header = 108, .compression = 3, .masks = masks(0, 1, 2)}));
  EXPECT_EQ(rgba.tensors()[0].layout->text(), "strides:24,1,-12,4");
  EXPECT_EQ(at(rgba, 0, 1, 1), 4);
  const TensorFile abgr = open(bmp({.bits = 32, .header = 124, .compression = 3, .masks = masks(3, 2, 1)}));
  EXPECT_EQ(at(abgr, 0, 1, 1), 7);
  EXPECT_EQ(at(abgr, 2, 1, 1), 5);
  EXPECT_ERROR(ErrorCode::unsupported, open(bmp({.bits = 32, .compression = 3, .masks = masks(0, 2, 1)})));
  EXPECT_ERROR(ErrorCode::unsupported,
               open(bmp({.bits = 32, .compression = 3, .masks = little(0x3ff, 4) + masks(0, 1, 2)})));
}

TEST_F(Bmp, IsFoundByItsFirstBytes) {
  EXPECT_EQ(open(bmp({}), "x.dat").format(), FileFormat::bmp);
  EXPECT_EQ(open("BM, but no image at all", "x.dat").format(), FileFormat::raw);
  EXPECT_EQ(open(bmp({}), "x.bin").format(), FileFormat::raw);
  EXPECT_ERROR(ErrorCode::unsupported, TensorWriter::create(folder_ / "y.bmp", {.shape = {1}}));
}

TEST_F(Bmp, OtherEncodingsAreNamed) {
  const auto refusal = [&](const Image& image) {
    const Error error = error_of([&] { open(bmp(image)); });
    EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
    return error.message();
  };
  EXPECT_NE(refusal({.bits = 8}).find("palette (8 bits a pixel)"), std::string::npos);
  EXPECT_NE(refusal({.bits = 8, .compression = 1}).find("palette"), std::string::npos);
  EXPECT_NE(refusal({.bits = 1}).find("palette (1 bits"), std::string::npos);
  EXPECT_NE(refusal({.bits = 16}).find("16 bits a pixel"), std::string::npos);
  EXPECT_NE(refusal({.compression = 1}).find("run-length encoding (compression 1)"), std::string::npos);
  EXPECT_NE(refusal({.compression = 4}).find("JPEG inside a BMP"), std::string::npos);
  EXPECT_NE(refusal({.compression = 99}).find("compression (compression 99)"), std::string::npos);
  EXPECT_NE(refusal({.header = 64, .compression = 3}).find("compression 3"), std::string::npos);
}

TEST_F(Bmp, ContradictionsAreCorrupt) {
  const std::string good = bmp({});
  for (std::size_t cut = 0; cut + 3 < good.size(); ++cut) EXPECT_ERROR(ErrorCode::corrupt, open(good.substr(0, cut)));
  // The padding of the last row may be missing, as some programs leave it out.
  EXPECT_EQ(open(good.substr(0, good.size() - 3)).tensors()[0].byte_size, 21);
  EXPECT_EQ(open(good + "trailer").tensors()[0].byte_size, 21);
  const auto with = [&](std::size_t at, int64_t value, int bytes) {
    return std::string(good).replace(at, static_cast<std::size_t>(bytes), little(value, bytes));
  };
  const Error wide = error_of([&] { open(with(18, INT32_MAX, 4)); });
  EXPECT_EQ(wide.code(), ErrorCode::corrupt);
  EXPECT_EQ(wide.value(), std::to_string(good.size()));
  EXPECT_EQ(wide.limit(), std::to_string(54 + 6442450944 + 3 * int64_t{INT32_MAX}));
  EXPECT_ERROR(ErrorCode::corrupt, open(with(18, -3, 4)));
  EXPECT_ERROR(ErrorCode::corrupt, open(with(18, 0, 4)));
  EXPECT_ERROR(ErrorCode::corrupt, open(with(22, 0, 4)));
  EXPECT_ERROR(ErrorCode::corrupt, open(with(22, INT32_MIN, 4)));
  EXPECT_ERROR(ErrorCode::corrupt, open(with(26, 3, 2)));
  EXPECT_ERROR(ErrorCode::corrupt, open(with(28, 25, 2)));
  EXPECT_ERROR(ErrorCode::corrupt, open(with(14, 41, 4)));
  EXPECT_ERROR(ErrorCode::corrupt, open(with(10, 53, 4)));  // pixels inside the header
  EXPECT_ERROR(ErrorCode::corrupt, open(with(10, 0xffffffff, 4)));
  // 2^31 rows of 2^33 bytes.
  std::string large = with(18, INT32_MAX, 4);
  large.replace(22, 4, little(INT32_MIN, 4)).replace(28, 2, little(32, 2));
  EXPECT_EQ(error_of([&] { open(large); }).limit(), "more than 2^63");
}

TEST_F(Bmp, DamagedHeadersAreRefusedOrStayInTheFile) {
  std::mt19937 rng(7);
  int read = 0, refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = round % 2 == 0 ? bmp({.width = 5, .height = 4})
                                       : bmp({.width = 5, .bits = 32, .compression = 3, .masks = masks(2, 1, 0)});
    for (unsigned k = 0; k < 1 + rng() % 4; ++k) {
      const std::size_t at = rng() % 66;
      bytes[at] =
          rng() % 3 == 0 ? static_cast<char>(rng()) : static_cast<char>(bytes[at] + static_cast<int>(rng() % 5) - 2);
    }
    if (rng() % 4 == 0) bytes.resize(rng() % bytes.size());
    try {
      // Exactly as many bytes as the file has, so that the address sanitizer sees a read behind them.
      const std::vector<std::byte> file(bytes_of(bytes).begin(), bytes_of(bytes).end());
      const BmpView view = parse_bmp(file);
      const StoredTensor& tensor = view.tensor;
      const Layout layout = tensor.layout->bind(*tensor.dims);
      ASSERT_EQ(layout.span(), tensor.byte_size);
      ASSERT_EQ(layout.offset_range().first, 0);
      ASSERT_GE(view.begin, 26);
      ASSERT_LE(view.begin + tensor.byte_size, static_cast<int64_t>(bytes.size()));
      ASSERT_TRUE(layout.injective());
      ++read;
    } catch (const Error& error) {
      ASSERT_TRUE(error.code() == ErrorCode::corrupt || error.code() == ErrorCode::unsupported) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(read, 500);
  EXPECT_GT(refused, 5000);
}

}  // namespace
}  // namespace relayout
