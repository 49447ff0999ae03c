// PyTorch's tensors without PyTorch: its documented examples, formats, views on extents 0 and 1, and what is refused.
// tests/interop compares the same with the library.
#include "relayout/interop/pytorch.h"

#include <gtest/gtest.h>

#include <random>

#include "relayout/core/format.h"
#include "relayout/core/view.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using pytorch::Result;
using pytorch::TensorMeta;
using test::code_of;
using test::desc;
using test::error_of;

TensorMeta tensor(const Dims& sizes, const Dims& strides, int64_t offset = 0) { return {sizes, strides, offset}; }
TensorMeta empty(const Dims& sizes) { return pytorch::to_pytorch({Layout::contiguous(sizes), DType::f32}); }

TEST(PyTorch, LayoutsGoOutAndComeBack) {
  for (const char* text : {"nchw", "nhwc", "strides:200,50,10,2", "strides:0,5,0,1", "nchw@7"}) {
    const TensorDesc out = desc(text, {2, 3, 4, 5}, DType::bf16);
    EXPECT_EQ(pytorch::from_pytorch(pytorch::to_pytorch(out)), out) << text;
  }
  EXPECT_EQ(pytorch::to_pytorch(desc("channels_last", {1, 64, 5, 4})).strides, (Dims{1280, 1, 256, 64}));
  EXPECT_EQ(empty({2, 0, 4}).strides, (Dims{4, 4, 1}));
  // Blocks of one stride are no blocks, and the stride of one index stays as it was given.
  EXPECT_EQ(pytorch::to_pytorch(desc("nChw8c", {2, 8, 1, 1})).strides, (Dims{8, 1, 8, 8}));
  const TensorMeta odd = tensor({1, 3}, {99, 1}, 5);
  EXPECT_EQ(pytorch::to_pytorch(pytorch::from_pytorch(odd)), odd);
  EXPECT_EQ(pytorch::to_pytorch({Layout::strided({1, 3}, {-7, 1}), DType::f32}).strides, (Dims{1, 1}));
}

