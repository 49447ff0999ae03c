// What does not fit 64 bits, in other systems' descriptions: each error says the numbers, and blames the one that is
// too large and not the one that happened to be one too many.
#include <gtest/gtest.h>

#include <limits>

#include "relayout/interop/cudnn.h"
#include "relayout/interop/cute.h"
#include "relayout/interop/directml.h"
#include "relayout/interop/dlpack.h"
#include "relayout/interop/files/npy.h"
#include "relayout/interop/files/tensor_file.h"
#include "relayout/interop/numpy.h"
#include "relayout/interop/onednn.h"
#include "relayout/interop/onednn_views.h"
#include "relayout/interop/pytorch.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using test::error_of;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kHuge = int64_t{1} << 62, kLarge = int64_t{1} << 60;

template <typename F>
void expect_overflow(F&& call, const std::string& field, const std::string& value, const std::string& message) {
  const Error error = error_of(std::forward<F>(call));
  EXPECT_EQ(error.code(), ErrorCode::overflow) << error.message();
  EXPECT_EQ(error.field(), field) << error.message();
  EXPECT_EQ(error.value(), value) << error.message();
  EXPECT_EQ(error.message(), message);
}

TEST(Overflow, PyTorch) {
  const auto tensor = [](const Dims& sizes, const Dims& strides, int64_t offset = 0) {
    return pytorch::TensorMeta{sizes, strides, offset, DType::f32};
  };
  expect_overflow(
      [&] {
        pytorch::view(tensor({4, kLarge, 8}, {1, 1, 1}), {-1});
      },
      "sizes[1]", std::to_string(kLarge),
      "pytorch: 4 x 1152921504606846976 x 8 elements overflow 64 bits; dim 1 (1152921504606846976) is the "
      "largest");
  expect_overflow([&] { pytorch::narrow(tensor({4}, {kLarge}, kMost - 5), 0, 1, 2); }, "storage_offset",
                  std::to_string(kMost - 5),
                  "pytorch: narrow: the storage offset 9223372036854775802 and 1 steps of the stride "
                  "1152921504606846976 of dim 0 overflow 64 bits");
  expect_overflow(
      [&] {
        pytorch::diagonal(tensor({1, 1}, {5, kMost}));
      },
      "strides[1]", std::to_string(kMost),
      "pytorch: diagonal: the strides of dims 0 and 1, 5 and 9223372036854775807, add up to more than 64 "
      "bits hold");
}

TEST(Overflow, NumPy) {
  const auto floats = [](const Dims& shape, const Dims& strides) {
    return numpy::ArrayInterface{shape, strides, "<f4"};
  };
  expect_overflow(
      [&] {
        numpy::from_numpy(floats({9, 2, 9}, {-kHuge, -4, -kHuge / 2}));
      },
      "strides[0]", std::to_string(-kHuge / 4),
      "numpy: what the strides lead back overflows 64 bits; dim 0 (9) leads farthest, by 8 x "
      "-1152921504606846976");
}

TEST(Overflow, DLPack) {
  int64_t shape[] = {2, 3, 2}, strides[] = {-5, -kLarge * 4, -kLarge};
  dlpack::DLTensor tensor{};
  tensor.device = {dlpack::kDLCPU, 0};
  tensor.ndim = 3;
  tensor.dtype = dlpack::data_type(DType::u8);
  tensor.shape = shape;
  tensor.strides = strides;
  expect_overflow([&] { dlpack::from_dlpack(tensor); }, "strides[1]", std::to_string(-kLarge * 4),
                  "dlpack: what the strides lead back overflows 64 bits; dim 1 (3) leads farthest, by 2 x "
                  "-4611686018427387904");
}

TEST(Overflow, CuDnn) {
  cudnn::TensorDescriptor fields = cudnn::to_cudnn(test::desc("nchw", {2, 32, 5, 4}, DType::s8));
  fields.vector_count = 32;
  fields.vectorized_dimension = 1;
  fields.strides[2] = kLarge;
  expect_overflow([&] { cudnn::from_cudnn(fields); }, "strides[2]", std::to_string(kLarge),
                  "from_cudnn: the stride of dim 2, 1152921504606846976 vectors of 32 elements, overflows 64 bits");
  fields.strides[2] = 1;
  fields.dims[1] = kLarge;
  expect_overflow([&] { cudnn::from_cudnn(fields); }, "dims[1]", std::to_string(kLarge),
                  "from_cudnn: the extent of dim 1, 1152921504606846976 vectors of 32 elements, overflows 64 bits");
}

