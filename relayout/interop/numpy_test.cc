// NumPy's arrays without NumPy: bytes and elements, types, flags, buffers, and what is refused. tests/interop compares
// the same with NumPy.
#include "relayout/interop/numpy.h"

#include <gtest/gtest.h>

#include "relayout/core/format.h"
#include "relayout/core/view.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using numpy::ArrayInterface;
using numpy::BufferInfo;
using test::code_of;
using test::desc;
using test::error_of;

ArrayInterface floats(const Dims& shape, std::optional<Dims> strides = {}, int64_t byte_offset = 0) {
  return {shape, strides, "<f4", "", byte_offset};
}

TEST(NumPy, LargeDimsWithoutElements) {
  const TensorDesc empty(Layout::contiguous({0, int64_t{1} << 40, int64_t{1} << 21}), DType::f64);
  EXPECT_EQ(numpy::from_buffer(numpy::to_buffer(empty)), empty);
  EXPECT_NE(numpy::code(empty).find("strides=(0, 16777216, 8)"), std::string::npos) << numpy::code(empty);
  EXPECT_TRUE(numpy::f_contiguous(numpy::to_numpy(empty)));
}

TEST(NumPy, ArraysWithoutElementsAtTheLimitOf63Bits) {
  const int64_t far = int64_t{1} << 62;
  for (const Dims& dims : {Dims{0, far}, Dims{far, 0}, Dims{far, far, 0, far}, Dims{0, 1}}) {
    const ArrayInterface array{dims, std::nullopt, "<f8", "float64", 0};
    EXPECT_TRUE(numpy::c_contiguous(array)) << join(dims);
    EXPECT_TRUE(numpy::f_contiguous(array)) << join(dims);
    EXPECT_EQ(numpy::byte_bounds(array), (std::pair<int64_t, int64_t>{0, 0}));
    const TensorDesc empty(Layout::contiguous(dims), DType::f64);
    EXPECT_EQ(numpy::from_numpy(numpy::to_numpy(empty)), empty) << join(dims);
    EXPECT_EQ(numpy::from_buffer(numpy::to_buffer(empty)), empty) << join(dims);
    EXPECT_NE(numpy::code(empty).find("offset=0, strides="), std::string::npos) << numpy::code(empty);
  }
  // NumPy makes an array without elements over b'' at offset 0 alone.
  const TensorDesc moved(Layout::strided({2, 0, 3, 4}, {0, 12, 4, 1}, 9), DType::f32);
  EXPECT_EQ(numpy::to_numpy(moved).byte_offset, 0);
  EXPECT_EQ(numpy::from_numpy(numpy::to_numpy(moved)), moved);
  EXPECT_NE(numpy::code(moved).find("buffer=buf, offset=0,"), std::string::npos) << numpy::code(moved);
  EXPECT_EQ(numpy::to_numpy({Layout::strided({0}, {1}, far), DType::f64}).byte_offset, 0);
  EXPECT_EQ(code_of([&] {
              numpy::f_contiguous({{0, -far}, std::nullopt, "<f8", "", 0});
            }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { numpy::f_contiguous({{0, 2}, Dims{8}, "<f8", "", 0}); }), ErrorCode::invalid_argument);
}

TEST(NumPy, StridesThatNothingStepsAlong) {
  const int64_t far = int64_t{1} << 61;
  const TensorDesc one(Layout::strided({1, 2}, {far, 2}), DType::f64);
  EXPECT_EQ(numpy::to_numpy(one).strides, (Dims{0, 16}));
  EXPECT_EQ(numpy::from_numpy(numpy::to_numpy(one)), one);
  EXPECT_EQ(numpy::to_buffer(one).strides, (Dims{0, 16}));
  const TensorDesc packed(Layout::strided({1, 2}, {far, 1}), DType::f64);
  EXPECT_EQ(numpy::to_buffer(packed).strides, (Dims{16, 8}));
  EXPECT_NE(numpy::code(packed).find("strides=(0, 8)"), std::string::npos) << numpy::code(packed);
  // Bytes that just fit.
  const TensorDesc wide(Layout::strided({2, 2}, {far / 8, 1}), DType::f64);
  EXPECT_EQ(numpy::to_numpy(wide).strides, (Dims{far, 8}));
  EXPECT_EQ(numpy::from_numpy(numpy::to_numpy(wide)), wide);
  const ArrayInterface columns{{2, 2}, Dims{8, far}, "<f8", "", 0};
  EXPECT_FALSE(numpy::f_contiguous(columns));
  EXPECT_FALSE(numpy::c_contiguous(columns));
}

