// TVM's layouts both ways, against TVM's own rule for the place of an index.
#include "relayout/interop/tvm.h"

#include <gtest/gtest.h>

#include <vector>

#include "relayout/core/format.h"
#include "relayout/core/view.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::code_of;
using test::each_index;
using test::error_of;
using tvm::from_tvm;
using tvm::to_tvm;

using test::bound;

/// The store rule of TVM's BijectiveLayout from the plain order `letters`: a capital takes the index divided by all
/// factors of its dim, a small letter the index modulo the factors from here on, divided by those behind.
int64_t tvm_offset(std::string_view text, std::string_view letters, const Dims& dims, const Dims& index) {
  struct Axis {
    char letter;
    int64_t factor;  // 0: a capital
  };
  std::vector<Axis> axes;
  int64_t number = 0;
  for (const char ch : text) {
    if (ch >= '0' && ch <= '9') {
      number = number * 10 + (ch - '0');
    } else {
      axes.push_back({ch >= 'a' ? ch : static_cast<char>(ch - 'A' + 'a'), ch >= 'a' ? number : 0});
      number = 0;
    }
  }
  int64_t offset = 0;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const auto d = static_cast<int>(letters.find(axes[k].letter));
    int64_t all = 1, from_here = 1, behind = 1;
    for (std::size_t j = 0; j < axes.size(); ++j) {
      if (axes[j].letter != axes[k].letter || axes[j].factor == 0) continue;
      all *= axes[j].factor;
      if (j >= k) from_here *= axes[j].factor;
      if (j > k) behind *= axes[j].factor;
    }
    const bool capital = axes[k].factor == 0;
    const int64_t at = capital ? index[d] / all : index[d] % from_here / behind;
    offset = offset * (capital ? (dims[d] + all - 1) / all : axes[k].factor) + at;
  }
  return offset;
}

TEST(Tvm, BothWaysByTvmsRule) {
  struct Case {
    std::string_view text, letters;
    Dims dims;
  };
  const Case cases[] = {
      {"NCHW", "nchw", {2, 3, 5, 4}},
      {"NHWC", "nchw", {2, 3, 5, 4}},
      {"NCHW16c", "nchw", {2, 20, 3, 4}},
      {"NCHW2n8c", "nchw", {3, 17, 2, 3}},
      {"HWCN", "nchw", {2, 3, 5, 4}},
      {"NCDHW4c", "ncdhw", {2, 6, 2, 3, 2}},
      {"OIHW", "oihw", {4, 3, 3, 3}},
      {"HWIO", "oihw", {4, 3, 3, 2}},
      {"OIHW4i16o4i", "oihw", {20, 17, 2, 1}},
      {"OIHW16i16o", "oihw", {17, 20, 1, 2}},
      {"NCW8c", "ncw", {2, 9, 4}},
      {"NC", "nc", {3, 4}},
      {"W", "w", {7}},
      {"CN", "nc", {3, 4}},
      {"GOIHW8g", "goihw", {10, 2, 3, 1, 2}},
  };
  for (const Case& c : cases) {
    const Layout layout = from_tvm(c.text, c.dims);
    EXPECT_EQ(layout, from_tvm(c.text, c.dims, c.letters)) << c.text;
    each_index(c.dims, [&](const Dims& i) {
      ASSERT_EQ(layout.offset(i), tvm_offset(c.text, c.letters, c.dims, i)) << c.text << " " << join(i);
    });
    EXPECT_EQ(to_tvm(layout, c.letters), c.text);
  }
}

TEST(Tvm, LettersOfTheCaller) {
  const Layout layout = from_tvm("KM8m", {20, 6}, "mk");
  EXPECT_EQ(layout, bound("bA8a", {20, 6}));
  EXPECT_EQ(to_tvm(layout, "mk"), "KM8m");
  EXPECT_EQ(to_tvm(layout), "CN8n") << "activations where none are given";
  EXPECT_EQ(to_tvm(bound("acbd", {2, 3, 5, 4})), "NHCW");
}

