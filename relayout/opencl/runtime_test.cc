// Runtimes and memory: handles of other programs, what is refused and with which numbers, fallbacks, threads,
// lifetimes. Without a device the tests are skipped and say why.
#include "relayout/opencl/runtime.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <thread>

#include "relayout/opencl/library.h"
#include "relayout/opencl/transfer.h"

namespace relayout::opencl {
namespace {

class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (list_devices().devices.empty()) GTEST_SKIP() << "no OpenCL: " << list_devices().problem;
  }
};

Image image_of(const Dims& dims, ChannelType type = ChannelType::f32) {
  return Image::make(Format::parse("mace:in_out_channel"), dims, type);
}

std::vector<float> numbers(int64_t count) {
  std::vector<float> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), 1.0f);
  return out;
}
std::span<const std::byte> bytes(const std::vector<float>& values) { return std::as_bytes(std::span(values)); }
std::span<std::byte> bytes(std::vector<float>& values) { return std::as_writable_bytes(std::span(values)); }

/// The error of a call, which must have one.
Error error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorCode::internal, "");
}

TEST_F(OnDevice, TooLargeIsRefusedWithBothNumbersAndFallsBackToABuffer) {
  const Runtime runtime;
  const int64_t most = runtime.device().max_image_width;
  if (most > 100000) GTEST_SKIP() << "images of " << most << " texels a row";
  const Dims dims{1, 4, 1, most + 1};
  const Image image = image_of(dims);
  const Error error = error_of([&] { DeviceTensor::make_image(runtime, image); });
  EXPECT_EQ(error.code(), ErrorCode::limit);
  EXPECT_NE(error.message().find(std::to_string(most + 1) + " x 1"), std::string::npos) << error.message();
  EXPECT_NE(error.message().find(std::to_string(most) + " x "), std::string::npos) << error.message();

  const DeviceTensor tensor = DeviceTensor::make_image(runtime, image, Fallback::buffer);
  EXPECT_FALSE(tensor.is_image());
  EXPECT_EQ(tensor.desc().layout, image.desc().layout);
  const TensorDesc host(Layout::contiguous(dims), DType::f32);
  const std::vector<float> in = numbers(host.layout.elements());
  for (const Way way : {Way::mapped, Way::kernel}) {
    upload(host, bytes(in), tensor, {.way = way});
    std::vector<float> out(in.size());
    download(tensor, host, bytes(out), {.way = way});
    EXPECT_EQ(in, out);
  }
}

TEST_F(OnDevice, MoreMemoryThanThereIsIsRefusedWithBothNumbers) {
  const Runtime runtime;
  const int64_t most = runtime.device().max_alloc_bytes;
  const TensorDesc desc(Layout::contiguous({most + 1}), DType::u8);
  const Error error = error_of([&] { DeviceTensor::make_buffer(runtime, desc); });
  EXPECT_EQ(error.code(), ErrorCode::limit);
  EXPECT_EQ(error.value(), std::to_string(most + 1));
  EXPECT_EQ(error.limit(), std::to_string(most));
}

TEST_F(OnDevice, HandlesOfAnotherProgramAreUsedAndKept) {
  const Runtime first;
  const Runtime runtime = Runtime::wrap(first.context(), first.queue());
  EXPECT_EQ(runtime.device().name, first.device().name);
  const Dims dims{1, 8, 3, 5};
  const Image image = image_of(dims);
  const TensorDesc host(Layout::contiguous(dims), DType::f32);
  const std::vector<float> in = numbers(host.layout.elements());
  std::optional<DeviceTensor> made = DeviceTensor::make_image(first, image);
  const DeviceTensor wrapped = DeviceTensor::wrap_image(runtime, made->memory(), image);
  made.reset();  // the wrapped one keeps the memory
  upload(host, bytes(in), wrapped);
  std::vector<float> out(in.size());
  download(wrapped, host, bytes(out));
  EXPECT_EQ(in, out);

  EXPECT_EQ(error_of([&] {
              DeviceTensor::wrap_image(runtime, wrapped.memory(), image_of({1, 8, 4, 5}));
            }).code(),
            ErrorCode::invalid_argument);
  EXPECT_EQ(
      error_of([&] { DeviceTensor::wrap_image(runtime, wrapped.memory(), image_of(dims, ChannelType::s32)); }).code(),
      ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { DeviceTensor::wrap_image(runtime, nullptr, image); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { DeviceTensor::wrap_buffer(runtime, wrapped.memory(), host); }).code(),
            ErrorCode::invalid_argument);
  const DeviceTensor buffer = DeviceTensor::make_buffer(runtime, host);
  const TensorDesc larger(Layout::contiguous({1, 8, 3, 6}), DType::f32);
  EXPECT_EQ(error_of([&] { DeviceTensor::wrap_buffer(runtime, buffer.memory(), larger); }).code(),
            ErrorCode::buffer_too_small);
  EXPECT_EQ(error_of([&] { Runtime::wrap(nullptr, nullptr); }).code(), ErrorCode::invalid_argument);
}

