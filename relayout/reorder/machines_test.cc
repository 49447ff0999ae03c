// Plans for machines of Arm: a server with 32 MiB of shared last level, and a phone with 4 MiB. The planner knows sizes
// of caches only, so that a plan is made for them wherever it is made. What an instruction set does with it changes no
// plan.
#include <gtest/gtest.h>

#include <algorithm>

#include "relayout/reorder/plan.h"
#include "relayout/reorder/planner/plan_data.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::desc;

constexpr Machine kServer{.l1 = 64 << 10, .l2 = 1 << 20, .l3 = 32 << 20};
constexpr Machine kPhone{.l1 = 64 << 10, .l2 = 512 << 10, .l3 = 4 << 20};

Plan planned(const char* from, const char* to, const Dims& dims, const Machine& machine, DType type = DType::f32,
             DType to_type = DType::f32) {
  return Plan::make(desc(from, dims, type), desc(to, dims, to_type), {}, machine);
}

bool streams(const char* from, const char* to, const Dims& dims, const Machine& machine) {
  return planned(from, to, dims, machine).streams();
}

// A line that is written through the caches displaces another one and is read first, which is lost time if the tensor
// does not fit. So what is written past them begins at a share of the last level, and at an eighth of the server's size
// on the phone: at about a half.
TEST(ArmMachines, WritePastTheCacheByTheirLastLevel) {
  const Dims small{1, 16, 28, 28}, image{1, 64, 56, 56}, batch{2, 64, 56, 56}, large{16, 256, 56, 56};
  for (const auto& [from, to] : {std::pair("nchw", "nhwc"), {"nhwc", "nchw"}, {"nchw", "nChw16c"}}) {
    EXPECT_FALSE(streams(from, to, small, kServer) || streams(from, to, small, kPhone)) << "100 KB " << to;
    EXPECT_FALSE(streams(from, to, batch, kServer)) << "3.2 MB " << to;
    EXPECT_TRUE(streams(from, to, batch, kPhone)) << "3.2 MB " << to;
    EXPECT_TRUE(streams(from, to, large, kServer) && streams(from, to, large, kPhone)) << "103 MB " << to;
  }
  EXPECT_FALSE(streams("nhwc", "nchw", image, kPhone));  // 1.6 MB
  // Rows of 17 values end within lines.
  EXPECT_FALSE(streams("nchw", "nhwc", {4, 17, 56, 56}, kPhone));  // 1.7 MB
  EXPECT_TRUE(streams("nchw", "nhwc", {6, 17, 56, 56}, kPhone));   // 2.6 MB
  EXPECT_FALSE(streams("nchw", "nhwc", {6, 17, 56, 56}, kServer));
  EXPECT_TRUE(streams("nchw", "nhwc", {40, 17, 56, 56}, kServer));  // 17.1 MB
}

// Neither last level is far: that of the server is just not larger than plans count on, as it has few enough cores.
// Reading lines ahead, which helps where a last level is no faster than memory, would be lost time.
TEST(ArmMachines, FetchNothingAheadThroughTheirCaches) {
  for (const Machine& machine : {kServer, kPhone}) {
    EXPECT_FALSE(machine.slow_shared_l3());
    EXPECT_EQ(machine.l3_share(), machine.l3);
    for (const auto& [from, to] : {std::pair("nchw", "nhwc"), {"nhwc", "nchw"}}) {
      const Plan plan = planned(from, to, {1, 32, 28, 28}, machine);  // 200 KB
      EXPECT_FALSE(plan.streams());
      for (const BoxPlan& box : plan.data().boxes()) {
        const auto* transposition = box.as<Transposition>();
        EXPECT_TRUE(box.ahead == 0 && (!transposition || transposition->dst_ahead == 0)) << to;
      }
    }
  }
}

/// The most bytes that a block of a plan reads and writes.
int64_t block_bytes(const Plan& plan) {
  int64_t most = 0;
  for (const BoxPlan& box : plan.data().boxes())
    most = std::max(most, box.along_src.block * box.along_dst.block * (box.piece[kSrc] + box.piece[kDst]));
  return most;
}

// What a block reads and writes fits the second level, of which a phone's is the smaller, so that lines that are
// fetched for a block are there until it is done. Each of a phone's eight cores gets some blocks of a tensor of a few
// megabytes.
TEST(ArmMachines, BlocksFitTheSecondLevelAndFeedAllCores) {
  const Dims dims{2, 64, 112, 112};  // 12.8 MB on both sides
  for (const Machine& machine : {kServer, kPhone}) {
    for (const auto& [from, to] :
         {std::pair("nchw", "nhwc"), {"nhwc", "nchw"}, {"nchw", "nChw16c"}, {"nChw8c", "nhwc"}}) {
      for (const auto& [type, to_type] : {std::pair(DType::u8, DType::u8),
                                          {DType::bf16, DType::bf16},
                                          {DType::f32, DType::f32},
                                          {DType::f32, DType::u8}}) {
        const Plan plan = planned(from, to, dims, machine, type, to_type);
        EXPECT_LE(block_bytes(plan), machine.l2) << name(type) << " " << from << " -> " << name(to_type) << " " << to;
        EXPECT_GE(plan.data().boxes()[0].blocks, 16)
            << name(type) << " " << from << " -> " << name(to_type) << " " << to;
      }
    }
  }
}

// A large tensor takes at least as long where less of it fits into the caches, and one that fits takes as long.
TEST(ArmMachines, TheSmallerCacheIsNotPricedAsFaster) {
  for (const auto& [from, to] : {std::pair("nchw", "nhwc"), {"nhwc", "nchw"}, {"nchw", "nChw16c"}}) {
    const auto nanoseconds = [&](const Dims& dims, const Machine& machine) {
      return planned(from, to, dims, machine).cost().nanoseconds;
    };
    EXPECT_EQ(nanoseconds({1, 16, 28, 28}, kServer), nanoseconds({1, 16, 28, 28}, kPhone)) << to;
    EXPECT_LE(nanoseconds({4, 64, 56, 56}, kServer), nanoseconds({4, 64, 56, 56}, kPhone)) << to;
  }
}

}  // namespace
}  // namespace relayout
