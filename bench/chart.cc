// The two charts.
#include "bench/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "relayout/show/svg.h"

namespace relayout::bench {
namespace {

using show::Anchor, show::kGrid, show::kInk, show::kPaper;
constexpr std::string_view kSoftInk = show::kFaint, kMet = "#2f6fb3", kMissed = "#d98032";

/// A drawing with the shapes of charts.
class Picture {
 public:
  Picture(double width, double height, std::string title) : drawing_(width, height, std::move(title)) {}

  void rectangle(double x, double y, double width, double height, std::string_view fill) {
    drawing_.add(show::Box{x, y, width, height, std::string(fill)});
  }
  void line(double x1, double y1, double x2, double y2, std::string_view stroke, double width = 1) {
    path(fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", x1, y1, x2, y2), stroke, "", width);
  }
  void text(double x, double y, std::string_view words, show::Anchor anchor = show::Anchor::start, double size = 11,
            std::string_view fill = show::kInk, bool is_bold = false) {
    drawing_.add(show::Words{x, y, std::string(words), size, std::string(fill), anchor, is_bold});
  }
  void upwards(double x, double y, std::string_view words) {
    drawing_.add(show::Words{
        .x = x, .y = y, .words = std::string(words), .size = 11, .anchor = show::Anchor::middle, .upwards = true});
  }
  void path(std::string_view points, std::string_view stroke, std::string_view dashes, double width) {
    drawing_.add(show::Line{.points = std::string(points),
                            .stroke = std::string(stroke),
                            .width = width,
                            .dashes = std::string(dashes),
                            .round = true});
  }
  /// One of four shapes: a circle, a diamond, a triangle, a square.
  void mark(double x, double y, int kind, std::string_view fill) {
    static constexpr std::string_view kShapes[] = {"m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", "m-4 0l4 -4l4 4l-4 4z",
                                                   "m0 -4l4 8h-8z", "m-3.5 -3.5h7v7h-7z"};
    drawing_.add(show::Line{.points = fmt::format("M{:.1f} {:.1f}{}", x, y, kShapes[kind % 4]),
                            .stroke = std::string(show::kPaper),
                            .width = 0.8,
                            .fill = std::string(fill)});
  }

  std::string done() const { return show::svg(drawing_); }

 private:
  show::Drawing drawing_;
};

std::string machine_text(const Json& report) {
  const Json& machine = report.at("machine");
  return fmt::format("{}, {} cores, {}, {}",
                     machine.at("processor").is_string() ? machine["processor"].get<std::string>() : "?",
                     machine.at("cores").get<int>(), machine.at("compiler").get<std::string>(),
                     machine.at("date").get<std::string>().substr(0, 10));
}

// Bars of the suite ---------------------------------------------------------------------------------------------------

constexpr std::string_view kPeerColours[] = {"#7a3e9d", "#c2406b", "#3d8f5f", "#8a6d3b"};

/// The cases to draw and what is beside them.
struct Bars {
  std::vector<const Json*> cases;
  std::vector<std::string> peers;
  double most = 0;  // the axis ends here

  Bars(const Json& suite, int threads) {
    static constexpr double kLeast = 3, kMost = 8;
    double largest = kLeast;
    std::set<std::string> names;
    for (const Json& result : suite.at("results")) {
      if (result.contains("error") || result.at("goal_of") != "ratio" || result.at("threads") != threads) continue;
      cases.push_back(&result);
      largest = std::max(largest, std::ceil(result.at("ratio").get<double>()));
      for (const Json& peer : result.value("competitors", Json::array())) {
        if (!peer.at("median_ns").is_null()) names.insert(peer.at("name").get<std::string>());
      }
    }
    peers.assign(names.begin(), names.end());
    most = std::min(largest, kMost);
  }
};

class SuiteChart {
 public:
  SuiteChart(const Json& suite, const Bars& bars, int threads)
      : suite_(suite), bars_(bars), picture_(kWidth, height(bars), "Time of conversions over that of a copy") {
    picture_.text(kMargin, 24,
                  fmt::format("Time of a conversion over that of a copy of as many bytes, {} thread{}", threads,
                              threads == 1 ? "" : "s"),
                  Anchor::start, 15, kInk, true);
    picture_.text(kMargin, 42, machine_text(suite), Anchor::start, 11, kSoftInk);
    legend();
    grid();
    rows();
  }

  std::string done() const { return picture_.done(); }

 private:
  static constexpr double kWidth = 1120, kMargin = 16, kLabels = 400, kPlot = 650, kTop = 96, kLine = 17, kHeading = 28,
                          kBottom = 44;

  static double height(const Bars& bars) {
    double out = kTop + kBottom;
    std::string row;
    for (const Json* one : bars.cases) {
      if (std::exchange(row, one->at("row").get<std::string>()) != one->at("row")) out += kHeading;
      out += kLine;
    }
    return out;
  }

