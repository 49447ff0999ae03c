// cuDNN's descriptors both ways: strides by hand, vectors of channels, the limits of both APIs.
#include "relayout/interop/cudnn.h"

#include <gtest/gtest.h>

#include "relayout/core/format.h"
#include "relayout/core/view.h"
#include "relayout/interop/spelling.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using cudnn::TensorFormat;
using test::code_of;
using test::desc;
using test::each_index;
using test::error_of;

/// The offset that cuDNN's definition gives an index, in elements.
int64_t offset_of(const cudnn::TensorDescriptor& fields, const Dims& index) {
  int64_t out = 0;
  for (int d = 0; d < index.size(); ++d) {
    const bool vectorized = fields.vector_count > 1 && d == fields.vectorized_dimension;
    const int64_t i = vectorized ? index[d] / fields.vector_count : index[d];
    out += i * fields.strides[static_cast<std::size_t>(d)] * fields.vector_count;
    if (vectorized) out += index[d] % fields.vector_count;
  }
  return out;
}

TEST(Cudnn, BothWays) {
  const TensorDesc cases[] = {
      desc("nchw", {2, 3, 5, 4}),
      desc("nhwc", {2, 3, 5, 4}, DType::f16),
      desc("ncdhw", {2, 3, 2, 5, 4}),
      desc("ndhwc", {2, 3, 2, 5, 4}, DType::bf16),
      desc("strides:100,1,20,4", {2, 3, 4, 5}),
      desc("nChw4c", {2, 16, 3, 4}, DType::s8),
      desc("nChw4c", {2, 8, 3, 4}, DType::u8),
      desc("nChw32c", {2, 64, 3, 4}, DType::s8),
      desc("abcdefgh", {2, 1, 3, 1, 2, 2, 1, 2}, DType::s32),
      desc("nhwc", {1, 1, 1, 1}),
  };
  for (const TensorDesc& tensor : cases) {
    const cudnn::TensorDescriptor fields = cudnn::to_cudnn(tensor);
    EXPECT_EQ(cudnn::from_cudnn(fields), tensor);
    each_index(tensor.layout.dims(), [&](const Dims& i) {
      ASSERT_EQ(offset_of(fields, i), tensor.layout.offset(i)) << digits_expression(tensor.layout) << " " << join(i);
    });
    for (int d = 0; d < fields.ndims; ++d) EXPECT_GE(fields.strides[static_cast<std::size_t>(d)], 1);
  }
}

TEST(Cudnn, FewerDimsAreFilledUp) {
  const cudnn::TensorDescriptor fields = cudnn::to_cudnn(desc("ab", {3, 5}));
  EXPECT_EQ(fields.ndims, 4);
  EXPECT_EQ(cudnn::from_cudnn(fields), desc("strides:5,1,1,1", {3, 5, 1, 1}));
  EXPECT_EQ(cudnn::legacy_code(desc("ab", {3, 5})),
            "cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 3, 5, 1, 1);");
}

TEST(Cudnn, Formats) {
  EXPECT_EQ(cudnn::tensor_format(desc("nchw", {2, 3, 5, 4})), TensorFormat::nchw);
  EXPECT_EQ(cudnn::tensor_format(desc("nhwc", {2, 3, 5, 4})), TensorFormat::nhwc);
  EXPECT_EQ(cudnn::tensor_format(desc("ndhwc", {2, 3, 2, 5, 4})), TensorFormat::nhwc);
  EXPECT_EQ(cudnn::tensor_format(desc("nhwc", {2, 1, 5, 4})), TensorFormat::nchw) << "both";
  EXPECT_EQ(cudnn::tensor_format(desc("chwn", {2, 3, 5, 4})), std::nullopt);
  EXPECT_EQ(cudnn::tensor_format(desc("nChw32c", {2, 64, 5, 4}, DType::s8)), TensorFormat::nchw_vect_c);
  EXPECT_EQ(cudnn::name(TensorFormat::nchw_vect_c), "CUDNN_TENSOR_NCHW_VECT_C");
}

