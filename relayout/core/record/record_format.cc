// Records as text: reading, binding to extents, writing. The grammar stands in record_format.h.
#include "relayout/core/record/record_format.h"

#include <algorithm>
#include <numeric>

#include "relayout/core/notations/notation.h"
#include "relayout/core/overflow.h"
#include "relayout/core/packed/packed.h"

namespace relayout {

/// Reads a record from left to right.
struct RecordParser {
  std::string_view text;
  std::size_t at = 0;
  RecordFormat out{};

  [[noreturn]] void fail(std::size_t where, const std::string& why) const {
    const std::size_t from = where > 48 ? where - 40 : 0;
    const std::string before = (from ? "..." : "") + escaped(text.substr(from, where - from), 400);
    const std::string after =
        where < text.size() ? escaped(text.substr(where, 24), 100) + (text.size() > where + 24 ? "..." : "") : "";
    throw Error(ErrorCode::parse,
                "record: " + why + "\n  " + before + after + "\n  " + std::string(characters(before), ' ') + "^",
                "record", escaped(text), why);
  }

  void blanks() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n')) ++at;
  }
  char peek() {
    blanks();
    return at < text.size() ? text[at] : '\0';
  }
  bool take(char ch) {
    if (peek() != ch || at == text.size()) return false;
    ++at;
    return true;
  }
  void expect(char ch, const std::string& what) {
    if (!take(ch)) fail(at, std::string("expected '") + ch + "' " + what);
  }
  int64_t number(const std::string& what) {
    blanks();
    const std::size_t from = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    if (from == at) fail(from, "expected a number: " + what);
    try {
      return parse_int(text.substr(from, at - from), what);
    } catch (const Error& error) {
      fail(from, error.message());
    }
  }
  std::string_view word() {
    blanks();
    const std::size_t from = at;
    while (at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_' || text[at] == '.'))
      ++at;
    return text.substr(from, at - from);
  }

  /// Whether a field begins at `from`: a name, a colon and a type, up to what may follow these.
  bool begins_field(std::size_t from) const {
    RecordParser ahead{text, from};
    if (ahead.word().empty() || !ahead.take(':') || ahead.word().empty()) return false;
    return std::string_view("[@=,;}").find(ahead.peek()) != std::string_view::npos && ahead.at < text.size();
  }

  /// The end of a layout expression from here: where the next field, an option or the record's end follows.
  std::size_t layout_end() const {
    int depth = 0;
    for (std::size_t k = at; k < text.size(); ++k) {
      const char ch = text[k];
      if (depth == 0 && ch == '}') return k;
      if (depth == 0 && ch == ',' && begins_field(k + 1)) return k;
      if (depth == 0 && ch == ';' &&
          (text.substr(k + 1).starts_with("bytes=") || text.substr(k + 1).starts_with("aligned")))
        return k;
      if (ch == '(' || ch == '{' || ch == '[') ++depth;
      if (ch == ')' || ch == '}' || ch == ']') --depth;
    }
    return text.size();
  }

  RecordFormat::Extent extent() {
    RecordFormat::Extent read;
    const char ch = peek();
    if (ch < 'a' || ch > 'l') {
      read.number = number("an extent, or a letter from a to l for a dim");
      return read;
    }
    ++at;
    read.dim = ch - 'a';
    if (!take('/')) return read;
    const std::size_t from = at;
    read.by = number("what the dim is divided by");
    if (read.by < 1) fail(from, "a dim is divided by 1 or more");
    return read;
  }

  void field() {
    blanks();
    const std::size_t from = at;
    RecordFormat::FieldText field;
    field.name = word();
    if (!is_field_name(field.name)) fail(from, "expected the name of a field: letters, digits and '_'");
    expect(':', "and the field's type behind its name");
    blanks();
    const std::size_t type = at;
    try {
      field.dtype = parse_dtype(word());
    } catch (const Error& error) {
      fail(type, error.message());
    }
    if (take('[')) {
      field.dims.emplace();
      while (peek() != ']' || !field.dims->empty()) {
        if (field.dims->size() == static_cast<std::size_t>(kMaxDims))
          fail(at, "more than " + std::to_string(kMaxDims) + " extents");
        field.dims->push_back(extent());
        if (!take(',')) break;
      }
      expect(']', "behind the extents");
    }
    if (peek() == '@') {
      ++at;
      field.byte = number("the member's byte in its struct");
    }
    if (take('=')) layout(field, from);
    if (!out.fields_.empty() && field.layout.has_value() != out.fields_[0].layout.has_value())
      fail(from, "either all fields have a layout behind '=', or none has and they are members of a struct");
    if (out.fields_.size() == kMaxFields) fail(from, "more than " + std::to_string(kMaxFields) + " fields");
    out.fields_.push_back(std::move(field));
  }

  void layout(RecordFormat::FieldText& field, std::size_t from) {
    if (field.byte)
      fail(from,
           "the layout behind '=' says where the field lies (as in contiguous@4, in elements), so '@' has no meaning");
    blanks();
    const std::size_t begin = at;
    at = layout_end();
    std::string_view expression = text.substr(begin, at - begin);
    while (expression.ends_with(' ') || expression.ends_with('\n')) expression.remove_suffix(1);
    try {
      field.layout = Format::parse(expression);
    } catch (const Error& error) {
      fail(begin, "of field " + field.name + ": " + error.message());
    }
  }

  RecordFormat parse() {
    if (text.size() > Format::kMaxText * 16) fail(0, "over " + std::to_string(Format::kMaxText * 16) + " characters");
    if (!RecordFormat::looks_like(text)) fail(0, "a record is written record{name:type, ...}");
    at = std::string_view("record{").size();
    if (peek() != '}' && peek() != ';') {
      do field();
      while (take(','));
    }
    while (take(';')) {
      const std::size_t from = at;
      const std::string_view option = word();
      if (option == "aligned" && !out.aligned_ && (out.fields_.empty() || out.is_struct())) {
        out.aligned_ = true;
      } else if (option == "bytes" && !out.bytes_) {
        expect('=', "and a number of bytes");
        out.bytes_ = number("bytes");
      } else {
        fail(from, "after ';' can stand bytes=NUMBER and, behind the members of a struct, aligned, each once");
      }
    }
    expect('}', "at the end of the record");
    if (peek() != '\0' || at < text.size()) fail(at, "expected the end");
    out.text_ = std::string(text);
    return std::move(out);
  }
};

namespace {

[[noreturn]] void record_overflow(const std::string& name) {
  throw Error(ErrorCode::overflow, "record: the bits of field " + name + " do not fit 63 bits", name, {},
              std::to_string(std::numeric_limits<int64_t>::max()));
}

int64_t product_of(const std::string& name, std::optional<int64_t> a, int64_t b) {
  const auto out = a ? checked_mul(*a, b) : std::nullopt;
  if (!out) record_overflow(name);
  return *out;
}

[[noreturn]] void misaligned(const std::string& name, DType dtype, const std::string& why) {
  throw Error(ErrorCode::invalid_argument,
              "record: field " + name + " (" + std::string(relayout::name(dtype)) + ") " + why +
                  ", which is no multiple of its " + std::to_string(bits(dtype)) +
                  " bits; its elements cannot be counted from there",
              name, why, "a multiple of " + std::to_string(bits(dtype)) + " bits");
}

std::string place_text(int64_t bit) {
  return bit % 8 == 0 ? "byte " + std::to_string(bit / 8) : "bit " + std::to_string(bit);
}

}  // namespace

RecordFormat RecordFormat::parse(std::string_view text) {
  if (looks_like(text) || packed_length(text) == 0) return RecordParser{text}.parse();
  RecordFormat out;
  out.packed_ = &packed_format(text);
  out.text_ = std::string(text);
  return out;
}

RecordFormat::Struct RecordFormat::as_struct() const {
  if (packed_ != nullptr || (!fields_.empty() && !is_struct()))
    throw Error(ErrorCode::invalid_argument, "record: fields with layouts of their own are no members of a struct",
                "record", escaped(text_, 200), "members without '='");
  Struct out;
  int64_t next = 0, strictest = 8;
  for (std::size_t k = 0; k < fields_.size(); ++k) {
    const FieldText& field = fields_[k];
    StructMember member{.name = field.name, .dtype = field.dtype};
    for (const Extent& extent : field.dims.value_or(std::vector<Extent>{})) {
      if (extent.dim >= 0)
        throw Error(ErrorCode::invalid_argument, "record: the extents of member " + field.name + " are numbers",
                    field.name, std::string(1, static_cast<char>('a' + extent.dim)), "numbers");
      member.dims.push_back(extent.number);
    }
    const int64_t width = bits(field.dtype);
    member.bit = field.byte ? product_of(field.name, *field.byte, 8) : next;
    if (aligned_ && !field.byte) member.bit = product_of(field.name, ceil_div(member.bit, width), width);
    if (member.bit % width != 0) {
      const std::string behind = field.byte || k == 0 ? "" : " behind " + fields_[k - 1].name;
      misaligned(field.name, field.dtype, "begins at " + place_text(member.bit) + behind);
    }
    const int64_t size = product_of(field.name, checked_product(member.dims), width);
    const auto end = checked_add(member.bit, size);
    if (!end) record_overflow(field.name);
    next = *end;
    strictest = std::max(strictest, width);
    out.bits = std::max(out.bits, *end);
    out.members.push_back(member);
  }
  const std::string last = fields_.empty() ? "" : fields_.back().name;
  out.bits = product_of(last, ceil_div(out.bits, aligned_ ? strictest : 8), aligned_ ? strictest : 8);
  if (!bytes_) return out;
  const int64_t given = product_of(last, *bytes_, 8);
  if (given < out.bits)
    throw Error(ErrorCode::invalid_argument,
                "record: structs of " + std::to_string(*bytes_) + " bytes are smaller than their members, which take " +
                    std::to_string(out.bits / 8),
                "bytes", std::to_string(*bytes_), std::to_string(out.bits / 8));
  out.bits = given;
  return out;
}

std::vector<StructMember> RecordFormat::members() const { return as_struct().members; }

int64_t RecordFormat::struct_bytes() const { return as_struct().bits / 8; }

Record RecordFormat::bind_struct(const Dims& dims) const {
  const Struct one = as_struct();
  std::vector<Field> fields;
  const auto count = checked_product(dims);
  for (std::size_t k = 0; k < fields_.size(); ++k) {
    const FieldText& field = fields_[k];
    const int64_t width = bits(field.dtype);
    if (one.bits % width != 0 && count.value_or(2) > 1)
      misaligned(field.name, field.dtype,
                 "lies in structs of " + std::to_string(one.bits / 8) + " bytes (" + fields_.back().name +
                     " is the last member)");
    Dims all = dims, strides(dims.size(), 0);
    int64_t stride = ceil_div(one.bits, width);
    for (int d = dims.size(); d-- > 0; stride = product_of(field.name, stride, std::max<int64_t>(dims[d], 1)))
      strides[d] = stride;
    const Layout own = Layout::contiguous(one.members[k].dims);
    for (int d = 0; d < own.ndims(); ++d) {
      all.push_back(own.dim(d));
      strides.push_back(own.outer_stride(d));
    }
    fields.push_back({field.name, field.dtype, Layout::strided(all, strides, one.members[k].bit / width)});
  }
  return Record::of(std::move(fields), product_of(fields_.empty() ? "" : fields_.back().name, count, one.bits) / 8);
}

Record RecordFormat::bind_layouts(const Dims& dims) const {
  std::vector<Field> fields;
  for (const FieldText& field : fields_) {
    Dims own = dims;
    if (field.dims) {
      own.clear();
      for (const Extent& extent : *field.dims) {
        if (extent.dim >= dims.size())
          throw Error(ErrorCode::invalid_argument,
                      std::string("record: field ") + field.name + " has the extent of dim " +
                          static_cast<char>('a' + extent.dim) + ", and dims \"" + join(dims) + "\" have no such dim",
                      "dims", join(dims), std::to_string(extent.dim + 1) + " dims or more");
        own.push_back(extent.dim < 0 ? extent.number : ceil_div(std::max<int64_t>(dims[extent.dim], 0), extent.by));
      }
    } else if (dims.empty()) {
      own = field.layout->default_dims().value_or(Dims{});
    }
    try {
      fields.push_back({field.name, field.dtype, field.layout->bind(own)});
    } catch (const Error& error) {
      throw Error(error.code(), "record: field " + field.name + ": " + error.message(), error.field(), error.value(),
                  error.limit());
    }
  }
  return Record::of(std::move(fields), bytes_);
}

Record RecordFormat::bind(const Dims& dims) const {
  for (int d = 0; d < dims.size(); ++d) {
    if (dims[d] < 0)
      throw Error(ErrorCode::invalid_argument,
                  "record: dim " + std::to_string(d) + " is " + std::to_string(dims[d]) + "; a dim is 0 or more",
                  "dims[" + std::to_string(d) + "]", std::to_string(dims[d]), "0 or more");
  }
  if (packed_ != nullptr) return packed_record(*packed_, dims);
  return is_struct() || fields_.empty() ? bind_struct(dims) : bind_layouts(dims);
}

std::string expression_of(const Record& record) {
  std::string out = "record{";
  int64_t end = 0;
  for (const Field& field : record.fields()) {
    if (out.back() != '{') out += ", ";
    out += field.name + ":" + std::string(name(field.dtype)) + "[" + join(field.layout.dims()) +
           "] = " + digits_expression(field.layout);
    end = std::max(end, field.desc().span_bytes());
  }
  if (end != record.bytes()) out += ";bytes=" + std::to_string(record.bytes());
  return out + "}";
}

}  // namespace relayout
