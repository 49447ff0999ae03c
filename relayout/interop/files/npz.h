// What reading and writing .npz archives share: the errors, and the ending of members' names (internal to
// interop/files).
#pragma once

#include <string>
#include <string_view>

#include "relayout/core/error.h"

#if RELAYOUT_HAVE_ZIP
#include <zip.h>

namespace relayout {

/// Of the names of members that are .npy files.
constexpr std::string_view kNpzSuffix = ".npy";

[[noreturn]] inline void fail_archive(ErrorCode code, const std::string& what, std::string value = {},
                                      std::string limit = {}) {
  throw Error(code, "npz: " + what, "member", std::move(value), std::move(limit));
}

/// The text of an error, which ends with it.
inline std::string zip_message(zip_error_t* error) {
  std::string text = zip_error_strerror(error);
  zip_error_fini(error);
  return text;
}

}  // namespace relayout
#endif