TEST(Tvm, Refusals) {
  const auto message = [](const std::function<void()>& call) { return error_of(call).message(); };
  const std::string rule = "; TVM's layouts are dense arrays of dims and, inside them, blocks";
  EXPECT_EQ(message([] {
              to_tvm(Layout::strided({2, 3}, {4, 1}));
            }),
            "to_tvm: dim 0 has the stride 4 where the axes inside fill 3 elements, which leaves a gap" + rule);
  EXPECT_EQ(message([] { to_tvm(bound("nchw@3", {1, 2, 3, 4})); }), "to_tvm: the layout begins at offset 3" + rule);
  EXPECT_EQ(message([] {
              to_tvm(bound("scales:128x4", {256, 8}));
            }),
            "to_tvm: dim 0 steps by 16 inside its blocks and by 4 between them, and in a tag a block's steps are the "
            "smaller ones" +
                rule);
  EXPECT_EQ(code_of([] { to_tvm(Layout()); }), ErrorCode::unsupported);
  EXPECT_EQ(code_of([] { to_tvm(Layout::contiguous({1, 2}), "nn"); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { to_tvm(Layout::contiguous({1, 2}), "NC"); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { to_tvm(Layout::contiguous({1, 2}), "nchw"); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { to_tvm(Layout::contiguous({1, 2, 3, 4, 5, 6})); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { from_tvm("NC16cHW", {1, 2, 3, 4}); }), ErrorCode::parse);
  EXPECT_EQ(code_of([] { from_tvm("NCHW.flip(0)", {1, 2, 3, 4}); }), ErrorCode::parse);
  EXPECT_EQ(code_of([] { from_tvm("NCHW16c", {1, 2, 3}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { from_tvm("KM", {2, 3}, "mn"); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { from_tvm("K", {2, 3}, "mk"); }), ErrorCode::invalid_argument);
  EXPECT_EQ(message([] {
              from_tvm("M4kK", {2, 3}, "mk");
            }),
            "from_tvm: a block of a dim that is not among the capitals\n  M4kK\n    ^")
      << "in the caller's own letters";
  EXPECT_EQ(message([] {
              from_tvm("MK5000000000k", {2, 3}, "mk");
            }),
            "from_tvm: a block of over 2147483648\n  MK5000000000k\n    ^");
  std::string many = "MK";
  for (int k = 0; k < 37; ++k) many += "2k";
  EXPECT_NE(message([&] { from_tvm(many, {2, 3}, "mk"); }).find("more than 36 blocks"), std::string::npos);
}

TEST(Tvm, Code) {
  const auto code = [](const Layout& layout) { return tvm::code({layout, DType::f32}); };
  EXPECT_EQ(code(bound("nhwc", {2, 3, 5, 4})), "NHWC");
  EXPECT_EQ(code(bound("nChw16c", {2, 20, 5, 4})), "NCHW16c");
  EXPECT_EQ(code(Layout::strided({2, 3}, {4, 1}, 5)),
            "tvm.tir.decl_buffer((2, 3), \"float32\", strides=[4, 1], elem_offset=5)");
  EXPECT_EQ(code(Layout::strided({2, 3}, {0, 1})), "tvm.tir.decl_buffer((2, 3), \"float32\", strides=[0, 1])");
  EXPECT_EQ(tvm::buffer({bound("nhwc", {2, 3, 5, 4}), DType::bf16}),
            "tvm.tir.decl_buffer((2, 3, 5, 4), \"bfloat16\", strides=[60, 1, 12, 3])");
  EXPECT_EQ(tvm::buffer({Layout::contiguous({7}), DType::s4}), "tvm.tir.decl_buffer((7,), \"int4\")");
  EXPECT_NE(error_of([&] {
              code(bound("scales:128x4", {256, 8}));
            })
                .message()
                .find("dim 0 is blocked"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              tvm::buffer({bound("aB4b", {2, 3}), DType::f32});
            })
                .message()
                .find("dim 1 is padded to 4"),
            std::string::npos);
  for (const DType dtype : all_dtypes()) EXPECT_FALSE(tvm::type_name(dtype).empty());
}

}  // namespace
}  // namespace relayout
