// Packed formats: finding them by name, and the layouts of their fields. The formats themselves are tables beside this.
#include "relayout/core/packed/packed.h"

#include <algorithm>

#include "relayout/core/nearest.h"

namespace relayout {
namespace {

/// The digits "(16,2)(2,1)" of the tables, which are right.
Digits digits_of(std::string_view text) {
  Digits out;
  while (!text.empty()) {
    const std::size_t comma = text.find(','), end = text.find(')');
    out.push_back(
        {parse_int(text.substr(1, comma - 1), "extent"), parse_int(text.substr(comma + 1, end - comma - 1), "stride")});
    text.remove_prefix(end + 1);
  }
  return out;
}

[[noreturn]] void no_multiple(const PackedFormat& format, const PackedField& field, int dim, int64_t extent, int64_t of,
                              std::string_view what) {
  const std::string letter(1, static_cast<char>(format.dims[static_cast<std::size_t>(dim)] - 'a' + 'A'));
  throw Error(ErrorCode::invalid_argument,
              std::string(format.name) + "." + std::string(field.name) + ": " + letter + " = " +
                  std::to_string(extent) + " is no multiple of " + std::string(what) + ", " + std::to_string(of),
              "dims[" + std::to_string(dim) + "]", std::to_string(extent), "a multiple of " + std::to_string(of));
}

void check_rank(const PackedFormat& format, const Dims& dims) {
  if (dims.size() == 2) return;
  const std::string letters{static_cast<char>(format.dims[0] - 'a' + 'A'), ',',
                            static_cast<char>(format.dims[1] - 'a' + 'A')};
  throw Error(ErrorCode::invalid_argument,
              std::string(format.name) + " has 2 dims (" + letters + "), dims " + (dims.empty() ? "\"\"" : join(dims)) +
                  " has " + std::to_string(dims.size()),
              "dims", join(dims), "2 dims");
}

bool is_word(char ch) {
  return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || ch == '_';
}

}  // namespace

std::span<const PackedSystem> packed_systems() {
  static const PackedSystem kSystems[] = {packed::ggml(),   packed::gptq(), packed::awq(),
                                          packed::marlin(), packed::mlx(),  packed::compressed_tensors(),
                                          packed::mx()};
  return kSystems;
}

const PackedFormat* find_packed(std::string_view name) {
  for (const PackedSystem& system : packed_systems()) {
    const auto found = std::ranges::find(system.formats, name, &PackedFormat::name);
    if (found != system.formats.end()) return &*found;
  }
  return nullptr;
}

const PackedFormat& packed_format(std::string_view name) {
  if (const PackedFormat* found = find_packed(name)) return *found;
  std::vector<std::string_view> names;
  std::string list;
  for (const PackedSystem& system : packed_systems()) {
    for (const RefusedName& refused : system.refused) {
      if (refused.name == name)
        throw Error(ErrorCode::unsupported, std::string(name) + ": " + std::string(refused.why), "layout",
                    std::string(name), "a format whose bits are the codes of values");
    }
    for (const PackedFormat& format : system.formats) {
      names.push_back(format.name);
      list += (list.empty() ? "" : ", ") + std::string(format.name);
    }
  }
  throw Error(ErrorCode::invalid_argument,
              "no packed format is called " + escaped(name) + "; there are " + list + did_you_mean(name, names),
              "layout", escaped(name), list);
}

std::size_t packed_length(std::string_view expression) {
  std::size_t end = expression.find_first_of(".@;");
  if (end == std::string_view::npos) end = expression.size();
  const std::string_view name = expression.substr(0, end);
  bool known = find_packed(name) != nullptr;
  for (const PackedSystem& system : packed_systems()) {
    known = known || std::ranges::find(system.refused, name, &RefusedName::name) != system.refused.end();
    // A misspelt format of a system that is known by what stands before the colon.
    const std::string_view prefix = system.formats[0].name.substr(0, system.formats[0].name.find(':') + 1);
    known = known || (!prefix.empty() && name.starts_with(prefix));
  }
  if (!known) return 0;
  if (end == expression.size() || expression[end] != '.') return end;
  std::size_t field = end + 1;
  while (field < expression.size() && is_word(expression[field])) ++field;
  const bool view = field < expression.size() && expression[field] == '(';
  return view || field == end + 1 ? end : field;
}

const PackedField& PackedFormat::field(std::string_view wanted) const {
  const auto found = std::ranges::find(fields, wanted, &PackedField::name);
  if (found != fields.end()) return *found;
  std::string list;
  for (const PackedField& each : fields) list += (list.empty() ? "" : ", ") + std::string(each.name);
  throw Error(ErrorCode::invalid_argument,
              std::string(name) +
                  (wanted.empty() ? " is a record, and a layout is one of its fields: write " + std::string(name) +
                                        ".NAME with a name of "
                                  : " has no field " + escaped(wanted) + "; there are ") +
                  list,
              "field", escaped(wanted), list);
}

int64_t PackedItem::block(int dim) const {
  int64_t out = 1;
  for (const Digit& digit : digits[static_cast<std::size_t>(dim)]) out *= digit.extent;
  return out;
}

PackedItem item_of(const PackedFormat& format, const PackedField& field, const Dims& dims) {
  PackedItem out;
  bool whole = false;
  for (int d = 0; d < dims.size(); ++d)
    whole = whole || (field.group[static_cast<std::size_t>(d)] == 0 && dims[d] == 1);
  const std::string_view digits = whole && !field.whole_digits.empty() ? field.whole_digits : field.digits;
  const std::size_t bar = digits.find('|');
  out.digits = {digits_of(digits.substr(0, bar)), digits_of(digits.substr(bar + 1))};
  out.elements = field.item;
  if (out.elements == 0) out.elements = out.block(0) * out.block(1);
  if (format.one_buffer()) out.elements = format.block_bytes * 8 / bits(field.dtype);
  return out;
}

Layout field_layout(const PackedFormat& format, const PackedField& field, const Dims& dims, int64_t begin) {
  check_rank(format, dims);
  PackedItem item = item_of(format, field, dims);
  for (int d = 0; d < 2; ++d) {
    if (dims[d] % item.block(d) != 0) no_multiple(format, field, d, dims[d], item.block(d), "its blocks");
  }
  const int64_t columns = dims[1] / item.block(1);
  const auto row = checked_mul(std::max<int64_t>(columns, 1), item.elements);
  const auto offset0 = checked_add(field.offset0, begin);
  if (!row || !offset0)
    throw Error(ErrorCode::overflow,
                std::string(format.name) + ": rows of " + std::to_string(dims[1]) + " values do not fit 63 bits",
                "dims[1]", std::to_string(dims[1]), {});
  item.digits[0].push_back({dims[0] / item.block(0), *row});
  item.digits[1].push_back({columns, item.elements});
  return Layout::from_digits(dims, item.digits, *offset0);
}

Dims field_dims(const PackedFormat& format, const PackedField& field, const Dims& values, int64_t group) {
  check_rank(format, values);
  Dims out = values;
  for (int d = 0; d < 2; ++d) {
    int64_t by = field.group[static_cast<std::size_t>(d)];
    if (by == kAllValues) by = std::max<int64_t>(values[d], 1);
    if (by == 0) by = group > 0 ? group : format.group;
    if (values[d] % by != 0) no_multiple(format, field, d, values[d], by, "the values that share one element");
    out[d] = values[d] / by;
  }
  return out;
}

Record packed_record(const PackedFormat& format, const Dims& values, std::string_view buffer, int64_t group) {
  std::vector<Field> fields;
  for (const PackedField& field : format.fields) {
    if (field.buffer != buffer) continue;
    fields.push_back(
        {std::string(field.name), field.dtype, field_layout(format, field, field_dims(format, field, values, group))});
  }
  if (!fields.empty()) return Record::of(std::move(fields));
  std::string list;
  for (const std::string_view name : buffers_of(format)) list += (list.empty() ? "" : ", ") + std::string(name);
  throw Error(ErrorCode::invalid_argument,
              std::string(format.name) + " has buffers of their own for its fields, of which one is needed: " + list,
              "buffer", escaped(buffer), list);
}

std::vector<std::string_view> buffers_of(const PackedFormat& format) {
  std::vector<std::string_view> out;
  for (const PackedField& field : format.fields) {
    if (std::ranges::find(out, field.buffer) == out.end()) out.push_back(field.buffer);
  }
  return out;
}

namespace {

const PackedStorage& storage_of(const PackedFormat& format, std::string_view buffer) {
  static constexpr PackedStorage kPlain{};
  const auto found = std::ranges::find(format.storage, buffer, &PackedStorage::buffer);
  return found == format.storage.end() ? kPlain : *found;
}

}  // namespace

std::vector<std::string_view> names_of_buffer(const PackedFormat& format, std::string_view buffer) {
  std::vector<std::string_view> out{buffer};
  std::string_view rest = storage_of(format, buffer).aliases;
  while (!rest.empty()) {
    const std::size_t space = std::min(rest.find(' '), rest.size());
    out.push_back(rest.substr(0, space));
    rest.remove_prefix(std::min(space + 1, rest.size()));
  }
  return out;
}

PackedArray packed_array(const PackedFormat& format, const Dims& values, std::string_view buffer, int64_t group) {
  const Record record = packed_record(format, values, buffer, group);
  if (format.one_buffer()) return {DType::u8, {values[0], values[0] == 0 ? 0 : record.bytes() / values[0]}};
  const PackedField& first = format.field(record.fields()[0].name);
  const PackedStorage& storage = storage_of(format, buffer);
  const DType dtype = storage.dtype.value_or(first.dtype);
  if (first.group == std::array{kAllValues, kAllValues}) return {dtype, {}};
  const Dims& dims = record.fields()[0].layout.dims();
  if (dtype == first.dtype) return {dtype, dims};
  // A row of items is a row of the array.
  const PackedItem item = item_of(format, first, dims);
  const int64_t bits_of_row = dims[1] / item.block(1) * item.elements * bits(first.dtype);
  if (bits_of_row % bits(dtype) != 0)
    throw Error(ErrorCode::invalid_argument,
                std::string(format.name) + ": a row of " + std::string(buffer) + " has " + std::to_string(bits_of_row) +
                    " bits with dims " + join(values) + ", and its elements are " + std::string(name(dtype)),
                "dims", join(values), "rows of whole elements of " + std::string(name(dtype)));
  PackedArray out{dtype, {dims[0] / item.block(0), bits_of_row / bits(dtype)}};
  if (storage.piece == 0) return out;
  out.shape = {out.shape[0], out.shape[1] / storage.piece, storage.piece};
  return out;
}

}  // namespace relayout
