// Names of layouts in other frameworks: that they are found, and that each binds to the layout.
#include "relayout/interop/names_elsewhere.h"

#include <gtest/gtest.h>

#include "relayout/core/format.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using Names = std::vector<std::string>;

Names names(std::string_view format, const Dims& dims) { return names_of(Format::parse(format).bind(dims)); }

TEST(Mobile, Names) {
  EXPECT_EQ(names("nChw4c", {1, 17, 5, 4}), (Names{"cudnn:NC/4HW4", "cudnn:KC/4RS4", "executorch:CHANNELS_PACKED",
                                                   "mace:dw_conv2d_filter", "mnn:NC4HW4", "mnn:C4NHW4", "ncnn:NC4HW4",
                                                   "tensorrt:CHW4", "tflite:DHWC4", "tnn:NC4HW4", "tvm:NCHW4c"}));
  EXPECT_EQ(names("nChw4c", {2, 17, 5, 4}), (Names{"cudnn:NC/4HW4", "cudnn:KC/4RS4", "executorch:CHANNELS_PACKED",
                                                   "mnn:NC4HW4", "tensorrt:CHW4", "tnn:NC4HW4", "tvm:NCHW4c"}))
      << "of two images, MNN's kernels and its name differ, and ncnn has no batch";
  EXPECT_EQ(names("nhwc", {2, 3, 5, 4}), (Names{"acl:OHWI", "cudnn:NHWC", "cudnn:KRSC", "mnn:NHWC", "tensorrt:HWC",
                                                "tflite:BHWC", "tnn:NHWC", "tvm:NHWC"}));
  EXPECT_EQ(names("OhwI8o4i", {20, 17, 3, 3}), (Names{"acl:OHWIo8i4", "tvm:NHWC8n4c"}));
  EXPECT_EQ(names("nh|Cw4c", {2, 9, 4, 5}), (Names{"mace:in_out_channel", "tnn:NHC4W4", "tvm:NHCW4c"}));
  EXPECT_EQ(names("nh|Cw4c;pitch=64", {2, 9, 4, 5}), Names{}) << "no name has a pitch";
  EXPECT_EQ(names("strides:0,1", {2, 3}), Names{});
  EXPECT_EQ(names("strides:", {}), (Names{"tensorrt:LINEAR", "tensorrt:CHW", "tenstorrent:ROW_MAJOR"}))
      << "names of row-major layouts of any rank";
  EXPECT_EQ(names("AB2a2b16a16b", {40, 70}), (Names{"tenstorrent:TILE", "tvm:NC2n2c16n16c"}));
  EXPECT_EQ(names("abCD2c2d16c16d", {2, 3, 40, 70}), (Names{"tenstorrent:TILE", "tvm:NCHW2h2w16h16w"}));
}

TEST(Mobile, EachNameIsTheLayout) {
  for (const std::string& name : notation_names()) {
    const Format format = Format::parse(name);
    int ranks = 0;
    for (Dims dims{1, 9, 6, 5, 3}; !dims.empty(); dims.pop_back()) {
      if (format.rank() && dims.size() != *format.rank()) continue;
      if (name == "tensorrt:DLA_HWC4") dims[dims.size() == 4 ? 1 : 0] = 3;
      try {
        format.bind(dims);
      } catch (const Error&) {  // another rank
        continue;
      }
      ++ranks;
      const Layout layout = format.bind(dims);
      const Names found = names_of(layout);
      EXPECT_NE(std::ranges::find(found, name), found.end()) << name;
      for (const std::string& other : found) EXPECT_EQ(Format::parse(other).bind(dims), layout) << other;
    }
    EXPECT_GE(ranks, format.rank() ? 1 : 2) << name;
  }
}

}  // namespace
}  // namespace relayout