TEST(Overflow, OneDnn) {
  onednn::BlockedDesc fields = onednn::to_onednn(test::desc("nChw8c", {2, 17, 5, 4}));
  onednn::BlockedDesc blocks = fields;
  blocks.inner_nblks = 3;
  blocks.inner_blks = {4, kHuge, 2};
  blocks.inner_idxs = {1, 1, 1};
  expect_overflow([&] { onednn::from_onednn(blocks); }, "inner_blks[1]", std::to_string(kHuge),
                  "from_onednn: the inner blocks 4 x 4611686018427387904 x 2 of dim 1 overflow 64 bits; block 1 "
                  "(4611686018427387904) is the largest");
  onednn::BlockedDesc far = fields;
  far.padded_offsets[0] = 3;
  far.padded_dims[0] = 5;
  far.strides[0] = kHuge;
  far.padded_offsets[2] = 1;
  far.padded_dims[2] = 6;
  expect_overflow([&] { onednn::from_onednn(far); }, "padded_offsets[0]", "3",
                  "from_onednn: the offset that padded_offsets lead to overflows 64 bits; dim 0 leads farthest, by 3 x "
                  "4611686018427387904");
  onednn::BlockedDesc long_one = fields;
  long_one.strides[2] = kLarge;
  expect_overflow([&] { onednn::size(long_one); }, "strides[2]", std::to_string(kLarge),
                  "size: 5764607523034234880 elements of f32 overflow 64 bits of bytes; dim 2 (5) covers most");
  long_one.strides[2] = kHuge;
  expect_overflow([&] { onednn::size(long_one); }, "strides[2]", std::to_string(kHuge),
                  "size: dim 2 covers 5 x 4611686018427387904 elements, which overflow 64 bits");
}

TEST(Overflow, OneDnnsViews) {
  onednn::BlockedDesc fields = onednn::to_onednn(test::desc("ab", {4, 6}));
  fields.strides = {kHuge, 1};
  expect_overflow(
      [&] {
        onednn::submemory(fields, {1, 2}, {3, 4});
      },
      "offsets[0]", "3",
      "submemory: the offset that offsets lead to overflows 64 bits; dim 0 leads farthest, by 3 x "
      "4611686018427387904");
  fields = onednn::to_onednn(test::desc("abc", {4, 6, 3}));
  expect_overflow(
      [&] {
        onednn::reshape(fields, {2, kHuge, 3});
      },
      "dims[1]", std::to_string(kHuge),
      "reshape: 2 x 4611686018427387904 x 3 elements overflow 64 bits; dim 1 (4611686018427387904) is the "
      "largest");
}

TEST(Overflow, DirectMlAndCuTe) {
  const uint32_t sizes[] = {2, 4'000'000'000, 3, 4'000'000'000}, strides[] = {1, 4'000'000'000, 2, 4'100'000'000};
  expect_overflow([&] { directml::buffer_size(directml::DataType::float32, sizes, {}); }, "Sizes[1]", "4000000000",
                  "directml: the buffer's size does not fit 64 bits; dim 1 (4000000000) is the largest");
  expect_overflow(
      [&] { directml::buffer_size(directml::DataType::float32, sizes, strides); }, "Sizes[3]", "4000000000",
      "directml: the buffer's size does not fit 64 bits; dim 3 (4000000000) reaches farthest, by 3999999999 "
      "x 4100000000");
  const Layout steps = Layout::strided({2, 2}, {3, 2});
  expect_overflow([&] { cute::apply(steps, kMost); }, "i", std::to_string(kMost),
                  "cute: apply: the offset of 9223372036854775807, 3 + 9223372036854775806, does not fit 63 bits");
}

TEST(Overflow, Files) {
  expect_overflow(
      [] {
        TensorWriter::create("never.npy", {.shape = {3, kLarge, 2}});
      },
      "shape[1]", std::to_string(kLarge),
      "write tensor: 3 x 1152921504606846976 x 2 elements of f32 overflow 64 bits of bytes, with room for a "
      "header; dim 1 (1152921504606846976) is the largest");
  std::string text(128, ' ');
  const std::string prefix("\x93NUMPY\x01\x00\x76\x00", 10);
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4611686018427387904, 3), }";
  text.replace(0, prefix.size(), prefix);
  text.replace(prefix.size(), dict.size(), dict);
  text.back() = '\n';
  const Error error = error_of([&] { parse_npy(std::as_bytes(std::span(text)), {}); });
  EXPECT_EQ(error.code(), ErrorCode::corrupt) << error.message();
  EXPECT_NE(error.message().find("dim 1 (4611686018427387904) is the largest"), std::string::npos) << error.message();
}

}  // namespace
}  // namespace relayout
