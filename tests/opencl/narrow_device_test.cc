// What a device that is narrower than a tensor needs gets: errors with what was asked and what is allowed, and buffers
// in the place of images. The device is a real one, seen through narrow_driver.cc.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "relayout/opencl/transfer.h"

namespace relayout::opencl {
namespace {

class NarrowDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (list_devices().devices.empty()) GTEST_SKIP() << "no OpenCL: " << list_devices().problem;
  }
};

std::string message_of(ErrorCode code, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.message();
    return error.message();
  }
  ADD_FAILURE() << "no error";
  return "";
}

Image image_of(const Dims& dims, ChannelType type = ChannelType::f32) {
  return Image::make(Format::parse("mace:in_out_channel"), dims, type);
}

/// Uploads and downloads numbers, and says whether they came back.
bool comes_back(const DeviceTensor& tensor, const Dims& dims) {
  const TensorDesc host(Layout::contiguous(dims), DType::f32);
  std::vector<float> in(static_cast<std::size_t>(host.layout.elements())), out(in.size());
  std::iota(in.begin(), in.end(), 1.0f);
  upload(host, std::as_bytes(std::span(in)), tensor);
  download(tensor, host, std::as_writable_bytes(std::span(out)));
  return in == out;
}

TEST_F(NarrowDevice, LimitsAreAskedForAndNamed) {
  const Runtime runtime;
  EXPECT_EQ(runtime.device().max_image_width, 64);
  EXPECT_EQ(runtime.device().max_alloc_bytes, 1 << 20);
  const Dims wide{1, 8, 2, 33};
  const std::string text = message_of(ErrorCode::limit, [&] { DeviceTensor::make_image(runtime, image_of(wide)); });
  EXPECT_NE(text.find("66 x 2"), std::string::npos) << text;
  EXPECT_NE(text.find("64 x 64"), std::string::npos) << text;
  const DeviceTensor instead = DeviceTensor::make_image(runtime, image_of(wide), Fallback::buffer);
  EXPECT_FALSE(instead.is_image());
  EXPECT_TRUE(comes_back(instead, wide));
}

TEST_F(NarrowDevice, NoHalfFloatsInImages) {
  const Runtime runtime;
  EXPECT_FALSE(runtime.device().has(ChannelType::f16));
  const Dims dims{1, 8, 2, 3};
  const Image half = image_of(dims, ChannelType::f16);
  const std::string text = message_of(ErrorCode::unsupported, [&] { DeviceTensor::make_image(runtime, half); });
  EXPECT_NE(text.find("CL_HALF_FLOAT"), std::string::npos) << text;
  EXPECT_NE(text.find("f32"), std::string::npos) << text;
  EXPECT_TRUE(comes_back(DeviceTensor::make_image(runtime, half, Fallback::buffer), dims));
  EXPECT_TRUE(comes_back(DeviceTensor::make_image(runtime, image_of(dims)), dims));
}

TEST_F(NarrowDevice, MemoryThatIsNotThere) {
  const Runtime runtime;
  const std::string image = message_of(ErrorCode::limit, [&] {
    DeviceTensor::make_image(runtime, image_of({1, 4, 64, 64}));
  });
  EXPECT_NE(image.find("65536 bytes"), std::string::npos) << image;
  EXPECT_NE(image.find("CL_OUT_OF_RESOURCES"), std::string::npos) << image;
  EXPECT_TRUE(
      comes_back(DeviceTensor::make_image(runtime, image_of({1, 4, 64, 64}), Fallback::buffer), {1, 4, 64, 64}));
  const TensorDesc large(Layout::contiguous({600000}), DType::u8), too_large(Layout::contiguous({1 << 21}), DType::u8);
  const std::string buffer = message_of(ErrorCode::limit, [&] { DeviceTensor::make_buffer(runtime, large); });
  EXPECT_NE(buffer.find("600000 bytes"), std::string::npos) << buffer;
  const std::string more = message_of(ErrorCode::limit, [&] { DeviceTensor::make_buffer(runtime, too_large); });
  EXPECT_NE(more.find("2097152 bytes"), std::string::npos) << more;
  EXPECT_NE(more.find("1048576 bytes"), std::string::npos) << more;
  // A fallback that does not fit either says so.
  message_of(ErrorCode::limit, [&] {
    DeviceTensor::make_image(runtime, image_of({1, 4, 1024, 512}), Fallback::buffer);
  });
}

}  // namespace
}  // namespace relayout::opencl
