// PNG and JPEG as tensors: images made by hand (PNG) or by libjpeg, whole and damaged.
#include <gtest/gtest.h>

#include <cstring>

#include "relayout/interop/files/tensor_file.h"
#include "tests/support/tensor_files.h"

#if RELAYOUT_TEST_JPEG
#include <jpeglib.h>

#include <cstdio>
#endif

namespace relayout {
namespace {

class ImageFile : public ::testing::Test {
 protected:
  TensorFile open(const std::string& name, const std::string& bytes, const FileLimits& limits = {}) {
    write_file(folder_ / name, bytes);
    return TensorFile::open(folder_ / name, limits);
  }
  std::string pixels(const std::string& name, const std::string& bytes) { return text_of(open(name, bytes).bytes(0)); }
  TestFolder folder_;
};

void expect_image(const StoredTensor& t, int64_t width, int64_t height, int64_t channels) {
  EXPECT_EQ(t.dtype, DType::u8);
  EXPECT_EQ(t.item_bits, 8);
  EXPECT_EQ(t.shape, (Dims{1, height, width, channels}));
  EXPECT_EQ(t.dims.value(), (Dims{1, channels, height, width}));
  EXPECT_EQ(t.layout.value().text(), "nhwc");
  EXPECT_EQ(t.layout->physical_shape(*t.dims), t.shape);
  EXPECT_EQ(t.byte_size, width * height * channels);
}

TEST_F(ImageFile, EmptyFilesAreNoImages) {
  EXPECT_ERROR(ErrorCode::corrupt, open("x.png", ""));
  EXPECT_ERROR(ErrorCode::corrupt, open("x.png", "text"));
  EXPECT_ERROR(ErrorCode::corrupt, open("x.jpg", ""));
  EXPECT_ERROR(ErrorCode::corrupt, open("x.jpeg", "\xff\xd8\xff"));
  EXPECT_ERROR(ErrorCode::unsupported, TensorWriter::create(folder_ / "x.png", {.shape = {1}}));
  EXPECT_ERROR(ErrorCode::unsupported, TensorWriter::create(folder_ / "x.jpg", {.shape = {1}}));
}

#if RELAYOUT_TEST_PNG
std::string big_endian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16 & 0xff), static_cast<char>(value >> 8 & 0xff),
          static_cast<char>(value & 0xff)};
}
std::string chunk(const std::string& type, const std::string& data) {
  uint32_t crc = 0xffffffff;
  for (unsigned char byte : type + data) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return big_endian(static_cast<uint32_t>(data.size())) + type + data + big_endian(~crc);
}
/// A PNG of these rows, each with its filter byte; the deflate stream is one stored block. `more`
/// are chunks before the pixels.
std::string png(uint32_t width, uint32_t height, int depth, int color, const std::string& rows,
                const std::string& more = "") {
  const auto length = static_cast<uint16_t>(rows.size()), inverted = static_cast<uint16_t>(~length);
  std::string stream("\x78\x01\x01");
  stream += {static_cast<char>(length & 0xff), static_cast<char>(length >> 8), static_cast<char>(inverted & 0xff),
             static_cast<char>(inverted >> 8)};
  uint32_t a = 1, b = 0;
  for (unsigned char byte : rows) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  return "\x89PNG\r\n\x1a\n" +
         chunk("IHDR", big_endian(width) + big_endian(height) + static_cast<char>(depth) + static_cast<char>(color) +
                           std::string(3, '\0')) +
         more + chunk("IDAT", stream + rows + big_endian(b << 16 | a)) + chunk("IEND", "");
}
const std::string kZero(1, '\0');

TEST_F(ImageFile, PngColors) {
  const std::string gray = png(3, 2, 8, 0, kZero + "abc" + kZero + "def");
  expect_image(open("x.png", gray).tensors()[0], 3, 2, 1);
  EXPECT_EQ(pixels("x.png", gray), "abcdef");
  // The format follows from the first bytes and not from the name.
  EXPECT_EQ(open("x.dat", gray).format(), FileFormat::png);
  EXPECT_FALSE(open("x.png", gray).mapped(0));

  const std::string rgb = png(2, 1, 8, 2, kZero + "abcdef");
  expect_image(open("x.png", rgb).tensors()[0], 2, 1, 3);
  EXPECT_EQ(pixels("x.png", rgb), "abcdef");
  const std::string gray_alpha = png(1, 2, 8, 4, kZero + "ab" + kZero + "cd");
  expect_image(open("x.png", gray_alpha).tensors()[0], 1, 2, 2);
  EXPECT_EQ(pixels("x.png", gray_alpha), "abcd");
  const std::string rgba = png(1, 1, 8, 6, kZero + "abcd");
  expect_image(open("x.png", rgba).tensors()[0], 1, 1, 4);
  EXPECT_EQ(pixels("x.png", rgba), "abcd");
}

