// Reads and writes the types of elements in .npy headers: see npy_descr.h.
#include "relayout/interop/files/npy_descr.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "relayout/core/error.h"
#include "relayout/interop/files/safetensors_types.h"
#include "relayout/interop/numpy.h"

namespace relayout {
namespace {

/// The element types whose code has one meaning. `code` is the "descr" of the header without its byte order.
struct Code {
  DType dtype;
  std::string_view code;
};
constexpr std::array<Code, 13> kCodes{{{DType::f64, "f8"},
                                       {DType::f32, "f4"},
                                       {DType::f16, "f2"},
                                       {DType::s64, "i8"},
                                       {DType::s32, "i4"},
                                       {DType::s16, "i2"},
                                       {DType::s8, "i1"},
                                       {DType::u64, "u8"},
                                       {DType::u32, "u4"},
                                       {DType::u16, "u2"},
                                       {DType::u8, "u1"},
                                       {DType::boolean, "b1"},
                                       // Written for ml_dtypes.float8_e5m2. NumPy itself cannot read it again.
                                       {DType::f8_e5m2, "f1"}}};

constexpr bool is_digit(char ch) { return ch >= '0' && ch <= '9'; }
constexpr bool is_letter(char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_'; }

[[noreturn]] void refuse_descr(std::string_view descr, const std::string& why) {
  throw Error(ErrorCode::unsupported, "npy: elements of descr \"" + escaped(descr) + "\" " + why, "descr",
              escaped(descr), "numbers, text, records and bytes");
}

/// A type by NumPy's or ml_dtypes' name for it, "float32" or "bfloat16".
std::optional<DType> type_called(std::string_view text) {
  for (const DType dtype : all_dtypes()) {
    if (bits(dtype) >= 8 && numpy::dtype_name(dtype) == text) return dtype;
  }
  return std::nullopt;
}

/// Bytes of an element by a code without its byte order: of "c16" 16, of "U3" 12, of "M8[ns]" 8; nothing of a name.
std::optional<int64_t> bytes_of_code(std::string_view code) {
  if (code == "?") return 1;
  if (code.size() > 1 && (code[0] == 'M' || code[0] == 'm') && code.ends_with(']'))
    code = code.substr(0, code.find('['));
  int64_t count = 0;
  const char* end = code.data() + code.size();
  const auto [rest, status] = std::from_chars(code.data() + 1, end, count);
  if (code.size() < 2 || !is_digit(code[1]) || status != std::errc() || rest != end) return std::nullopt;
  return code[0] == 'U' ? checked_mul(count, 4).value_or(-1) : count;
}

/// How wide an element of one code or name is, in bytes; 0 where the name does not say it.
int64_t descr_bytes(std::string_view descr) {
  std::string_view code = descr;
  if (!code.empty() && std::string_view("<>=|").find(code[0]) != std::string_view::npos) code.remove_prefix(1);
  if (code.starts_with('O') && (code.size() == 1 || !is_letter(code[1])))
    refuse_descr(descr, "are objects of Python, which only Python can read");
  const bool is_name = !code.empty() && is_letter(code[0]) &&
                       std::ranges::all_of(code, [](char ch) { return is_letter(ch) || is_digit(ch); });
  const std::optional<int64_t> counted = code.empty() ? std::nullopt : bytes_of_code(code);
  const bool is_counted = counted.has_value();
  const int64_t bytes = counted.value_or(0);
  if (!is_name && !is_counted) corrupt_npy("descr \"" + escaped(descr) + "\" is no type", escaped(descr));
  if (bytes < 0) corrupt_npy("descr \"" + escaped(descr) + "\" overflows 64 bits", escaped(descr));
  if ((is_counted && bytes == 0) || code == "V" || code == "S" || code == "U" || code == "a") {
    refuse_descr(descr, "have no bytes");
  }
  if (const auto known = type_called(code)) return relayout::bits(*known) / 8;
  return bytes;
}

/// The width of a descr that has parts: a list of fields, or a pair of a descr and a shape.
int64_t parts_bytes(NpyLiterals& in, int depth) {
  constexpr int kMostDepth = 32;
  if (depth == kMostDepth) {
    throw Error(ErrorCode::limit, "npy: descr has records in records over " + std::to_string(kMostDepth) + " deep",
                "descr", {}, std::to_string(kMostDepth));
  }
  const std::size_t begin = in.at();
  const auto checked = [&](std::optional<int64_t> bytes) {
    if (!bytes) corrupt_npy("the bytes of an element overflow 64 bits in descr " + escaped(in.text_from(begin), 200));
    return *bytes;
  };
  const auto inner = [&] {
    if (in.peek() == '[' || in.peek() == '(') return parts_bytes(in, depth + 1);
    const int64_t bytes = descr_bytes(in.string());
    if (bytes == 0) corrupt_npy("a field's type has a name that does not say its width");
    return bytes;
  };
  const auto product = [&] { return checked(checked_product(in.peek() == '(' ? in.tuple() : Dims{in.integer()})); };
  if (in.accept('(')) {
    int64_t bytes = inner();
    in.expect(',');
    bytes = checked(checked_mul(bytes, product()));
    in.expect(')');
    return bytes;
  }
  int64_t total = 0;
  in.expect('[');
  for (bool comma = true; !in.accept(']'); comma = in.accept(',')) {
    if (!comma) in.fail("',' or ']'");
    in.expect('(');
    if (in.accept('(')) {  // a title and a name
      in.skip_string();
      in.expect(',');
      in.skip_string();
      in.expect(')');
    } else {
      in.skip_string();
    }
    in.expect(',');
    int64_t bytes = inner();
    if (in.accept(',') && in.peek() != ')') bytes = checked(checked_mul(bytes, product()));
    in.expect(')');
    total = checked(checked_add(total, bytes));
  }
  return total;
}

}  // namespace

void read_npy_descr(NpyLiterals& in, StoredTensor& tensor) {
  int64_t bytes = 0;
  if (in.peek() == '[' || in.peek() == '(') {
    const std::size_t begin = in.at();
    bytes = parts_bytes(in, 0);
    tensor.type_name = in.text_from(begin);
    if (bytes == 0) refuse_descr(tensor.type_name, "have no bytes");
  } else {
    const std::string_view descr = in.string();
    bytes = descr_bytes(descr);
    tensor.type_name = descr;
    const bool ordered = std::string_view("<>=|").find(descr[0]) != std::string_view::npos;
    const std::string_view code = ordered ? descr.substr(1) : descr;
    const auto known = std::ranges::find(kCodes, code, &Code::code);
    tensor.dtype = known != kCodes.end() ? std::optional(known->dtype) : type_called(code);
    if (code == "?") tensor.dtype = DType::boolean;
    // An order of bytes before untyped ones shows a type of ml_dtypes.
    if (code == "V2" && ordered && descr[0] != '|') {
      tensor.dtype = DType::bf16;
      tensor.dtype_assumed = true;
    }
    tensor.byte_swapped = descr[0] == '>' && bytes > 1 && (tensor.dtype || code[0] == 'V');
  }
  const auto width = checked_mul(bytes, 8);
  if (!width || *width > INT32_MAX) {
    throw Error(ErrorCode::limit, "npy: an element of " + std::to_string(bytes) + " bytes", "descr",
                std::to_string(bytes), std::to_string(INT32_MAX / 8));
  }
  tensor.item_bits = static_cast<int>(*width);
}

void apply_npy_comment(std::string_view comment, StoredTensor& tensor) {
  const std::size_t space = comment.find(' ');
  if (tensor.dtype || tensor.item_bits != 8 || comment.substr(std::min(space, comment.size())).substr(0, 2) != " (")
    return;
  const auto dtype = find_dtype(comment.substr(0, space));
  if (!dtype || relayout::bits(*dtype) > 8) return;
  NpyLiterals in(comment.substr(space), 3);
  const Dims shape = in.tuple();
  in.expect_end();
  const auto elements = checked_product(shape), stored = checked_product(tensor.shape);
  const bool packed = relayout::bits(*dtype) < 8;
  if (!elements || !stored || (packed ? bytes_for(*dtype, *elements) != stored : shape != tensor.shape)) {
    corrupt_npy("the comment says " + escaped(comment) + ", and the shape is (" + join(tensor.shape) + ")",
                escaped(comment));
  }
  tensor.dtype = dtype;
  tensor.item_bits = relayout::bits(*dtype);
  tensor.shape = shape;
}

NpyDescr npy_descr(std::string_view type_name, int item_bits) {
  if (type_name == "C64" && item_bits == 64) return {"<c8", ""};
  const bool parts = type_name.starts_with('[') || type_name.starts_with('(');
  const bool of_safetensors = is_safetensors_type(type_name);
  StoredTensor read;
  try {
    const std::string text = parts ? std::string(type_name) : "'" + std::string(type_name) + "'";
    NpyLiterals in(text, 3);
    read_npy_descr(in, read);
    in.expect_end();
  } catch (const Error&) {
    read = {};
  }
  // A name that does not say how wide the type is may be one of NumPy's.
  const bool fits = read.item_bits == 0 ? !of_safetensors : read.item_bits == item_bits;
  if (read.type_name == type_name && fits && item_bits > 0 && item_bits % 8 == 0) return {std::string(type_name), ""};
  throw Error(ErrorCode::unsupported,
              "npy: NumPy has no type " + escaped(type_name) + " of " + std::to_string(item_bits) + " bits" +
                  (of_safetensors ? "; .safetensors has it" : ""),
              "dtype", escaped(type_name));
}

NpyDescr npy_descr(DType dtype, Dims& shape) {
  const int width = bits(dtype);
  const auto known = std::ranges::find(kCodes, dtype, &Code::dtype);
  if (known != kCodes.end() && dtype != DType::f8_e5m2) return {(width > 8 ? "<" : "|") + std::string(known->code), ""};
  if (width == 16) return {"<V2", ""};  // bf16: NumPy writes this for arrays of ml_dtypes.bfloat16
  const std::string comment = std::string(name(dtype)) + " (" + join(shape, ", ") + (shape.size() == 1 ? ",)" : ")");
  // NumPy has no arrays of several elements a byte, so the file has an array of bytes.
  if (width < 8) shape = Dims{bytes_for(dtype, checked_product(shape).value_or(0)).value_or(0)};
  return {"|V1", comment};
}

}  // namespace relayout