TEST(NumPy, LayoutsGoOutAndComeBack) {
  for (const char* text : {"nchw", "nhwc", "strides:200,-50,10,2", "strides:0,5,0,1", "nchw@7", "nchw.flip(0,3)"}) {
    for (DType dtype : {DType::f64, DType::bf16, DType::f8_e4m3, DType::boolean}) {
      const TensorDesc out = desc(text, {2, 3, 4, 5}, dtype);
      EXPECT_EQ(numpy::from_numpy(numpy::to_numpy(out)), out) << text;
    }
    const TensorDesc out = desc(text, {2, 3, 4, 5}, DType::s64);
    EXPECT_EQ(numpy::from_buffer(numpy::to_buffer(out), out.layout.offset0() * 8), out) << text;
  }
  const ArrayInterface rows = numpy::to_numpy({flip(Layout::contiguous({3, 4}), 0), DType::f32});
  EXPECT_EQ(rows.strides, (Dims{-16, 4}));
  EXPECT_EQ(rows.byte_offset, 32);
  EXPECT_EQ(numpy::byte_bounds(rows), (std::pair<int64_t, int64_t>{-32, 16}));
  EXPECT_EQ(numpy::to_numpy(desc("nchw", {2, 3, 4, 5})).strides, std::nullopt);
  EXPECT_EQ(numpy::from_numpy(floats({2, 3})).layout, Layout::contiguous({2, 3}));
  EXPECT_EQ(numpy::from_numpy(floats({}, std::nullopt, 8)).layout.offset0(), 2);
  EXPECT_EQ(numpy::from_numpy(floats({2, 3}, Dims{4, 8})).layout, Layout::strided({2, 3}, {1, 2}));
  // The second field of records of three floats.
  EXPECT_EQ(numpy::from_numpy(floats({5}, Dims{12}, 4)).layout, Layout::strided({5}, {3}, 1));
}

