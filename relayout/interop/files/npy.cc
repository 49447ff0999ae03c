// Reading and writing .npy headers.
#include "relayout/interop/files/npy.h"

#include <array>
#include <charconv>
#include <cstring>

#include "relayout/core/error.h"
#include "relayout/interop/files/formats.h"

namespace relayout {
namespace {

[[noreturn]] void corrupt_npy(const std::string& what, std::string value = {}) {
  throw Error(ErrorCode::corrupt, "npy: " + what, "header", std::move(value));
}

/// The element types that both NumPy and relayout have. `code` is the "descr" of the header without its byte order.
struct Descr {
  DType dtype;
  std::string_view code;
};
constexpr std::array<Descr, 12> kDescrs{{{DType::f64, "f8"},
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
                                         {DType::boolean, "b1"}}};

/// A parser of Python literals, of those kinds that a header may have.
class Literals {
 public:
  Literals(std::string_view text, int version) : text_(text), version_(version) {}

  bool accept(char ch) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != ch) return false;
    ++at_;
    return true;
  }
  void expect(char ch) {
    if (!accept(ch)) fail(std::string("'") + ch + "'");
  }
  void expect_end() {
    skip_space();
    if (at_ != text_.size()) fail("the end of the header");
  }
  std::string_view rest() const { return text_.substr(at_); }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  /// A string of one line. Escapes are not supported, because no key and no descr that is read has one.
  std::string_view string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("a string");
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\\' && text_[at_] != '\n') ++at_;
    if (at_ == text_.size() || text_[at_] != quote) fail("the end of a plain string");
    return text_.substr(begin, at_++ - begin);
  }

  bool boolean() {
    for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {"False", false}}) {
      skip_space();
      if (text_.substr(at_, word.size()) == word && !is_word(at_ + word.size())) {
        at_ += word.size();
        return value;
      }
    }
    fail("True or False");
  }

  Dims tuple() {
    Dims out;
    expect('(');
    for (bool comma = true; !accept(')');) {
      if (!comma) fail("',' or ')'");
      if (out.size() == kMaxDims) {
        throw Error(ErrorCode::limit, "npy: shape has more than " + std::to_string(kMaxDims) + " dimensions", "shape",
                    {}, std::to_string(kMaxDims));
      }
      out.push_back(integer());
      comma = accept(',');
      if (!comma && out.size() == 1) fail("',' (one number in parentheses is no tuple)");
    }
    return out;
  }

  [[noreturn]] void fail(const std::string& expected) {
    const std::string where =
        "\"" + escaped(text_.substr(at_), 24) + "\" at byte " + std::to_string(at_) + " of the header";
    // What begins with a letter may be Python (a name, a call, a comprehension), but is not a literal.
    if (is_word(at_) && !(text_[at_] >= '0' && text_[at_] <= '9')) {
      throw Error(ErrorCode::unsupported, "npy: only literals are read; expected " + expected + ", found " + where,
                  "header", escaped(text_.substr(at_), 24));
    }
    corrupt_npy("expected " + expected + ", found " + where, escaped(text_.substr(at_), 24));
  }

 private:
  int64_t integer() {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '-')
      corrupt_npy("negative extent in shape", escaped(text_.substr(at_), 24));
    int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, status] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (status == std::errc::result_out_of_range)
      corrupt_npy("an extent does not fit 64 bits", escaped(text_.substr(at_), 24));
    if (status != std::errc()) fail("a whole number");
    at_ += static_cast<std::size_t>(end - begin);
    // Python 2 wrote long integers as 3L.
    if (version_ <= 2 && at_ < text_.size() && text_[at_] == 'L') ++at_;
    if (is_word(at_)) corrupt_npy("an extent is not a decimal number", escaped(text_.substr(at_), 24));
    return value;
  }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n\f").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool is_word(std::size_t at) const {
    if (at >= text_.size()) return false;
    const char ch = text_[at];
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || ch == '_';
  }

  std::string_view text_;
  int version_;
  std::size_t at_ = 0;
};

