// The frame of HTML round a script, a style and the data that the script reads: what all pages have in common.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace relayout::show {

/// A script and a style of the library, and the SHA-256 of each in hexadecimal digits.
struct PageTexts {
  std::string_view script, style, script_hash, style_hash;
};

/// Bytes as text, four letters for three.
std::string base64(std::span<const unsigned char> bytes);

/// One file with all inside. `picture`, SVG, is what is seen without scripts; `json` is safe inside a <script>, as
/// json_quoted() makes its texts. The policy in the page's head (CSP) allows these texts alone, by their hashes, and
/// with a `core` WebAssembly too: base64() of packed_core(), which the script finds as the element "core".
std::string framed(std::string_view title, std::string_view picture, std::string_view json, const PageTexts& texts,
                   std::string_view core = {});

}  // namespace relayout::show
