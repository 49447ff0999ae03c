// Text from anywhere in SVG, HTML and JSON.
#include "relayout/show/escape.h"

#include <gtest/gtest.h>

namespace relayout::show {
namespace {

TEST(Escape, XmlHasNoMarksOfItsOwn) {
  EXPECT_EQ(xml_escaped("<b a=\"x\">&'"), "&lt;b a=&quot;x&quot;&gt;&amp;'");
  EXPECT_EQ(xml_escaped("caf\xC3\xA9\n"), "caf\xC3\xA9\n");
}

TEST(Escape, JsonCannotEndAScript) {
  EXPECT_EQ(json_quoted("</script>\"\\\x01"), "\"\\u003c/script\\u003e\\\"\\\\\\u0001\"");
  EXPECT_EQ(json_quoted("<!--&"), "\"\\u003c!--\\u0026\"");
}

TEST(Escape, WhatIsNoUtf8IsReplaced) {
  // A lone continuation, a long form of '/', half of UTF-16, a character cut off, and one beyond Unicode.
  for (const std::string wrong : {"\x80", "\xC0\xAF", "\xED\xA0\x80", "\xE2\x82", "\xF5\x80\x80\x80"}) {
    for (const std::string& out : {xml_escaped("a" + wrong + "<"), json_quoted("a" + wrong + "<")}) {
      EXPECT_NE(out.find("\xEF\xBF\xBD"), std::string::npos);
      EXPECT_EQ(out.find('<'), std::string::npos);
      for (const char ch : wrong.substr(0, 1)) EXPECT_EQ(out.find(std::string("a") + ch), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace relayout::show