  double x_of(double ratio) const { return kLabels + std::min(ratio, bars_.most) / bars_.most * kPlot; }

  void legend() {
    double x = kLabels;
    const double y = 64;
    const auto entry = [&](std::string_view words) {
      picture_.text(x + 12, y + 4, words);
      x += 30 + 6.6 * static_cast<double>(words.size());
    };
    picture_.rectangle(x - 6, y - 5, 14, 10, kMet);
    x += 4;
    entry("relayout, within its goal");
    picture_.rectangle(x - 6, y - 5, 14, 10, kMissed);
    x += 4;
    entry("above it");
    picture_.line(x, y - 7, x, y + 7, kInk, 2);
    entry("goal (docs/benchmarks.md)");
    for (std::size_t i = 0; i < bars_.peers.size(); ++i) {
      picture_.mark(x, y, static_cast<int>(i), kPeerColours[i % std::size(kPeerColours)]);
      entry(bars_.peers[i]);
    }
  }

  void grid() {
    const double bottom = height(bars_) - kBottom;
    for (double at = 0; at <= bars_.most; at += 1) {
      picture_.line(x_of(at), kTop - 4, x_of(at), bottom, at == 1 ? kSoftInk : kGrid, at == 1 ? 1.5 : 1);
      const std::string words = at == bars_.most ? fmt::format("{:g} and more", at) : fmt::format("{:g}", at);
      picture_.text(x_of(at), kTop - 9, words, Anchor::middle, 11, kSoftInk);
      picture_.text(x_of(at), bottom + 16, words, Anchor::middle, 11, kSoftInk);
    }
    picture_.text(x_of(bars_.most / 2), bottom + 34,
                  "time / time of the copy (the faster of memcpy and non-temporal stores, same run); less is better",
                  Anchor::middle, 11, kInk);
  }

  void rows() {
    double y = kTop;
    std::string row;
    for (const Json* one : bars_.cases) {
      if (std::exchange(row, one->at("row").get<std::string>()) != one->at("row")) {
        const std::string heading = row + ": " + title(row);
        picture_.rectangle(kLabels, y + kHeading - 20,
                           std::max(0.0, kMargin + 7.8 * static_cast<double>(heading.size()) - kLabels), 15, kPaper);
        picture_.text(kMargin, y + kHeading - 8, heading, Anchor::start, 12, kInk, true);
        y += kHeading;
      }
      bar(*one, y);
      y += kLine;
    }
  }

  std::string title(const std::string& row) const {
    for (const Json& one : suite_.at("rows")) {
      if (one.at("row") == row) return one.at("title").get<std::string>();
    }
    return "";
  }

  void bar(const Json& one, double y) {
    const auto ratio = one.at("ratio").get<double>();
    const bool met = one.at("met").get<bool>();
    picture_.text(kLabels - 8, y + 12, one.at("name").get<std::string>(), Anchor::end, 11);
    picture_.rectangle(kLabels, y + 2.5, x_of(ratio) - kLabels, kLine - 5, met ? kMet : kMissed);
    picture_.text(kLabels + 5, y + 12, fmt::format("{:.2f}", ratio), Anchor::start, 10, kPaper);
    const double goal = x_of(one.at("goal").get<double>());
    picture_.line(goal, y + 0.5, goal, y + kLine - 0.5, kInk, 2);
    for (const Json& peer : one.value("competitors", Json::array())) {
      if (peer.at("median_ns").is_null()) continue;
      const auto i = static_cast<std::size_t>(std::ranges::find(bars_.peers, peer.at("name").get<std::string>()) -
                                              bars_.peers.begin());
      // Marks that are beyond the scale stand side by side at its end.
      const auto ratio_of_peer = peer.at("ratio").get<double>();
      const double x =
          ratio_of_peer > bars_.most ? x_of(bars_.most) + 10 + 11 * static_cast<double>(i) : x_of(ratio_of_peer);
      picture_.mark(x, y + kLine / 2, static_cast<int>(i), kPeerColours[i % std::size(kPeerColours)]);
    }
  }

  const Json& suite_;
  const Bars& bars_;
  Picture picture_;
};

// Lines of the sweep --------------------------------------------------------------------------------------------------

constexpr double kPanelWidth = 540, kPanelHeight = 330, kPanelTop = 84;

/// One conversion: GB/s over the size of the source, in a frame.
class Panel {
 public:
  Panel(Picture& picture, double x, double y, const Json& sweep)
      : picture_(picture), left_(x + 52), top_(y + 26), sweep_(sweep) {
    for (const Json& point : sweep.at("points")) {
      most_ = std::max({most_, point.at("gbps").get<double>(), rate(point, "memcpy_ns"), rate(point, "nt_copy_ns")});
      last_ = std::max(last_, std::log2(point.at("src_bytes").get<double>()));
    }
    step_ = most_ > 120 ? 40 : most_ > 50 ? 20 : 10;
    most_ = std::ceil(most_ / step_) * step_;
    frame(x);
    curve("memcpy_ns", "#888888", "5 3", 1.5);
    curve("nt_copy_ns", "#444444", "2 2", 1.5);
    curve("median_ns", kMet, "", 2.4);
  }

