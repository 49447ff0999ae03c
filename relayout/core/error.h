// Errors: one exception type with a code, for the whole library.
//
// A message names the operation, the offending value and what was allowed. The same facts are kept
// apart (`field`, `value`, `limit`), so that a program can act on them without reading the message, and can show them
// in its own words.
//
//     throw Error(ErrorCode::overflow, "layout: elements of dims 4611686018427387904x4 overflow int64",
//                 "dims[0]", "4611686018427387904", "9223372036854775807");
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "relayout/cxx20.h"

namespace relayout {

enum class ErrorCode {
  invalid_argument,  // the caller asked for something that has no meaning
  parse,             // a text (tag, layout expression, number) is malformed
  overflow,          // a size does not fit 64 bits
  needs_copy,        // a view does not exist; only a reorder can do it
  not_injective,     // a destination in which two indices share an element
  buffer_too_small,  // need and have are in value and limit
  overlap,           // source and destination share memory
  corrupt,           // a file contradicts itself or its format
  io,                // the operating system refused
  limit,             // over a configurable limit
  unsupported,       // well-formed, but this build or system cannot do it
  internal,          // a broken invariant: a bug
  interrupted,       // the caller asked to stop before there was a result
};

/// The code's name as printed in JSON, e.g. "buffer_too_small".
std::string_view name(ErrorCode code);

/// The one exception type of the library.
class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message, std::string field = {}, std::string value = {}, std::string limit = {})
      : code_(code),
        message_(std::move(message)),
        field_(std::move(field)),
        value_(std::move(value)),
        limit_(std::move(limit)) {}

  const char* what() const noexcept override { return message_.c_str(); }
  ErrorCode code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }
  /// What was wrong, e.g. "dims[1]"; empty where the message says it all.
  const std::string& field() const noexcept { return field_; }
  /// The offending value, escaped where it came from outside.
  const std::string& value() const noexcept { return value_; }
  /// What was allowed.
  const std::string& limit() const noexcept { return limit_; }

 private:
  ErrorCode code_;
  std::string message_, field_, value_, limit_;
};

/// `text` made safe to show, and cut at `max_chars` characters with "...". For text that came from a file or a command
/// line. UTF-8 stays as it is, but quotes, backslashes, bytes that are no UTF-8, and characters that a terminal acts on
/// or does not show (controls, separators of lines, marks of the direction of writing) become \xNN of their bytes.
std::string escaped(std::string_view text, std::size_t max_chars = 64);

/// How many characters a text of UTF-8 has, which is what carets and columns of a table are set by.
std::size_t characters(std::string_view text);

}  // namespace relayout
