// What the C functions share: handles that know their kind, the last error of a thread, and texts and lists as results.
//
// A handle begins with a number that says what it is. It is checked before anything else is read, so that a null
// pointer, a handle of another kind and one that was freed are errors.
#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "relayout/core/error.h"
#include "relayout/core/format.h"
#include "relayout/cpu/in_place.h"
#include "relayout/cpu/reorder.h"
#include "relayout/interop/files/tensor_file.h"
#include "relayout/relayout_c.h"

namespace relayout::c {

/// A text of bounded size, so that keeping an error never fails.
template <std::size_t N>
struct BoundedText {
  constexpr BoundedText() = default;
  explicit BoundedText(std::string_view from) noexcept { from.copy(text, N - 1); }
  char text[N] = {};
};
/// What was wrong, as relayout_error_message() and its like give it.
struct ErrorTexts {
  constexpr ErrorTexts() = default;
  explicit ErrorTexts(std::string_view message_, std::string_view field_ = {}, std::string_view value_ = {},
                      std::string_view limit_ = {}) noexcept
      : message(message_), field(field_), value(value_), limit(limit_) {}
  BoundedText<2048> message;
  BoundedText<256> field, value, limit;
};
/// Keeps it for relayout_error_message() and its like. Each shared library has a function of its own for it.
void set_error(const ErrorTexts& error) noexcept;
relayout_status status_of(ErrorCode code) noexcept;

/// Calls f; what it throws becomes a status and the thread's last error.
template <typename F>
relayout_status guarded(F&& f) noexcept {
  try {
    std::forward<F>(f)();
    return RELAYOUT_OK;
  } catch (const Error& error) {
    set_error(ErrorTexts(error.message(), error.field(), error.value(), error.limit()));
    return status_of(error.code());
  } catch (const std::bad_alloc&) {
    set_error(ErrorTexts("out of memory"));
    return RELAYOUT_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    set_error(ErrorTexts(error.what()));
  } catch (...) {
    set_error(ErrorTexts("an unknown exception"));
  }
  return RELAYOUT_INTERNAL;
}

/// Error{invalid_argument} that names a parameter.
[[noreturn]] void refuse(std::string_view parameter, const std::string& why);

/// Kinds of handles, by the numbers in their first bytes.
template <typename Handle>
struct HandleKind;

/// The base of each handle.
struct Tagged {
  explicit Tagged(uint64_t kind_) : kind(kind_) {}
  uint64_t kind;
};

/// Whether a pointer that is not null leads to a handle of its kind.
template <typename Handle>
bool is_kind(const Handle* handle) noexcept {
  // Read as bytes, because the pointer may lead to something else.
  uint64_t kind;
  std::memcpy(&kind, static_cast<const void*>(handle), sizeof kind);
  return kind == HandleKind<Handle>::kNumber;
}

/// The handle behind a pointer; Error{invalid_argument} where it is null or of another kind.
template <typename Handle>
Handle& checked(Handle* handle, std::string_view parameter) {
  if (handle == nullptr) refuse(parameter, "is null");
  if (!is_kind<std::remove_const_t<Handle>>(handle))
    refuse(parameter, std::string("is no ") + HandleKind<std::remove_const_t<Handle>>::kName +
                          ": another handle, or one that was freed");
  return *handle;
}

/// Frees a handle; nothing happens where it is null, of another kind, or freed before.
template <typename Handle>
void free_handle(Handle* handle) noexcept {
  if (handle == nullptr || !is_kind(handle)) return;
  *const_cast<volatile uint64_t*>(&handle->kind) = 0;
  delete handle;
}

/// The place of a result; Error{invalid_argument} where it is null.
template <typename T>
T& result(T* out, std::string_view parameter) {
  if (out == nullptr) refuse(parameter, "is null");
  return *out;
}

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

const char* checked_text(const char* text, std::string_view parameter);
DType checked_dtype(relayout_dtype dtype);
/// `ndims` numbers, 0 to kMaxDims.
Dims checked_dims(int32_t ndims, const int64_t* dims, std::string_view parameter);

/// A text into a buffer of the caller's, as the header describes.
void give_text(std::string_view text, char* buffer, size_t capacity, size_t* length);
/// Numbers into a list of the caller's.
void give_numbers(std::span<const int64_t> numbers, int64_t* out, int32_t capacity, int32_t* count);

/// The caller's attributes. Null stands for none.
Attributes attributes_of(const relayout_attributes* attributes);

/// How to run plans: with which threads, and who is asked in between.
struct RunHow {
  cpu::RunOptions threads;
  int (*progress)(void* context, int64_t done, int64_t total) = nullptr;
  void* context = nullptr;
};
RunHow options_of(const relayout_run_options* options);

/// Error{buffer_too_small} where a buffer does not hold its layout.
void check_size(std::string_view parameter, size_t bytes, int64_t needed);
/// Whether two buffers have a byte in common.
bool share_memory(const void* a, int64_t a_bytes, const void* b, int64_t b_bytes);
/// The caller's memory. It may be null where nothing is needed.
template <typename Byte, typename Pointer>
std::span<Byte> memory(Pointer* data, size_t bytes, std::string_view parameter) {
  if (data == nullptr && bytes != 0) refuse(parameter, "is null, but its size is " + std::to_string(bytes));
  return {static_cast<Byte*>(data), bytes};
}

/// Both sides of a reorder, of the sizes that their layouts need.
struct Buffers {
  std::span<const std::byte> src;
  std::span<std::byte> dst;
};
/// Errors: buffer_too_small; overlap.
Buffers checked_buffers(const TensorDesc& src_desc, const void* src, size_t src_bytes, const TensorDesc& dst_desc,
                        void* dst, size_t dst_bytes);
/// Runs one plan after another on the same buffers. Error{interrupted} where the caller's progress() says so.
void run(std::span<const Plan> plans, const Buffers& buffers, const RunHow& how);

}  // namespace relayout::c

