// The colours of drawings, and numbers of paths.
#include "relayout/show/drawing.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "relayout/core/error.h"

namespace relayout::show {
namespace {

struct Known {
  std::string_view role, colour;
};

constexpr std::array<Known, 7> kRoles = {{{kInk, "#1f2328"},
                                          {kFaint, "#57606a"},
                                          {kGrid, "#d0d7de"},
                                          {kPaper, "#ffffff"},
                                          {kPlain, "#dfe8f3"},
                                          {kPadding, "#f6f8fa"},
                                          {kRule, "#8c959f"}}};
// Paul Tol's light scheme, which colour-blind people see apart; dark letters can be read on each.
constexpr std::array<std::string_view, kSeries> kColours = {"#77aadd", "#eedd88", "#44bb99", "#ffaabb",
                                                            "#99ddff", "#ee8866", "#bbcc33", "#cfcf9a"};
constexpr std::string_view kSeriesName = "series";

bool is_number(std::string_view colour) {
  return colour.size() == 7 && colour[0] == '#' &&
         colour.find_first_not_of("0123456789abcdefABCDEF", 1) == std::string_view::npos;
}

}  // namespace

std::string series(int64_t n) { return std::string(kSeriesName) + std::to_string(n % kSeries); }

std::string_view paper_colour(std::string_view colour) {
  if (colour.empty()) return "none";
  if (is_number(colour)) return colour;
  const auto* const known = std::ranges::find(kRoles, colour, &Known::role);
  if (known != kRoles.end()) return known->colour;
  if (colour.size() == kSeriesName.size() + 1 && colour.starts_with(kSeriesName)) {
    const int n = colour.back() - '0';
    if (n >= 0 && n < kSeries) return kColours[static_cast<std::size_t>(n)];
  }
  throw Error(ErrorCode::invalid_argument,
              "drawing: \"" + escaped(colour) +
                  "\" is no colour; it is ink, faint, grid, paper, plain, padding, rule, "
                  "series0 to series7 or #rrggbb",
              "colour", escaped(colour));
}

std::string point(double value) {
  std::array<char, 32> text{};
  const double rounded = std::round(value * 100) / 100;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), rounded == 0 ? 0.0 : rounded).ptr;
  return {text.data(), end};
}

}  // namespace relayout::show