TEST(Cudnn, LegacyCalls) {
  EXPECT_EQ(cudnn::legacy_code(desc("nhwc", {2, 3, 5, 4}, DType::f16)),
            "cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 2, 3, 5, 4);");
  EXPECT_EQ(cudnn::legacy_code(desc("chwn", {2, 3, 5, 4})),
            "cudnnSetTensor4dDescriptorEx(tensor, CUDNN_DATA_FLOAT, 2, 3, 5, 4, 1, 40, 8, 2);");
  EXPECT_EQ(cudnn::legacy_code(desc("nChw32c", {2, 64, 5, 4}, DType::s8)),
            "cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW_VECT_C, CUDNN_DATA_INT8x32, 2, 64, 5, 4);");
  EXPECT_EQ(cudnn::legacy_code(desc("ncdhw", {2, 3, 2, 5, 4})),
            "const int dims[] = {2, 3, 2, 5, 4};\n"
            "cudnnSetTensorNdDescriptorEx(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 5, dims);");
  EXPECT_EQ(cudnn::legacy_code(desc("strides:200,1,50,10,2", {1, 2, 3, 4, 5})),
            "const int dims[] = {1, 2, 3, 4, 5}, strides[] = {200, 1, 50, 10, 2};\n"
            "cudnnSetTensorNdDescriptor(tensor, CUDNN_DATA_FLOAT, 5, dims, strides);");
  EXPECT_EQ(cudnn::filter_code(desc("ohwi", {8, 3, 3, 3})),
            "cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC, 8, 3, 3, 3);");
  EXPECT_NE(error_of([] {
              cudnn::filter_code(desc("hwio", {8, 3, 3, 2}));
            })
                .message()
                .find("none of its formats"),
            std::string::npos);
}

TEST(Cudnn, Code) {
  EXPECT_EQ(cudnn::code(desc("nChw4c", {2, 16, 5, 4}, DType::s8)),
            "cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW_VECT_C, CUDNN_DATA_INT8x4, 2, 16, 5, 4);\n"
            "// or, in the graph API:\n"
            "const int64_t dim[] = {2, 4, 5, 4}, stride[] = {80, 20, 4, 1};\n"
            "const cudnnDataType_t type = CUDNN_DATA_INT8;\n"
            "const int64_t vector = 4, vectorized = 1;\n"
            "cudnnBackendSetAttribute(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);\n"
            "cudnnBackendSetAttribute(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dim);\n"
            "cudnnBackendSetAttribute(tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, stride);\n"
            "cudnnBackendSetAttribute(tensor, CUDNN_ATTR_TENSOR_VECTOR_COUNT, CUDNN_TYPE_INT64, 1, &vector);\n"
            "cudnnBackendSetAttribute(tensor, CUDNN_ATTR_TENSOR_VECTORIZED_DIMENSION, CUDNN_TYPE_INT64, 1, "
            "&vectorized);");
  const std::string wide = cudnn::code(desc("ab", {4, int64_t{1} << 32}, DType::u8));
  EXPECT_TRUE(wide.starts_with("// in the graph API; not in the legacy API, as dim 0 has the stride 4294967296"))
      << wide;
  EXPECT_TRUE(cudnn::code(desc("ab", {4, 2}, DType::f8_e4m3)).starts_with("// in the graph API; not in the legacy"));
}

TEST(Cudnn, CodeOfFilters) {
  const std::string vectors = cudnn::code(desc("nChw4c", {8, 8, 3, 3}, DType::s8), true);
  EXPECT_TRUE(vectors.starts_with(
      "cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_INT8x4, CUDNN_TENSOR_NCHW_VECT_C, 8, 8, 3, 3);\n// or, in the "
      "graph API:\n"))
      << vectors;
  // Weights are told by the letters of their dims.
  for (const char* text : {"oihw", "ohwi"})
    EXPECT_TRUE(
        spelling("cudnn", desc(text, {8, 4, 3, 3}), "oihw").text.starts_with("cudnnSetFilter4dDescriptor(filter, "));
  EXPECT_TRUE(spelling("cudnn", desc("nchw", {8, 4, 3, 3}), "nchw").text.starts_with("cudnnSetTensor4dDescriptor("));
  EXPECT_TRUE(spelling("cudnn", desc("hwio", {8, 4, 3, 3}), "oihw")
                  .text.starts_with("// in the graph API; not in the legacy API, as a filter has a format"));
}

