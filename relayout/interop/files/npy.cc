// Reading and writing .npy headers.
#include "relayout/interop/files/npy.h"

#include <algorithm>
#include <cstring>

#include "relayout/core/error.h"
#include "relayout/core/overflow.h"
#include "relayout/interop/files/formats.h"
#include "relayout/interop/files/npy_descr.h"

namespace relayout {
namespace {

/// Reads the dict: its three entries must each be there once, in any order.
void read_dict(std::string_view text, int version, StoredTensor& tensor) {
  NpyLiterals in(text, version);
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
      read_npy_descr(in, tensor);
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
  const std::string_view comment = in.expect_end();
  if (!descr || !order || !shape) {
    corrupt_npy(std::string("the dict lacks the key \"") +
                (!descr   ? "descr"
                 : !order ? "fortran_order"
                          : "shape") +
                "\"");
  }
  apply_npy_comment(comment, tensor);
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

  const int64_t have = file_size - out.data_offset;
  const auto elements = checked_product(out.tensor.shape);
  // A type whose name does not say its width has as many bytes as the file has for each element.
  const bool wide = out.tensor.item_bits == 0 && elements && *elements > 0 && have / *elements <= INT32_MAX / 8;
  if (wide) out.tensor.item_bits = static_cast<int>(have / *elements * 8);
  const std::string shape = "(" + join(out.tensor.shape) + ")";
  const auto stored_bits = elements ? checked_mul(*elements, out.tensor.item_bits) : std::nullopt;
  if (!stored_bits) {
    corrupt_npy(
        "the bytes of shape " + shape + " overflow 64 bits; " + largest_dim_text(out.tensor.shape, out.tensor.shape),
        shape);
  }
  const int64_t bytes = *stored_bits / 8 + (*stored_bits % 8 != 0);
  if (have != bytes) {
    corrupt_npy("shape " + shape + " needs " + std::to_string(bytes) + " bytes of data, the file has " +
                    std::to_string(have) + (have < bytes ? " (truncated)" : " (bytes after the end)"),
                std::to_string(have));
  }
  out.tensor.byte_size = bytes;
  return out;
}

NpyHeader parse_npy(std::span<const std::byte> file, const FileLimits& limits) {
  const auto size = static_cast<int64_t>(file.size());
  const auto offset = npy_data_offset(file.first(std::min<std::size_t>(file.size(), kNpyPrefix)), size, limits);
  return parse_npy_header(file.first(static_cast<std::size_t>(offset)), size);
}

std::string npy_head(const TensorSpec& spec) {
  (void)spec_bytes(spec);  // an error for extents that are negative or too large
  Dims shape = spec.shape;
  const bool converted = spec.type_name.empty();
  const NpyDescr type = converted ? npy_descr(spec.dtype, shape) : npy_descr(spec.type_name, spec.item_bits);
  const bool parts = type.descr.starts_with('[') || type.descr.starts_with('(');
  std::string dict = "{'descr': " + (parts ? type.descr : "'" + type.descr + "'") +
                     ", 'fortran_order': False, 'shape': (" + join(shape, ", ") + (shape.size() == 1 ? ",)" : ")") +
                     ", }";
  if (!type.comment.empty()) dict += " # " + type.comment;
  // As NumPy does: room for the first extent to grow to 21 digits without moving the data.
  if (!shape.empty()) dict += std::string(21 - std::to_string(shape[0]).size(), ' ');

  // A header of at most 12 extents of 19 digits, twice, always fits the 16-bit length of version 1.0; records may be
  // long. Version 3.0 is for names of fields that are not ASCII.
  const bool ascii = std::ranges::all_of(dict, [](char ch) { return static_cast<unsigned char>(ch) < 0x80; });
  const std::size_t prefix = ascii ? 10 : 12, align = 64;
  dict += std::string(align - (prefix + dict.size() + 1) % align, ' ') + '\n';
  if (const int64_t most = UINT16_MAX; static_cast<int64_t>(dict.size()) > most) {
    throw Error(ErrorCode::limit,
                "npy: a header of " + std::to_string(dict.size()) + " bytes, for a type with many fields",
                "npy_header_bytes", std::to_string(dict.size()), std::to_string(most));
  }
  std::string out(kNpyMagic);
  out += {ascii ? '\1' : '\3', '\0', static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};
  return out + (ascii ? "" : std::string(2, '\0')) + dict;
}

void open_npy(TensorFile::Impl& impl) {
  const auto file = impl.file.bytes();
  NpyHeader header = parse_npy(file, impl.limits);
  const auto data = file.subspan(static_cast<std::size_t>(header.data_offset));
  impl.add(std::move(header.tensor), data);
}

FilePlan plan_npy(const TensorSpec& spec) { return {npy_head(spec), spec_bytes(spec), 0, {}}; }

}  // namespace relayout
