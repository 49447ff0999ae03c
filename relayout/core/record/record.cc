// Record: its checks, and which field has a byte. Overlaps are decided by core/decide over the bits of two fields.
#include "relayout/core/record/record.h"

#include <algorithm>
#include <numeric>

#include "relayout/core/decide.h"
#include "relayout/core/nearest.h"

namespace relayout {
namespace {

std::string index_text(const Field& field, const Dims& index) {
  return escaped(field.name) + "(" + join(index) + ")" +
         (std::ranges::equal(index, field.layout.dims(), std::ranges::less{}) ? "" : ", which is padding,");
}

/// The field's memory in units of `unit` bits: every index up to the capacities, and in the last dim, innermost, the
/// units of an element.
Layout in_units(const Field& field, int unit) {
  require_plain(field.layout, "record: field " + escaped(field.name));
  const Layout layout = field.layout.ndims() == 0 ? field.layout.as_vector() : field.layout;
  const int64_t units = bits(field.dtype) / unit;
  std::vector<Digits> digits;
  Dims dims = layout.padded_dims();
  for (int d = 0; d < layout.ndims(); ++d) {
    Digits own;
    const bool last = d + 1 == layout.ndims();
    if (last && units > 1) own.push_back({units, 1});
    for (const Digit& digit : layout.digits(d)) {
      const auto stride = checked_mul(digit.stride, units);
      if (!stride)
        throw Error(ErrorCode::overflow, "record: the bits of field " + escaped(field.name) + " do not fit 64 bits",
                    escaped(field.name), std::to_string(digit.stride), {});
      own.push_back({digit.extent, *stride});
    }
    if (last) dims[d] *= units;
    digits.push_back(own);
  }
  return Layout::from_digits(dims, digits, layout.offset0() * units);
}

/// The index of the element in which an index of in_units() lies.
Dims element_index(const Field& field, Dims index, int unit) {
  if (field.layout.ndims() == 0) return {};
  index.back() /= bits(field.dtype) / unit;
  return index;
}

std::optional<FieldOverlap> overlap_of(std::span<const Field> fields, std::size_t a, std::size_t b) {
  const int unit = std::gcd(bits(fields[a].dtype), bits(fields[b].dtype));
  const Overlap found = overlap(in_units(fields[a], unit), in_units(fields[b], unit));
  if (found.answer == Answer::no) return std::nullopt;
  if (found.answer == Answer::undecided) {
    throw Error(ErrorCode::limit,
                "record: whether fields " + escaped(fields[a].name) + " and " + escaped(fields[b].name) +
                    " share a bit was not decided in " + std::to_string(kDecisionSteps) + " steps",
                "fields", escaped(fields[a].name) + "," + escaped(fields[b].name), std::to_string(kDecisionSteps));
  }
  return FieldOverlap{a, b, element_index(fields[a], found.index_a, unit),
                      element_index(fields[b], found.index_b, unit), found.offset * unit};
}

/// Two indices of a field, padding included, that share an element.
std::optional<FieldOverlap> own_overlap(const Field& field, std::size_t place) {
  if (field.layout.ndims() == 0) return std::nullopt;
  std::vector<Digits> digits;
  for (int d = 0; d < field.layout.ndims(); ++d) digits.push_back(field.layout.digits_of(d));
  const Layout whole = Layout::from_digits(field.layout.padded_dims(), digits, field.layout.offset0());
  const auto pair = whole.collision();
  if (!pair) return std::nullopt;
  return FieldOverlap{place, place, pair->first, pair->second, whole.offset(pair->first) * bits(field.dtype)};
}

/// Bytes up to the end of a field.
int64_t end_of(const Field& field) {
  const auto bytes = bytes_for(field.dtype, field.layout.span());
  if (bytes && checked_mul(*bytes, 8)) return *bytes;
  throw Error(ErrorCode::overflow, "record: the bits of field " + escaped(field.name) + " do not fit 63 bits",
              escaped(field.name), std::to_string(field.layout.span()), {});
}

void check_names(std::span<const Field> fields) {
  for (std::size_t k = 0; k < fields.size(); ++k) {
    const std::string& name = fields[k].name;
    if (!is_field_name(name)) {
      throw Error(ErrorCode::invalid_argument,
                  "record: \"" + escaped(name) + "\" is no name of a field, which has letters, digits and '_'",
                  "fields[" + std::to_string(k) + "]", escaped(name), "an identifier");
    }
    if (std::ranges::find(fields.first(k), name, &Field::name) != fields.begin() + static_cast<std::ptrdiff_t>(k)) {
      throw Error(ErrorCode::invalid_argument, "record: two fields are called " + escaped(name),
                  "fields[" + std::to_string(k) + "]", escaped(name), "each name once");
    }
  }
}

}  // namespace

bool is_field_name(std::string_view text) {
  bool begins = true;
  for (const char ch : text) {
    const bool letter = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_';
    if (ch == '.' ? begins : !(letter || (!begins && ch >= '0' && ch <= '9'))) return false;
    begins = ch == '.';
  }
  return !begins;
}

std::optional<FieldOverlap> field_overlap(std::span<const Field> fields) {
  for (std::size_t b = 0; b < fields.size(); ++b) {
    if (fields[b].layout.empty()) continue;
    if (auto own = own_overlap(fields[b], b)) return own;
    for (std::size_t a = 0; a < b; ++a) {
      if (fields[a].layout.empty()) continue;
      if (auto pair = overlap_of(fields, a, b)) return pair;
    }
  }
  return std::nullopt;
}

Record Record::of(std::vector<Field> fields, std::optional<int64_t> bytes) {
  if (fields.size() > kMaxFields)
    throw Error(
        ErrorCode::limit,
        "record: " + std::to_string(fields.size()) + " fields; at most " + std::to_string(kMaxFields) + " are allowed",
        "fields", std::to_string(fields.size()), std::to_string(kMaxFields));
  check_names(fields);
  Record out;
  for (const Field& field : fields) {
    const int64_t end = end_of(field);
    if (bytes && end > *bytes) {
      throw Error(ErrorCode::invalid_argument,
                  "record: field " + escaped(field.name) + " ends at byte " + std::to_string(end) + " of a buffer of " +
                      std::to_string(*bytes),
                  "bytes", std::to_string(*bytes), std::to_string(end) + " or more");
    }
    out.bytes_ = std::max(out.bytes_, end);
  }
  if (const auto shared = field_overlap(fields)) {
    const Field &a = fields[shared->a], &b = fields[shared->b];
    throw Error(ErrorCode::not_injective,
                "record: " + index_text(a, shared->index_a) + " and " + index_text(b, shared->index_b) + " share bit " +
                    std::to_string(shared->bit % 8) + " of byte " + std::to_string(shared->bit / 8),
                "fields", escaped(a.name) + "," + escaped(b.name), "no bit in two elements");
  }
  if (bytes && !checked_mul(*bytes, 8))
    throw Error(ErrorCode::overflow, "record: the bits of " + std::to_string(*bytes) + " bytes do not fit 63 bits",
                "bytes", std::to_string(*bytes), std::to_string(std::numeric_limits<int64_t>::max() / 8));
  out.bytes_ = bytes.value_or(out.bytes_);
  out.fields_ = std::move(fields);
  return out;
}

std::optional<std::size_t> Record::find(std::string_view name) const {
  const auto at = std::ranges::find(fields_, name, &Field::name);
  if (at == fields_.end()) return std::nullopt;
  return static_cast<std::size_t>(at - fields_.begin());
}

const Field& Record::field(std::string_view name) const {
  if (const auto at = find(name)) return fields_[*at];
  std::string list;
  std::vector<std::string_view> names;
  for (const Field& field : fields_) {
    list += (list.empty() ? "" : ", ") + field.name;
    names.push_back(field.name);
  }
  throw Error(ErrorCode::invalid_argument,
              "record: no field is called " + escaped(name) + "; there are " + list + did_you_mean(name, names),
              "field", escaped(name), list);
}

std::vector<Record::Place> Record::at_byte(int64_t byte) const {
  if (byte < 0 || byte >= bytes_) {
    throw Error(ErrorCode::invalid_argument,
                "record: byte " + std::to_string(byte) + " of a buffer of " + std::to_string(bytes_) + " bytes", "byte",
                std::to_string(byte), "0 to " + std::to_string(bytes_ - 1));
  }
  std::vector<Place> out;
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    const int64_t width = bits(fields_[f].dtype), begin = byte * 8, end = begin + 8;
    for (int64_t element = begin / width; element * width < end; ++element) {
      Place place{.field = f};
      const Slot slot = fields_[f].layout.inverse(element, &place.index);
      if (slot == Slot::gap) continue;
      place.padding = slot == Slot::padding;
      const int64_t from = std::max(begin, element * width), to = std::min(end, (element + 1) * width);
      place.first_bit = static_cast<int>(from - begin);
      place.bits = static_cast<int>(to - from);
      place.element_bit = static_cast<int>(from - element * width);
      out.push_back(place);
    }
  }
  std::ranges::stable_sort(out, {}, &Place::first_bit);
  return out;
}

int64_t Record::free_bits() const {
  int64_t used = 0;
  for (const Field& field : fields_) {
    if (!field.layout.empty()) used += field.layout.padded_elements() * bits(field.dtype);
  }
  return bytes_ * 8 - used;
}

std::vector<std::pair<int64_t, int64_t>> Record::free_bytes(std::size_t most) const {
  std::vector<std::pair<int64_t, int64_t>> out;
  int64_t left = free_bits();
  for (int64_t byte = 0; byte < bytes_ && left > 0; ++byte) {
    int used = 0;
    for (const Place& place : at_byte(byte)) used += place.bits;
    left -= 8 - used;
    if (used > 0) continue;
    if (!out.empty() && out.back().first + out.back().second == byte) {
      ++out.back().second;
      continue;
    }
    if (out.size() == most) break;
    out.emplace_back(byte, 1);
  }
  return out;
}

}  // namespace relayout
