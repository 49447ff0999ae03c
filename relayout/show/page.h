// The script and the style of pages, from the files in page/, and the SHA-256 of each in hexadecimal digits.
#pragma once

#include <span>
#include <string_view>

namespace relayout::show {

/// The core in WebAssembly, compressed by gzip, which page/typed.js reads texts by; nothing where the library was built
/// without emscripten (wasm/).
std::span<const unsigned char> packed_core();

extern const std::string_view kPageScript, kPageStyle, kPageScriptHash, kPageStyleHash;
/// Those of pages of plans.
extern const std::string_view kPlanScript, kPlanStyle, kPlanScriptHash, kPlanStyleHash;

}  // namespace relayout::show
