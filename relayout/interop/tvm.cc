// TVM's layouts from tags and back: see tvm.h. The text is read by the notation tvm: (core/notations/frameworks.cc).
#include "relayout/interop/tvm.h"

#include <algorithm>

#include "relayout/core/format.h"
#include "relayout/core/notations/notation.h"
#include "relayout/interop/memory_axes.h"
#include "relayout/interop/strided.h"

namespace relayout::tvm {
namespace {

struct TypeName {
  DType dtype;
  std::string_view name;
};
constexpr TypeName kTypes[] = {
    {DType::f64, "float64"},
    {DType::f32, "float32"},
    {DType::f16, "float16"},
    {DType::bf16, "bfloat16"},
    {DType::f8_e5m2, "float8_e5m2"},
    {DType::f8_e4m3, "float8_e4m3fn"},
    {DType::s64, "int64"},
    {DType::s32, "int32"},
    {DType::s16, "int16"},
    {DType::s8, "int8"},
    {DType::u64, "uint64"},
    {DType::u32, "uint32"},
    {DType::u16, "uint16"},
    {DType::u8, "uint8"},
    {DType::boolean, "bool"},
    {DType::f8_e8m0, "float8_e8m0fnu"},
    {DType::f6_e3m2, "float6_e3m2fn"},
    {DType::f6_e2m3, "float6_e2m3fn"},
    {DType::f4_e2m1, "float4_e2m1fn"},
    {DType::s4, "int4"},
    {DType::u4, "uint4"},
    {DType::s2, "int2"},
    {DType::u2, "uint2"},
    {DType::u1, "uint1"},
};

char to_upper(char ch) { return static_cast<char>(ch - 'a' + 'A'); }
bool is_small(char ch) { return ch >= 'a' && ch <= 'z'; }

[[noreturn]] void refuse_letters(const std::string& operation, std::string_view letters, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, operation + ": the letters \"" + escaped(letters) + "\" " + why, "letters",
              escaped(letters), "different small letters, one a dim");
}

/// The letters of dims, those of activations where none are given.
std::string checked_letters(const std::string& operation, std::string_view letters, int ndims) {
  static constexpr std::string_view kActivations[] = {"w", "nc", "ncw", "nchw", "ncdhw"};
  if (letters.empty()) {
    if (ndims >= 1 && ndims <= 5) return std::string(kActivations[ndims - 1]);
    refuse_letters(operation, letters,
                   "do not name the " + std::to_string(ndims) + " dims; there are names for 1 to 5");
  }
  if (static_cast<int>(letters.size()) != ndims)
    refuse_letters(operation, letters,
                   "are " + std::to_string(letters.size()) + " for " + std::to_string(ndims) + " dims");
  for (std::size_t k = 0; k < letters.size(); ++k) {
    if (!is_small(letters[k]) || letters.find(letters[k]) != k)
      refuse_letters(operation, letters, "are not different small letters");
  }
  return std::string(letters);
}

}  // namespace

std::string_view type_name(DType dtype) {
  return std::ranges::find(kTypes, dtype, &TypeName::dtype)->name;  // the test asks for all types
}

Layout from_tvm(std::string_view text, const Dims& dims, std::string_view letters) {
  if (text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") != text.npos) {
    throw Error(ErrorCode::parse, "from_tvm: \"" + escaped(text) + "\": TVM's layouts have letters and numbers only",
                "text", escaped(text), "letters and numbers");
  }
  if (letters.empty()) return Format::parse("tvm:" + std::string(text)).bind(dims);
  const std::string names = checked_letters("from_tvm", letters, dims.size());
  NotationText rest(text, 0, text.size(), [&](std::size_t at, const std::string& why) {
    throw Error(ErrorCode::parse,
                "from_tvm: " + why + "\n  " + escaped(text, 400) + "\n  " +
                    std::string(characters(escaped(text.substr(0, at), 400)), ' ') + "^",
                "text", escaped(text), why);
  });
  const TvmAxes axes = read_tvm_axes(rest);
  for (const char letter : axes.outer) {
    if (names.find(letter) == std::string::npos)
      refuse_letters("from_tvm", letters, "lack the '" + std::string(1, to_upper(letter)) + "' of " + escaped(text));
  }
  if (axes.outer.size() != names.size()) refuse_letters("from_tvm", letters, "are more than those of " + escaped(text));
  return Format::parse(spelled_tvm(axes, names).tag).bind(dims);
}

