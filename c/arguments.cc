// Arguments of the C functions, checked; texts and lists as results; statuses. Both shared libraries have these.
#include <algorithm>

#include "c/handles.h"

namespace relayout::c {

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

// The numbers of types are those of the C interface, which programs are compiled with.
static_assert(static_cast<int>(DType::f64) == RELAYOUT_F64 && static_cast<int>(DType::boolean) == RELAYOUT_BOOL &&
              static_cast<int>(DType::u4) == RELAYOUT_U4 && static_cast<int>(DType::f8_e8m0) == RELAYOUT_F8_E8M0 &&
              static_cast<int>(DType::f4_e2m1) == RELAYOUT_F4_E2M1 && static_cast<int>(DType::u1) == RELAYOUT_U1 &&
              kDTypeCount == RELAYOUT_U1 + 1);

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

void check_size(std::string_view parameter, size_t bytes, int64_t needed) {
  if (bytes >= static_cast<size_t>(needed)) return;
  throw Error(ErrorCode::buffer_too_small,
              std::string(parameter) + " has " + std::to_string(bytes) + " bytes, and its layout takes " +
                  std::to_string(needed),
              std::string(parameter), std::to_string(bytes), std::to_string(needed));
}

bool share_memory(const void* a, int64_t a_bytes, const void* b, int64_t b_bytes) {
  const auto first = reinterpret_cast<uintptr_t>(a), second = reinterpret_cast<uintptr_t>(b);
  return a_bytes != 0 && b_bytes != 0 && first + static_cast<uintptr_t>(a_bytes) > second &&
         second + static_cast<uintptr_t>(b_bytes) > first;
}

}  // namespace relayout::c
