// Text from anywhere, as names in files, made safe for SVG, HTML and JSON.
#pragma once

#include <string>
#include <string_view>

namespace relayout::show {

/// What XML and HTML take for marks, written as entities. Controls other than line ends and tabs, and bytes that are no
/// UTF-8, become U+FFFD.
std::string xml_escaped(std::string_view text);

/// The text in quotes, as JSON that may stand inside a <script> of HTML: '<', '>' and '&' are written as numbers, and
/// bytes that are no UTF-8 become U+FFFD.
std::string json_quoted(std::string_view text);

}  // namespace relayout::show
