// Records as C: see c_record.h. The functions of the fields are those of c_function.
#include "relayout/interop/c_record.h"

#include <algorithm>

#include "relayout/interop/c_function.h"

namespace relayout::c_record {
namespace {

constexpr std::string_view kInclude = "#include <stdint.h>\n\n";

std::string c_name(std::string name) {
  std::ranges::replace(name, '.', '_');
  return name;
}

std::string c_type(DType dtype) {
  if (dtype == DType::f64) return "double";
  if (dtype == DType::f32) return "float";
  const bool is_signed = kind(dtype) == DTypeKind::signed_integer;
  return (is_signed ? "int" : "uint") + std::to_string(bits(dtype)) + "_t";
}

/// The struct, whose gaps are members too; "" where a member is no whole number of bytes.
std::string struct_text(const RecordFormat& format) {
  std::vector<StructMember> members = format.members();
  std::ranges::stable_sort(members, {}, &StructMember::bit);
  std::string out = "struct record {\n";
  int64_t next = 0;
  int gaps = 0;
  const auto gap_until = [&](int64_t byte) {
    if (byte > next) out += "  uint8_t gap" + std::to_string(gaps++) + "[" + std::to_string(byte - next) + "];\n";
    next = byte;
  };
  for (const StructMember& member : members) {
    const auto count = checked_product(member.dims);
    if (bits(member.dtype) % 8 != 0 || member.bit % 8 != 0 || !count || *count == 0) return "";
    gap_until(member.bit / 8);
    out += "  " + c_type(member.dtype) + " " + c_name(member.name);
    for (const int64_t extent : member.dims) out += "[" + std::to_string(extent) + "]";
    out += ";\n";
    next += *count * bits(member.dtype) / 8;
  }
  gap_until(format.struct_bytes());
  return out + "};\n";
}

}  // namespace

std::string code(const RecordFormat& format, const Dims& dims) {
  const Record record = format.bind(dims);
  std::string out(kInclude);
  if (format.is_struct()) {
    if (const std::string text = struct_text(format); !text.empty())
      out += "/* " + (dims.empty() ? "A struct" : join(dims, " x ") + " structs") + " of " +
             std::to_string(format.struct_bytes()) + " bytes. */\n" + text;
  }
  out +=
      "/* Bytes of the whole buffer. */\nstatic const int64_t record_bytes = " + std::to_string(record.bytes()) + ";";
  for (const Field& field : record.fields()) {
    const std::string function = c_function::code(field.desc(), {.name = "offset_" + c_name(field.name)});
    out += "\n" + function.substr(kInclude.size());
  }
  return out;
}

}  // namespace relayout::c_record
