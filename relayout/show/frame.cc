// The frame of pages.
#include "relayout/show/frame.h"

#include <vector>

#include "relayout/show/escape.h"

namespace relayout::show {
namespace {

/// "sha256-...": a hash, given in hexadecimal digits, as policies of pages write it.
std::string source_hash(std::string_view hex) {
  const auto value = [](char ch) { return static_cast<unsigned>(ch <= '9' ? ch - '0' : ch - 'a' + 10); };
  std::vector<unsigned char> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<unsigned char>(value(hex[i]) << 4 | value(hex[i + 1])));
  return "'sha256-" + base64(bytes) + "'";
}

}  // namespace

std::string base64(std::span<const unsigned char> bytes) {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve(bytes.size() / 3 * 4 + 4);
  unsigned bits = 0, held = 0;
  for (const unsigned char byte : bytes) {
    held = held << 8 | byte;
    for (bits += 8; bits >= 6;) out += kDigits[held >> (bits -= 6) & 63];
  }
  if (bits > 0) out += kDigits[held << (6 - bits) & 63];
  out.append((4 - out.size() % 4) % 4, '=');
  return out;
}

std::string framed(std::string_view title, std::string_view picture, std::string_view json, const PageTexts& texts,
                   std::string_view core) {
  std::string out = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  out += "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src " +
         source_hash(texts.script_hash) + (core.empty() ? "" : " 'wasm-unsafe-eval'") + "; style-src " +
         source_hash(texts.style_hash) + "; base-uri 'none'; form-action 'none'\">\n";
  out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  out += "<meta name=\"color-scheme\" content=\"light dark\">\n<title>" + xml_escaped(title) + "</title>\n";
  out += "<style>" + std::string(texts.style) + "</style>\n</head>\n<body>\n<noscript>\n" + std::string(picture) +
         "</noscript>\n";
  out += "<script type=\"application/json\" id=\"scene\">" + std::string(json) + "</script>\n";
  if (!core.empty()) out += "<script type=\"text/plain\" id=\"core\">" + std::string(core) + "</script>\n";
  return out + "<script>" + std::string(texts.script) + "</script>\n</body>\n</html>\n";
}

}  // namespace relayout::show
