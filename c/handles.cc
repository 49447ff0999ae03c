// What the C functions share: errors of a thread, checked arguments, options, texts and lists.
#include "c/handles.h"

#include <algorithm>

namespace relayout::c {
namespace {

/// A text of bounded size, so that keeping an error never fails.
template <std::size_t N>
struct Kept {
  char text[N] = {};
  void keep(std::string_view from) noexcept {
    const std::size_t n = std::min(from.size(), N - 1);
    std::memcpy(text, from.data(), n);
    text[n] = '\0';
  }
};
struct LastError {
  Kept<2048> message;
  Kept<256> field, value, limit;
};
thread_local LastError last_error;

/// A struct of options as this version knows it. Fields that the caller's version lacks keep their defaults; a field
/// that this version does not know must be 0.
template <typename Options>
Options options_from(const Options* given, const Options& defaults, std::string_view parameter) {
  if (given == nullptr) return defaults;
  std::size_t size;
  std::memcpy(&size, given, sizeof size);
  if (size < sizeof size || size > 4096)
    refuse(parameter, "has a struct_size of " + std::to_string(size) + "; begin with its _INIT macro");
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  if (std::any_of(bytes + std::min(size, sizeof(Options)), bytes + size, [](unsigned char b) { return b != 0; })) {
    throw Error(ErrorCode::unsupported,
                std::string(parameter) + " sets a field that this version of the library does not know",
                std::string(parameter), std::to_string(size), std::to_string(sizeof(Options)));
  }
  Options out = defaults;
  std::memcpy(&out, given, std::min(size, sizeof(Options)));
  return out;
}

PerMask values_of(const double* values, size_t count, uint32_t mask, std::string_view parameter) {
  if (values == nullptr && count != 0) refuse(parameter, "is null, but its count is " + std::to_string(count));
  if (count > (size_t{1} << 28)) refuse(parameter, "has a count of " + std::to_string(count));
  return {count == 0 ? std::vector<double>() : std::vector<double>(values, values + count), mask};
}

Padding padding_of(const relayout_attributes& given) {
  switch (given.padding) {
    case RELAYOUT_PADDING_VALUE: return Padding::of(given.padding_value);
    case RELAYOUT_PADDING_KEEP: return Padding::keep();
    case RELAYOUT_PADDING_INTEGER: return Padding::of(given.padding_integer);
    case RELAYOUT_PADDING_UNSIGNED: return Padding::of(static_cast<uint64_t>(given.padding_integer));
    default: refuse("padding", "is " + std::to_string(given.padding) + ", which is no relayout_padding");
  }
}

}  // namespace

void set_error(std::string_view message, std::string_view field, std::string_view value,
               std::string_view limit) noexcept {
  last_error.message.keep(message);
  last_error.field.keep(field);
  last_error.value.keep(value);
  last_error.limit.keep(limit);
}

relayout_status status_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument: return RELAYOUT_INVALID_ARGUMENT;
    case ErrorCode::parse: return RELAYOUT_PARSE;
    case ErrorCode::overflow: return RELAYOUT_OVERFLOW;
    case ErrorCode::needs_copy: return RELAYOUT_NEEDS_COPY;
    case ErrorCode::not_injective: return RELAYOUT_NOT_INJECTIVE;
    case ErrorCode::buffer_too_small: return RELAYOUT_BUFFER_TOO_SMALL;
    case ErrorCode::overlap: return RELAYOUT_OVERLAP;
    case ErrorCode::corrupt: return RELAYOUT_CORRUPT;
    case ErrorCode::io: return RELAYOUT_IO;
    case ErrorCode::limit: return RELAYOUT_LIMIT;
    case ErrorCode::unsupported: return RELAYOUT_UNSUPPORTED;
    case ErrorCode::internal: return RELAYOUT_INTERNAL;
    case ErrorCode::interrupted: return RELAYOUT_INTERRUPTED;
  }
  return RELAYOUT_INTERNAL;
}

void refuse(std::string_view parameter, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, std::string(parameter) + " " + why, std::string(parameter));
}

const char* checked_text(const char* text, std::string_view parameter) {
  if (text == nullptr) refuse(parameter, "is null");
  return text;
}

DType checked_dtype(relayout_dtype dtype) {
  const auto number = int64_t{dtype};
  if (number < 0 || number >= static_cast<int64_t>(std::size(kDTypeRows)))
    refuse("dtype", "is " + std::to_string(number) + ", which is no relayout_dtype");
  return static_cast<DType>(number);
}

