// DLPack's tensors: descriptions both ways, and owners whose deleters run exactly once. Run it under the address
// sanitizer too, which sees a deleter that runs twice or never.
#include "relayout/interop/dlpack.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "relayout/core/format.h"
#include "relayout/core/view.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

using namespace relayout::dlpack;
using test::code_of;
using test::desc;
using test::each_index;
using test::error_of;

/// A DLTensor over arrays of its own.
struct Given {
  std::vector<int64_t> shape, strides;
  DLTensor tensor{};

  Given(std::vector<int64_t> shape_, std::vector<int64_t> strides_, DLDataType type = {kDLFloat, 32, 1})
      : shape(std::move(shape_)), strides(std::move(strides_)) {
    tensor = {nullptr, {kDLCPU, 0}, static_cast<int32_t>(shape.size()), type, shape.data(), strides.data(), 0};
    if (strides.empty()) tensor.strides = nullptr;
  }
};

/// The place of an element by DLPack's own words, in bits from `data`.
int64_t place_in(const DLTensor& tensor, const Dims& index) {
  int64_t elements = 0;
  for (int d = 0; d < tensor.ndim; ++d) elements += index[d] * tensor.strides[d];
  return static_cast<int64_t>(tensor.byte_offset) * 8 + elements * tensor.dtype.bits * tensor.dtype.lanes;
}
int64_t place_in(const View& view, const Dims& index) {
  return view.byte_offset * 8 + view.desc.layout.offset(index) * bits(view.desc.dtype);
}

TEST(DLPack, DescriptionsGoOutAndComeBack) {
  std::byte data[16];
  for (const char* text : {"nchw", "nhwc", "strides:200,-50,10,2", "strides:0,5,0,1", "nchw@8", "nchw.flip(0,3)"}) {
    for (DType dtype : {DType::f64, DType::bf16, DType::u4, DType::boolean}) {
      const TensorDesc out = desc(text, {2, 3, 4, 5}, dtype);
      if (dtype == DType::u4 && out.layout.offset0() % 2 != 0) continue;
      Tensor tensor = to_dlpack(out, data, {kDLCUDA, 3});
      const View back = from_dlpack(tensor.dl_tensor());
      EXPECT_EQ(back.desc.dtype, dtype);
      EXPECT_EQ(back.data, data);
      EXPECT_EQ(back.device.device_type, kDLCUDA);
      EXPECT_EQ(back.device.device_id, 3);
      ASSERT_EQ(back.desc.layout.dims(), out.layout.dims());
      each_index(out.layout.dims(), [&](const Dims& index) {
        ASSERT_EQ(place_in(tensor.dl_tensor(), index), out.layout.offset(index) * bits(dtype)) << text;
        ASSERT_EQ(place_in(back, index), out.layout.offset(index) * bits(dtype)) << text;
      });
    }
  }
}

TEST(DLPack, TypesHaveDLPacksCodes) {
  for (DType dtype : all_dtypes()) EXPECT_EQ(dtype_of(data_type(dtype)), dtype);
  EXPECT_EQ(name(data_type(DType::f8_e4m3)), "kDLFloat8_e4m3fn, 8 bits, 1 lane");
  EXPECT_EQ(name(data_type(DType::boolean)), "kDLBool, 8 bits, 1 lane");
  const auto message = [](DLDataType type) { return error_of([&] { dtype_of(type); }).message(); };
  EXPECT_EQ(message({kDLComplex, 64, 1}), "dlpack: kDLComplex, 64 bits, 1 lane: no type here has such elements");
  EXPECT_EQ(message({kDLFloat8_e3m4, 8, 1}), "dlpack: kDLFloat8_e3m4, 8 bits, 1 lane: no type here has such elements");
  EXPECT_EQ(message({99, 8, 1}), "dlpack: type code 99, 8 bits, 1 lane: no type here has such elements");
  for (const DLDataType type : {DLDataType{kDLFloat8_e4m3, 8, 1},
                                {kDLFloat8_e5m2fnuz, 8, 1},
                                {kDLFloat6_e3m2fn, 8, 1},
                                {kDLBool, 1, 1},
                                {kDLInt, 128, 1},
                                {kDLOpaqueHandle, 64, 1}})
    EXPECT_EQ(code_of([&] { dtype_of(type); }), ErrorCode::unsupported) << name(type);
}