TEST(PyTorch, WhatItCannotSayIsRefusedByDimAndNumber) {
  const auto message = [](const TensorDesc& out) { return error_of([&] { pytorch::to_pytorch(out); }).message(); };
  EXPECT_EQ(message({Layout::strided({2, 3, 2}, {12, 2, -1}, 1), DType::f32}),
            "PyTorch has no negative strides: dim 2 has stride -1");
  EXPECT_EQ(message(desc("nChw8c", {2, 16, 5, 4})),
            "PyTorch has one stride a dim: dim 1 is blocked, with the digits (8,1)(2,160)");
  EXPECT_EQ(message(desc("nChw8c", {2, 5, 1, 1})), "PyTorch has no padding: dim 1 has extent 5 and capacity 8");
  EXPECT_NE(message(desc("nchw", {2, 5, 1, 1}, DType::s4)).find("none of s4"), std::string::npos);
  EXPECT_EQ(code_of([] { pytorch::from_pytorch(tensor({2, 3}, {-3, 1})); }), ErrorCode::unsupported);
  EXPECT_EQ(code_of([] { pytorch::from_pytorch(tensor({2, -3}, {3, 1})); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { pytorch::from_pytorch(tensor({2, 3}, {1})); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { pytorch::from_pytorch(tensor({2}, {1}, -1)); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] {
              pytorch::from_pytorch(tensor({1 << 30, 1 << 30}, {1 << 30, int64_t{1} << 40}));
            }),
            ErrorCode::overflow);
}

TEST(PyTorch, TypesHavePyTorchsNames) {
  for (DType dtype : all_dtypes()) {
    if (bits(dtype) < 8) {
      EXPECT_EQ(code_of([&] { pytorch::dtype_name(dtype); }), ErrorCode::unsupported);
      continue;
    }
    EXPECT_EQ(pytorch::dtype_of(pytorch::dtype_name(dtype)), dtype);
  }
  EXPECT_EQ(pytorch::dtype_of("half"), DType::f16);
  EXPECT_EQ(pytorch::dtype_of("torch.long"), DType::s64);
  EXPECT_EQ(code_of([] { pytorch::dtype_of("torch.complex64"); }), ErrorCode::unsupported);
}

TEST(PyTorch, CodeMakesTheTensor) {
  EXPECT_EQ(pytorch::code(desc("nhwc", {2, 3, 5, 4})),
            "torch.empty_strided((2, 3, 5, 4), (60, 1, 12, 3), dtype=torch.float32)");
  EXPECT_EQ(pytorch::code({narrow(Layout::contiguous({5}), 0, 2, 3), DType::u8}),
            "torch.as_strided(torch.empty(5, dtype=torch.uint8), (3,), (1,), 2)");
  EXPECT_EQ(pytorch::code({Layout(), DType::boolean}), "torch.empty_strided((), (), dtype=torch.bool)");
  EXPECT_EQ(code_of([] { pytorch::code(desc("nChw8c", {2, 17, 5, 4})); }), ErrorCode::unsupported);
}

TEST(PyTorch, FormatsOfAmbiguousTensors) {
  const auto cl = MemoryFormat::channels_last;
  // One channel: both at once; the strides of C decide what is suggested.
  const TensorMeta plain = empty({2, 1, 4, 5});
  EXPECT_TRUE(pytorch::is_contiguous(plain) && pytorch::is_contiguous(plain, cl));
  EXPECT_EQ(pytorch::suggest_memory_format(plain), MemoryFormat::contiguous);
  const TensorMeta last = tensor({2, 1, 4, 5}, {20, 1, 5, 1});
  EXPECT_TRUE(pytorch::is_contiguous(last) && pytorch::is_contiguous(last, cl));
  EXPECT_EQ(pytorch::suggest_memory_format(last), cl);
  EXPECT_EQ(pytorch::suggest_memory_format(tensor({3, 1, 1, 1}, {1, 1, 1, 1})), MemoryFormat::contiguous);
  EXPECT_EQ(pytorch::suggest_memory_format(tensor({2, 3, 4, 5}, {60, 0, 15, 3})), MemoryFormat::contiguous);
  // A part of a channels-last tensor is not contiguous in any format, and is suggested to be channels-last.
  const TensorMeta part = pytorch::narrow(tensor({2, 8, 4, 5}, {160, 1, 40, 8}), 1, 0, 4);
  EXPECT_FALSE(pytorch::is_contiguous(part) || pytorch::is_contiguous(part, cl));
  EXPECT_EQ(pytorch::suggest_memory_format(part), cl);
  // Without elements the strides decide, and an extent of 0 is one of them.
  EXPECT_TRUE(pytorch::is_contiguous(tensor({2, 0, 4, 4}, {0, 1, 0, 0}), cl));
  EXPECT_FALSE(pytorch::is_contiguous(empty({2, 0, 4, 4}), cl));
  EXPECT_TRUE(pytorch::is_contiguous(tensor({2, 0}, {7, 9})));
  EXPECT_FALSE(pytorch::is_contiguous(empty({2, 3}), cl));
  EXPECT_TRUE(pytorch::is_contiguous(Format::parse("ndhwc").bind({1, 2, 3, 4, 5}), MemoryFormat::channels_last_3d));
  EXPECT_FALSE(pytorch::is_contiguous(Format::parse("nChw8c").bind({1, 16, 3, 4})));
}

TEST(PyTorch, ContiguousMovesOnlyWhatMustMove) {
  const TensorMeta nhwc = tensor({2, 3, 4, 5}, {60, 1, 15, 3}, 7);
  EXPECT_EQ(pytorch::contiguous(nhwc, MemoryFormat::channels_last), (Result{nhwc, false}));
  EXPECT_EQ(pytorch::contiguous(nhwc), (Result{empty({2, 3, 4, 5}), true}));
  EXPECT_EQ(pytorch::contiguous(empty({2, 0, 4, 4}), MemoryFormat::channels_last),
            (Result{tensor({2, 0, 4, 4}, {0, 1, 0, 0}), true}));
  EXPECT_EQ(error_of([&] { pytorch::contiguous(nhwc, MemoryFormat::channels_last_3d); }).message(),
            "pytorch: contiguous: channels_last_3d takes 5 dims, and the tensor has 4");
}

TEST(PyTorch, PreservedFormatIsDenseInTheOrderOfTheStrides) {
  EXPECT_EQ(pytorch::preserve_format(tensor({2, 3}, {1, 2}, 9)), tensor({2, 3}, {1, 2}));
  EXPECT_EQ(pytorch::preserve_format(tensor({2, 3}, {2, 8})), tensor({2, 3}, {1, 2}));
  // The example of infer_dense_strides: dims of stride 0 stay where row-major order has them.
  EXPECT_EQ(pytorch::preserve_format(tensor({6, 5, 4, 3, 2}, {6, 0, 120, 0, 1})).strides, (Dims{6, 36, 180, 2, 1}));
  EXPECT_EQ(pytorch::preserve_format(tensor({2, 0}, {7, 9})), tensor({2, 0}, {7, 9}));
}

TEST(PyTorch, ReshapeIsAViewOrACopy) {
  const TensorMeta nhwc = pytorch::to_pytorch(desc("nhwc", {2, 3, 4, 5}));
  EXPECT_EQ(pytorch::reshape(nhwc, {2, 3, -1}), (Result{tensor({2, 3, 20}, {60, 1, 3}), false}));
  EXPECT_EQ(pytorch::reshape(nhwc, {6, 20}), (Result{empty({6, 20}), true}));
  EXPECT_EQ(pytorch::flatten(nhwc, 2), (Result{tensor({2, 3, 20}, {60, 1, 3}), false}));
  EXPECT_EQ(pytorch::flatten(nhwc), (Result{empty({120}), true}));
  EXPECT_EQ(pytorch::flatten(empty({})), (Result{empty({1}), false}));
  const Error error = error_of([&] { pytorch::view(nhwc, {6, 20}); });
  EXPECT_EQ(error.code(), ErrorCode::needs_copy);
  EXPECT_EQ(error.value(), "0 and 1");
  EXPECT_EQ(pytorch::view(empty({0, 2}), {-1, 2}), tensor({0, 2}, {2, 1}));
  EXPECT_EQ(pytorch::view(tensor({2, 0}, {7, 9}), {2, 0}), tensor({2, 0}, {7, 9}));
  EXPECT_EQ(pytorch::view(tensor({}, {}, 3), {1, 1}), tensor({1, 1}, {1, 1}, 3));
  for (const Dims& sizes : {Dims{4}, Dims{-1, -1}, Dims{-2}, Dims{0, -1}, Dims{7, -1}})
    EXPECT_EQ(code_of([&] { pytorch::view(nhwc, sizes); }), ErrorCode::invalid_argument) << join(sizes);
  EXPECT_EQ(code_of([] { pytorch::view(empty({0, 2}), {-1, 0}); }), ErrorCode::invalid_argument);
}

TEST(PyTorch, ViewsOfScalarsAndOfExtentsZeroAndOne) {
  const TensorMeta scalar = empty({}), x = empty({2, 3});
  EXPECT_EQ(pytorch::expand(x, {1, 1, -1, 3}), tensor({1, 1, 2, 3}, {6, 6, 3, 1}));
  EXPECT_EQ(pytorch::expand(x, {4, 2, 3}), tensor({4, 2, 3}, {0, 3, 1}));
  EXPECT_EQ(pytorch::expand(scalar, {2, 0}), tensor({2, 0}, {0, 0}));
  EXPECT_EQ(pytorch::narrow(x, 1, -1, 1), tensor({2, 1}, {3, 1}, 2));
  EXPECT_EQ(pytorch::narrow(x, 1, 3, 0), tensor({2, 0}, {3, 1}, 3));
  EXPECT_EQ(pytorch::select(empty({2, 0, 4}), 0, -1), tensor({0, 4}, {4, 1}, 4));
  EXPECT_EQ(pytorch::unfold(scalar, -1, 1, 5), tensor({1}, {1}));
  EXPECT_EQ(pytorch::unfold(x, 1, 0, 1), tensor({2, 4, 0}, {3, 1, 1}));
  EXPECT_EQ(pytorch::unfold(empty({0, 3}), 0, 0, 2), tensor({1, 3, 0}, {6, 1, 3}));
  EXPECT_EQ(pytorch::diagonal(x, 5), tensor({0}, {4}));
  EXPECT_EQ(pytorch::diagonal(x, -1), tensor({1}, {4}, 3));
  EXPECT_EQ(pytorch::squeeze(scalar, -1), scalar);
  EXPECT_EQ(pytorch::squeeze(x, 0), x);
  EXPECT_EQ(pytorch::squeeze(tensor({1, 2, 1}, {5, 1, 9})), tensor({2}, {1}));
  EXPECT_EQ(pytorch::unsqueeze(x, -1), tensor({2, 3, 1}, {3, 1, 1}));
  EXPECT_EQ(pytorch::unsqueeze(x, 0), tensor({1, 2, 3}, {6, 3, 1}));
  EXPECT_EQ(pytorch::transpose(scalar, 0, -1), scalar);
  EXPECT_EQ(pytorch::as_strided(x, {2}, {2}, 1), tensor({2}, {2}, 1));
  EXPECT_EQ(pytorch::as_strided(x, {0}, {1}, 100, 6), tensor({0}, {1}, 100));
}

TEST(PyTorch, ArgumentsThatPyTorchRefuses) {
  const TensorMeta scalar = empty({}), x = empty({2, 3});
  const int twice[] = {0, 0}, one[] = {0};
  const std::function<void()> calls[] = {
      [&] { pytorch::expand(x, {3}); },
      [&] {
        pytorch::expand(x, {-1, 2, 3});
      },
      [&] { pytorch::expand(scalar, {-1}); },
      [&] {
        pytorch::expand(x, {4, 3});
      },
      [&] { pytorch::narrow(scalar, 0, 0, 0); },
      [&] { pytorch::narrow(x, 1, 4, 0); },
      [&] { pytorch::narrow(x, 1, 2, 2); },
      [&] { pytorch::narrow(x, 1, 0, -1); },
      [&] { pytorch::select(scalar, 0, 0); },
      [&] { pytorch::select(x, 1, 3); },
      [&] { pytorch::select(x, 2, 0); },
      [&] { pytorch::unfold(x, 1, 4, 1); },
      [&] { pytorch::unfold(x, 1, -1, 1); },
      [&] { pytorch::unfold(x, 1, 1, 0); },
      [&] { pytorch::flatten(x, 1, 0); },
      [&] { pytorch::diagonal(scalar); },
      [&] { pytorch::diagonal(x, 0, 1, -1); },
      [&] { pytorch::squeeze(x, 2); },
      [&] { pytorch::unsqueeze(x, 3); },
      [&] { pytorch::permute(x, twice); },
      [&] { pytorch::permute(x, one); },
      [&] { pytorch::as_strided(x, {7}, {1}, 0, 6); },
      [&] {
        pytorch::as_strided(x, {2}, {1, 1});
      },
      [&] { pytorch::as_strided(x, {2}, {1}, -1); },
  };
  for (std::size_t k = 0; k < std::size(calls); ++k) EXPECT_EQ(code_of(calls[k]), ErrorCode::invalid_argument) << k;
  EXPECT_EQ(error_of([&] { pytorch::select(x, 1, 3); }).message(),
            "pytorch: select: index 3 of dim 1, whose size is 3");
  const int64_t large = int64_t{1} << 40;
  EXPECT_EQ(code_of([&] { pytorch::unsqueeze(tensor({0, large}, {1, large}), 1); }), ErrorCode::overflow);
  EXPECT_EQ(code_of([&] { pytorch::flatten(tensor({0, large, large}, {1, 1, 1}), 1); }), ErrorCode::overflow);
}

/// Law: where there are elements, PyTorch's views are those of core/view.h.
TEST(PyTorch, ViewsAgreeWithThoseOfLayouts) {
  std::mt19937_64 random(27);
  const auto pick = [&](int64_t below) { return static_cast<int64_t>(random() % static_cast<uint64_t>(below)); };
  for (int i = 0; i < 2000; ++i) {
    TensorMeta x = tensor({1 + pick(4), 1 + pick(4), 1 + pick(4)}, {pick(30), pick(10), pick(4)}, pick(9));
    const Layout l = pytorch::from_pytorch(x).layout;
    const auto expect = [&](const TensorMeta& ours, const Layout& layout) {
      EXPECT_EQ(pytorch::from_pytorch(ours).layout, layout) << join(x.sizes) << " by " << join(x.strides);
    };
    const int d = static_cast<int>(pick(3)), e = static_cast<int>(pick(3));
    const int64_t start = pick(x.sizes[d]), length = 1 + pick(x.sizes[d] - start), step = 1 + pick(3);
    expect(pytorch::transpose(x, d, e), transpose(l, d, e));
    expect(pytorch::narrow(x, d, start, length), narrow(l, d, start, length));
    expect(pytorch::select(x, d, start), select(l, d, start));
    expect(pytorch::squeeze(x), squeeze(l));
    expect(pytorch::unsqueeze(x, d), unsqueeze(l, d));
    expect(pytorch::unfold(x, d, length, step), unfold(l, d, length, step));
    expect(pytorch::expand(x, {2, -1, -1, -1}), expand(l, {2, -1, -1, -1}));
    const int64_t offset = pick(x.sizes[d] + x.sizes[e] - 1) - x.sizes[d] + 1;
    if (d != e) expect(pytorch::diagonal(x, offset, d, e), diagonal(l, offset, d, e));
  }
}

TEST(PyTorch, InterpretationsOfAnAmbiguousTensor) {
  const auto names = [](const TensorMeta& meta) {
    std::string out;
    for (const auto& reading : pytorch::interpretations(meta))
      out += (out.empty() ? "" : " ") + reading.name + (reading.suggested ? "*" : "");
    return out;
  };
  EXPECT_EQ(names(empty({2, 3, 4, 5})), "contiguous*");
  EXPECT_EQ(names(empty({2, 1, 4, 5})).substr(0, 25), "contiguous* channels_last");
  EXPECT_EQ(names(tensor({2, 1, 4, 5}, {20, 1, 5, 1})).substr(0, 25), "contiguous channels_last*");
  EXPECT_EQ(names(pytorch::narrow(tensor({2, 8, 4, 5}, {160, 1, 40, 8}), 1, 0, 4)), "like channels_last*");
  EXPECT_EQ(names(tensor({2, 3, 4, 5}, {1, 40, 10, 2})), "chwn");
  EXPECT_EQ(names(tensor({2, 3}, {7, 2})), "strided");
  EXPECT_EQ(names(tensor({2, 3}, {0, 2})), "expanded");
  EXPECT_EQ(names(tensor({0, 3}, {5, 5})), "contiguous*");
  EXPECT_EQ(names(empty({})), "contiguous*");
  const auto readings = pytorch::interpretations(Format::parse("nhwc").bind({2, 1, 4, 5}));
  ASSERT_GE(readings.size(), 2u);
  EXPECT_EQ(readings[0].why,
            "the strides 20,1,5,1 are row-major, as the stride of dim 1 does not count, where there is one index");
  EXPECT_EQ(readings[1].why, "the strides 20,1,5,1 are those of channels_last");
  EXPECT_EQ(code_of([] {
              pytorch::interpretations(Format::parse("nChw8c").bind({2, 17, 4, 5}));
            }),
            ErrorCode::unsupported);
}

}  // namespace
}  // namespace relayout
