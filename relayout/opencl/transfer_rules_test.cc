// What transfers promise besides the right elements: bytes around a tensor, the way that times choose, failures, values
// that a device does not copy, two queues. Without a device the tests are skipped and say why.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <numeric>

#include "relayout/opencl/runtime_data.h"
#include "relayout/opencl/transfer.h"
#include "tests/support/fake_stopwatch.h"

namespace relayout::opencl {
namespace {

class Rules : public testing::Test {
 protected:
  void SetUp() override {
    if (list_devices().devices.empty()) GTEST_SKIP() << "no OpenCL: " << list_devices().problem;
  }
};

using Bytes = std::vector<std::byte>;

ErrorCode transfer_code(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "no error";
  return ErrorCode::internal;
}

Bytes counting(std::size_t size) {
  Bytes out(size);
  for (std::size_t k = 0; k < size; ++k) out[k] = static_cast<std::byte>(k + 1);
  return out;
}

Image bound_image(const char* text, const Dims& dims, ChannelType type = ChannelType::f32) {
  return Image::make(Format::parse(text), dims, type);
}

TEST_F(Rules, BytesBeforeATensorStay) {
  const Runtime runtime;
  const Dims dims{4, 4};
  const TensorDesc at8(Layout::strided(dims, {4, 1}, 8), DType::f32), at0(Layout::contiguous(dims), DType::f32);
  const auto size = static_cast<std::size_t>(at8.span_bytes());
  const Bytes old(size, std::byte{0xbb}), tensor = counting(64);
  const auto kept = [&](const Bytes& bytes) {
    return std::memcmp(bytes.data(), old.data(), 32) == 0 && std::memcmp(bytes.data() + 32, tensor.data(), 64) == 0;
  };
  const TensorDesc flat(Layout::contiguous({static_cast<int64_t>(size)}), DType::u8);
  const DeviceTensor raw = DeviceTensor::make_buffer(runtime, flat);
  const DeviceTensor view = DeviceTensor::wrap_buffer(runtime, raw.memory(), at8);
  for (const Way way : {Way::mapped, Way::kernel}) {
    SCOPED_TRACE(name(way));
    upload(flat, old, raw, {.way = Way::mapped});
    upload(at0, tensor, view, {.way = way});
    Bytes back(size);
    download(raw, flat, back, {.way = Way::mapped});
    EXPECT_TRUE(kept(back));
    // Into the host's memory, aligned to its elements or not.
    for (const std::size_t shift : {0u, 2u}) {
      Bytes host(size + shift, std::byte{0xbb});
      download(view, at8, std::span(host).subspan(shift), {.way = way});
      host.erase(host.begin(), host.begin() + static_cast<std::ptrdiff_t>(shift));
      EXPECT_TRUE(kept(host));
    }
  }
  const DeviceTensor other_raw = DeviceTensor::make_buffer(runtime, flat);
  upload(flat, old, other_raw, {.way = Way::mapped});
  copy(view, DeviceTensor::wrap_buffer(runtime, other_raw.memory(), at8));
  Bytes back(size);
  download(other_raw, flat, back);
  EXPECT_TRUE(kept(back));
}

TEST_F(Rules, TheFastestWayIsTakenByTheTimesOfAStopwatch) {
  const Runtime runtime;
  const Dims dims{1, 4, 3, 5};
  const TensorDesc host(Layout::contiguous(dims), DType::s32);
  const Bytes bytes = counting(240);
  const DeviceTensor image = DeviceTensor::make_image(runtime, bound_image("nh|Cw4c", dims, ChannelType::s32));
  test::FakeStopwatch stopwatch;
  std::vector<Way> taken;
  // Mapped takes long; the kernel is the fastest once it is compiled.
  stopwatch.takes = [&](int64_t call) { return call < 2 ? 150e3 : call < 4 ? 20e3 : 90e3; };
  for (int k = 0; k < 8; ++k) taken.push_back(upload(host, bytes, image, {.stopwatch = &stopwatch}));
  EXPECT_EQ(taken, (std::vector{Way::mapped, Way::mapped, Way::kernel, Way::kernel, Way::staged, Way::staged,
                                Way::kernel, Way::kernel}));
}

TEST_F(Rules, TimesChooseOnlyAmongWaysThatKeepBits) {
  const Runtime runtime;
  if (!runtime.device().has(ChannelType::snorm8)) GTEST_SKIP() << "the device has no images of snorm8";
  const Dims dims{1, 4, 3, 5};
  const TensorDesc host(Layout::contiguous(dims), DType::s8);
  const Bytes lowest(60, std::byte{0x80});  // -128, which a kernel reads and writes as -127
  const DeviceTensor image = DeviceTensor::make_image(runtime, bound_image("nh|Cw4c", dims, ChannelType::snorm8));
  test::FakeStopwatch stopwatch;
  stopwatch.takes = [](int64_t) { return 300e3; };
  for (int k = 0; k < 6; ++k) {
    EXPECT_NE(upload(host, lowest, image, {.stopwatch = &stopwatch}), Way::kernel);
    Bytes back(60);
    EXPECT_NE(download(image, host, back, {.stopwatch = &stopwatch}), Way::kernel);
    EXPECT_TRUE(back == lowest);
  }
}

TEST_F(Rules, ATrialThatFailsIsNotAFailure) {
  const Runtime runtime;
  // The host's view reaches further than the device can allocate: no buffer can hold it, but mapping needs none.
  const int64_t most = runtime.device().max_alloc_bytes;
  if (most > (int64_t{1} << 32)) GTEST_SKIP() << "the device allocates " << most << " bytes";
  const TensorDesc host(Layout::strided({2, 3}, {most / 4 + 16, 1}), DType::f32);
  const DeviceTensor buffer = DeviceTensor::make_buffer(runtime, {Layout::contiguous({2, 3}), DType::f32});
  const Bytes bytes(static_cast<std::size_t>(host.span_bytes()));
  test::FakeStopwatch stopwatch;
  stopwatch.takes = [](int64_t) { return 300e3; };
  for (int k = 0; k < 4; ++k) EXPECT_EQ(upload(host, bytes, buffer, {.stopwatch = &stopwatch}), Way::mapped);
}

TEST_F(Rules, ADestinationInWhichElementsShareMemoryIsRefusedEachWay) {
  const Runtime runtime;
  const TensorDesc host(Layout::contiguous({2, 3}), DType::f32);
  const DeviceTensor buffer = DeviceTensor::make_buffer(runtime, {Layout::strided({2, 3}, {0, 1}), DType::f32});
  for (const Way way : {Way::mapped, Way::kernel})
    EXPECT_EQ(transfer_code([&] { upload(host, counting(24), buffer, {.way = way}); }), ErrorCode::not_injective);
}

TEST_F(Rules, ImagesOfAllChannelTypesToEachOtherOrNotAtAll) {
  const Runtime runtime;
  const Dims dims{1, 4, 2, 3};
  const DType types[] = {DType::f32, DType::f16, DType::s32, DType::u32, DType::u8, DType::s8};
  for (const ChannelType from : kChannelTypes) {
    for (const ChannelType to : kChannelTypes) {
      if (!runtime.device().has(from) || !runtime.device().has(to)) continue;
      SCOPED_TRACE(std::string(name(from)) + " to " + std::string(name(to)));
      const TensorDesc lanes(Layout::contiguous(dims), lane_dtype(from));
      const DeviceTensor src = DeviceTensor::make_image(runtime, bound_image("nh|Cw4c", dims, from));
      const DeviceTensor dst = DeviceTensor::make_image(runtime, bound_image("nc|wH4h", dims, to));
      const bool floats = lane_dtype(from) == DType::f32 || lane_dtype(from) == DType::f16;
      Bytes in = counting(static_cast<std::size_t>(lanes.span_bytes()));
      if (floats) std::ranges::fill(in, std::byte{0x3c});  // a normal number in both types
      upload(lanes, in, src, {.way = Way::mapped});
      const bool same = from == to, halves = floats && holds(to, lane_dtype(from));
      for (const Way way : {Way::kernel, Way::staged}) {
        if (!same && !halves) {
          EXPECT_EQ(transfer_code([&] { copy(src, dst, way); }), ErrorCode::unsupported);
          continue;
        }
        copy(src, dst, way);
        Bytes back(in.size());
        download(dst, lanes, back, {.way = Way::mapped});
        if (same) {
          EXPECT_TRUE(back == in);
        }
      }
    }
    // A buffer of bytes is no buffer of fractions.
    if (from != ChannelType::unorm8) continue;
    const DeviceTensor src = DeviceTensor::make_image(runtime, bound_image("nh|Cw4c", dims, from));
    for (const DType type : types) {
      const DeviceTensor buffer = DeviceTensor::make_buffer(runtime, {Layout::contiguous(dims), type});
      if (type == DType::u8) {
        copy(src, buffer);
        runtime.finish();
      } else {
        EXPECT_EQ(transfer_code([&] { copy(src, buffer); }), ErrorCode::unsupported);
      }
    }
  }
}

TEST_F(Rules, KernelsGetAsManyTensorsAsTheyHaveArguments) {
  const Runtime runtime;
  const char* source =
      "__kernel void add(__global float* a, __global const float* b) { a[get_global_id(0)] += "
      "b[get_global_id(0)]; }";
  const TensorDesc desc(Layout::contiguous({4}), DType::f32);
  std::vector<float> ones(4, 1.0f), out(4);
  {
    const DeviceTensor a = DeviceTensor::make_buffer(runtime, desc), b = DeviceTensor::make_buffer(runtime, desc);
    upload(desc, std::as_bytes(std::span(ones)), a);
    upload(desc, std::as_bytes(std::span(ones)), b);
    run_kernel(runtime, source, "add", std::vector{a, b}, {4, 1, 1});
    download(a, desc, std::as_writable_bytes(std::span(out)));
    EXPECT_EQ(out, (std::vector<float>(4, 2.0f)));
  }
  const DeviceTensor a = DeviceTensor::make_buffer(runtime, desc);
  EXPECT_EQ(transfer_code([&] {
              run_kernel(runtime, source, "add", std::vector{a}, {4, 1, 1});
            }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(transfer_code([&] {
              run_kernel(runtime, source, "add", std::vector{a, a, a}, {4, 1, 1});
            }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(transfer_code([&] {
              run_kernel(runtime, source, "subtract", std::vector{a, a}, {4, 1, 1});
            }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(transfer_code([&] {
              run_kernel(runtime, "no kernel", "add", std::vector{a, a}, {4, 1, 1});
            }),
            ErrorCode::invalid_argument);
}

TEST_F(Rules, TransfersAreWatchedAndEnded) {
  const Runtime runtime;
  const Dims dims{1, 4, 1100, 2048};
  const TensorDesc rows(Layout::contiguous(dims), DType::f32),
      gaps(Layout::strided(dims, {0, 1, 8192 * 2, 8}), DType::f32);
  const DeviceTensor buffer = DeviceTensor::make_buffer(runtime, {Format::parse("nChw4c").bind(dims), DType::f32});
  const Bytes x = counting(static_cast<std::size_t>(rows.span_bytes()));
  for (const Way way : possible_ways(rows, buffer)) {
    std::vector<std::pair<int64_t, int64_t>> said;
    const auto watch = [&](int64_t done, int64_t total) {
      said.emplace_back(done, total);
      return true;
    };
    const auto check = [&] {
      ASSERT_FALSE(said.empty());
      EXPECT_EQ(said.back().first, said.back().second);
      for (std::size_t i = 1; i < said.size(); ++i) EXPECT_GE(said[i].first, said[i - 1].first);
      said.clear();
    };
    const auto stop = [](int64_t, int64_t) { return false; };
    upload(rows, x, buffer, {.way = way, .go_on = watch});
    check();
    EXPECT_EQ(transfer_code([&] { upload(rows, x, buffer, {.way = way, .go_on = stop}); }), ErrorCode::interrupted);
    upload(rows, x, buffer, {.way = way});
    Bytes y(x.size()), z(static_cast<std::size_t>(gaps.span_bytes()));
    EXPECT_EQ(transfer_code([&] { download(buffer, rows, y, {.way = way, .go_on = stop}); }), ErrorCode::interrupted);
    download(buffer, rows, y, {.way = way, .go_on = watch});
    check();
    EXPECT_TRUE(x == y);
    download(buffer, gaps, z, {.way = way, .go_on = watch});
    check();
  }
  // Ending it is no failure of a way, after which another would be tried.
  int calls = 0;
  const auto once = [&](int64_t, int64_t) { return ++calls > 1; };
  EXPECT_EQ(transfer_code([&] { upload(rows, x, buffer, {.go_on = once}); }), ErrorCode::interrupted);
  EXPECT_EQ(calls, 1);
}

TEST_F(Rules, HandlesOfOtherContextsAreRefusedAndTwoQueuesAreInOrder) {
  const Runtime first, other;
  EXPECT_EQ(transfer_code([&] { Runtime::wrap(first.context(), other.queue()); }), ErrorCode::invalid_argument);
  const Dims dims{1, 4, 3, 5};
  const TensorDesc host(Layout::contiguous(dims), DType::f32);
  const DeviceTensor buffer = DeviceTensor::make_buffer(other, host);
  EXPECT_EQ(transfer_code([&] { DeviceTensor::wrap_buffer(first, buffer.memory(), host); }),
            ErrorCode::invalid_argument);
  const DeviceTensor image = DeviceTensor::make_image(other, bound_image("nh|Cw4c", dims));
  EXPECT_EQ(transfer_code([&] { DeviceTensor::wrap_image(first, image.memory(), *image.image()); }),
            ErrorCode::invalid_argument);

  const abi::Functions& cl = require_functions();
  abi::DeviceId id = nullptr;
  cl.GetCommandQueueInfo(first.queue(), abi::kQueueDevice, sizeof id, &id, nullptr);
  abi::Int status = abi::kSuccess;
  const abi::Queue queue = cl.CreateCommandQueue(first.context(), id, 0, &status);
  ASSERT_EQ(status, abi::kSuccess);
  const Runtime second = Runtime::wrap(first.context(), queue);
  cl.ReleaseCommandQueue(queue);
  const DeviceTensor a = DeviceTensor::make_buffer(first, host), b = DeviceTensor::make_buffer(second, host);
  for (int round = 0; round < 20; ++round) {
    std::vector<float> in(60), out(60);
    std::iota(in.begin(), in.end(), static_cast<float>(round));
    upload(host, std::as_bytes(std::span(in)), a);
    copy(a, b);
    std::ranges::fill(in, 0.0f);
    upload(host, std::as_bytes(std::span(in)), a);  // must not overtake the copy
    download(b, host, std::as_writable_bytes(std::span(out)));
    EXPECT_EQ(out[59], static_cast<float>(round + 59));
  }
}

}  // namespace
}  // namespace relayout::opencl
