// NumPy's arrays as layouts and back: types, bytes and elements, the array interface. The buffer protocol is
// numpy_buffer.cc.
#include "relayout/interop/numpy.h"

#include <algorithm>

#include "relayout/interop/strided.h"

namespace relayout::numpy {
namespace {

struct NumpyType {
  DType dtype;
  std::string_view typestr, name, expression;
};
constexpr NumpyType kNumpyTypes[] = {{DType::f64, "<f8", "float64", "np.float64"},
                                     {DType::f32, "<f4", "float32", "np.float32"},
                                     {DType::f16, "<f2", "float16", "np.float16"},
                                     {DType::bf16, "<V2", "bfloat16", "ml_dtypes.bfloat16"},
                                     {DType::f8_e5m2, "<V1", "float8_e5m2", "ml_dtypes.float8_e5m2"},
                                     {DType::f8_e4m3, "<V1", "float8_e4m3fn", "ml_dtypes.float8_e4m3fn"},
                                     {DType::f8_e8m0, "<V1", "float8_e8m0fnu", "ml_dtypes.float8_e8m0fnu"},
                                     {DType::s64, "<i8", "int64", "np.int64"},
                                     {DType::s32, "<i4", "int32", "np.int32"},
                                     {DType::s16, "<i2", "int16", "np.int16"},
                                     {DType::s8, "|i1", "int8", "np.int8"},
                                     {DType::u64, "<u8", "uint64", "np.uint64"},
                                     {DType::u32, "<u4", "uint32", "np.uint32"},
                                     {DType::u16, "<u2", "uint16", "np.uint16"},
                                     {DType::u8, "|u1", "uint8", "np.uint8"},
                                     {DType::boolean, "|b1", "bool", "np.bool_"}};

const NumpyType& type_of(DType dtype) {
  for (const NumpyType& type : kNumpyTypes) {
    if (type.dtype == dtype) return type;
  }
  const std::string known(relayout::name(dtype));
  throw Error(ErrorCode::unsupported,
              "NumPy has no packed types of fewer than 8 bits, so none that is " + known +
                  " (ml_dtypes' types keep one element a byte)",
              "dtype", known, "a type of whole bytes");
}

[[noreturn]] void refuse_type(std::string_view type, const std::string& why) {
  throw Error(ErrorCode::unsupported, "numpy: the type " + escaped(type) + " " + why, "typestr", escaped(type),
              "a little-endian number of a type that exists here");
}

/// Why there is no type for the letter of a typestr.
std::string reason_of(char kind) {
  switch (kind) {
    case 'c': return "is complex, which no type here is";
    case 'S':
    case 'U':
    case 'a': return "is text";
    case 'm':
    case 'M': return "is a date or a time";
    case 'O': return "is of Python objects";
    case 't': return "is a field of bits";
    case 'V': return "is of untyped bytes or records: its name must be one of ml_dtypes' that exist here";
    default: return "has no type here";
  }
}

[[noreturn]] void refuse_bytes(const std::string& what, const std::string& field, int64_t bytes, int64_t itemsize) {
  throw Error(ErrorCode::unsupported,
              "numpy: " + what + " " + std::to_string(bytes) + " bytes, no multiple of the element's " +
                  std::to_string(itemsize),
              field, std::to_string(bytes), "a multiple of " + std::to_string(itemsize));
}

/// Strides in elements. The stride of a dim that nothing steps along means nothing, and any number of bytes will do.
Dims element_strides(const ArrayInterface& array, int64_t itemsize) {
  const Dims& bytes = *array.strides;
  if (bytes.size() != array.shape.size())
    throw Error(ErrorCode::invalid_argument,
                "numpy: there are " + std::to_string(bytes.size()) + " strides for " +
                    std::to_string(array.shape.size()) + " dims",
                "strides", std::to_string(bytes.size()), std::to_string(array.shape.size()));
  const bool empty = std::ranges::find(array.shape, 0) != array.shape.end();
  Dims out;
  for (int d = 0; d < bytes.size(); ++d) {
    const bool whole = bytes[d] % itemsize == 0;
    if (!whole && !empty && array.shape[d] > 1)
      refuse_bytes("the stride of dim " + std::to_string(d) + " is", "strides[" + std::to_string(d) + "]", bytes[d],
                   itemsize);
    out.push_back(whole ? bytes[d] / itemsize : 0);
  }
  return out;
}

/// The layout's strides in bytes, which fit wherever something steps along them and the tensor's own bytes fit.
Dims byte_strides(const Layout& layout, int64_t itemsize) {
  const Dims strides = one_stride_a_dim(layout, "NumPy");
  if (const auto out = strides_in_bytes(layout, strides, itemsize)) return *out;
  throw Error(ErrorCode::overflow,
              "numpy: one of the strides " + join(strides, ", ") + " of elements of " + std::to_string(itemsize) +
                  " bytes overflows 64 bits",
              "strides", join(strides), std::to_string(std::numeric_limits<int64_t>::max() / itemsize));
}

/// Where element (0, 0, ...) lies. An array without elements has none, and NumPy makes it over no bytes at offset 0
/// alone.
int64_t offset_in_bytes(const TensorDesc& desc) {
  const int64_t offset = desc.layout.empty() ? 0 : desc.layout.offset0();
  if (const auto out = bytes_before(offset, desc.dtype)) return *out;
  throw Error(ErrorCode::overflow,
              "numpy: element 0 lies at offset " + std::to_string(offset) + ", whose bytes " + "overflow 64 bits",
              "offset0", std::to_string(offset), "63 bits of bytes");
}

/// The array's layout with element (0, 0, ...) as near to the begin as its strides allow; its offset0 says how near.
Layout nearest_layout(const ArrayInterface& array, int64_t itemsize) {
  if (!array.strides) return Layout::contiguous(array.shape);
  const Dims strides = element_strides(array, itemsize);
  return Layout::strided(array.shape, strides, elements_before(array.shape, strides, "numpy"));
}

}  // namespace

std::string_view typestr(DType dtype) { return type_of(dtype).typestr; }
std::string_view dtype_name(DType dtype) { return type_of(dtype).name; }

DType dtype_of(std::string_view typestr, std::string_view dtype_name) {
  if (typestr.size() < 3 || std::string_view("<>|=").find(typestr[0]) == std::string_view::npos)
    refuse_type(typestr, "is no byte order, letter and number of bytes");
  const std::string_view code = typestr.substr(1);
  static constexpr std::string_view kSubByte[] = {"int1",  "int2",          "int4",          "uint1",        "uint2",
                                                  "uint4", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"};
  if (code[0] == 'V' && std::ranges::find(kSubByte, dtype_name) != std::end(kSubByte))
    refuse_type(dtype_name, "keeps one element a byte, and elements of fewer than 8 bits here share bytes");
  if (typestr[0] == '>' && code.substr(1) != "1") refuse_type(typestr, "is big-endian");
  for (const NumpyType& type : kNumpyTypes) {
    if (type.typestr.substr(1) == code && (code[0] != 'V' || type.name == dtype_name)) return type.dtype;
  }
  refuse_type(code[0] == 'V' && !dtype_name.empty() ? dtype_name : typestr, reason_of(code[0]));
}

TensorDesc from_numpy(const ArrayInterface& array) {
  const DType dtype = dtype_of(array.typestr, array.dtype_name);
  const int64_t itemsize = bits(dtype) / 8;
  if (array.byte_offset % itemsize != 0) refuse_bytes("element 0 lies at", "byte_offset", array.byte_offset, itemsize);
  const Dims strides = nearest_layout(array, itemsize).outer_strides();
  return {Layout::strided(array.shape, strides, array.byte_offset / itemsize), dtype};
}

ArrayInterface to_numpy(const TensorDesc& desc) {
  const NumpyType& type = type_of(desc.dtype);
  const Layout& layout = desc.layout;
  const int64_t itemsize = bits(desc.dtype) / 8;
  const Dims strides = byte_strides(layout, itemsize);
  ArrayInterface out{layout.dims(), std::nullopt, std::string(type.typestr), std::string(type.name),
                     offset_in_bytes(desc)};
  if (!layout.contiguous_in(MemoryFormat::contiguous)) out.strides = strides;
  return out;
}

bool c_contiguous(const ArrayInterface& array) {
  const int64_t itemsize = bits(dtype_of(array.typestr, array.dtype_name)) / 8;
  return nearest_layout(array, itemsize).contiguous_in(MemoryFormat::contiguous);
}

bool f_contiguous(const ArrayInterface& array) {
  const int64_t itemsize = bits(dtype_of(array.typestr, array.dtype_name)) / 8;
  const Layout layout = nearest_layout(array, itemsize);
  if (layout.empty()) return true;
  Dims dims = layout.dims(), strides = layout.outer_strides();
  std::reverse(dims.begin(), dims.end());
  std::reverse(strides.begin(), strides.end());
  return Layout::strided(dims, strides, layout.offset0()).contiguous_in(MemoryFormat::contiguous);
}

std::pair<int64_t, int64_t> byte_bounds(const ArrayInterface& array) {
  const DType dtype = dtype_of(array.typestr, array.dtype_name);
  const int64_t itemsize = bits(dtype) / 8;
  const TensorDesc desc(nearest_layout(array, itemsize), dtype);
  if (desc.layout.empty()) return {0, 0};
  const int64_t first = desc.layout.offset0();
  return {-first * itemsize, (desc.layout.span() - first) * itemsize};
}

std::string code(const TensorDesc& desc) {
  const ArrayInterface array = to_numpy(desc);
  const Dims strides = array.strides.value_or(byte_strides(desc.layout, bits(desc.dtype) / 8));
  return "np.ndarray(shape=" + python_tuple(array.shape) + ", dtype=" + std::string(type_of(desc.dtype).expression) +
         ", buffer=buf, offset=" + std::to_string(array.byte_offset) + ", strides=" + python_tuple(strides) + ")";
}

}  // namespace relayout::numpy