/// Sets dtype, item_bits and byte_swapped of a tensor by a descr such as "<f4".
void read_descr(std::string_view descr, StoredTensor& tensor) {
  const auto unsupported = [&](const char* why) {
    throw Error(
        ErrorCode::unsupported,
        "npy: descr \"" + escaped(descr) + "\" " + why + "; numbers of 1 to 8 bytes, bool and V1 V2 V4 V8 are read",
        "descr", escaped(descr), "f8 f4 f2 i8 i4 i2 i1 u8 u4 u2 u1 b1 V1 V2 V4 V8");
  };
  std::string_view code = descr;
  char order = '=';
  if (!code.empty() && std::string_view("<>=|").find(code[0]) != std::string_view::npos) {
    order = code[0];
    code.remove_prefix(1);
  }
  if (code.empty() || std::string_view("?bBhHiIlLqQpPefdgFDGSUVaOcmMtuT").find(code[0]) == std::string_view::npos) {
    corrupt_npy("descr \"" + escaped(descr) + "\" is no type", escaped(descr));
  }
  const auto known = std::ranges::find(kDescrs, code, &Descr::code);
  if (known != kDescrs.end()) {
    tensor.dtype = known->dtype;
    tensor.item_bits = bits(known->dtype);
  } else if (code == "V1" || code == "V2" || code == "V4" || code == "V8") {
    tensor.item_bits = (code[1] - '0') * 8;
  } else if (code[0] == 'O') {
    unsupported("holds Python objects");
  } else {
    unsupported("is no element type of a tensor");
  }
  tensor.byte_swapped = order == '>' && tensor.item_bits > 8;
}

/// Reads the dict: its three entries must each be there once, in any order.
void read_dict(std::string_view text, int version, StoredTensor& tensor) {
  Literals in(text, version);
  bool descr = false, order = false, shape = false;
  const auto once = [&](bool& seen, std::string_view key) {
    if (std::exchange(seen, true))
      corrupt_npy("the dict has the key \"" + std::string(key) + "\" twice", std::string(key));
  };
  in.expect('{');
  for (bool comma = true; !in.accept('}');) {
    if (!comma) in.fail("',' or '}'");
    const std::string_view key = in.string();
    in.expect(':');
    if (key == "descr") {
      once(descr, key);
      if (in.peek() == '[' || in.peek() == '(') {
        throw Error(ErrorCode::unsupported, "npy: structured element types are not read", "descr",
                    escaped(in.rest(), 32), "one number an element");
      }
      read_descr(in.string(), tensor);
    } else if (key == "fortran_order") {
      once(order, key);
      tensor.fortran_order = in.boolean();
    } else if (key == "shape") {
      once(shape, key);
      tensor.shape = in.tuple();
    } else {
      corrupt_npy("unknown key \"" + escaped(key) + "\"; known are descr, fortran_order, shape", escaped(key));
    }
    comma = in.accept(',');
  }
  in.expect_end();
  if (!descr || !order || !shape) {
    corrupt_npy(std::string("the dict lacks the key \"") +
                (!descr   ? "descr"
                 : !order ? "fortran_order"
                          : "shape") +
                "\"");
  }
}

uint32_t little_endian(std::span<const std::byte> bytes) {
  uint32_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<uint32_t>(bytes[i]);
  return value;
}

int version_of(std::span<const std::byte> start) {
  if (start.size() < 8 || std::memcmp(start.data(), kNpyMagic.data(), kNpyMagic.size()) != 0) {
    corrupt_npy("not a .npy file: the first bytes are not \\x93NUMPY and a version");
  }
  const int major = std::to_integer<int>(start[6]), minor = std::to_integer<int>(start[7]);
  if (major < 1 || major > 3 || minor != 0) {
    const std::string version = std::to_string(major) + "." + std::to_string(minor);
    throw Error(ErrorCode::unsupported, "npy: version " + version + " is not read; 1.0, 2.0 and 3.0 are", "version",
                version, "1.0 2.0 3.0");
  }
  return major;
}

}  // namespace