TEST_F(OnDevice, AnOutOfOrderQueueIsRefused) {
  const abi::Functions& cl = require_functions();
  const Runtime runtime;
  abi::DeviceId id = nullptr;
  cl.GetCommandQueueInfo(runtime.queue(), abi::kQueueDevice, sizeof id, &id, nullptr);
  abi::Int status = abi::kSuccess;
  const abi::Queue queue = cl.CreateCommandQueue(runtime.context(), id, abi::kQueueOutOfOrder, &status);
  if (status != abi::kSuccess) GTEST_SKIP() << "the device has no such queues";
  EXPECT_EQ(error_of([&] { Runtime::wrap(runtime.context(), queue); }).code(), ErrorCode::unsupported);
  cl.ReleaseCommandQueue(queue);
}

TEST_F(OnDevice, WhatDoesNotFitTogetherIsRefused) {
  const Runtime runtime;
  const Dims dims{1, 8, 3, 5};
  const DeviceTensor tensor = DeviceTensor::make_image(runtime, image_of(dims));
  const TensorDesc host(Layout::contiguous(dims), DType::f32);
  std::vector<float> values = numbers(host.layout.elements());
  const auto code = [&](const std::function<void()>& call) { return error_of(call).code(); };
  EXPECT_EQ(code([&] {
              upload({Layout::contiguous({1, 8, 5, 3}), DType::f32}, bytes(values), tensor);
            }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code([&] { upload({host.layout, DType::s32}, bytes(values), tensor); }), ErrorCode::unsupported);
  EXPECT_EQ(code([&] { upload(host, bytes(values).first(100), tensor); }), ErrorCode::buffer_too_small);
  EXPECT_EQ(code([&] {
              download(tensor, {Layout::strided(dims, {0, 0, 0, 0}), DType::f32}, bytes(values));
            }),
            ErrorCode::not_injective);
  EXPECT_EQ(code([&] { copy(tensor, tensor); }), ErrorCode::overlap);
  EXPECT_EQ(code([&] { copy(tensor, DeviceTensor::make_image(Runtime(), image_of(dims))); }),
            ErrorCode::invalid_argument);  // another context
  EXPECT_EQ(code([&] {
              copy(tensor, DeviceTensor::make_image(runtime, image_of({1, 8, 5, 3})));
            }),
            ErrorCode::invalid_argument);
  // Nibbles have no kernels, but go by the CPU.
  const TensorDesc nibbles(Layout::contiguous({4, 4}), DType::s4);
  const DeviceTensor buffer = DeviceTensor::make_buffer(runtime, nibbles);
  std::vector<std::byte> packed(8, std::byte{0x12}), back(8);
  EXPECT_EQ(code([&] { upload(nibbles, packed, buffer, {.way = Way::kernel}); }), ErrorCode::unsupported);
  upload(nibbles, packed, buffer);
  download(buffer, nibbles, back);
  EXPECT_EQ(packed, back);
  EXPECT_EQ(code([&] { Runtime(1000); }), ErrorCode::invalid_argument);
}

TEST_F(OnDevice, TensorsWithoutElements) {
  const Runtime runtime;
  const TensorDesc desc(Layout::contiguous({2, 0, 3}), DType::f32);
  const DeviceTensor a = DeviceTensor::make_buffer(runtime, desc), b = DeviceTensor::make_buffer(runtime, desc);
  upload(desc, {}, a);
  copy(a, b);
  download(b, desc, {});
}

TEST_F(OnDevice, ThreadsShareARuntime) {
  const Runtime runtime;
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const Dims dims{1, 8, 3, 5 + t % 2};
      const TensorDesc host(Layout::contiguous(dims), DType::f32);
      const DeviceTensor image = DeviceTensor::make_image(runtime, image_of(dims));
      const DeviceTensor buffer = DeviceTensor::make_buffer(runtime, {Format::parse("nhwc").bind(dims), DType::f32});
      for (int k = 0; k < 20; ++k) {
        std::vector<float> in = numbers(host.layout.elements()), out(in.size());
        for (float& value : in) value += static_cast<float>(1000 * t + k);
        upload(host, bytes(in), image, {.way = kWays[static_cast<std::size_t>(k) % 3]});
        copy(image, buffer, k % 2 ? Way::kernel : Way::staged);
        download(buffer, host, bytes(out));
        if (in != out) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(OnDevice, ATensorKeepsItsRuntime) {
  std::optional<DeviceTensor> tensor;
  const TensorDesc host(Layout::contiguous({1, 5, 2, 2}), DType::f32);
  const std::vector<float> in = numbers(20);
  {
    const Runtime runtime;
    tensor = DeviceTensor::make_image(runtime, image_of({1, 5, 2, 2}));
    upload(host, bytes(in), *tensor);
  }
  std::vector<float> out(20);
  download(*tensor, host, bytes(out));
  EXPECT_EQ(in, out);
}

TEST(Absence, IsSaidAndNothingElseFails) {
  const DeviceList& all = list_devices();
  if (!all.devices.empty()) GTEST_SKIP() << "there are devices";
  EXPECT_FALSE(all.problem.empty());
  const Error error = error_of([] { Runtime(); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_NE(error.message().find(all.problem), std::string::npos);
}

}  // namespace
}  // namespace relayout::opencl
