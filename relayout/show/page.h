// The script and the style of pages, from the files in page/, and the SHA-256 of each in hexadecimal digits.
#pragma once

#include <string_view>

namespace relayout::show {

extern const std::string_view kPageScript, kPageStyle, kPageScriptHash, kPageStyleHash;

}  // namespace relayout::show
