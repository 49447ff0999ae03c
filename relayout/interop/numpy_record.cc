// NumPy's structured types: see numpy_record.h.
#include "relayout/interop/numpy_record.h"

#include <algorithm>
#include <cstring>

#include "relayout/core/elements.h"
#include "relayout/core/nearest.h"
#include "relayout/interop/files/npy_descr.h"
#include "relayout/interop/numpy.h"

namespace relayout::numpy {
namespace {

constexpr int kMostRecordDepth = 32;

[[noreturn]] void record_limit() {
  throw Error(ErrorCode::limit,
              "numpy: a structured type of over " + std::to_string(kMaxFields) + " fields or " +
                  std::to_string(kMostRecordDepth) + " structs in each other",
              "descr", {}, std::to_string(kMaxFields));
}

int64_t added(int64_t a, std::optional<int64_t> b) {
  const auto sum = b ? checked_add(a, *b) : std::nullopt;
  if (!sum) corrupt_npy("the bytes of a structured type overflow 64 bits");
  return *sum;
}

/// What a struct in a struct adds to the fields inside.
struct Around {
  std::string prefix{};
  int64_t byte = 0;
  Dims dims{}, byte_strides{};
  int depth = 0;
};

void add_fields(NpyLiterals& in, const Around& around, RecordType& out);

/// One type without a struct: its code, element type and bytes.
RecordField plain_field(std::string_view code) {
  RecordField field;
  StoredTensor read;
  const std::string quoted = "'" + std::string(code) + "'";
  NpyLiterals literal(quoted, 3);
  read_npy_descr(literal, read);
  field.code = code;
  field.dtype = read.dtype_assumed ? std::nullopt : read.dtype;
  field.byte_swapped = read.byte_swapped;
  field.item_bytes = read.item_bits / 8;
  return field;
}

/// A tuple of extents, or one number.
Dims shape_of(NpyLiterals& in) { return in.peek() == '(' ? in.tuple() : Dims{in.integer()}; }

/// The bytes of what a descr says in one place, a struct or a plain type, which `visit` gets with its own begin. A
/// struct's fields are only known where its shape is, which stands behind it, so it is read twice.
int64_t skipped_bytes(NpyLiterals in, std::size_t& length) {
  const std::size_t from = in.at();
  StoredTensor read;
  read_npy_descr(in, read);
  length = in.at() - from;
  return read.item_bits / 8;
}

void add_member(NpyLiterals& in, Around around, RecordType& out, int64_t& next) {
  in.expect('(');
  const bool titled = in.accept('(');
  if (titled) {
    (void)in.string();
    in.expect(',');
  }
  const std::string name(in.string());
  if (titled) in.expect(')');
  in.expect(',');
  std::size_t length = 0;
  (void)in.peek();
  const int64_t bytes = skipped_bytes(in, length);
  NpyLiterals behind = in;  // to the shape, which stands behind the type
  StoredTensor ignored;
  read_npy_descr(behind, ignored);
  const Dims own = behind.accept(',') && behind.peek() != ')' ? shape_of(behind) : Dims{};
  int64_t stride = bytes;
  Dims strides(own.size(), 0);
  for (int d = own.size(); d-- > 0; stride = added(0, checked_mul(stride, own[d]))) strides[d] = stride;
  around.byte = added(around.byte, next);
  next = added(next, stride);
  for (int d = 0; d < own.size(); ++d) {
    around.dims.push_back(own[d]);
    around.byte_strides.push_back(strides[d]);
  }
  if (in.peek() == '[') {
    around.prefix += name + ".";
    add_fields(in, around, out);
  } else if (in.peek() == '(') {
    throw Error(ErrorCode::unsupported, "numpy: field " + escaped(name) + " has a pair as its type", "descr",
                escaped(name), "a type, a struct, or either with a shape behind it");
  } else {
    RecordField field = plain_field(in.string());
    field.name = around.prefix + name;
    field.byte = around.byte;
    field.dims = around.dims;
    field.byte_strides = around.byte_strides;
    if (out.fields.size() == kMaxFields) record_limit();
    if (!name.empty()) out.fields.push_back(std::move(field));
  }
  if (in.accept(',') && in.peek() != ')') (void)shape_of(in);
  in.expect(')');
}

void add_fields(NpyLiterals& in, const Around& around, RecordType& out) {
  if (around.depth == kMostRecordDepth) record_limit();
  Around inside = around;
  ++inside.depth;
  int64_t next = 0;
  in.expect('[');
  for (bool comma = true; !in.accept(']'); comma = in.accept(',')) {
    if (!comma) in.fail("',' or ']'");
    add_member(in, inside, out, next);
  }
  if (around.depth == 0) out.bytes = next;
}

const RecordField& field_called(const RecordType& type, std::string_view name) {
  const auto found = std::ranges::find(type.fields, name, &RecordField::name);
  if (found != type.fields.end()) return *found;
  std::string list;
  std::vector<std::string_view> names;
  for (const RecordField& field : type.fields) {
    list += (list.empty() ? "" : ", ") + escaped(field.name);
    names.push_back(field.name);
  }
  throw Error(ErrorCode::invalid_argument,
              "numpy: no field is called " + escaped(name) + "; there are " + list + did_you_mean(name, names), "field",
              escaped(name), list);
}

DType element_type_of(const RecordField& field) {
  if (field.dtype) return *field.dtype;
  throw Error(ErrorCode::unsupported,
              "numpy: field " + escaped(field.name) + " has elements of type " + escaped(field.code) +
                  ", which are not converted",
              escaped(field.name), escaped(field.code), "numbers and bool");
}

/// Dims and byte strides of a field of an array of structs.
std::pair<Dims, Dims> whole_field(const RecordType& type, const RecordField& field, const Dims& shape) {
  Dims dims = shape, strides(shape.size(), 0);
  int64_t stride = type.bytes;
  for (int d = shape.size(); d-- > 0; stride = added(0, checked_mul(stride, std::max<int64_t>(shape[d], 1))))
    strides[d] = stride;
  for (int d = 0; d < field.dims.size(); ++d) {
    dims.push_back(field.dims[d]);
    strides.push_back(field.byte_strides[d]);
  }
  return {dims, strides};
}

}  // namespace

RecordType record_type(std::string_view descr) {
  NpyLiterals in(descr, 3);
  RecordType out;
  if (in.peek() != '[') corrupt_npy("a structured type is a list of fields", escaped(descr));
  add_fields(in, {}, out);
  (void)in.expect_end();
  return out;
}

std::string record_descr(const RecordFormat& format) {
  std::string out = "[";
  int64_t next = 0;
  const auto gap_until = [&](int64_t byte) {
    if (byte > next) out += "('', '|V" + std::to_string(byte - next) + "'), ";
  };
  for (const StructMember& member : format.members()) {
    if (bits(member.dtype) % 8 != 0 || member.bit < next * 8) {
      throw Error(
          ErrorCode::unsupported,
          "numpy: member " + member.name + " (" + std::string(relayout::name(member.dtype)) + ") " +
              (bits(member.dtype) % 8 != 0 ? "has less than a byte" : "stands before the one that is listed before it"),
          member.name, std::string(relayout::name(member.dtype)), "whole bytes, in ascending order");
    }
    gap_until(member.bit / 8);
    const bool named = member.dtype != DType::bf16 && !typestr(member.dtype).starts_with("|V") &&
                       !typestr(member.dtype).starts_with("<V");
    out += "('" + member.name + "', '" +
           (named ? std::string(typestr(member.dtype)) : "|V" + std::to_string(bits(member.dtype) / 8)) + "'";
    if (!member.dims.empty()) out += ", (" + join(member.dims, ", ") + (member.dims.size() == 1 ? ",)" : ")");
    out += "), ";
    next = member.bit / 8 + checked_product(member.dims).value_or(0) * bits(member.dtype) / 8;
  }
  gap_until(format.struct_bytes());
  if (out.ends_with(", ")) out.resize(out.size() - 2);
  return out + "]";
}

Record record_of(const RecordType& type, const Dims& shape) {
  std::vector<Field> fields;
  for (std::size_t k = 0; k < type.fields.size(); ++k) {
    const RecordField& field = type.fields[k];
    const DType dtype = element_type_of(field);
    if (field.byte_swapped)
      throw Error(ErrorCode::unsupported, "numpy: field " + escaped(field.name) + " is big-endian", escaped(field.name),
                  escaped(field.code), "this machine's order of bytes");
    auto [dims, strides] = whole_field(type, field, shape);
    const auto check = [&](int64_t bytes, const std::string& what) {
      if (bytes % field.item_bytes == 0) return;
      const std::string before = k == 0 ? "" : ", behind " + escaped(type.fields[k - 1].name);
      throw Error(ErrorCode::invalid_argument,
                  "numpy: field " + escaped(field.name) + " (" + field.code + ") " + what + " " +
                      std::to_string(bytes) + before + ", which is no multiple of its " +
                      std::to_string(field.item_bytes) + " bytes",
                  escaped(field.name), std::to_string(bytes), "a multiple of " + std::to_string(field.item_bytes));
    };
    check(field.byte, "begins at byte");
    for (int d = 0; d < dims.size(); ++d) {
      if (dims[d] > 1) check(strides[d], "has elements at distances of");
      strides[d] /= field.item_bytes;
    }
    fields.push_back({field.name, dtype, Layout::strided(dims, strides, field.byte / field.item_bytes)});
  }
  return Record::of(std::move(fields), added(0, checked_mul(type.bytes, checked_product(shape).value_or(-1))));
}

TakenField take_field(const RecordType& type, std::string_view name, const Dims& shape,
                      std::span<const std::byte> bytes) {
  const RecordField& field = field_called(type, name);
  const DType dtype = element_type_of(field);
  const auto [dims, strides] = whole_field(type, field, shape);
  TakenField out{{Layout::contiguous(dims), dtype}, {}};
  out.bytes.resize(static_cast<std::size_t>(out.desc.span_bytes()));
  const auto need = checked_mul(type.bytes, checked_product(shape).value_or(-1));
  if (!need || *need < 0 || static_cast<int64_t>(bytes.size()) < *need)
    throw Error(ErrorCode::buffer_too_small,
                "numpy: structs of " + std::to_string(type.bytes) + " bytes in shape (" + join(shape) +
                    ") need more than " + std::to_string(bytes.size()) + " bytes",
                "bytes", std::to_string(bytes.size()), need ? std::to_string(*need) : "");
  // In bytes, with those of an element as the innermost dim, so that elements may lie anywhere.
  std::byte* to = out.bytes.data();
  if (out.desc.layout.empty()) return out;
  const int64_t runs = out.desc.layout.elements();
  Dims index(dims.size(), 0);
  int64_t from = field.byte;
  for (int64_t n = 0; n < runs; ++n, to += field.item_bytes) {
    std::memcpy(to, bytes.data() + from, static_cast<std::size_t>(field.item_bytes));
    for (int d = dims.size(); d-- > 0;) {
      from += strides[d];
      if (++index[d] < dims[d]) break;
      from -= dims[d] * strides[d];
      index[d] = 0;
    }
  }
  if (field.byte_swapped) swap_bytes(out.bytes, static_cast<int>(field.item_bytes));
  return out;
}

}  // namespace relayout::numpy