int64_t npy_data_offset(std::span<const std::byte> start, int64_t file_size, const FileLimits& limits) {
  const std::size_t prefix = version_of(start) == 1 ? 10 : 12;
  if (start.size() < prefix) corrupt_npy("the file ends in the header's length");
  const int64_t length = little_endian(start.subspan(8, prefix - 8));
  const int64_t offset = static_cast<int64_t>(prefix) + length;
  if (offset > file_size) {
    corrupt_npy("the header's length " + std::to_string(length) + " goes beyond the file's " +
                    std::to_string(file_size) + " bytes",
                std::to_string(length));
  }
  if (length > limits.npy_header_bytes) {
    throw Error(ErrorCode::limit,
                "npy: a header of " + std::to_string(length) + " bytes; at most " +
                    std::to_string(limits.npy_header_bytes) + " are read",
                "npy_header_bytes", std::to_string(length), std::to_string(limits.npy_header_bytes));
  }
  return offset;
}

NpyHeader parse_npy_header(std::span<const std::byte> head, int64_t file_size) {
  const int version = version_of(head);
  const std::size_t prefix = version == 1 ? 10 : 12;
  if (head.size() < prefix) corrupt_npy("the file ends in the header's length");
  NpyHeader out;
  out.data_offset = static_cast<int64_t>(head.size());
  const auto text = head.subspan(prefix);
  read_dict({reinterpret_cast<const char*>(text.data()), text.size()}, version, out.tensor);

  const auto elements = checked_product(out.tensor.shape);
  const auto bytes = elements ? checked_mul(*elements, out.tensor.item_bits / 8) : std::nullopt;
  const std::string shape = "(" + join(out.tensor.shape) + ")";
  if (!bytes) corrupt_npy("the bytes of shape " + shape + " overflow 64 bits", shape);
  const int64_t have = file_size - out.data_offset;
  if (have != *bytes) {
    corrupt_npy("shape " + shape + " needs " + std::to_string(*bytes) + " bytes of data, the file has " +
                    std::to_string(have) + (have < *bytes ? " (truncated)" : " (bytes after the end)"),
                std::to_string(have));
  }
  out.tensor.byte_size = *bytes;
  return out;
}

NpyHeader parse_npy(std::span<const std::byte> file, const FileLimits& limits) {
  const auto size = static_cast<int64_t>(file.size());
  const auto offset = npy_data_offset(file.first(std::min<std::size_t>(file.size(), kNpyPrefix)), size, limits);
  return parse_npy_header(file.first(static_cast<std::size_t>(offset)), size);
}

std::string npy_head(const TensorSpec& spec) {
  Dims shape = spec.shape;
  std::string descr;
  if (const auto known = std::ranges::find(kDescrs, spec.dtype, &Descr::dtype); known != kDescrs.end()) {
    descr = (bits(spec.dtype) > 8 ? "<" : "|") + std::string(known->code);
  } else if (bits(spec.dtype) == 16) {
    descr = "<V2";  // bf16: NumPy writes this for arrays of ml_dtypes.bfloat16
  } else {
    descr = "|V1";
    // NumPy has no arrays of two elements a byte, so the file has an array of bytes.
    if (bits(spec.dtype) == 4) shape = Dims{spec_bytes(spec)};
  }
  std::string dict = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + join(shape, ", ") +
                     (shape.size() == 1 ? ",)" : ")") + ", }";
  // As NumPy does: room for the first extent to grow to 21 digits without moving the data.
  if (!shape.empty()) dict += std::string(21 - std::to_string(shape[0]).size(), ' ');

  // A header of at most 12 extents of 19 digits always fits the 16-bit length of version 1.0.
  constexpr std::size_t kPrefix = 10, kAlign = 64;
  dict += std::string(kAlign - (kPrefix + dict.size() + 1) % kAlign, ' ') + '\n';
  std::string out(kNpyMagic);
  out += {'\1', '\0', static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};
  return out + dict;
}

void open_npy(TensorFile::Impl& impl) {
  const auto file = impl.file.bytes();
  NpyHeader header = parse_npy(file, impl.limits);
  const auto data = file.subspan(static_cast<std::size_t>(header.data_offset));
  impl.add(std::move(header.tensor), data);
}

FilePlan plan_npy(const TensorSpec& spec) { return {npy_head(spec), spec_bytes(spec), 0, {}}; }

}  // namespace relayout
