// What is made up for measuring packed weights, and that it is what is measured. No time is looked at.
#include "bench/packed.h"

#include <gtest/gtest.h>

#include "tests/support/testing.h"

namespace relayout::bench {
namespace {

TEST(PackedBench, ComputesTheValuesOfWhatIsMadeUp) {
  const TensorDesc dst(Layout::contiguous({6, 64}), DType::f32);
  const PackedRun run({{.format = "ggml:q4_0", .values = {6, 64}}, "", dst});
  EXPECT_EQ(run.bytes_read(), 6 * 2 * 18);
  EXPECT_EQ(run.bytes_written(), 6 * 64 * 4);
  run.run(1);
  const std::span<const std::byte> blocks = run.source()[0].second.bytes(), out = run.target()[0].second.bytes();
  bool differ = false;
  for (std::size_t n = 0; n < 6; ++n) {
    for (std::size_t k = 0; k < 64; ++k) {
      const std::size_t block = (n * 2 + k / 32) * 18;
      const auto byte = static_cast<int>(blocks[block + 2 + k % 16]);
      const int code = k % 32 < 16 ? byte & 15 : byte >> 4;
      float value = 0;
      std::memcpy(&value, out.data() + (n * 64 + k) * 4, 4);
      ASSERT_EQ(value, 0.5F * static_cast<float>(code - 8)) << n << "," << k;
      differ = differ || code != 8;
    }
  }
  EXPECT_TRUE(differ);
}

TEST(PackedBench, FormatsWithoutZeroPointsTakeWhatIsMadeUp) {
  for (const char* to : {"awq", "marlin", "gptq:v2", "compressed-tensors:pack-quantized:asymmetric"}) {
    const PackedRun run({{.format = "gptq", .values = {256, 128}, .group = 64}, to, {}});
    EXPECT_EQ(run.bytes_read(), 256 * 128 / 2 + 4 * 128 * 2 + 4 * 128 / 2) << to;
    run.run(1);
    // The codes are the same in another order: as many nibbles of each value on both sides.
    const auto count = [](std::span<const std::byte> bytes) {
      std::array<int, 16> out{};
      for (const std::byte byte : bytes)
        ++out[static_cast<std::size_t>(byte) & 15], ++out[static_cast<std::size_t>(byte) >> 4];
      return out;
    };
    EXPECT_EQ(count(run.source()[0].second.bytes()), count(run.target()[0].second.bytes())) << to;
  }
}

TEST(PackedBench, RefusesWhatCannotBeRepacked) {
  EXPECT_THROW(PackedRun({{.format = "gptq", .values = {256, 128}, .group = 64}, "mxfp4", {}}).run(1), Error);
  EXPECT_THROW(measure_packed({{.format = "gptq", .values = {256, 128}}, "awq", {}}, {.repeat = 0}), Error);
}

TEST(PackedBench, CountsBytesBesideTheTimes) {
  const TensorDesc dst(Layout::contiguous({8, 256}), DType::f16);
  const PackedMeasurement measured =
      measure_packed({{.format = "ggml:q8_0", .values = {8, 256}}, "", dst}, {.repeat = 1, .repetition_ns = 1});
  EXPECT_EQ(measured.bytes_read, 8 * 256 / 32 * 34);
  EXPECT_EQ(measured.bytes_written, 8 * 256 * 2);
  EXPECT_EQ(measured.repeat, 1);
  EXPECT_EQ(measured.threads, 1);
}

}  // namespace
}  // namespace relayout::bench
