// DirectML's descriptions: sizes against the published helper's formula, written here anew in its 32-bit integers; the
// tables of the page on strides; both directions; what is refused.
#include "relayout/interop/directml.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>

#include "relayout/core/format.h"
#include "relayout/core/view.h"

namespace relayout {
namespace {

using directml::DataType;
using Numbers = std::vector<uint32_t>;

/// ElementSizeInBytes of the helper's switch; it returns 0 for all others.
uint64_t element_bytes(DataType type) {
  switch (type) {
    case DataType::float64:
    case DataType::uint64:
    case DataType::int64: return 8;
    case DataType::float32:
    case DataType::uint32:
    case DataType::int32: return 4;
    case DataType::float16:
    case DataType::uint16:
    case DataType::int16: return 2;
    case DataType::uint8:
    case DataType::int8: return 1;
    default: return 0;
  }
}

__extension__ using Wide = unsigned __int128;

/// DMLCalcBufferTensorSize in its own integers: roundup((dot(Sizes - 1, Strides) + 1) * ElementSizeInBytes, 4), where
/// the dot product is a UINT, and without strides the product of the sizes a UINT64.
uint64_t helper(DataType type, const Numbers& sizes, const Numbers& strides) {
  uint64_t bytes = 0;
  if (strides.empty()) {
    bytes = sizes[0];
    for (std::size_t d = 1; d < sizes.size(); ++d) bytes *= sizes[d];
    bytes *= element_bytes(type);
  } else {
    uint32_t last = 0;
    for (std::size_t d = 0; d < sizes.size(); ++d) last += (sizes[d] - 1) * strides[d];
    bytes = (static_cast<uint64_t>(last) + 1) * element_bytes(type);
  }
  return (bytes + 3) & ~uint64_t{3};
}

/// The index of the last element, in integers that hold it.
Wide last_index(const Numbers& sizes, const Numbers& strides) {
  Wide last = 0, product = 1;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (!strides.empty()) last += static_cast<Wide>(sizes[d] - 1) * strides[d];
    product = std::min(product, Wide{1} << 90) * sizes[d];  // what exceeds 64 bits is only known to do so
  }
  return strides.empty() ? product - 1 : last;
}

template <typename F>
std::pair<ErrorCode, std::string> refusal_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return {error.code(), error.message()};
  }
  return {ErrorCode::internal, "no error"};
}

TEST(DirectML, SizesOfThePage) {
  EXPECT_EQ(directml::buffer_size(DataType::float32, Numbers{2, 3}, Numbers{5, 1}).bytes, 32u);
  EXPECT_EQ(directml::buffer_size(DataType::uint8, Numbers{2, 3}, Numbers{5, 1}).bytes, 8u);
  EXPECT_EQ(directml::buffer_size(DataType::float32, Numbers{1, 1, 3, 5}, Numbers{15, 1, 5, 1}).bytes, 60u);
  EXPECT_EQ(directml::buffer_size(DataType::uint8, Numbers{1, 1, 3, 5}).bytes, 16u);
  EXPECT_EQ(directml::buffer_size(DataType::uint4, Numbers{9}).bytes, 8u);
}

