// SVG: one function a kind of shape.
#include "relayout/show/svg.h"

#include <algorithm>
#include <cmath>

#include "relayout/core/error.h"
#include "relayout/show/escape.h"

namespace relayout::show {
namespace {

constexpr std::string_view kMono = "ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace";
constexpr std::string_view kSans = "system-ui,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif";
// Lines of hatching are so far apart.
constexpr double kHatch = 8;

/// ` name="value"`.
std::string attribute(std::string_view name, std::string_view value) {
  return " " + std::string(name) + "=\"" + xml_escaped(value) + "\"";
}

std::string attribute(std::string_view name, double value) {
  if (!std::isfinite(value)) {
    throw Error(ErrorCode::invalid_argument, "svg: " + std::string(name) + " is not a finite number", std::string(name),
                std::to_string(value));
  }
  return attribute(name, point(value));
}

/// Colours and lengths in turn; "" where there are none.
std::string optional(std::string_view name, std::string_view value) {
  return value.empty() ? "" : attribute(name, value);
}

void check_signs(std::string_view text, std::string_view allowed, std::string_view what) {
  const std::size_t at = text.find_first_not_of(allowed);
  if (at == std::string_view::npos) return;
  throw Error(ErrorCode::invalid_argument,
              "svg: " + std::string(what) + " \"" + escaped(text) + "\" has the sign '" + escaped(text.substr(at, 1)) +
                  "'; it has " + std::string(allowed),
              std::string(what), escaped(text));
}

class Writer {
 public:
  explicit Writer(const Drawing& drawing) : drawing_(drawing) {}

  std::string text() {
    for (const Shape& shape : drawing_.shapes()) std::visit(*this, shape);
    while (open_ > 0) (*this)(Ended{});
    const double width = drawing_.width(), height = drawing_.height();
    std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", width) +
                      attribute("height", height) + attribute("viewBox", "0 0 " + point(width) + " " + point(height)) +
                      attribute("font-family", drawing_.mono() ? kMono : kSans) + " role=\"img\"" +
                      attribute("aria-label", drawing_.title()) + ">\n";
    if (arrows_) {
      out +=
          "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"6\" "
          "markerHeight=\"6\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\"" +
          attribute("fill", paper_colour(kInk)) + "/></marker></defs>\n";
    }
    return out + "<rect x=\"0\" y=\"0\"" + attribute("width", width) + attribute("height", height) + " rx=\"8\"" +
           attribute("fill", paper_colour(kPaper)) + "/>\n" + body_ + "</svg>\n";
  }

  void operator()(const Box& box) {
    check_signs(box.dashes, "0123456789. ", "dashes");
    body_ += "<rect" + place(box.x, box.y) + attribute("width", box.width) + attribute("height", box.height) +
             (box.radius > 0 ? attribute("rx", box.radius) : "") + attribute("fill", paper_colour(box.fill)) +
             stroke(box.stroke, box.stroke_width) + optional("stroke-dasharray", box.dashes) + "/>";
    if (box.hatched) hatch(box);
    end();
  }

  void operator()(const Words& words) {
    static constexpr std::string_view kAnchors[] = {"start", "middle", "end"};
    const std::string_view anchor = kAnchors[static_cast<std::size_t>(words.anchor)];
    body_ +=
        "<text" + place(words.x, words.y) + attribute("font-size", words.size) +
        attribute("fill", paper_colour(words.fill)) +
        (words.anchor == Anchor::start ? "" : attribute("text-anchor", anchor)) +
        (words.bold ? " font-weight=\"bold\"" : "") +
        (words.mono && !drawing_.mono() ? attribute("font-family", kMono) : "") +
        (words.upwards ? attribute("transform", "rotate(-90 " + point(words.x) + " " + point(words.y) + ")") : "") +
        ">" + xml_escaped(words.words) + "</text>";
    end();
  }

  void operator()(const Line& line) {
    check_signs(line.points, "MmLlHhVvCcSsQqTtAaZz0123456789.,- e", "points");
    check_signs(line.dashes, "0123456789. ", "dashes");
    arrows_ |= line.arrow;
    body_ += "<path" + attribute("d", line.points) + attribute("fill", paper_colour(line.fill)) +
             stroke(line.stroke, line.width) + optional("stroke-dasharray", line.dashes) +
             (line.round ? " stroke-linecap=\"round\" stroke-linejoin=\"round\"" : "") +
             (line.square ? " stroke-linecap=\"square\"" : "") + (line.arrow ? " marker-end=\"url(#arrow)\"" : "") +
             (line.opacity < 1 ? attribute("stroke-opacity", line.opacity) : "") + "/>";
    end();
  }

  void operator()(const Titled& titled) {
    body_ += "<g><title>" + xml_escaped(titled.title) + "</title>";
    ++open_;
  }

  void operator()(Ended) {
    if (open_ == 0) throw Error(ErrorCode::invalid_argument, "svg: the drawing ends a title that has not begun");
    --open_;
    body_ += "</g>";
    end();
  }

 private:
  static std::string place(double x, double y) { return attribute("x", x) + attribute("y", y); }

  static std::string stroke(std::string_view colour, double width) {
    if (colour.empty()) return "";
    return attribute("stroke", paper_colour(colour)) + (width == 1 ? "" : attribute("stroke-width", width));
  }

  /// Lines from the lower left to the upper right. A pattern would need a name, which must differ from those of other
  /// pictures in the same page.
  void hatch(const Box& box) {
    std::string path;
    for (double at = 2 - std::floor(box.height / kHatch) * kHatch; at < box.width - 1; at += kHatch) {
      const double left = std::max(at, 0.0), right = std::min(at + box.height, box.width);
      path += "M" + point(box.x + left) + " " + point(box.y + box.height + at - left) + "L" + point(box.x + right) +
              " " + point(box.y + box.height + at - right);
    }
    body_ += "<path" + attribute("d", path) + attribute("stroke", paper_colour(kRule)) + " fill=\"none\"/>";
  }

  /// A line each for what is not inside a title.
  void end() {
    if (open_ == 0) body_ += "\n";
  }

  const Drawing& drawing_;
  std::string body_;
  int open_ = 0;
  bool arrows_ = false;
};

}  // namespace

std::string svg(const Drawing& drawing) { return Writer(drawing).text(); }

}  // namespace relayout::show