TEST(DLPack, NullStridesAreRowMajorUnlessStridesAreRequired) {
  const Given given({2, 3}, {});
  EXPECT_EQ(from_dlpack(given.tensor).desc, desc("ab", {2, 3}));
  EXPECT_EQ(error_of([&] { from_dlpack(given.tensor, {.require_strides = true}); }).message(),
            "dlpack: strides is null, and ndim is 2; DLPack allows that since 1.2 only where ndim is 0");
  DLTensor scalar = Given({}, {}).tensor;
  scalar.shape = nullptr;
  EXPECT_EQ(from_dlpack(scalar, {.require_strides = true}).desc.layout, Layout());
}

TEST(DLPack, StridesOfOneIndexMeanNothing) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  for (int64_t stride : {int64_t{0}, int64_t{-7}, int64_t{99}, kMost, kLeast}) {
    for (const DLDataType type : {DLDataType{kDLFloat, 64, 1}, {kDLInt, 4, 2}}) {
      const View view = from_dlpack(Given({1, 3}, {stride, 1}, type).tensor);
      EXPECT_EQ(view.byte_offset, 0);
      EXPECT_EQ(view.desc.layout.offset0(), 0);
      EXPECT_EQ(view.desc.layout.offset(type.lanes == 1 ? Dims{0, 2} : Dims{0, 2, 0}), 2 * type.lanes);
    }
    EXPECT_EQ(from_dlpack(Given({0, 3}, {stride, stride}).tensor).desc.layout.elements(), 0);
  }
  EXPECT_EQ(code_of([&] { from_dlpack(Given({2}, {kLeast}).tensor); }), ErrorCode::overflow);
  EXPECT_EQ(code_of([&] { from_dlpack(Given({3}, {kMost}).tensor); }), ErrorCode::overflow);
  EXPECT_EQ(code_of([&] { from_dlpack(Given({2}, {kMost}, {kDLInt, 4, 2}).tensor); }), ErrorCode::overflow);
}

TEST(DLPack, NegativeStridesLeadBackFromTheByteOffset) {
  std::array<float, 6> data{0, 1, 2, 3, 4, 5};
  Given given({2, 3}, {-3, 1});
  given.tensor.data = data.data();
  given.tensor.byte_offset = 12;
  const View view = from_dlpack(given.tensor);
  EXPECT_EQ(view.byte_offset, 0);
  EXPECT_EQ(view.desc.layout, flip(Layout::contiguous({2, 3}), 0));
  // NumPy's exporter has its data at element (0, 0) and no byte_offset.
  given.tensor.data = data.data() + 3;
  given.tensor.byte_offset = 0;
  EXPECT_EQ(cpu_pointer(from_dlpack(given.tensor)), reinterpret_cast<std::byte*>(data.data()));
  // An odd number of elements of 4 bits leads into a byte.
  const View nibbles = from_dlpack(Given({4}, {-1}, {kDLUInt, 4, 1}).tensor);
  EXPECT_EQ(nibbles.byte_offset, -2);
  EXPECT_EQ(nibbles.desc.layout.offset({0}), 4);
  EXPECT_EQ(nibbles.desc.layout.offset({3}), 1);
}

TEST(DLPack, LanesAreADimOrRefused) {
  const Given floats({2, 3}, {3, 1}, {kDLFloat, 32, 4});
  EXPECT_EQ(error_of([&] { from_dlpack(floats.tensor); }).message(),
            "dlpack: elements are vectors of 4 lanes (kDLFloat, 32 bits, 4 lanes), which are taken for a last dim only "
            "where lanes_as_dim is set");
  EXPECT_EQ(from_dlpack(floats.tensor, {.lanes_as_dim = true}).desc, desc("abc", {2, 3, 4}));
  EXPECT_EQ(from_dlpack(Given({2, 3}, {1, 2}, {kDLInt, 4, 2}).tensor).desc,
            (TensorDesc{Layout::strided({2, 3, 2}, {2, 4, 1}), DType::s4}));
  EXPECT_EQ(from_dlpack(Given({2, 3}, {}, {kDLUInt, 4, 2}).tensor).desc, desc("abc", {2, 3, 2}, DType::u4));
  EXPECT_EQ(code_of([] { from_dlpack(Given({2}, {1}, {kDLFloat, 32, 0}).tensor); }), ErrorCode::invalid_argument);
  const Given many(std::vector<int64_t>(12, 1), std::vector<int64_t>(12, 1), {kDLInt, 4, 2});
  EXPECT_EQ(code_of([&] { from_dlpack(many.tensor); }), ErrorCode::limit);
}