struct relayout_desc : relayout::c::Tagged {
  relayout_desc(relayout::TensorDesc desc_, std::string letters_);
  const relayout::TensorDesc desc;
  const std::string letters;  // of the dims, for texts of other systems; empty where no letters are known
};
struct relayout_plan : relayout::c::Tagged {
  explicit relayout_plan(relayout::Plan plan_);
  const relayout::Plan plan;
};
struct relayout_file : relayout::c::Tagged {
  explicit relayout_file(relayout::TensorFile file_);
  const relayout::TensorFile file;
};

namespace relayout::c {

template <>
struct HandleKind<relayout_desc> {
  static constexpr uint64_t kNumber = 0x63736564'6c65721aU;
  static constexpr const char* kName = "relayout_desc";
};
template <>
struct HandleKind<relayout_plan> {
  static constexpr uint64_t kNumber = 0x6e616c70'6c65721aU;
  static constexpr const char* kName = "relayout_plan";
};
template <>
struct HandleKind<relayout_file> {
  static constexpr uint64_t kNumber = 0x656c6966'6c65721aU;
  static constexpr const char* kName = "relayout_file";
};

}  // namespace relayout::c

inline relayout_desc::relayout_desc(relayout::TensorDesc desc_, std::string letters_)
    : Tagged(relayout::c::HandleKind<relayout_desc>::kNumber), desc(std::move(desc_)), letters(std::move(letters_)) {}
inline relayout_plan::relayout_plan(relayout::Plan plan_)
    : Tagged(relayout::c::HandleKind<relayout_plan>::kNumber), plan(std::move(plan_)) {}
inline relayout_file::relayout_file(relayout::TensorFile file_)
    : Tagged(relayout::c::HandleKind<relayout_file>::kNumber), file(std::move(file_)) {}
