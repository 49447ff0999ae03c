// What the progress of long work says of its bytes.
#include "tools/command/progress.h"

#include <gtest/gtest.h>

namespace relayout::tools {
namespace {

TEST(Progress, BytesHaveARateAndATimeThatIsLeft) {
  constexpr double kGiB = 1 << 30;
  EXPECT_EQ(bytes_progress_text(0, 4 * kGiB, 3), "0 % of 4.0 GiB");
  EXPECT_EQ(bytes_progress_text(kGiB, 4 * kGiB, 2), "25 % of 4.0 GiB, 512.0 MiB/s, 6 s left");
  EXPECT_EQ(bytes_progress_text(kGiB, 401 * kGiB, 1), "0 % of 401.0 GiB, 1.0 GiB/s, 6 min 40 s left");
  EXPECT_EQ(bytes_progress_text(kGiB, 10001 * kGiB, 1), "0 % of 9.8 TiB, 1.0 GiB/s, 2 h 46 min left");
  EXPECT_EQ(bytes_progress_text(4 * kGiB - 1, 4 * kGiB, 4), "99 % of 4.0 GiB, 1024.0 MiB/s, 1 s left");
  EXPECT_EQ(bytes_progress_text(4 * kGiB, 4 * kGiB, 4), "100 % of 4.0 GiB, 1.0 GiB/s");
  EXPECT_EQ(bytes_progress_text(0, 0, 4), "100 % of 0 bytes");
}

}  // namespace
}  // namespace relayout::tools