TEST_F(ImageFile, PngExpansions) {
  const std::string palette = chunk("PLTE", "abcdef");
  const std::string indexed = png(2, 1, 8, 3, kZero + std::string("\1\0", 2), palette);
  expect_image(open("x.png", indexed).tensors()[0], 2, 1, 3);
  EXPECT_EQ(pixels("x.png", indexed), "defabc");
  const std::string transparent = png(2, 1, 8, 3, kZero + std::string("\1\0", 2), palette + chunk("tRNS", "z"));
  EXPECT_EQ(pixels("x.png", transparent),
            "def\xff"
            "abcz");
  EXPECT_EQ(pixels("x.png", png(8, 1, 1, 0, kZero + "\x81")), std::string("\xff\0\0\0\0\0\0\xff", 8));
  // Values of 16 bits become the nearest ones of 8 bits.
  EXPECT_EQ(pixels("x.png", png(3, 1, 16, 0, kZero + std::string("\x12\x34\xff\xff\x00\xff", 6))),
            std::string("\x12\xff\x01", 3));
}

TEST_F(ImageFile, PngDamage) {
  const std::string good = png(3, 2, 8, 0, kZero + "abc" + kZero + "def");
  for (std::size_t cut = 0; cut < good.size(); ++cut)
    EXPECT_ERROR(ErrorCode::corrupt, pixels("x.png", good.substr(0, cut)));
  std::string bad = good;
  bad[good.size() - 20] ^= 1;
  EXPECT_ERROR(ErrorCode::corrupt, pixels("x.png", bad));
  EXPECT_ERROR(ErrorCode::corrupt, pixels("x.png", png(3, 3, 8, 0, kZero + "abc" + kZero + "def")));
  EXPECT_ERROR(ErrorCode::corrupt, pixels("x.png", png(0, 2, 8, 0, "")));
  EXPECT_ERROR(ErrorCode::limit, open("x.png", good, {.decoded_bytes = 5}));
  // A small file that claims a large image is refused before memory for the pixels is allocated.
  EXPECT_ERROR(ErrorCode::limit, open("x.png", png(1'000'000, 1'000'000, 8, 6, kZero + "abcd")));
}
#endif

#if RELAYOUT_TEST_JPEG
std::string jpeg(int width, int height, int channels, J_COLOR_SPACE space, bool progressive = false) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* out = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &out, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = channels;
  info.in_color_space = space;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 100, TRUE);
  if (progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  std::vector<unsigned char> row(static_cast<std::size_t>(width * channels));
  for (int y = 0; y < height; ++y) {
    for (std::size_t i = 0; i < row.size(); ++i)
      row[i] = static_cast<unsigned char>(i % static_cast<std::size_t>(channels) * 60 + 40);
    JSAMPROW rows[] = {row.data()};
    jpeg_write_scanlines(&info, rows, 1);
  }
  jpeg_finish_compress(&info);
  std::string bytes(reinterpret_cast<char*>(out), size);
  jpeg_destroy_compress(&info);
  std::free(out);
  return bytes;
}

TEST_F(ImageFile, JpegColors) {
  for (bool progressive : {false, true}) {
    const TensorFile gray = open("x.jpg", jpeg(9, 7, 1, JCS_GRAYSCALE, progressive));
    expect_image(gray.tensors()[0], 9, 7, 1);
    for (std::byte value : gray.bytes(0)) EXPECT_NEAR(std::to_integer<int>(value), 40, 2);
    const TensorFile rgb = open("x.jpeg", jpeg(33, 17, 3, JCS_RGB, progressive));
    EXPECT_EQ(rgb.format(), FileFormat::jpeg);
    expect_image(rgb.tensors()[0], 33, 17, 3);
    const auto bytes = rgb.bytes(0);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      EXPECT_NEAR(std::to_integer<int>(bytes[i]), 40 + static_cast<int>(i % 3) * 60, 3);
  }
  EXPECT_ERROR(ErrorCode::unsupported, open("x.jpg", jpeg(8, 8, 4, JCS_CMYK)));
}

TEST_F(ImageFile, JpegDamage) {
  ::testing::internal::CaptureStderr();
  for (bool progressive : {false, true}) {
    const std::string good = jpeg(33, 17, 3, JCS_RGB, progressive);
    for (std::size_t cut = 0; cut < good.size(); cut += 5)
      EXPECT_ERROR(ErrorCode::corrupt, pixels("x.jpg", good.substr(0, cut)));
    for (std::size_t at = 0; at < good.size(); ++at) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 0x55);
      try {
        pixels("x.jpg", bad);
      } catch (const Error&) {
      }
    }
    EXPECT_ERROR(ErrorCode::limit, open("x.jpg", good, {.decoded_bytes = 100}));
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}
#endif

}  // namespace
}  // namespace relayout
