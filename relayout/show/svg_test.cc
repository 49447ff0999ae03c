// Drawings as SVG: every shape, what is refused, and what lies inside a title.
#include "relayout/show/svg.h"

#include <gtest/gtest.h>

#include <limits>

#include "relayout/core/error.h"
#include "relayout/core/format.h"
#include "relayout/show/memory_drawing.h"

namespace relayout::show {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t out = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++out;
  return out;
}

TEST(Svg, WritesEachShapeAndEscapesItsWords) {
  Drawing drawing(100, 50.5, "a <title>");
  drawing.add(Titled{"<hint>"});
  drawing.add(Box{.x = 1, .y = 2, .width = 20, .height = 10, .fill = series(9), .hatched = true});
  drawing.add(Ended{});
  drawing.add(Words{.x = 3.456, .y = 4, .words = "</svg>&", .anchor = Anchor::middle});
  drawing.add(Line{.points = "M0 0L5 5", .arrow = true});
  const std::string text = svg(drawing);
  EXPECT_TRUE(text.starts_with("<svg ") && text.ends_with("</svg>\n"));
  EXPECT_EQ(count(text, "</svg>"), 1U);
  EXPECT_NE(text.find("aria-label=\"a &lt;title&gt;\""), std::string::npos);
  EXPECT_NE(text.find("<g><title>&lt;hint&gt;</title><rect x=\"1\" y=\"2\""), std::string::npos);
  EXPECT_NE(text.find("fill=\"" + std::string(paper_colour("series1")) + "\""), std::string::npos);
  EXPECT_NE(text.find("x=\"3.46\""), std::string::npos);
  EXPECT_NE(text.find(">&lt;/svg&gt;&amp;</text>"), std::string::npos);
  EXPECT_EQ(count(text, "<marker "), 1U);
  EXPECT_EQ(count(text, "<g>"), count(text, "</g>"));
}

TEST(Svg, RefusesWhatIsNoDrawing) {
  const auto refuses = [](const Shape& shape, const std::string& why) {
    Drawing drawing(10, 10, "");
    drawing.add(shape);
    try {
      svg(drawing);
      ADD_FAILURE() << why;
    } catch (const Error& error) {
      EXPECT_NE(error.message().find(why), std::string::npos) << error.message();
    }
  };
  refuses(Box{.fill = "url(#x)"}, "\"url(#x)\" is no colour");
  refuses(Box{.fill = "series8"}, "is no colour");
  refuses(Line{.points = "M0 0\" onload=\"x"}, "has the sign");
  refuses(Box{.dashes = "2;3"}, "has the sign ';'");
  refuses(Box{.x = std::numeric_limits<double>::infinity()}, "x is not a finite number");
  refuses(Ended{}, "ends a title that has not begun");
}

TEST(Svg, OfMemoryHasATitleForEachOffset) {
  const Layout layout = Format::parse("nChw16c").bind({1, 17, 1, 2});
  const std::string text = svg(memory_drawing(layout, "nchw", "nChw16c  1x17x1x2"));
  EXPECT_EQ(count(text, "<g><title>offset "), 64U);
  EXPECT_EQ(count(text, ": padding n = 0, c = "), 30U);
  EXPECT_NE(text.find("<title>offset 32: element n = 0, c = 16, h = 0, w = 0</title>"), std::string::npos);
  EXPECT_NE(text.find(">a block of 16c</text>"), std::string::npos);
}

}  // namespace
}  // namespace relayout::show