TEST(DirectML, WrappedIndexOfTheHelperIsNamed) {
  const auto size = directml::buffer_size(DataType::uint8, Numbers{1, 1, 65537, 65536}, Numbers{0, 0, 65536, 1});
  EXPECT_EQ(size.bytes, 4'295'032'832u);
  EXPECT_EQ(size.helper_bytes, 65'536u);
  EXPECT_TRUE(size.helper_wraps);
  const auto warning = directml::helper_warning(size);
  ASSERT_TRUE(warning);
  EXPECT_NE(warning->find("returns 65536, because its index of the last element wraps in 32 bits"), std::string::npos);
  // Without strides the helper multiplies in 64 bits.
  EXPECT_FALSE(directml::buffer_size(DataType::uint8, Numbers{1, 1, 65537, 65536}).helper_wraps);
}

TEST(DirectML, RandomSizesAgreeWithTheHelperExceptWhereItWraps) {
  std::mt19937_64 random(25);
  const auto pick = [&](uint64_t below) { return random() % below; };
  int equal = 0, wraps = 0, refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    Numbers sizes, strides;
    const std::size_t rank = 1 + pick(8);
    const uint64_t size_bits = 1 + pick(rank > 4 ? 12 : 32), stride_bits = pick(33);
    for (std::size_t d = 0; d < rank; ++d) {
      sizes.push_back(static_cast<uint32_t>(1 + pick((uint64_t{1} << size_bits) - 1)));
      strides.push_back(static_cast<uint32_t>(pick(uint64_t{1} << stride_bits)));
    }
    if (pick(4) == 0) strides.clear();
    const DataType type = directml::types()[pick(11)].type;
    const Wide last = last_index(sizes, strides);
    const Wide bytes = ((last + 1) * element_bytes(type) + 3) / 4 * 4;
    if (bytes > std::numeric_limits<uint64_t>::max()) {  // the helper says some number
      ASSERT_EQ(refusal_of([&] { directml::buffer_size(type, sizes, strides); }).first, ErrorCode::overflow);
      ++refused;
      continue;
    }
    const directml::BufferSize size = directml::buffer_size(type, sizes, strides);
    ASSERT_EQ(size.bytes, static_cast<uint64_t>(bytes));
    ASSERT_EQ(size.helper_bytes, helper(type, sizes, strides));
    // Without strides it multiplies in 64 bits, which hold the product.
    const bool wrapped = !strides.empty() && last > std::numeric_limits<uint32_t>::max();
    ASSERT_EQ(size.helper_wraps, wrapped);
    ASSERT_EQ(size.bytes == helper(type, sizes, strides), !wrapped);
    ASSERT_EQ(directml::helper_warning(size).has_value(), wrapped);
    (wrapped ? wraps : equal)++;
  }
  EXPECT_GT(equal, 5000);
  EXPECT_GT(wraps, 5000);
  EXPECT_GT(refused, 500);
}

TEST(DirectML, TypesOfFourBitsAreUnknownToTheHelper) {
  for (DataType type : {DataType::uint4, DataType::int4}) {
    const directml::BufferSize size = directml::buffer_size(type, Numbers{3, 5});
    EXPECT_EQ(size.bytes, 8u);  // 15 halves of a byte, in whole 4 bytes
    EXPECT_EQ(size.helper_bytes, helper(type, {3, 5}, {}));
    EXPECT_EQ(size.helper_bytes, 0u);
    EXPECT_FALSE(size.helper_wraps);
    EXPECT_NE(directml::helper_warning(size)->find("does not know types of 4 bits"), std::string::npos);
  }
}

/// CalculateStrides of the page on helpers: dims that are broadcast count as 1 and have a stride of 0.
Numbers calculate_strides(bool channels_last, const Numbers& sizes, const std::array<bool, 4>& broadcast) {
  Numbers out(4);
  uint32_t product = 1;
  for (std::size_t d :
       channels_last ? std::array<std::size_t, 4>{1, 3, 2, 0} : std::array<std::size_t, 4>{3, 2, 1, 0}) {
    out[d] = broadcast[d] ? 0 : product;
    product *= broadcast[d] ? 1 : sizes[d];
  }
  return out;
}

TEST(DirectML, StridesOfTheHelperAreExpandedLayouts) {
  const Dims whole{2, 3, 4, 5};
  const Numbers sizes{2, 3, 4, 5};
  for (int mask = 0; mask < 16; ++mask) {
    std::array<bool, 4> broadcast{};
    Dims dims = whole;
    for (int d = 0; d < 4; ++d) {
      broadcast[static_cast<std::size_t>(d)] = (mask >> d & 1) != 0;
      if (mask >> d & 1) dims[d] = 1;
    }
    for (const char* tag : {"nchw", "nhwc"}) {
      const TensorDesc desc(expand(Format::parse(tag).bind(dims), whole), DType::f32);
      const directml::BufferTensor tensor = directml::to_directml(desc);
      // Row-major strides are left out of a description.
      Numbers strides{60, 20, 5, 1};
      if (tensor.strides) strides.assign(tensor.strides->begin(), tensor.strides->begin() + 4);
      EXPECT_EQ(strides, calculate_strides(tag == std::string("nhwc"), sizes, broadcast)) << tag << " " << mask;
    }
  }
}

TEST(DirectML, TypesAreATableAndTheOthersAreRefusedByName) {
  for (std::size_t k = 0; k < directml::types().size(); ++k) {
    const directml::TypeName& type = directml::types()[k];
    EXPECT_EQ(static_cast<std::size_t>(type.type), k + 1);
    EXPECT_EQ(directml::data_type(type.dtype), type.type);
    EXPECT_EQ(directml::dtype_of(type.type), type.dtype);
  }
  EXPECT_EQ(directml::types().size(), 13u);
  for (DType dtype : all_dtypes()) {
    if (std::ranges::find(directml::types(), dtype, &directml::TypeName::dtype) != directml::types().end()) continue;
    const auto [code, message] = refusal_of([&] { directml::data_type(dtype); });
    EXPECT_EQ(code, ErrorCode::unsupported);
    EXPECT_NE(message.find(std::string(name(dtype)) + " is no type of DirectML"), std::string::npos) << message;
  }
  EXPECT_EQ(refusal_of([] { directml::dtype_of(DataType::unknown); }).first, ErrorCode::invalid_argument);
}

TEST(DirectML, DescriptionHasTheFieldsOfTheRealOne) {
  static_assert(std::is_standard_layout_v<directml::BufferTensorDesc>);
  if (sizeof(void*) == 8) {
    EXPECT_EQ(sizeof(directml::BufferTensorDesc), 48u);
    EXPECT_EQ(offsetof(directml::BufferTensorDesc, Sizes), 16u);
    EXPECT_EQ(offsetof(directml::BufferTensorDesc, TotalTensorSizeInBytes), 32u);
  }
  struct Windows {  // the header's own types: enumerations of another name, UINT and UINT64
    enum Type : int { any_number = 0 } DataType;
    enum Flag : int { none = 0 } Flags;
    unsigned DimensionCount;
    const unsigned* Sizes;
    const unsigned* Strides;
    unsigned long TotalTensorSizeInBytes;
    unsigned GuaranteedBaseOffsetAlignment;
  } real;
  const auto tensor = directml::to_directml({Format::parse("nhwc").bind({1, 2, 3, 5}), DType::f16},
                                            {.flags = 1, .base_offset_alignment = 16});
  tensor.fill(real);
  EXPECT_EQ(static_cast<int>(real.DataType), 2);
  EXPECT_EQ(static_cast<int>(real.Flags), 1);
  EXPECT_EQ(Numbers(real.Strides, real.Strides + 4), (Numbers{30, 1, 10, 2}));
  EXPECT_EQ(real.TotalTensorSizeInBytes, 60u);
  EXPECT_EQ(real.GuaranteedBaseOffsetAlignment, 16u);
}

TEST(DirectML, LayoutsGoOutAndComeBack) {
  const auto there_and_back = [](const TensorDesc& desc, const directml::Options& options = {}) {
    const directml::BufferTensor tensor = directml::to_directml(desc, options);
    return directml::from_directml(tensor.desc());
  };
  for (const char* text : {"nchw", "nhwc", "strides:200,50,10,2", "strides:0,5,0,1"}) {
    const TensorDesc desc(Format::parse(text).bind({2, 3, 4, 5}), DType::s16);
    EXPECT_EQ(there_and_back(desc), desc) << text;
  }
  const TensorDesc matrix(Format::parse("ab").bind({3, 5}), DType::f32);
  EXPECT_EQ(directml::to_directml(matrix).strides, std::nullopt);
  EXPECT_EQ(there_and_back(matrix, {.rank = 4}).layout.dims(), (Dims{1, 1, 3, 5}));
  // A layout that is written with blocks may have one stride a dim all the same.
  EXPECT_EQ(there_and_back({Format::parse("nChw8c").bind({2, 8, 1, 1}), DType::u8}).layout,
            Format::parse("nchw").bind({2, 8, 1, 1}));
  const TensorDesc part(narrow(matrix.layout, 0, 1, 2), DType::f32);
  EXPECT_EQ(directml::to_directml(part, {.base_offset_alignment = 4}).byte_offset, 20u);
}

TEST(DirectML, ExpressionsAreTheDescription) {
  const Layout nhwc = Format::parse("dml:{1,2,3,5},{30,1,10,2}").bind({1, 2, 3, 5});
  EXPECT_EQ(nhwc, Format::parse("nhwc").bind({1, 2, 3, 5}));
  const Layout repeated = Format::parse("dml:{2,3},{0,1}").bind({2, 3});
  std::string out;
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 3; ++j) out += "ABC"[repeated.offset({i, j})];
  EXPECT_EQ(out, "ABCABC");
}

