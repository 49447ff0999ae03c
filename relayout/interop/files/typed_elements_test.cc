// Elements of files as ranges of their C++ type: read in place, copied, written; and what is refused by its type, its
// size and its place.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include "relayout/interop/files/npy.h"
#include "relayout/interop/files/tensor_file.h"
#include "tests/support/tensor_files.h"

namespace relayout {
namespace {

class TypedElements : public ::testing::Test {
 protected:
  /// The bytes of a .npy file of this type, shape and contents.
  static std::string npy(const std::string& descr, const std::string& shape, const std::string& data) {
    std::string text("\x93NUMPY\x01\x00\x76\x00", 10);
    text += "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
    text.resize(127, ' ');
    return text + "\n" + data;
  }
  TensorFile open_npy(const std::string& descr, const std::string& shape, const std::string& data) {
    relayout::write_file(folder_ / "t.npy", npy(descr, shape, data));
    return TensorFile::open(folder_ / "t.npy");
  }
  TestFolder folder_;
};

TEST_F(TypedElements, WrittenAndReadInPlace) {
  std::array<float, 6> values{};
  std::iota(values.begin(), values.end(), 1.0f);
  for (const char* each : {"x.npy", "x.safetensors", "x.bin"}) {
    TensorWriter out = TensorWriter::create(folder_ / each, {.dtype = DType::f32, .shape = {2, 3}});
    EXPECT_EQ(out.dtype(), DType::f32);
    const std::span<float> to = out.elements<float>();
    ASSERT_EQ(to.size(), 6U);
    std::ranges::copy(values, to.begin());
    out.commit();
    const TensorFile file = TensorFile::open(folder_ / each);
    EXPECT_TRUE(std::ranges::equal(file.elements<float>(0), values)) << each;
    std::vector<float> copy(7, -1);
    file.read(0, copy);
    EXPECT_TRUE(std::ranges::equal(std::span(copy).first(6), values)) << each;
    EXPECT_EQ(copy[6], -1) << "no more than the tensor has";
    float matrix[2][3] = {};
    file.read(0, matrix);
    EXPECT_EQ(matrix[1][2], 6);
  }
}

TEST_F(TypedElements, CopiedIntoAWriter) {
  const std::array<float, 3> values{1, 2, 3};
  for (const char* each : {"y.npy", "y.safetensors"}) {
    TensorWriter out = TensorWriter::create(folder_ / each, {.dtype = DType::f32, .shape = {3}});
    EXPECT_ERROR(ErrorCode::invalid_argument, out.write(std::vector<int32_t>(3)));
    EXPECT_ERROR(ErrorCode::buffer_too_small, out.write(std::span(values).first(2)));
    out.write(values);
    out.commit();
    EXPECT_TRUE(std::ranges::equal(TensorFile::open(folder_ / each).elements<float>(0), values));
  }
  // Half an element's bytes are what holds bf16, and bytes hold anything.
  TensorWriter halves = TensorWriter::create(folder_ / "h.npy", {.dtype = DType::bf16, .shape = {2}});
  EXPECT_EQ(halves.elements<uint16_t>().size(), 2U);
  EXPECT_ERROR(ErrorCode::invalid_argument, halves.elements<float>());
  EXPECT_ERROR(ErrorCode::invalid_argument, halves.elements<int16_t>());
  halves.write(std::as_bytes(std::span(values).first(1)));
  halves.commit();
  const TensorFile file = TensorFile::open(folder_ / "h.npy");
  EXPECT_EQ(file.elements<uint16_t>(0)[1], 0x3f80);
}

TEST_F(TypedElements, AnotherTypeIsRefusedByName) {
  const TensorFile file = open_npy("<f2", "(2,)", "abcd");
  const Error view = error_of([&] { (void)file.elements<float>(0); });
  EXPECT_EQ(view.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(view.field() + " " + view.value() + " " + view.limit(), "dtype f32 f16");
  EXPECT_NE(view.message().find("t.npy"), std::string::npos) << view.message();
  EXPECT_ERROR(ErrorCode::invalid_argument, (void)file.elements<int16_t>(0));
  EXPECT_EQ(file.elements<uint16_t>(0).size(), 2U);
  std::vector<float> floats(2);
  EXPECT_ERROR(ErrorCode::invalid_argument, file.read(0, floats));
  std::vector<uint16_t> one(1);
  const Error small = error_of([&] { file.read(0, one); });
  EXPECT_EQ(small.code(), ErrorCode::buffer_too_small);
  EXPECT_EQ(small.value() + " " + small.limit(), "2 4");
  std::vector<std::byte> bytes(4);
  file.read(0, bytes);
  EXPECT_EQ(text_of(bytes), "abcd");
}

TEST_F(TypedElements, BigEndianElementsAreTurnedWhereTheyAreCopied) {
  const TensorFile file = open_npy(">u4", "(2,)", std::string("\0\0\1\2\3\4\5\6", 8));
  EXPECT_ERROR(ErrorCode::unsupported, (void)file.elements<uint32_t>(0));
  std::vector<uint32_t> read(2);
  file.read(0, read);
  EXPECT_EQ(read, (std::vector<uint32_t>{0x102, 0x3040506}));
  // What has no type here is bits, which stay as the file has them.
  const TensorFile complex = open_npy(">c8", "(1,)", "abcdefgh");
  std::vector<std::byte> bytes(8);
  complex.read(0, bytes);
  EXPECT_EQ(text_of(bytes), "abcdefgh");
  const TensorFile single = open_npy(">u1", "(3,)", "abc");
  EXPECT_EQ(single.elements<uint8_t>(0)[2], 'c');
}

TEST_F(TypedElements, TypesThatAreNotConvertedAreBitsOfTheirWidth) {
  const TensorFile file = open_npy("<c8", "(1,)", "abcdefgh");
  EXPECT_EQ(file.elements<uint64_t>(0).size(), 1U);
  EXPECT_ERROR(ErrorCode::invalid_argument, (void)file.elements<double>(0));
  EXPECT_ERROR(ErrorCode::invalid_argument, (void)file.elements<uint32_t>(0));
  relayout::write_file(folder_ / "r.bin", "abcdef");
  const TensorFile raw = TensorFile::open(folder_ / "r.bin");
  EXPECT_EQ(raw.elements<uint16_t>(0).size(), 3U);
  const Error part = error_of([&] { (void)raw.elements<float>(0); });
  EXPECT_EQ(part.code(), ErrorCode::invalid_argument);
  EXPECT_NE(part.message().find("6 bytes, no whole number of f32s"), std::string::npos) << part.message();
}

TEST_F(TypedElements, BytesBecomeBools) {
  const TensorFile file = open_npy("|b1", "(4,)", std::string("\0\1\2\xff", 4));
  EXPECT_EQ(file.elements<uint8_t>(0)[2], 2) << "in place it is the byte";
  std::array<bool, 4> read{};
  file.read(0, read);
  std::array<uint8_t, 4> stored{};
  std::memcpy(stored.data(), read.data(), 4);
  EXPECT_EQ(stored, (std::array<uint8_t, 4>{0, 1, 1, 1}));
}

// The data of a .safetensors file begins where its header ends, which other programs put anywhere.
TEST_F(TypedElements, ElementsThatAreNotAlignedAreCopiedAlone) {
  const std::string json = R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})" + std::string(3, ' ');
  ASSERT_EQ(json.size() % 4, 1U);
  std::string text(8, '\0');
  text[0] = static_cast<char>(json.size());
  const float value = 2.5f;
  text += json + std::string(reinterpret_cast<const char*>(&value), 4);
  relayout::write_file(folder_ / "odd.safetensors", text);
  const TensorFile file = TensorFile::open(folder_ / "odd.safetensors");
  const Error error = error_of([&] { (void)file.elements<float>(0); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_NE(error.message().find("no multiple of 4"), std::string::npos) << error.message();
  std::array<float, 1> read{};
  file.read(0, read);
  EXPECT_EQ(read[0], value);
}

}  // namespace
}  // namespace relayout
