// Images on the device, texel by texel against MACE's formulas, by every way, with every channel type; and copies
// between buffers against the reference reorder. Without a device the tests are skipped and say why.
#include "relayout/opencl/transfer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>

#include "relayout/core/float.h"
#include "relayout/opencl/kernel_source.h"
#include "relayout/opencl/library.h"
#include "relayout/opencl/mace_formulas.h"
#include "relayout/opencl/runtime_data.h"
#include "relayout/reorder/reference.h"

namespace relayout::opencl {
namespace {

using mace_formulas::Content;
using mace_formulas::Four;
using mace_formulas::Texel;

using Bytes = std::vector<std::byte>;

/// More rounds in the slow tier.
int rounds(int ordinary, int slow) { return std::getenv("RELAYOUT_SLOW_TESTS") ? slow : ordinary; }

#define SKIP_WITHOUT_DEVICE() \
  if (list_devices().devices.empty()) GTEST_SKIP() << "no OpenCL: " << list_devices().problem

/// What an element of the host becomes in a lane: written anew, by definition.
struct Pair {
  ChannelType channel;
  DType dtype;
};
constexpr Pair kPairs[] = {
    {ChannelType::f32, DType::f32}, {ChannelType::f32, DType::f16},   {ChannelType::f16, DType::f16},
    {ChannelType::f16, DType::f32}, {ChannelType::s32, DType::s32},   {ChannelType::u32, DType::u32},
    {ChannelType::u32, DType::u8},  {ChannelType::unorm8, DType::u8}, {ChannelType::snorm8, DType::s8}};

std::size_t bytes_of(DType dtype) { return static_cast<std::size_t>(bits(dtype)) / 8; }

/// A random number that both types hold, as it is in the host's tensor and in a lane.
std::pair<uint32_t, uint32_t> random_element(std::mt19937& random, const Pair& pair) {
  const uint32_t bits = random();
  if (pair.dtype == DType::f32 && pair.channel == ChannelType::f32) {
    const float value = static_cast<float>(static_cast<int32_t>(bits)) * 0x1p-20f;
    return {std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(value)};
  }
  if (pair.dtype == DType::f32 || pair.dtype == DType::f16) {
    uint16_t half = static_cast<uint16_t>(bits);
    half = (half & 0xbbff) | 0x1000;  // normal numbers: images keep no bits of NaNs and denormal numbers
    const uint32_t wide = std::bit_cast<uint32_t>(f16_to_f32(half));
    return {pair.dtype == DType::f32 ? wide : half, pair.channel == ChannelType::f32 ? wide : half};
  }
  if (pair.dtype == DType::s8) {
    const auto value = static_cast<uint8_t>(bits % 255 + 129);  // not -128, which is the same number as -127
    return {value, value};
  }
  const uint32_t value = pair.dtype == DType::u8 ? bits & 0xff : bits;
  return {value, value};
}

int64_t row_major(Four e, Four i) { return ((i[0] * e[1] + i[1]) * e[2] + i[2]) * e[3] + i[3]; }

/// Extents from 1 to primes, and tails of every count of lanes.
Four random_extents(std::mt19937& random, const Content& content) {
  constexpr int64_t kExtents[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17, 19, 23};
  Four e{};
  for (int64_t& one : e) one = kExtents[random() % std::size(kExtents)];
  e[0] = content.filter ? e[0] : std::min<int64_t>(e[0], 5);
  if (content.name == "mace:dw_conv2d_filter") e[0] = 1;
  while (e[1] * e[2] * e[3] > 4000) e[1 + random() % 3] = 1 + static_cast<int64_t>(random() % 4);  // images have limits
  if (content.name == "mace:argument") e = {e[0] * e[1], 1, 1, 1};
  return e;
}

/// One image: the host's tensor, its dims, and what the texels should hold.
struct Case {
  Pair pair;
  Content content;
  Four extents;
  Dims dims;
  TensorDesc host;
  Bytes elements, lanes;
  int64_t width, height;
};

Case make_case(std::mt19937& random, const Content& content, const Pair& pair) {
  Case out{pair, content, random_extents(random, content), {}, {}, {}, {}, 0, 0};
  const Four e = out.extents;
  out.dims = content.name == "mace:argument" ? Dims{e[0]} : Dims{e[0], e[1], e[2], e[3]};
  out.host = TensorDesc(Layout::contiguous(out.dims), pair.dtype);
  const auto [width, height] = content.size(e);
  out.width = width;
  out.height = height;
  const std::size_t lane_bytes = static_cast<std::size_t>(texel_bytes(pair.channel)) / 4;
  out.elements.resize(static_cast<std::size_t>(e[0] * e[1] * e[2] * e[3]) * bytes_of(pair.dtype));
  out.lanes.resize(static_cast<std::size_t>(width * height * 4) * lane_bytes);  // 0 where no element is
  Four i{};
  for (i[0] = 0; i[0] < e[0]; ++i[0])
    for (i[1] = 0; i[1] < e[1]; ++i[1])
      for (i[2] = 0; i[2] < e[2]; ++i[2])
        for (i[3] = 0; i[3] < e[3]; ++i[3]) {
          const auto [element, lane] = random_element(random, pair);
          const Texel at = content.texel(e, i);
          const int64_t place = (at.y * width + at.x) * 4 + at.lane;
          std::memcpy(&out.elements[static_cast<std::size_t>(row_major(e, i)) * bytes_of(pair.dtype)], &element,
                      bytes_of(pair.dtype));
          std::memcpy(&out.lanes[static_cast<std::size_t>(place) * lane_bytes], &lane, lane_bytes);
        }
  return out;
}

/// The image's texels as the device has them, by a mapping of the test's own.
Bytes texels_of(const DeviceTensor& tensor) {
  const abi::Functions& cl = require_functions();
  const Image& image = *tensor.image();
  const std::size_t origin[3] = {0, 0, 0};
  const std::size_t region[3] = {static_cast<std::size_t>(image.width()), static_cast<std::size_t>(image.height()), 1};
  std::size_t row_pitch = 0, slice_pitch = 0;
  abi::Int status = 0;
  auto* at = static_cast<const std::byte*>(cl.EnqueueMapImage(tensor.runtime().queue(), tensor.memory(), abi::kTrue,
                                                              abi::kMapRead, origin, region, &row_pitch, &slice_pitch,
                                                              0, nullptr, nullptr, &status));
  EXPECT_EQ(status, 0);
  Bytes out;
  for (int64_t y = 0; y < image.height(); ++y) {
    const std::byte* row = at + static_cast<std::size_t>(y) * row_pitch;
    out.insert(out.end(), row, row + image.row_bytes());
  }
  cl.EnqueueUnmapMemObject(tensor.runtime().queue(), tensor.memory(), const_cast<std::byte*>(at), 0, nullptr, nullptr);
  tensor.runtime().finish();
  return out;
}

std::string words(const Case& one, Way up) {
  return std::string(one.content.name) + " " + join(one.dims) + " " + std::string(name(one.pair.dtype)) + " in " +
         std::string(name(one.pair.channel)) + ", " + std::string(name(up));
}

/// Uploads a case one way and checks every texel, then downloads it each way of `down` and checks every element.
void check_case(const Runtime& runtime, const Case& one, Way up, std::initializer_list<Way> down) {
  SCOPED_TRACE(words(one, up));
  const Image image = Image::make(Format::parse(one.content.name), one.dims, one.pair.channel);
  ASSERT_EQ(image.width(), one.width);
  ASSERT_EQ(image.height(), one.height);
  const DeviceTensor tensor = DeviceTensor::make_image(runtime, image);
  ASSERT_EQ(upload(one.host, one.elements, tensor, {.way = up}), up);
  ASSERT_TRUE(texels_of(tensor) == one.lanes);
  for (const Way way : down) {
    SCOPED_TRACE(name(way));
    Bytes back(one.elements.size(), std::byte{0xa5});
    ASSERT_EQ(download(tensor, one.host, back, {.way = way}), way);
    ASSERT_TRUE(back == one.elements);
  }
}

TEST(Transfer, EveryContentAndChannelTypeIsWhatMaceHas) {
  SKIP_WITHOUT_DEVICE();
  const Runtime runtime;
  std::mt19937 random(28);
  const std::vector<Content> contents = mace_formulas::contents();
  int mapped = 0, by_device = 0;
  // Mapped transfers compile nothing; the device's ways compile a kernel for every shape.
  for (int round = 0; round < rounds(20, 250); ++round) {
    for (const Content& content : contents) {
      for (const Pair& pair : kPairs) {
        if (!runtime.device().has(pair.channel)) continue;
        check_case(runtime, make_case(random, content, pair), Way::mapped, {Way::mapped});
        ++mapped;
        if (HasFatalFailure()) return;
      }
    }
  }
  // In the ordinary tests each content meets some channel types, and each channel type some contents.
  const bool all = std::getenv("RELAYOUT_SLOW_TESTS");
  for (int round = 0; round < rounds(1, 14); ++round) {
    for (std::size_t c = 0; c < contents.size(); ++c) {
      for (std::size_t p = 0; p < std::size(kPairs); ++p) {
        if (!runtime.device().has(kPairs[p].channel) || (!all && (c + p) % 6 != 0)) continue;
        const Case one = make_case(random, contents[c], kPairs[p]);
        check_case(runtime, one, Way::kernel, {Way::kernel, Way::mapped});
        check_case(runtime, one, Way::staged, {Way::staged});
        by_device += 2;
        if (HasFatalFailure()) return;
      }
    }
  }
  std::printf("%d images compared texel by texel, %d of them written by the device\n", mapped + by_device, by_device);
}

/// Random elements of a type; of a floating one, normal numbers.
Bytes random_bytes(std::mt19937& random, const TensorDesc& desc) {
  Bytes out(static_cast<std::size_t>(desc.span_bytes()));
  for (std::byte& one : out) one = static_cast<std::byte>(random());
  const std::size_t size = bytes_of(desc.dtype);
  if (is_floating(desc.dtype))
    for (std::size_t k = 0; k + size <= out.size(); k += size)
      out[k + size - 1] = (out[k + size - 1] & std::byte{0xbb}) | std::byte{0x10};
  return out;
}

struct BufferCase {
  const char *src, *dst;
  Dims dims;
  DType src_type, dst_type;
};

TEST(Transfer, BuffersAreWhatTheReferenceReorderMakes) {
  SKIP_WITHOUT_DEVICE();
  const Runtime runtime;
  std::mt19937 random(7);
  const BufferCase cases[] = {
      {"nchw", "nhwc", {2, 17, 5, 4}, DType::f32, DType::f32},
      {"nchw", "nChw4c", {2, 17, 5, 4}, DType::f16, DType::f16},
      {"nChw8c", "nChw16c", {1, 19, 3, 7}, DType::f32, DType::f16},
      {"nChw48c", "nChw32c", {1, 50, 2, 3}, DType::u8, DType::u8},
      {"OIhw4i16o4i", "hwio", {18, 21, 3, 2}, DType::f16, DType::f32},
      {"hwIo4i", "oihw", {5, 7, 3, 3}, DType::f32, DType::f32},
      {"nchw", "nChw16c", {1, 3, 5, 5}, DType::u8, DType::u32},
      {"nhwc", "nchw", {1, 3, 5, 5}, DType::u32, DType::u8},
      {"ab", "ba", {33, 65}, DType::f64, DType::f64},
      {"strides:0,-7,1", "cba", {3, 5, 7}, DType::s16, DType::s16},
      {"abc", "strides:60,11,1@3", {2, 4, 9}, DType::bf16, DType::bf16},
      {"abcdef", "fedcba", {2, 3, 2, 5, 3, 7}, DType::s64, DType::s64},
  };
  for (const BufferCase& one : cases) {
    SCOPED_TRACE(std::string(one.src) + " -> " + one.dst);
    const TensorDesc src(Format::parse(one.src).bind(one.dims), one.src_type);
    const TensorDesc dst(Format::parse(one.dst).bind(one.dims), one.dst_type);
    const Bytes elements = random_bytes(random, src);
    Bytes expected(static_cast<std::size_t>(dst.span_bytes()), std::byte{0x5a});
    const Bytes before = expected;  // gaps stay as they are
    reference_reorder(src, elements.data(), dst, expected.data());
    // Up by a kernel into memory that holds something already, and all of it down as it is.
    const TensorDesc raw(Layout::contiguous({dst.span_bytes()}), DType::u8);
    const DeviceTensor memory = DeviceTensor::make_buffer(runtime, raw);
    upload(raw, before, memory, {.way = Way::mapped});
    upload(src, elements, DeviceTensor::wrap_buffer(runtime, memory.memory(), dst), {.way = Way::kernel});
    Bytes back(expected.size());
    download(memory, raw, back, {.way = Way::mapped});
    ASSERT_TRUE(back == expected);
    const DeviceTensor as_src = DeviceTensor::make_buffer(runtime, src);
    if (src.layout.injective()) {
      upload(src, elements, as_src, {.way = Way::mapped});
      back = before;
      download(as_src, dst, back, {.way = Way::kernel});
      ASSERT_TRUE(back == expected);
      const DeviceTensor copied = DeviceTensor::make_buffer(runtime, dst);
      copy(as_src, copied);
      back = before;
      download(copied, dst, back, {.way = Way::mapped});
      ASSERT_TRUE(back == expected);
    }
  }
}

TEST(Transfer, ImagesToImages) {
  SKIP_WITHOUT_DEVICE();
  const Runtime runtime;
  std::mt19937 random(3);
  const char* names[] = {"mace:in_out_channel", "mace:in_out_height", "wc|nH4h"};
  const Dims dims{2, 9, 6, 5};
  const TensorDesc host(Layout::contiguous(dims), DType::f32);
  const Bytes elements = random_bytes(random, host);
  for (const char* from : names) {
    for (const char* to : names) {
      for (const Way way : {Way::kernel, Way::staged}) {
        if (way == Way::staged && from == to) continue;
        SCOPED_TRACE(std::string(from) + " -> " + to);
        const auto image = [&](const char* text) {
          return DeviceTensor::make_image(runtime, Image::make(Format::parse(text), dims, ChannelType::f32));
        };
        const DeviceTensor src = image(from), dst = image(to);
        upload(host, elements, src, {.way = Way::mapped});
        copy(src, dst, way);
        Bytes back(elements.size());
        download(dst, host, back, {.way = Way::mapped});
        ASSERT_TRUE(back == elements);
        const Bytes lanes = texels_of(dst);
        const auto zeros = static_cast<int64_t>(std::ranges::count(
            std::span(reinterpret_cast<const uint32_t*>(lanes.data()), lanes.size() / 4), uint32_t{0}));
        ASSERT_GE(zeros, dst.image()->unused_lanes());
      }
    }
  }
}

TEST(Transfer, NumbersOf64BitsFindTheSameElements) {
  SKIP_WITHOUT_DEVICE();
  const Runtime runtime;
  std::mt19937 random(64);
  const std::pair<const char*, const char*> pairs[] = {
      {"nchw", "nhwc"}, {"nChw48c", "nChw32c"}, {"nhwc", "nChw4c"}, {"OIhw4i16o4i", "oihw"}};
  for (const auto& [from, to] : pairs) {
    SCOPED_TRACE(std::string(from) + " -> " + to);
    const Dims dims{3, 50, 2, 5};
    const TensorDesc src(Format::parse(from).bind(dims), DType::f32), dst(Format::parse(to).bind(dims), DType::f32);
    const DeviceTensor a = DeviceTensor::make_buffer(runtime, src), b = DeviceTensor::make_buffer(runtime, dst);
    const Bytes elements = random_bytes(random, src);
    upload(src, elements, a, {.way = Way::mapped});
    const KernelSource wide = kernel_source({src, std::nullopt}, {dst, std::nullopt}, true);
    ASSERT_NE(wide.text.find("typedef long I"), std::string::npos);
    run_kernel(runtime, wide.text, "relayout_copy", std::vector{a, b}, wide.global);
    Bytes expected(static_cast<std::size_t>(dst.span_bytes())), back(expected);
    reference_reorder(src, elements.data(), dst, expected.data());
    download(b, dst, back, {.way = Way::mapped});
    ASSERT_TRUE(back == expected);
  }
}

/// Layouts of every kind at random: permuted, blocked in one or two levels, strided with gaps.
TEST(Transfer, RandomPairsOfBuffers) {
  SKIP_WITHOUT_DEVICE();
  const Runtime runtime;
  std::mt19937 random(11);
  const int64_t blocks[] = {2, 3, 4, 6, 8, 16};
  const auto random_tag = [&] {
    std::string outer = "abcd", inner;
    std::ranges::shuffle(outer, random);
    for (int k = static_cast<int>(random() % 3); k > 0; --k) {
      const char letter = static_cast<char>('a' + random() % 4);
      inner += std::to_string(blocks[random() % std::size(blocks)]) + letter;
      for (char& one : outer) one = one == letter ? static_cast<char>(letter - 'a' + 'A') : one;
    }
    return outer + inner;
  };
  for (int round = 0; round < rounds(8, 400); ++round) {
    const std::string from = random_tag(), to = random_tag();
    const Dims dims{1 + static_cast<int64_t>(random() % 5), 1 + static_cast<int64_t>(random() % 20),
                    1 + static_cast<int64_t>(random() % 9), 1 + static_cast<int64_t>(random() % 40)};
    const DType types[] = {DType::f32, DType::f16, DType::u8, DType::f64};
    const DType type = types[random() % 4];
    SCOPED_TRACE(from + " -> " + to + " " + join(dims) + " " + std::string(name(type)));
    const TensorDesc src(Format::parse(from).bind(dims), type), dst(Format::parse(to).bind(dims), type);
    const DeviceTensor a = DeviceTensor::make_buffer(runtime, src), b = DeviceTensor::make_buffer(runtime, dst);
    const Bytes elements = random_bytes(random, src);
    Bytes expected(static_cast<std::size_t>(dst.span_bytes())), back(expected.size());
    upload(src, elements, a, {.way = Way::mapped});
    copy(a, b);
    reference_reorder(src, elements.data(), dst, expected.data());
    download(b, dst, back, {.way = Way::mapped});
    ASSERT_TRUE(back == expected);
  }
}

TEST(Transfer, F32RoundsToHalvesAsTheCpuDoes) {
  SKIP_WITHOUT_DEVICE();
  const Runtime runtime;
  std::mt19937 random(16);
  const Dims dims{1 << 16};
  const TensorDesc f32(Layout::contiguous(dims), DType::f32), f16(Layout::contiguous(dims), DType::f16);
  for (int round = 0; round < rounds(8, 200); ++round) {
    std::vector<float> values(1 << 16);
    for (float& value : values) {
      uint32_t bits = random();
      // Numbers around f16's range, its denormal numbers and ties most of all.
      if (round % 2 == 0) bits = (bits & 0x80007fffu) | ((bits >> 3) & 0x1e000u) | (0x60u + bits % 0x31u) << 23;
      value = std::bit_cast<float>(bits);
    }
    std::vector<uint16_t> halves(values.size());
    const DeviceTensor on_device = DeviceTensor::make_buffer(runtime, f16);
    upload(f32, std::as_bytes(std::span(values)), on_device, {.way = Way::kernel});
    download(on_device, f16, std::as_writable_bytes(std::span(halves)), {.way = Way::mapped});
    for (std::size_t k = 0; k < values.size(); ++k) ASSERT_EQ(halves[k], f32_to_f16(values[k])) << values[k];
  }
}

TEST(Transfer, DimsArePromoted) {
  SKIP_WITHOUT_DEVICE();
  const Runtime runtime;
  std::mt19937 random(5);
  struct Promotion {
    const char* name;
    Dims dims, promoted;
  };
  const Promotion cases[] = {
      {"mace:in_out_channel", {}, {1, 1, 1, 1}},      {"mace:in_out_channel", {9}, {1, 9, 1, 1}},
      {"mace:in_out_channel", {3, 9}, {3, 9, 1, 1}},  {"mace:in_out_height", {2, 5, 3}, {2, 1, 5, 3}},
      {"mace:in_out_width", {2, 5, 3}, {2, 1, 5, 3}}, {"mace:argument", {7, 1, 1}, {7}}};
  for (const Promotion& one : cases) {
    SCOPED_TRACE(one.name);
    const Image image = Image::make(Format::parse(one.name), one.dims, ChannelType::f32);
    EXPECT_EQ(image.dims(), one.promoted);
    const TensorDesc host(Layout::contiguous(one.dims), DType::f32);
    const Bytes elements = random_bytes(random, host);
    const DeviceTensor tensor = DeviceTensor::make_image(runtime, image);
    upload(host, elements, tensor);
    Bytes back(elements.size());
    download(tensor, host, back);
    EXPECT_TRUE(back == elements);
  }
}

}  // namespace
}  // namespace relayout::opencl