TEST(DLPack, PaddedNibblesAreReadFromTheLowerHalves) {
  const Given given({2, 3}, {3, 1}, {kDLInt, 4, 1});
  EXPECT_EQ(from_dlpack(given.tensor).desc, desc("ab", {2, 3}, DType::s4));
  const View padded = from_dlpack(given.tensor, {.flags = kFlagSubbytePadded});
  EXPECT_EQ(padded.desc, (TensorDesc{Layout::strided({2, 3}, {6, 2}), DType::s4}));
  EXPECT_TRUE(padded.read_only);
  // The flag says nothing of whole bytes.
  EXPECT_FALSE(from_dlpack(Given({2}, {1}).tensor, {.flags = kFlagSubbytePadded}).read_only);
  EXPECT_EQ(code_of([] {
              from_dlpack(Given({2}, {1}, {kDLInt, 4, 2}).tensor, {.flags = kFlagSubbytePadded});
            }),
            ErrorCode::unsupported);
}

TEST(DLPack, FieldsThatContradictEachOtherAreNamed) {
  const auto field = [](auto&& change) {
    Given given({2, 3}, {3, 1});
    change(given);
    return error_of([&] { from_dlpack(given.tensor); }).field();
  };
  EXPECT_EQ(field([](Given& g) { g.tensor.ndim = -1; }), "ndim");
  EXPECT_EQ(field([](Given& g) { g.tensor.ndim = 13; }), "ndim");
  EXPECT_EQ(field([](Given& g) { g.tensor.shape = nullptr; }), "shape");
  EXPECT_EQ(field([](Given& g) { g.shape[1] = -3; }), "dims[1]");
  EXPECT_EQ(field([](Given& g) { g.tensor.byte_offset = uint64_t{1} << 63; }), "byte_offset");
  EXPECT_EQ(field([](Given& g) { g.tensor.dtype.bits = 7; }), "dtype");
}

TEST(DLPack, OnlyTheCpusMemoryIsRead) {
  Given given({2, 3}, {3, 1});
  std::array<std::byte, 32> data{};
  given.tensor.data = data.data();
  given.tensor.byte_offset = 8;
  for (DLDeviceType type : {kDLCPU, kDLCUDAHost, kDLROCMHost}) {
    given.tensor.device.device_type = type;
    EXPECT_EQ(cpu_pointer(from_dlpack(given.tensor)), data.data() + 8);
  }
  given.tensor.device = {kDLCUDA, 1};
  EXPECT_EQ(from_dlpack(given.tensor).desc, desc("ab", {2, 3}));
  EXPECT_EQ(error_of([&] { cpu_pointer(from_dlpack(given.tensor)); }).message(),
            "dlpack: the tensor lies on kDLCUDA (device 1), whose memory the CPU does not read");
  given.tensor.device.device_type = static_cast<DLDeviceType>(99);
  EXPECT_EQ(error_of([&] { cpu_pointer(from_dlpack(given.tensor)); }).value(), "device type 99");
  given.tensor.device.device_type = kDLCPU;
  given.tensor.data = nullptr;
  EXPECT_EQ(code_of([&] { cpu_pointer(from_dlpack(given.tensor)); }), ErrorCode::invalid_argument);
  EXPECT_EQ(cpu_pointer(from_dlpack(Given({0, 3}, {3, 1}).tensor)), nullptr);
}

TEST(DLPack, WhatItCannotSayIsRefused) {
  EXPECT_EQ(error_of([] {
              to_dlpack(desc("nChw8c", {2, 16, 5, 4}), nullptr);
            }).message(),
            "DLPack has one stride a dim: dim 1 is blocked, with the digits (8,1)(2,160)");
  EXPECT_EQ(error_of([] { to_dlpack(desc("a@7", {3}, DType::s4), nullptr); }).message(),
            "dlpack: element 0 lies at offset 7, inside a byte, and byte_offset counts bytes");
  int dummy = 0;
  EXPECT_EQ(to_dlpack(desc("ab@7", {0, 3}), &dummy).data, nullptr);
  EXPECT_EQ(to_dlpack(desc("ab@7", {2, 3}), &dummy).byte_offset, 28u);
}

