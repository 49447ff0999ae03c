// Fuzzes what other systems say of their tensors, as text: the first line names the system, each line behind it is a
// field, and lists are numbers with commas. The seeds have one of each.
//
//     xla                     numpy         dtype, then name, shape, strides, byte offset
//     f32[3,5]{1,0:T(2,2)}    <f4
//                             float32
//                             3,4
//                             -16,4
//                             32
//
// What a system says is a tensor or an Error. Of a tensor the system, told it, says the same again; every other system
// has it too, or refuses it with a message.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "relayout/interop/cudnn.h"
#include "relayout/interop/cute.h"
#include "relayout/interop/directml.h"
#include "relayout/interop/dlpack.h"
#include "relayout/interop/mace.h"
#include "relayout/interop/numpy.h"
#include "relayout/interop/onednn.h"
#include "relayout/interop/pytorch.h"
#include "relayout/interop/spelling.h"
#include "relayout/interop/tvm.h"
#include "relayout/interop/xla.h"
#include "tests/interop/there_and_back.h"

namespace {

using namespace relayout;

void require(bool law) {
  if (!law) std::abort();
}

/// The lines of the input. One that is not there is empty.
class Fields {
 public:
  explicit Fields(std::string_view text) {
    for (std::size_t end = 0; end != text.npos; text.remove_prefix(end == text.npos ? text.size() : end + 1)) {
      end = text.find('\n');
      lines_.emplace_back(text.substr(0, end));
    }
  }

  std::string text(std::size_t k) const { return k < lines_.size() ? lines_[k] : ""; }
  int64_t number(std::size_t k) const { return text(k).empty() ? 0 : parse_int(text(k), "number"); }
  Dims list(std::size_t k) const { return parse_dims(text(k)); }
  /// "-" stands for a list that is not there.
  std::optional<Dims> list_or_none(std::size_t k) const {
    return text(k) == "-" ? std::nullopt : std::optional(list(k));
  }
  template <typename T, std::size_t N>
  std::array<T, N> array(std::size_t k) const {
    std::array<T, N> out{};
    const Dims from = list(k);
    for (std::size_t d = 0; d < N && d < static_cast<std::size_t>(from.size()); ++d)
      out[d] = static_cast<T>(from[static_cast<int>(d)]);
    return out;
  }