Dims checked_dims(int32_t ndims, const int64_t* dims, std::string_view parameter) {
  if (ndims < 0 || ndims > kMaxDims)
    refuse("ndims", "is " + std::to_string(ndims) + "; a layout has 0 to " + std::to_string(kMaxDims) + " dims");
  if (ndims > 0 && dims == nullptr) refuse(parameter, "is null");
  return ndims == 0 ? Dims() : Dims(std::span(dims, static_cast<std::size_t>(ndims)));
}

void give_text(std::string_view text, char* buffer, size_t capacity, size_t* length) {
  if (buffer == nullptr && capacity != 0) refuse("text", "is null, but its capacity is " + std::to_string(capacity));
  if (buffer == nullptr && length == nullptr) refuse("length", "is null, and so is the text");
  if (length != nullptr) *length = text.size();
  if (buffer == nullptr) return;
  if (capacity <= text.size()) {
    throw Error(
        ErrorCode::buffer_too_small,
        "the text takes " + std::to_string(text.size() + 1) + " bytes, and the buffer has " + std::to_string(capacity),
        "capacity", std::to_string(capacity), std::to_string(text.size() + 1));
  }
  std::memcpy(buffer, text.data(), text.size());
  buffer[text.size()] = '\0';
}

void give_numbers(std::span<const int64_t> numbers, int64_t* out, int32_t capacity, int32_t* count) {
  if (static_cast<int64_t>(numbers.size()) > capacity) {
    throw Error(ErrorCode::buffer_too_small,
                "there are " + std::to_string(numbers.size()) + " numbers, and room for " + std::to_string(capacity),
                "capacity", std::to_string(capacity), std::to_string(numbers.size()));
  }
  if (!numbers.empty() && out == nullptr) refuse("the list", "is null");
  std::copy(numbers.begin(), numbers.end(), out);
  if (count != nullptr) *count = static_cast<int32_t>(numbers.size());
}

Attributes attributes_of(const relayout_attributes* attributes) {
  const relayout_attributes given = options_from(attributes, RELAYOUT_ATTRIBUTES_INIT, "attributes");
  Attributes out;
  out.src_scale = values_of(given.src_scale, given.src_scale_count, given.src_scale_mask, "src_scale");
  out.dst_scale = values_of(given.dst_scale, given.dst_scale_count, given.dst_scale_mask, "dst_scale");
  out.src_zero_point =
      values_of(given.src_zero_point, given.src_zero_point_count, given.src_zero_point_mask, "src_zero_point");
  out.dst_zero_point =
      values_of(given.dst_zero_point, given.dst_zero_point_count, given.dst_zero_point_mask, "dst_zero_point");
  out.mean = values_of(given.mean, given.mean_count, given.mean_mask, "mean");
  out.beta = given.beta;
  out.padding = padding_of(given);
  return out;
}

RunHow options_of(const relayout_run_options* options) {
  const relayout_run_options given = options_from(options, RELAYOUT_RUN_OPTIONS_INIT, "options");
  return {{.threads = given.threads}, given.progress, given.context};
}

}  // namespace relayout::c

namespace c = relayout::c;

extern "C" {

uint32_t relayout_version(void) {
  return RELAYOUT_VERSION_MAJOR << 16 | RELAYOUT_VERSION_MINOR << 8 | RELAYOUT_VERSION_PATCH;
}

const char* relayout_status_name(relayout_status status) {
  if (status == RELAYOUT_OK) return "ok";
  if (status == RELAYOUT_OUT_OF_MEMORY) return "out_of_memory";
  for (int code = 0; code <= static_cast<int>(relayout::ErrorCode::interrupted); ++code) {
    const auto known = static_cast<relayout::ErrorCode>(code);
    if (c::status_of(known) == status) return relayout::name(known).data();  // a literal, which ends in a null byte
  }
  return "unknown";
}

const char* relayout_error_message(void) { return c::last_error.message.text; }
const char* relayout_error_field(void) { return c::last_error.field.text; }
const char* relayout_error_value(void) { return c::last_error.value.text; }
const char* relayout_error_limit(void) { return c::last_error.limit.text; }

const char* relayout_dtype_name(relayout_dtype dtype) {
  const auto number = int64_t{dtype};
  if (number < 0 || number >= static_cast<int64_t>(std::size(relayout::kDTypeRows))) return "unknown";
  return relayout::name(static_cast<relayout::DType>(number)).data();  // a literal
}

relayout_status relayout_dtype_parse(const char* name, relayout_dtype* dtype) {
  return c::guarded([&] {
    const relayout::DType parsed = relayout::parse_dtype(c::checked_text(name, "name"));
    c::result(dtype, "dtype") = static_cast<relayout_dtype>(parsed);
  });
}

relayout_status relayout_dtype_bits(relayout_dtype dtype, int32_t* bits) {
  return c::guarded([&] { c::result(bits, "bits") = relayout::bits(c::checked_dtype(dtype)); });
}

}  // extern "C"