TEST(DLPack, ExportedTensorsReleaseTheDataOnce) {
  int released = 0;
  std::array<float, 6> data{};
  const TensorDesc out = desc("ba", {2, 3});
  {
    const ManagedTensor unused = exported(out, data.data(), [&] { ++released; });
  }  // no consumer takes it
  EXPECT_EQ(released, 1);
  DLManagedTensor* taken = exported(out, data.data(), [&] { ++released; }).release();
  EXPECT_EQ(released, 1);
  EXPECT_EQ(from_dlpack(taken->dl_tensor).desc, out);
  taken->deleter(taken);
  EXPECT_EQ(released, 2);
  DLManagedTensorVersioned* versioned = exported_versioned(
                                            out, data.data(), [&] { ++released; }, kFlagReadOnly)
                                            .release();
  EXPECT_EQ(versioned->version.major, 1u);
  EXPECT_EQ(versioned->flags, kFlagReadOnly);
  EXPECT_EQ(versioned->dl_tensor.data, data.data());
  versioned->deleter(versioned);
  EXPECT_EQ(released, 3);
  exported(out, data.data(), nullptr);                                        // nobody wants to know
  exported(out, data.data(), [] { throw std::runtime_error("not for C"); });  // and nothing escapes to C
  // What is not exported is not released: it stays its owner's.
  EXPECT_EQ(code_of([&] {
              exported(desc("nChw8c", {1, 9, 1, 1}), nullptr, [&] { ++released; });
            }),
            ErrorCode::unsupported);
  for (uint64_t flags : {kFlagSubbytePadded, uint64_t{8}})
    EXPECT_EQ(code_of([&] {
                exported_versioned(
                    out, data.data(), [&] { ++released; }, flags);
              }),
              ErrorCode::invalid_argument);
  EXPECT_EQ(released, 3);
}