std::string to_tvm(const Layout& layout, std::string_view letters) {
  if (layout.ndims() == 0)
    throw Error(ErrorCode::unsupported, "to_tvm: a scalar has no axes, and no text", "ndims", "0", "1 or more");
  const std::string names = checked_letters("to_tvm", letters, layout.ndims());
  if (const auto reason = not_a_tag(layout)) {
    throw Error(ErrorCode::unsupported,
                "to_tvm: " + reason->why + "; TVM's layouts are dense arrays of dims and, inside them, blocks",
                reason->field, reason->value, reason->limit);
  }
  std::string out;
  bool number = false;  // the letter behind a number is a block's
  int64_t block = 0;
  const std::string tag = tag_of(layout).value();
  for (const char ch : tag) {
    if (ch >= '0' && ch <= '9') {
      out += ch;
      block = (number ? block * 10 : 0) + (ch - '0');
      number = true;
      continue;
    }
    const int d = ch >= 'a' ? ch - 'a' : ch - 'A';
    const char letter = names[static_cast<std::size_t>(d)];
    if (number && block > 0x7fffffff) {
      throw Error(ErrorCode::unsupported,
                  "to_tvm: dim " + std::to_string(d) + " has a block of " + std::to_string(block) +
                      ", and TVM's factors have 32 bits",
                  "block", std::to_string(block), "2147483647");
    }
    out += number ? letter : to_upper(letter);
    number = false;
  }
  return out;
}

std::string buffer(const TensorDesc& desc) {
  require_plain(desc.layout, "strides of TVM");
  const Layout simple = desc.layout.canonical();
  Dims strides;
  for (int d = 0; d < simple.ndims(); ++d) {
    const auto refuse = [&](const std::string& why, const std::string& value) {
      throw Error(ErrorCode::unsupported, "tvm: dim " + std::to_string(d) + why, "dims[" + std::to_string(d) + "]",
                  value, "one stride a dim");
    };
    if (simple.capacity(d) != simple.dim(d) && !simple.empty())
      refuse(" is padded to " + std::to_string(simple.capacity(d)) + ", and a buffer has no padded extents",
             std::to_string(simple.capacity(d)));
    if (simple.digits(d).size() > 1)
      refuse(" is blocked, and a buffer has one stride a dim", std::to_string(simple.digits(d).size()) + " digits");
    strides.push_back(desc.layout.dim(d) == 1 ? desc.layout.outer_stride(d) : simple.outer_stride(d));
  }
  std::string out =
      "tvm.tir.decl_buffer(" + python_tuple(desc.layout.dims()) + ", \"" + std::string(type_name(desc.dtype)) + "\"";
  if (!desc.layout.contiguous_in(MemoryFormat::contiguous)) out += ", strides=[" + join(strides, ", ") + "]";
  if (desc.layout.offset0() != 0) out += ", elem_offset=" + std::to_string(desc.layout.offset0());
  return out + ")";
}

std::string code(const TensorDesc& desc, std::string_view letters) {
  std::string why;
  try {
    return to_tvm(desc.layout, letters);
  } catch (const Error& error) {
    why = error.message();
  }
  try {
    return buffer(desc);
  } catch (const Error& error) {
    throw Error(ErrorCode::unsupported, why + "; and as a buffer with strides: " + error.message(), error.field(),
                error.value(), error.limit());
  }
}

}  // namespace relayout::tvm