 private:
  static constexpr double kPlotWidth = 460, kPlotHeight = 235, kFirst = 12;  // 2^12 is 4 KiB

  static double rate(const Json& point, const char* field) {
    return point.at(field).is_null() ? 0 : point.at("bytes").get<double>() / point.at(field).get<double>();
  }
  double x_of(double log_bytes) const { return left_ + (log_bytes - kFirst) / (last_ - kFirst) * kPlotWidth; }
  double y_of(double gbps) const { return top_ + kPlotHeight * (1 - gbps / most_); }

  void frame(double x) {
    picture_.text(left_, top_ - 9, sweep_.at("name").get<std::string>(), Anchor::start, 13, kInk, true);
    for (double at = 0; at <= most_; at += step_) {
      picture_.line(left_, y_of(at), left_ + kPlotWidth, y_of(at), at == 0 ? kSoftInk : kGrid);
      picture_.text(left_ - 6, y_of(at) + 4, fmt::format("{:g}", at), Anchor::end, 11, kSoftInk);
    }
    for (double at = kFirst; at <= last_; at += 2) {
      picture_.line(x_of(at), top_ + kPlotHeight, x_of(at), top_ + kPlotHeight + 4, kSoftInk);
      picture_.text(x_of(at), top_ + kPlotHeight + 17, bytes_text(int64_t{1} << static_cast<int>(at)), Anchor::middle,
                    9.5, kSoftInk);
    }
    picture_.text(left_ + kPlotWidth / 2, top_ + kPlotHeight + 34, "size of the source", Anchor::middle, 11);
    const double middle = top_ + kPlotHeight / 2;
    picture_.upwards(x + 12, middle, "GB/s, read + written");
  }

  void curve(const char* field, std::string_view stroke, std::string_view dashes, double width) {
    std::string points;
    for (const Json& point : sweep_.at("points")) {
      const double gbps = rate(point, field);
      if (gbps <= 0) continue;
      points += fmt::format("{}{:.1f} {:.1f}", points.empty() ? 'M' : 'L',
                            x_of(std::log2(point.at("src_bytes").get<double>())), y_of(gbps));
    }
    picture_.path(points, stroke, dashes, width);
  }

  Picture& picture_;
  double left_, top_;
  const Json& sweep_;
  double most_ = 1, last_ = kFirst + 1, step_ = 10;
};

}  // namespace

std::string suite_chart(const Json& suite, int threads) {
  if (!suite.is_object() || !suite.contains("results")) {
    throw Error(ErrorCode::invalid_argument, "chart: this is no report of the suite");
  }
  const Bars bars(suite, threads);
  if (bars.cases.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "chart: the report has no ratio on " + std::to_string(threads) + " thread(s)", "threads",
                std::to_string(threads));
  }
  return SuiteChart(suite, bars, threads).done();
}

std::string sweep_chart(const Json& report) {
  if (!report.is_object() || !report.contains("sweeps")) {
    throw Error(ErrorCode::invalid_argument, "chart: this is no report of a sweep");
  }
  const Json& sweeps = report.at("sweeps");
  const auto lines = static_cast<double>((sweeps.size() + 1) / 2);
  Picture picture(2 * kPanelWidth + 24, kPanelTop + lines * kPanelHeight, "Speed of conversions by size");
  int threads = 1;
  for (const Json& sweep : sweeps) {
    for (const Json& point : sweep.at("points")) threads = point.at("threads").get<int>();
  }
  picture.text(16, 24, fmt::format("Speed by size, {} thread{}", threads, threads == 1 ? "" : "s"), Anchor::start, 15,
               kInk, true);
  picture.text(16, 42, machine_text(report), Anchor::start, 11, kSoftInk);
  double x = 16;
  for (const auto& [words, stroke, dashes] :
       {std::tuple<std::string_view, std::string_view, std::string_view>{"relayout", kMet, ""},
        {"memcpy", "#888888", "5 3"},
        {"copy with non-temporal stores", "#444444", "2 2"}}) {
    picture.path(fmt::format("M{} 62h28", x), stroke, dashes, 2);
    picture.text(x + 34, 66, words);
    x += 60 + 7.0 * static_cast<double>(words.size());
  }
  for (std::size_t i = 0; i < sweeps.size(); ++i) {
    Panel(picture, 12 + static_cast<double>(i % 2) * kPanelWidth, kPanelTop + static_cast<double>(i / 2) * kPanelHeight,
          sweeps[i]);
  }
  return picture.done();
}

}  // namespace relayout::bench