TEST(Cudnn, Refusals) {
  const auto message = [](const TensorDesc& tensor) { return error_of([&] { cudnn::to_cudnn(tensor); }).message(); };
  EXPECT_EQ(message(desc("nChw4c", {2, 17, 5, 4}, DType::s8)),
            "cudnn: dim 1 has 17 elements and a capacity of 20, and cuDNN has no padding: give the capacity as the "
            "extent");
  EXPECT_EQ(message(desc("nChw8c", {2, 16, 5, 4}, DType::s8)),
            "cudnn: dim 1 is in blocks of 8, and cuDNN has blocks of dim 1 alone: 4 or 32 of s8, or 4 of u8, side by "
            "side");
  EXPECT_NE(message(desc("nChw4c", {2, 16, 5, 4})).find("blocks of 4"), std::string::npos) << "of f32";
  EXPECT_NE(message(desc("nChw32c", {2, 64, 5, 4}, DType::u8)).find("blocks of 32"), std::string::npos);
  EXPECT_EQ(message(desc("strides:0,1", {3, 4})), "cudnn: dim 0 has the stride 0, and cuDNN's are above 0");
  EXPECT_EQ(message({flip(Layout::contiguous({2, 3, 4, 5}).canonical(), 3), DType::f32}),
            "cudnn: dim 3 has the stride -1, and cuDNN's are above 0");
  EXPECT_EQ(message(desc("ab@4", {3, 4})),
            "cudnn: the layout begins at offset 4, and a descriptor has none: add it to the pointer");
  EXPECT_EQ(message(desc("ab", {3, 0})), "cudnn: dim 1 has no elements");
  EXPECT_EQ(code_of([] { cudnn::to_cudnn(desc("abcdefghi", {1, 1, 1, 1, 1, 1, 1, 1, 1})); }), ErrorCode::unsupported);
  EXPECT_NE(message(desc("ab", {3, 4}, DType::boolean)).find("packed, eight a byte"), std::string::npos);
  EXPECT_EQ(code_of([] { cudnn::data_type_number(DType::s16); }), ErrorCode::unsupported);
  EXPECT_EQ(code_of([] { cudnn::data_type_of_number(5); }), ErrorCode::unsupported);
  EXPECT_EQ(cudnn::data_type_of_number(cudnn::data_type_number(DType::u4)), DType::u4);
  const auto bad = [](auto&& change) {
    cudnn::TensorDescriptor fields = cudnn::to_cudnn(desc("nchw", {2, 8, 5, 4}, DType::s8));
    change(fields);
    return code_of([&] { cudnn::from_cudnn(fields); });
  };
  using Fields = cudnn::TensorDescriptor;
  EXPECT_EQ(bad([](Fields& f) { f.ndims = 9; }), ErrorCode::invalid_argument);
  EXPECT_EQ(bad([](Fields& f) { f.dims[1] = 0; }), ErrorCode::invalid_argument);
  EXPECT_EQ(bad([](Fields& f) { f.strides[1] = -1; }), ErrorCode::invalid_argument);
  EXPECT_EQ(bad([](Fields& f) { f.vector_count = 8; }), ErrorCode::invalid_argument);
  EXPECT_EQ(bad([](Fields& f) { f.vector_count = 4; }), ErrorCode::invalid_argument) << "of which dim?";
  const auto vectors = [](Fields& f) { f.vector_count = 4, f.vectorized_dimension = 1; };
  EXPECT_EQ(bad([&](Fields& f) { vectors(f), f.vectorized_dimension = 2; }), ErrorCode::unsupported);
  EXPECT_EQ(bad([&](Fields& f) { vectors(f), f.data_type = cudnn::data_type_number(DType::f16); }),
            ErrorCode::unsupported);
  EXPECT_EQ(bad([&](Fields& f) { vectors(f), f.vector_count = 32, f.data_type = cudnn::data_type_number(DType::u8); }),
            ErrorCode::unsupported);
  EXPECT_EQ(bad([](Fields& f) { f.dims[0] = f.strides[0] = int64_t{1} << 62; }), ErrorCode::overflow);
}

}  // namespace
}  // namespace relayout