TEST(NumPy, BytesThatAreNoElementsAreRefusedByDimAndNumber) {
  EXPECT_EQ(error_of([] {
              numpy::from_numpy(floats({2, 3}, Dims{13, 4}));
            }).message(),
            "numpy: the stride of dim 0 is 13 bytes, no multiple of the element's 4");
  EXPECT_EQ(error_of([] {
              numpy::from_numpy(floats({2, 3}, std::nullopt, 2));
            }).message(),
            "numpy: element 0 lies at 2 bytes, no multiple of the element's 4");
  // Nothing steps along a dim of one index, or of an array without elements.
  EXPECT_EQ(numpy::from_numpy(floats({1, 3}, Dims{13, 4})).layout, Layout::contiguous({1, 3}));
  EXPECT_EQ(numpy::from_numpy(floats({0, 3}, Dims{13, 5})).layout, Layout::contiguous({0, 3}));
  EXPECT_EQ(code_of([] { numpy::from_numpy(floats({3}, Dims{-4}, 4)); }), ErrorCode::invalid_argument);
  EXPECT_EQ(numpy::from_numpy(floats({3}, Dims{-4}, 8)).layout.offset0(), 2);
  EXPECT_EQ(code_of([] { numpy::from_numpy(floats({3}, Dims{-4, 4})); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { numpy::from_numpy(floats({-3}, Dims{4})); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { numpy::from_numpy(floats({-3})); }), ErrorCode::invalid_argument);
  const int64_t far = int64_t{1} << 62;
  EXPECT_EQ(code_of([&] { numpy::from_numpy(floats({9, 9}, Dims{-far, -far})); }), ErrorCode::overflow);
}

TEST(NumPy, WhatItCannotSayIsRefused) {
  EXPECT_EQ(error_of([] {
              numpy::to_numpy(desc("nChw8c", {2, 16, 5, 4}));
            }).message(),
            "NumPy has one stride a dim: dim 1 is blocked, with the digits (8,1)(2,160)");
  EXPECT_EQ(error_of([] {
              numpy::to_numpy(desc("nChw8c", {2, 5, 1, 1}));
            }).message(),
            "NumPy has no padding: dim 1 has extent 5 and capacity 8");
  EXPECT_NE(error_of([] {
              numpy::to_numpy(desc("ab", {2, 2}, DType::u4));
            })
                .message()
                .find("none that is u4"),
            std::string::npos);
}

TEST(NumPy, TypesHaveNumPysNames) {
  for (DType dtype : all_dtypes()) {
    if (bits(dtype) < 8) {
      EXPECT_EQ(code_of([&] { numpy::typestr(dtype); }), ErrorCode::unsupported);
    } else {
      EXPECT_EQ(numpy::dtype_of(numpy::typestr(dtype), numpy::dtype_name(dtype)), dtype);
    }
  }
  EXPECT_EQ(numpy::dtype_of("=i4"), DType::s32);
  EXPECT_EQ(numpy::dtype_of(">i1"), DType::s8);
  const auto why = [](std::string_view typestr, std::string_view known = "") {
    const Error error = error_of([&] { numpy::dtype_of(typestr, known); });
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    return error.message();
  };
  EXPECT_EQ(why(">f4"), "numpy: the type >f4 is big-endian");
  EXPECT_EQ(why("<c8"), "numpy: the type <c8 is complex, which no type here is");
  EXPECT_EQ(why("|O8"), "numpy: the type |O8 is of Python objects");
  EXPECT_EQ(why("<M8"), "numpy: the type <M8 is a date or a time");
  EXPECT_EQ(why("|S3"), "numpy: the type |S3 is text");
  EXPECT_EQ(why("<f16"), "numpy: the type <f16 has no type here");
  EXPECT_EQ(why("|V1", "int4"),
            "numpy: the type int4 keeps one element a byte, and elements of fewer than 8 bits "
            "here share bytes");
  EXPECT_NE(why("<V1", "float8_e4m3").find("the type float8_e4m3 is of untyped bytes"), std::string::npos);
  EXPECT_NE(why("|V2").find("its name must be one of ml_dtypes'"), std::string::npos);
  EXPECT_NE(why("f4").find("is no byte order"), std::string::npos);
  EXPECT_NE(why("").find("is no byte order"), std::string::npos);
}

TEST(NumPy, FlagsIgnoreDimsOfOneIndex) {
  const auto flags = [](const ArrayInterface& array) {
    return std::string(numpy::c_contiguous(array) ? "C" : "-") + (numpy::f_contiguous(array) ? "F" : "-");
  };
  EXPECT_EQ(flags(floats({2, 3})), "C-");
  EXPECT_EQ(flags(floats({2, 3}, Dims{4, 8})), "-F");
  EXPECT_EQ(flags(floats({1, 3}, Dims{99, 4})), "CF");
  EXPECT_EQ(flags(floats({5})), "CF");
  EXPECT_EQ(flags(floats({})), "CF");
  EXPECT_EQ(flags(floats({0, 3}, Dims{77, 5})), "CF");
  EXPECT_EQ(flags(floats({2, 3}, Dims{16, 4})), "--");
  EXPECT_EQ(flags(floats({3}, Dims{-4})), "--");
}

TEST(NumPy, BuffersOfTheProtocol) {
  const BufferInfo out = numpy::to_buffer(desc("strides:6,-2", {2, 3}, DType::s32), true);
  EXPECT_EQ(out.format, "i");
  EXPECT_EQ(out.itemsize, 4);
  EXPECT_EQ(out.ndim, 2);
  EXPECT_EQ(out.len, 24);
  EXPECT_TRUE(out.readonly);
  EXPECT_EQ(out.strides, (Dims{24, -8}));
  EXPECT_EQ(numpy::to_buffer(desc("ab", {2, 3}, DType::u64)).format, "Q");
  EXPECT_EQ(numpy::to_buffer(desc("ab", {2, 3}, DType::u64)).strides, (Dims{24, 8}));
  EXPECT_EQ(code_of([] { numpy::to_buffer(desc("ab", {2, 3}, DType::bf16)); }), ErrorCode::unsupported);

  const BufferInfo plain{.format = "<l", .itemsize = 4, .ndim = 1, .len = 12, .shape = {3}};
  EXPECT_EQ(numpy::from_buffer(plain), desc("a", {3}, DType::s32));
  const auto error = [&](auto&& change) {
    BufferInfo changed = plain;
    change(changed);
    return error_of([&] { numpy::from_buffer(changed); });
  };
  EXPECT_EQ(error([](BufferInfo& b) { b.suboffsets = {8}; }).message(),
            "numpy: dim 0 has the suboffset 8, so that its entries are pointers, which no layout has");
  EXPECT_EQ(error([](BufferInfo& b) { b.itemsize = 8; }).message(),
            "numpy: the buffer's itemsize is 8, and its format \"<l\" has 4");
  EXPECT_EQ(error([](BufferInfo& b) { b.len = 13; }).message(),
            "numpy: the buffer's len is 13, and its elements take 12");
  EXPECT_EQ(error([](BufferInfo& b) { b.ndim = 2; }).code(), ErrorCode::invalid_argument);
  for (const char* format : {">l", "!i", "Zf", "T{i:a:}", "3i", "s", "O", "P", "=n", "@"})
    EXPECT_EQ(error([&](BufferInfo& b) { b.format = format; }).code(), ErrorCode::unsupported) << format;
  BufferInfo bytes{.itemsize = 1, .ndim = 0, .len = 1, .suboffsets = {}};
  EXPECT_EQ(numpy::from_buffer(bytes).dtype, DType::u8);
  bytes.ndim = 1, bytes.shape = {1}, bytes.suboffsets = {-1};
  EXPECT_EQ(numpy::from_buffer(bytes).layout, Layout::contiguous({1}));
}

TEST(NumPy, CodeMakesTheArray) {
  EXPECT_EQ(numpy::code({flip(Layout::contiguous({3, 4}), 0), DType::f32}),
            "np.ndarray(shape=(3, 4), dtype=np.float32, buffer=buf, offset=32, strides=(-16, 4))");
  EXPECT_EQ(numpy::code(desc("a", {3}, DType::bf16)),
            "np.ndarray(shape=(3,), dtype=ml_dtypes.bfloat16, buffer=buf, offset=0, strides=(2,))");
  EXPECT_EQ(numpy::code({Layout(), DType::boolean}),
            "np.ndarray(shape=(), dtype=np.bool_, buffer=buf, offset=0, strides=())");
  EXPECT_EQ(code_of([] { numpy::code(desc("nChw8c", {2, 17, 5, 4})); }), ErrorCode::unsupported);
}

}  // namespace
}  // namespace relayout