 private:
  std::vector<std::string> lines_;
};

/// expression TEXT DIMS DTYPE
TensorDesc from_expression(const Fields& fields) {
  return {Format::parse(fields.text(1)).bind(fields.list(2)), parse_dtype(fields.text(3))};
}

/// cute SHAPE:STRIDE
TensorDesc from_cute(const Fields& fields) { return {cute::from_cute(fields.text(1)), DType::f32}; }

/// xla SHAPE
TensorDesc from_xla(const Fields& fields) { return xla::from_xla(fields.text(1)); }

/// tvm TEXT DIMS LETTERS
TensorDesc from_tvm(const Fields& fields) {
  return {tvm::from_tvm(fields.text(1), fields.list(2), fields.text(3)), DType::f32};
}

/// cudnn DATA_TYPE DIMS STRIDES VECTOR_COUNT VECTORIZED_DIMENSION
TensorDesc from_cudnn(const Fields& fields) {
  cudnn::TensorDescriptor tensor;
  tensor.data_type = static_cast<int>(fields.number(1));
  tensor.ndims = fields.list(2).size();
  tensor.dims = fields.array<int64_t, cudnn::kMaxDimensions>(2);
  tensor.strides = fields.array<int64_t, cudnn::kMaxDimensions>(3);
  tensor.vector_count = fields.number(4);
  tensor.vectorized_dimension = static_cast<int>(fields.number(5));
  return cudnn::from_cudnn(tensor);
}

/// mace NAME DIMS PITCH
TensorDesc from_mace(const Fields& fields) {
  return {mace::from_mace(fields.text(1), fields.list(2), fields.number(3)), DType::f32};
}

/// numpy TYPESTR NAME SHAPE STRIDES BYTE_OFFSET
TensorDesc from_numpy(const Fields& fields) {
  const numpy::ArrayInterface array{fields.list(3), fields.list_or_none(4), fields.text(1), fields.text(2),
                                    fields.number(5)};
  const TensorDesc desc = numpy::from_numpy(array);
  const auto [first, end] = numpy::byte_bounds(array);
  require(first <= 0 && end >= 0 && (desc.layout.empty() || array.byte_offset >= -first));
  require(numpy::c_contiguous(array) == desc.layout.contiguous_in(MemoryFormat::contiguous));
  numpy::f_contiguous(array);
  return desc;
}

/// buffer FORMAT ITEMSIZE NDIM LEN SHAPE STRIDES SUBOFFSETS BYTE_OFFSET
TensorDesc from_buffer(const Fields& fields) {
  return numpy::from_buffer({.format = fields.text(1),
                             .itemsize = fields.number(2),
                             .ndim = fields.number(3),
                             .len = fields.number(4),
                             .shape = fields.list(5),
                             .strides = fields.list_or_none(6),
                             .suboffsets = fields.list(7)},
                            fields.number(8));
}

/// pytorch DTYPE SIZES STRIDES STORAGE_OFFSET
TensorDesc from_pytorch(const Fields& fields) {
  const pytorch::TensorMeta meta{fields.list(2), fields.list(3), fields.number(4), pytorch::dtype_of(fields.text(1))};
  const TensorDesc desc = pytorch::from_pytorch(meta);
  require(!pytorch::interpretations(meta).empty());
  return desc;
}

/// directml TYPE SIZES STRIDES BYTES ALIGNMENT
TensorDesc from_directml(const Fields& fields) {
  const auto sizes = fields.array<uint32_t, kMaxDims>(2);
  const bool row_major = fields.text(3) == "-";
  const auto strides = row_major ? std::array<uint32_t, kMaxDims>() : fields.array<uint32_t, kMaxDims>(3);
  directml::BufferTensorDesc desc;
  desc.DataType = static_cast<directml::DataType>(fields.number(1));
  desc.DimensionCount = static_cast<uint32_t>(fields.list(2).size());
  desc.Sizes = sizes.data();
  desc.Strides = row_major ? nullptr : strides.data();
  desc.TotalTensorSizeInBytes = static_cast<uint64_t>(fields.number(4));
  desc.GuaranteedBaseOffsetAlignment = static_cast<uint32_t>(fields.number(5));
  return directml::from_directml(desc);
}

/// dlpack CODE,BITS,LANES SHAPE STRIDES BYTE_OFFSET FLAGS NDIM: the layout, which leaves byte_offset out.
TensorDesc from_dlpack(const Fields& fields) {
  const Dims type = fields.list(1);
  Dims shape = fields.list(2);
  std::optional<Dims> strides = fields.list_or_none(3);
  if (type.size() != 3 || (strides && strides->size() != shape.size())) return {};
  dlpack::DLTensor tensor{
      nullptr,
      {dlpack::kDLCPU, 0},
      shape.size(),
      {static_cast<uint8_t>(type[0]), static_cast<uint8_t>(type[1]), static_cast<uint16_t>(type[2])},
      shape.begin(),
      strides ? strides->begin() : nullptr,
      static_cast<uint64_t>(fields.number(4))};
  return dlpack::from_dlpack(tensor, {.lanes_as_dim = true, .flags = static_cast<uint64_t>(fields.number(5))}).desc;
}

/// onednn DATA_TYPE DIMS PADDED_DIMS PADDED_OFFSETS OFFSET0 STRIDES INNER_BLKS INNER_IDXS
TensorDesc from_onednn(const Fields& fields) {
  onednn::BlockedDesc desc;
  desc.data_type = static_cast<int>(fields.number(1));
  desc.ndims = fields.list(2).size();
  desc.dims = fields.array<int64_t, kMaxDims>(2);
  desc.padded_dims = fields.array<int64_t, kMaxDims>(3);
  desc.padded_offsets = fields.array<int64_t, kMaxDims>(4);
  desc.offset0 = fields.number(5);
  desc.strides = fields.array<int64_t, kMaxDims>(6);
  desc.inner_nblks = fields.list(7).size();
  desc.inner_blks = fields.array<int64_t, kMaxDims>(7);
  desc.inner_idxs = fields.array<int64_t, kMaxDims>(8);
  return onednn::from_onednn(desc);
}

struct Importer {
  std::string_view name;
  TensorDesc (*read)(const Fields& fields);
  /// What it reads, the system has, so that it is said again.
  bool says_all;
};
constexpr Importer kImporters[] = {
    {"expression", from_expression, false},
    {"cute", from_cute, true},
    {"xla", from_xla, true},
    {"tvm", from_tvm, false},      // of more dims than there are activations
    {"cudnn", from_cudnn, false},  // of vectors of types and of dims of which cuDNN has no tensors
    {"mace", from_mace, false},    // of images without elements
    {"numpy", from_numpy, true},
    {"buffer", from_buffer, true},
    {"pytorch", from_pytorch, true},
    {"directml", from_directml, true},
    {"dlpack", from_dlpack, false},  // of 4-bit elements that begin inside a byte
    {"onednn", from_onednn, false},  // of blocks of 1 in a layout with gaps, which to_onednn() refuses for its blocks
};

void check_all_systems(const TensorDesc& desc, const Importer& from) {
  require(Format::parse(digits_expression(desc.layout)).bind(desc.layout.dims()) == desc.layout);
  for (const std::string_view system : systems()) {
    const Spelling s = spelling(system, desc);
    require(s.text.empty() != s.refusal.empty());
  }
  for (const std::string_view system : test::systems_there_and_back()) {
    try {
      require(test::there_and_back(system, desc) == desc);
    } catch (const Error& error) {
      require(error.code() != ErrorCode::internal && !error.message().empty());
      require(!from.says_all || system != from.name || error.code() == ErrorCode::overflow);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const Fields fields(std::string_view(reinterpret_cast<const char*>(data), size));
  for (const Importer& importer : kImporters) {
    if (fields.text(0) != importer.name) continue;
    TensorDesc desc;
    try {
      desc = importer.read(fields);
    } catch (const Error& error) {
      require(error.code() != ErrorCode::internal && !error.message().empty());
      return 0;
    }
    check_all_systems(desc, importer);
  }
  return 0;
}