TEST(DLPack, ImportedTensorsAreConsumedOnce) {
  int released = 0;
  std::array<float, 6> data{0, 1, 2, 3, 4, 5};
  const auto make = [&](const TensorDesc& out) { return exported(out, data.data(), [&] { ++released; }).release(); };
  const auto make_versioned = [&](const TensorDesc& out, uint64_t flags = 0) {
    return exported_versioned(
               out, data.data(), [&] { ++released; }, flags)
        .release();
  };
  {
    Imported first(make(desc("ba", {2, 3})));
    Imported second = std::move(first);
    EXPECT_EQ(second.view().desc, desc("ba", {2, 3}));
    EXPECT_EQ(reinterpret_cast<float*>(second.data())[second.view().desc.layout.offset({1, 2})], 5);
    EXPECT_EQ(second.version().major, 0u);
    second = Imported(make_versioned(desc("ab", {2, 3}), kFlagReadOnly));
    EXPECT_EQ(released, 1);
    EXPECT_TRUE(second.view().read_only);
    EXPECT_EQ(second.flags(), kFlagReadOnly);
    EXPECT_EQ(second.version().minor, kMinorVersion);
  }
  EXPECT_EQ(released, 2);
  // Consumed all the same where it is refused.
  DLManagedTensor* complex_numbers = make(desc("ab", {2, 3}));
  complex_numbers->dl_tensor.dtype.code = kDLComplex;
  EXPECT_EQ(code_of([&] { Imported{complex_numbers}; }), ErrorCode::unsupported);
  EXPECT_EQ(released, 3);
  DLManagedTensorVersioned* newer = make_versioned(desc("ab", {2, 3}));
  newer->version = {2, 1};
  newer->dl_tensor.shape = nullptr;  // which is not looked at
  EXPECT_EQ(error_of([&] { Imported{newer}; }).message(),
            "dlpack: the tensor is of version 2.1, whose fields lie elsewhere; version 1 is read");
  EXPECT_EQ(released, 4);
  DLManagedTensorVersioned* without = make_versioned(desc("ab", {2, 3}));
  without->dl_tensor.strides = nullptr;
  EXPECT_EQ(code_of([&] { Imported(without, {.require_strides = true}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(released, 5);
  EXPECT_EQ(code_of([] { Imported(static_cast<DLManagedTensor*>(nullptr)); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { Imported(static_cast<DLManagedTensorVersioned*>(nullptr)); }), ErrorCode::invalid_argument);
  Given given({2, 3}, {3, 1});
  DLManagedTensor bare{given.tensor, nullptr, nullptr};  // nobody to tell
  EXPECT_EQ(Imported(&bare).view().desc, desc("ab", {2, 3}));
}

TEST(DLPack, TablesOfFunctionsAreFoundByVersion) {
  DLPackExchangeAPI old{}, newest{};
  old.header.version = {1, 3};
  newest.header = {{2, 0}, &old.header};
  EXPECT_EQ(known_version(&newest.header), &old);
  EXPECT_EQ(known_version(&old.header), &old);
  newest.header.prev_api = nullptr;
  EXPECT_EQ(known_version(&newest.header), nullptr);
  EXPECT_EQ(known_version(nullptr), nullptr);
}

TEST(DLPack, OffsetsAndStridesAtTheLimitOf63Bits) {
  const int64_t many = int64_t{1} << 59;
  const TensorDesc behind(Layout::strided({1}, {1}, many), DType::f32);
  Tensor out = dlpack::to_dlpack(behind, nullptr);
  EXPECT_EQ(out.byte_offset, static_cast<uint64_t>(many) * 4);
  EXPECT_EQ(to_dlpack({Layout::strided({1}, {1}, many * 8), DType::s4}, nullptr).byte_offset,
            static_cast<uint64_t>(many) * 4);
  EXPECT_EQ(code_of([&] {
              to_dlpack({Layout::strided({1}, {1}, many + 1), DType::u4}, nullptr);
            }),
            ErrorCode::unsupported)
      << "the upper half of a byte";
  // An extent of 0 beside a large one, and a stride that nothing steps along.
  const TensorDesc empty(Layout::contiguous({0, int64_t{1} << 62}), DType::f64);
  out = to_dlpack(empty, nullptr);
  EXPECT_EQ(from_dlpack(out.dl_tensor()).desc, empty);
  const TensorDesc one(Layout::strided({1, 2}, {int64_t{1} << 61, 2}), DType::f64);
  out = to_dlpack(one, nullptr);
  EXPECT_EQ(from_dlpack(out.dl_tensor()).desc, one);
  // A flipped dim leads back by as many bytes as fit.
  Given flipped({2}, {-many});
  const View view = from_dlpack(flipped.tensor);
  EXPECT_EQ(view.desc.layout, Layout::strided({2}, {-many}, many));
  EXPECT_EQ(view.byte_offset, -many * 4);
  // Such a place is before all addresses, and another one behind them.
  std::array<float, 2> data{};
  flipped.tensor.data = data.data();
  EXPECT_EQ(code_of([&] { cpu_pointer(from_dlpack(flipped.tensor)); }), ErrorCode::overflow);
  Given large({many * 4 - 1}, {1});
  large.tensor.data = data.data();
  large.tensor.byte_offset = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(code_of([&] { cpu_pointer(from_dlpack(large.tensor)); }), ErrorCode::overflow);
}

TEST(DLPack, CodeDeclaresTheTensor) {
  EXPECT_EQ(dlpack::code(desc("ba@2", {2, 3}, DType::bf16)),
            "DLTensor tensor = {.data = data, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLBfloat, 16, 1}, "
            ".shape = (int64_t[]){2, 3}, .strides = (int64_t[]){1, 2}, .byte_offset = 4};");
  EXPECT_EQ(dlpack::code({Layout(), DType::f32}),
            "DLTensor tensor = {.data = data, .device = {kDLCPU, 0}, .ndim = 0, .dtype = {kDLFloat, 32, 1}, "
            ".shape = NULL, .strides = NULL, .byte_offset = 0};");
  EXPECT_EQ(code_of([] { dlpack::code(desc("nChw8c", {2, 17, 5, 4})); }), ErrorCode::unsupported);
}

}  // namespace
}  // namespace relayout