TEST(DirectML, WhatADescriptionCannotSayIsRefused) {
  const auto refused = [](const char* text, const Dims& dims, const directml::Options& options = {}) {
    return refusal_of([&] { directml::to_directml({Format::parse(text).bind(dims), DType::f32}, options); });
  };
  EXPECT_EQ(refused("nChw8c", {1, 16, 2, 2}).first, ErrorCode::unsupported);
  EXPECT_NE(refused("nChw8c", {1, 16, 2, 2}).second.find("dim 1 is blocked"), std::string::npos);
  EXPECT_EQ(refused("strides:-3,1", {2, 3}).first, ErrorCode::unsupported);
  EXPECT_EQ(refused("abcdefghi", {1, 1, 1, 1, 1, 1, 1, 1, 1}).first, ErrorCode::invalid_argument);
  EXPECT_EQ(refused("strides:4294967296,1", {2, 3}).first, ErrorCode::overflow);
  EXPECT_EQ(refused("ab", {int64_t{1} << 32, 3}).first, ErrorCode::overflow);
  EXPECT_EQ(refused("ab", {0, 3}).first, ErrorCode::invalid_argument);
  EXPECT_EQ(refused("ab", {2, 3}, {.base_offset_alignment = 2}).first, ErrorCode::invalid_argument);
  EXPECT_EQ(refused("ab", {2, 3}, {.base_offset_alignment = 12}).first, ErrorCode::invalid_argument);
  EXPECT_EQ(refused("ab@1", {2, 3}, {.base_offset_alignment = 16}).first, ErrorCode::invalid_argument);
  const Numbers sizes{2, 3};
  directml::BufferTensorDesc desc{DataType::float32, 0, 2, sizes.data(), nullptr, 24, 0};
  EXPECT_EQ(directml::from_directml(desc).layout, Layout::contiguous({2, 3}));
  desc.TotalTensorSizeInBytes = 20;
  EXPECT_EQ(refusal_of([&] { directml::from_directml(desc); }).first, ErrorCode::invalid_argument);
  desc.TotalTensorSizeInBytes = 26;
  EXPECT_EQ(refusal_of([&] { directml::from_directml(desc); }).first, ErrorCode::invalid_argument);
  desc.Sizes = nullptr;
  EXPECT_EQ(refusal_of([&] { directml::from_directml(desc); }).first, ErrorCode::invalid_argument);
}

TEST(DirectML, Code) {
  const auto code = [](const char* text, const Dims& dims, DType dtype = DType::f32) {
    return directml::code({Format::parse(text).bind(dims), dtype});
  };
  EXPECT_EQ(
      code("nhwc", {1, 2, 3, 5}),
      "const UINT sizes[] = {1, 2, 3, 5};\n"
      "const UINT strides[] = {30, 1, 10, 2};\n"
      "const DML_BUFFER_TENSOR_DESC desc = {DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 4, sizes, strides, "
      "120, 0};");
  EXPECT_EQ(
      code("ab@8", {2, 3}, DType::u8),
      "const UINT sizes[] = {2, 3};\n"
      "const DML_BUFFER_TENSOR_DESC desc = {DML_TENSOR_DATA_TYPE_UINT8, DML_TENSOR_FLAG_NONE, 2, sizes, nullptr, 8, "
      "0};  // in a binding with the Offset 8");
  EXPECT_EQ(refusal_of([&] { code("nChw8c", {1, 16, 2, 2}); }).first, ErrorCode::unsupported);
}

}  // namespace
}  // namespace relayout
