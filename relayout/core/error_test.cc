// Foreign text in messages: what stays as it is, and what is escaped.
#include "relayout/core/error.h"

#include <gtest/gtest.h>

#include <string>

#include "relayout/core/extents.h"
#include "tests/support/testing.h"

namespace relayout {
namespace {

TEST(Escaped, Utf8StaysAsItIs) {
  for (const char* text :
       {"weights", "Gr\u00f6\u00dfe", "\u91cd\u307f", "\u03b1/\u03b2", "\U0001f642", "na\u00efve.npy", " ~"})
    EXPECT_EQ(escaped(text), text);
}

TEST(Escaped, WhatATerminalActsOnAndWhatIsNoUtf8) {
  EXPECT_EQ(escaped("a\x1b[31m\n\x7f"), "a\\x1b[31m\\x0a\\x7f");
  EXPECT_EQ(escaped("\\\""), "\\x5c\\x22");
  EXPECT_EQ(escaped("\u0085"), "\\xc2\\x85") << "a control of Latin-1";
  EXPECT_EQ(escaped("\u202e"), "\\xe2\\x80\\xae") << "from here on from right to left";
  EXPECT_EQ(escaped("\u200b\ufeff"), "\\xe2\\x80\\x8b\\xef\\xbb\\xbf");
  EXPECT_EQ(escaped("\xff"), "\\xff");
  EXPECT_EQ(escaped("\xc3"), "\\xc3") << "cut off";
  EXPECT_EQ(escaped("\xc3("), "\\xc3(");
  EXPECT_EQ(escaped("\xc0\xaf"), "\\xc0\\xaf") << "longer than it needs to be";
  EXPECT_EQ(escaped("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");
  EXPECT_EQ(escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a pair of UTF-16";
  EXPECT_EQ(escaped("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond Unicode";
  EXPECT_EQ(escaped(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(Escaped, IsCutBetweenCharacters) {
  EXPECT_EQ(escaped("\u00f6\u00f6\u00f6", 2), "\u00f6\u00f6...");
  EXPECT_EQ(escaped("abc", 3), "abc");
  EXPECT_EQ(escaped("\x01\x02", 3), "\\x01...");
}

TEST(Characters, AreCounted) {
  EXPECT_EQ(characters(""), 0u);
  EXPECT_EQ(characters("Gr\u00f6\u00dfe"), 5u);
  EXPECT_EQ(characters("\u91cd\u307f"), 2u);
}

TEST(ParseDims, CommasOrTimes) {
  EXPECT_EQ(parse_dims("2x3"), Dims({2, 3}));
  EXPECT_EQ(parse_dims("2,3"), Dims({2, 3}));
  EXPECT_EQ(parse_dims("7"), Dims({7}));
  EXPECT_EQ(parse_dims("-1x4"), Dims({-1, 4}));
  EXPECT_EQ(parse_dims("(1, 32, 5, 4)"), Dims({1, 32, 5, 4}));
  EXPECT_EQ(parse_dims(" [2,3] "), Dims({2, 3}));
  EXPECT_EQ(parse_dims("()"), Dims());
  for (const char* text : {"2x3,4", "2,3x4", "2x", "x2", "2xx3", "2X3", "x"})
    EXPECT_EQ(test::code_of([&] { parse_dims(text); }), ErrorCode::parse) << text;
  EXPECT_EQ(test::error_of([] { parse_dims("2x3xa"); }).field(), "dims[2]");
}

}  // namespace
}  // namespace relayout
