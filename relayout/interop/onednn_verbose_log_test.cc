// What a program printed, with lines of oneDNN among others.
#include <gtest/gtest.h>

#include "relayout/core/format.h"
#include "relayout/interop/onednn_verbose.h"

namespace relayout {
namespace {

TEST(OneDnnVerboseLog, LogsAmongOtherOutput) {
  const onednn::VerboseLog log = onednn::read_verbose_log(
      "loading\r\n"
      "onednn_verbose,v1,info,oneDNN v3.9.0 (commit 0)\r\n"
      "onednn_verbose,v1,primitive,exec,cpu,tomorrows,ref,undef,src:f32::blocked:ab::f0,,,2x3,0.5\r\n"
      "\n"
      "dnnl_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:ab:f0 dst_f32::blocked:ba:f0,,,2x3,0.5\n"
      "mkldnn_verbose,exec,reorder\n"
      "onednn_verbose,v1,primitive,exec,cpu,reor");
  ASSERT_EQ(log.lines.size(), 2u);
  EXPECT_EQ(log.lines[0].first, 3);
  EXPECT_EQ(log.lines[0].second.primitive, "tomorrows");
  EXPECT_EQ(log.lines[1].first, 5);
  EXPECT_EQ(onednn::tensor_of(log.lines[1].second.tensor("dst")),
            TensorDesc(Format::parse("ba").bind({2, 3}), DType::f32));
  ASSERT_EQ(log.others.size(), 3u);
  EXPECT_EQ(log.others[0].text, "onednn_verbose,v1,info,oneDNN v3.9.0 (commit 0)");
  EXPECT_NE(log.others[0].why.find("not about a primitive"), std::string::npos) << log.others[0].why;
  EXPECT_EQ(log.others[1].number, 6);
  EXPECT_EQ(log.others[2].number, 7);
  EXPECT_TRUE(onednn::read_verbose_log("").lines.empty());
}

TEST(OneDnnVerboseLog, LinesBehindPrefixesAndWithoutBreaks) {
  std::vector<std::pair<int64_t, std::string>> found;
  onednn::for_each_verbose_line(
      "[0] dnnl_verbose,a\r\nonednn_verbose,bonednn_verbose,c\nonednn_verbose d\n\nx mkldnn_verbose,",
      [&](int64_t number, std::string_view line) { found.emplace_back(number, line); });
  const std::vector<std::pair<int64_t, std::string>> expected = {
      {1, "dnnl_verbose,a"}, {2, "onednn_verbose,b"}, {2, "onednn_verbose,c"}, {5, "mkldnn_verbose,"}};
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace relayout
