// The last error of each thread in C.
#include "c/handles.h"

namespace relayout::c {
namespace {

thread_local ErrorTexts last_error;

}  // namespace

void set_error(const ErrorTexts& error) noexcept { last_error = error; }

}  // namespace relayout::c

namespace c = relayout::c;

extern "C" {

const char* relayout_error_message(void) { return c::last_error.message.text; }
const char* relayout_error_field(void) { return c::last_error.field.text; }
const char* relayout_error_value(void) { return c::last_error.value.text; }
const char* relayout_error_limit(void) { return c::last_error.limit.text; }

void relayout_error_set(const char* message, const char* field, const char* value, const char* limit) {
  const auto text = [](const char* from) { return std::string_view(from == nullptr ? "" : from); };
  c::set_error(c::ErrorTexts(text(message), text(field), text(value), text(limit)));
}

}  // extern "C"
