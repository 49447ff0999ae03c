// Python's buffer protocol: formats of the module struct, and the fields that must agree with each other.
#include <climits>

#include "relayout/interop/numpy.h"
#include "relayout/interop/strided.h"

namespace relayout::numpy {
namespace {

/// A letter of the module struct; its bytes in C's own sizes and, where a byte order is given, in the standard's.
struct FormatLetter {
  char letter;
  char kind;  // as in a typestr
  int native, standard;
};
constexpr FormatLetter kFormatLetters[] = {{'b', 'i', 1, 1},
                                           {'B', 'u', 1, 1},
                                           {'?', 'b', 1, 1},
                                           {'h', 'i', sizeof(short), 2},
                                           {'H', 'u', sizeof(short), 2},
                                           {'i', 'i', sizeof(int), 4},
                                           {'I', 'u', sizeof(int), 4},
                                           {'l', 'i', sizeof(long), 4},
                                           {'L', 'u', sizeof(long), 4},
                                           {'q', 'i', 8, 8},
                                           {'Q', 'u', 8, 8},
                                           {'n', 'i', sizeof(std::size_t), 0},
                                           {'N', 'u', sizeof(std::size_t), 0},
                                           {'e', 'f', 2, 2},
                                           {'f', 'f', 4, 4},
                                           {'d', 'f', 8, 8}};

[[noreturn]] void refuse_format(const std::string& format, const std::string& why) {
  throw Error(ErrorCode::unsupported, "numpy: the buffer's format \"" + escaped(format) + "\" " + why, "format",
              escaped(format), "one letter of b B ? h H i I l L q Q n N e f d");
}

[[noreturn]] void contradicts(const std::string& what, const std::string& field, int64_t value, int64_t expected) {
  throw Error(ErrorCode::invalid_argument,
              "numpy: the buffer's " + field + " is " + std::to_string(value) + ", and " + what + " " +
                  std::to_string(expected),
              field, std::to_string(value), std::to_string(expected));
}

DType dtype_of_format(const std::string& given, int64_t itemsize) {
  std::string_view format = given.empty() ? "B" : std::string_view(given);
  const bool prefixed = std::string_view("@=<>!").find(format[0]) != std::string_view::npos;
  const char order = prefixed ? format[0] : '@';
  if (prefixed) format.remove_prefix(1);
  if (format.size() != 1) refuse_format(given, "is a record, an array or complex");
  for (const FormatLetter& known : kFormatLetters) {
    const int size = order == '@' ? known.native : known.standard;
    if (known.letter != format[0] || size == 0) continue;
    if (itemsize != size) contradicts("its format \"" + escaped(given) + "\" has", "itemsize", itemsize, size);
    if ((order == '>' || order == '!') && size > 1) refuse_format(given, "is big-endian");
    return dtype_of((size == 1 ? "|" : "<") + std::string(1, known.kind) + std::to_string(size));
  }
  refuse_format(given, "is text, a pointer or of a type that does not exist here");
}

}  // namespace

TensorDesc from_buffer(const BufferInfo& buffer, int64_t byte_offset) {
  const DType dtype = dtype_of_format(buffer.format, buffer.itemsize);
  if (buffer.ndim != buffer.shape.size())
    contradicts("the shape's number of dims is", "ndim", buffer.ndim, buffer.shape.size());
  for (int d = 0; d < buffer.suboffsets.size(); ++d) {
    if (buffer.suboffsets[d] < 0) continue;
    throw Error(ErrorCode::unsupported,
                "numpy: dim " + std::to_string(d) + " has the suboffset " + std::to_string(buffer.suboffsets[d]) +
                    ", so that its entries are pointers, which no layout has",
                "suboffsets[" + std::to_string(d) + "]", std::to_string(buffer.suboffsets[d]), "less than 0");
  }
  const TensorDesc out = from_numpy(
      {buffer.shape, buffer.strides, std::string(typestr(dtype)), std::string(dtype_name(dtype)), byte_offset});
  if (buffer.len != out.logical_bytes()) contradicts("its elements take", "len", buffer.len, out.logical_bytes());
  return out;
}

BufferInfo to_buffer(const TensorDesc& desc, bool readonly) {
  const ArrayInterface array = to_numpy(desc);
  BufferInfo out{.itemsize = bits(desc.dtype) / 8,
                 .ndim = desc.layout.ndims(),
                 .len = desc.logical_bytes(),
                 .readonly = readonly,
                 .shape = array.shape,
                 .strides = array.strides};
  for (const FormatLetter& known : kFormatLetters) {
    // The first letter of a size, but not the letters whose size is another one on another system.
    if (known.native != known.standard || known.kind != array.typestr[1] || known.native != out.itemsize) continue;
    if (out.format.empty()) out.format = std::string(1, known.letter);
  }
  if (out.format.empty())
    throw Error(ErrorCode::unsupported,
                "numpy: the buffer protocol has no format for " + array.dtype_name + ", a type of ml_dtypes", "dtype",
                array.dtype_name, "a type of NumPy itself");
  const Layout row_major = Layout::contiguous(out.shape);
  if (!out.strides) out.strides = strides_in_bytes(row_major, row_major.outer_strides(), out.itemsize);
  return out;
}

}  // namespace relayout::numpy
