// Speeds: measured by a stopwatch whose times are written down, kept in a file, and used by plans.
#include "relayout/cpu/speeds.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "relayout/core/format.h"
#include "relayout/cpu/machine.h"
#include "relayout/cpu/measure_speeds.h"
#include "relayout/reorder/plan.h"
#include "tests/support/fake_stopwatch.h"
#include "tests/support/testing.h"

namespace relayout::cpu {
namespace {

class SpeedsFile : public testing::Test {
 protected:
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("relayout_speeds_" + std::to_string(::getpid()));
  std::filesystem::path file_ = folder_ / "sub" / "speeds.txt";
  const Speeds speeds_{1.25, 2.5, 3, 0.01, 0.02, 0.03, 1.5};

  ~SpeedsFile() override { std::filesystem::remove_all(folder_); }

  std::string text() const {
    std::ostringstream out;
    out << std::ifstream(file_).rdbuf();
    return out.str();
  }
  void write(const std::string& text) const { std::ofstream(file_) << text; }
};

TEST_F(SpeedsFile, IsReadAsItWasWritten) {
  EXPECT_FALSE(load_speeds(file_));
  save_speeds(file_, speeds_);
  ASSERT_TRUE(load_speeds(file_));
  EXPECT_EQ(*load_speeds(file_), speeds_);
}

TEST_F(SpeedsFile, OfAnotherMachineCountsForNothing) {
  save_speeds(file_, speeds_);
  std::string other = text();
  other.replace(other.rfind("\nend"), 0, " of another kind");
  write(other);
  EXPECT_FALSE(load_speeds(file_));
}

TEST_F(SpeedsFile, ThatIsDamagedIsAnError) {
  save_speeds(file_, speeds_);
  const std::string good = text();
  const auto code_of = [&](const std::string& text) {
    write(text);
    return test::error_of([&] { load_speeds(file_); }).code();
  };
  EXPECT_EQ(code_of(good.substr(0, good.size() - 3)), ErrorCode::corrupt);
  EXPECT_EQ(code_of("hello\n"), ErrorCode::unsupported);
  EXPECT_EQ(code_of("relayout-speeds 2\n"), ErrorCode::unsupported);
  for (const char* number : {"-1.25", "nan", "inf", "1e9", "fast", ""}) {
    std::string bad = good;
    bad.replace(bad.find("1.25"), 4, number);
    EXPECT_EQ(code_of(bad), ErrorCode::corrupt) << number;
  }
}

TEST(MeasuredSpeeds, ComeFromTheStopwatch) {
  // Each call takes a millisecond, whatever it does: 64 MiB of it are 67 bytes a nanosecond.
  test::FakeStopwatch stopwatch;
  stopwatch.takes = [](int64_t) { return 1000.0; };
  const Speeds speeds = measure_speeds(stopwatch);
  EXPECT_NEAR(speeds.write, 67.1, 0.1);
  EXPECT_NEAR(speeds.read, machine().l3 < 64 << 20 ? 67.1 : 0, 0.1);  // else the built-in price is right
  EXPECT_GT(speeds.read_l3, 0);
  EXPECT_GT(speeds.kernels, 1);
  EXPECT_GT(speeds.beyond_first, 0);
  EXPECT_GT(speeds.beyond_second, 0);
  EXPECT_GT(speeds.far_beyond, 0);
  EXPECT_LT(stopwatch.calls(), 200);
}

// What memory takes longer for costs more, and kernels that are slower cost more in the first level.
TEST(MeasuredSpeeds, ArePrices) {
  const auto price = [](const Dims& dims, const Speeds& speeds) {
    const TensorDesc src(Format::parse("nchw").bind(dims), DType::f32),
        dst(Format::parse("nhwc").bind(dims), DType::f32);
    Machine machine;
    machine.speeds = speeds;
    return Plan::make(src, dst, {}, machine).cost().nanoseconds;
  };
  const Dims large{32, 64, 56, 56}, small{1, 8, 8, 8};
  EXPECT_GT(price(large, {.write = 1}), 2 * price(large, {}));
  EXPECT_LT(price(large, {.write = 200, .read = 200, .read_l3 = 200}), 0.5 * price(large, {}));
  EXPECT_EQ(price(small, {.write = 1}), price(small, {}));
  EXPECT_GT(price(small, {.kernels = 3}), 2 * price(small, {}));
}

}  // namespace
}  // namespace relayout::cpu
