// Drawing: shapes at places, coloured by what they are; svg.h writes one down.
//
//     Drawing drawing(200, 60, "two cells");
//     drawing.add(Box{.x = 10, .y = 10, .width = 40, .height = 24, .fill = series(0)});
//     drawing.add(Words{.x = 30, .y = 26, .words = "0,1", .anchor = Anchor::middle});
//
// Everything is in pixels, y grows downwards, and what is added later lies on top. A colour is the name of a role,
// which the writer knows a colour for, or "#rrggbb" where a figure needs one of its own; "" paints nothing. Words are
// any text: the writer escapes them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "relayout/cxx20.h"

namespace relayout::show {

/// The roles: letters and frames; what stands back; lines of a scale; behind everything; a cell without a colour of its
/// own; padding; an edge of padding or of a gap.
inline constexpr std::string_view kInk = "ink", kFaint = "faint", kGrid = "grid", kPaper = "paper", kPlain = "plain",
                                  kPadding = "padding", kRule = "rule";
/// How many colours there are for things that are counted, and the role of number n % kSeries.
inline constexpr int kSeries = 8;
std::string series(int64_t n);
/// What a colour is on paper: "#rrggbb", or "none". Error{invalid_argument} where it is no role and no such number.
std::string_view paper_colour(std::string_view colour);

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
  std::string fill = "", stroke = "";
  double stroke_width = 1;
  std::string dashes = "";  // lengths in turn, "2 3"; solid where it is empty
  bool hatched = false;
  double radius = 0;
};

enum class Anchor : uint8_t { start, middle, end };

struct Words {
  double x = 0, y = 0;  // of the base line, at the anchor
  std::string words = "";
  double size = 12;
  std::string fill = std::string(kInk);
  Anchor anchor = Anchor::start;
  bool bold = false, mono = false;
  bool upwards = false;  // turned by a quarter, about (x, y)
};

/// A path in SVG's own language of points, "M0 0L10 5", which holds letters, numbers, blanks and commas alone.
struct Line {
  std::string points = "";
  std::string stroke = std::string(kInk);
  double width = 1;
  std::string fill = "", dashes = "";
  bool round = false, square = false;  // the ends
  bool arrow = false;                  // at the last point
  double opacity = 1;
};

/// What is added until the Ended of it belongs together and has a title, which browsers show at the pointer.
struct Titled {
  std::string title;
};
struct Ended {};

using Shape = std::variant<Box, Words, Line, Titled, Ended>;

class Drawing {
 public:
  /// `title` says what is drawn to those who do not see it. `mono`: letters are all as wide, unless Words say more.
  Drawing(double width, double height, std::string title, bool mono = false)
      : width_(width), height_(height), title_(std::move(title)), mono_(mono) {}

  void add(Shape shape) { shapes_.push_back(std::move(shape)); }
  void resize(double width, double height) { width_ = width, height_ = height; }

  double width() const { return width_; }
  double height() const { return height_; }
  const std::string& title() const { return title_; }
  bool mono() const { return mono_; }
  const std::vector<Shape>& shapes() const { return shapes_; }

 private:
  double width_, height_;
  std::string title_;
  bool mono_;
  std::vector<Shape> shapes_;
};

/// A number for Line::points: two decimals, without zeros at the end.
std::string point(double value);

}  // namespace relayout::show
