// Draws the bar in place and erases it at the end.
#include "tools/command/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tools/command/words.h"

namespace relayout::tools {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

double done_share(double done, double total) { return total > 0 ? std::clamp(done / total, 0.0, 1.0) : 1.0; }

/// "40 s", "3 min 20 s", "2 h 5 min".
std::string duration_text(double seconds) {
  constexpr int64_t kMost = 100 * 3600;
  const auto whole = static_cast<int64_t>(std::min(std::ceil(seconds), static_cast<double>(kMost)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace

std::string bytes_progress_text(double done, double total, double seconds) {
  std::string out =
      fmt::format("{:.0f} % of {}", std::floor(done_share(done, total) * 100), size_text(static_cast<int64_t>(total)));
  if (done <= 0 || seconds <= 0) return out;
  const double rate = done / seconds;
  out += fmt::format(", {}/s", size_text(static_cast<int64_t>(rate)));
  if (total > done) out += fmt::format(", {} left", duration_text((total - done) / rate));
  return out;
}

Progress::Progress(std::string label, ProgressUnit unit)
    : label_(std::move(label)),
      unit_(unit),
      terminal_(isatty(STDERR_FILENO) == 1),
      colour_(colour_allowed(STDERR_FILENO)),
      start_(steady_clock::now()),
      next_(start_ + milliseconds(terminal_ ? 500 : 5000)) {}

std::string Progress::rate_text(double done, double total) const {
  return bytes_progress_text(done, total, std::chrono::duration<double>(steady_clock::now() - start_).count());
}

void Progress::update(double done, double total) {
  const auto now = steady_clock::now();
  if (now < next_) return;
  if (!terminal_) {
    if (unit_ == ProgressUnit::bytes) fmt::print(stderr, "{}: {}\n", label_, rate_text(done, total));
    next_ = now + milliseconds(5000);
    return;
  }
  next_ = now + milliseconds(100);
  static constexpr int kWidth = 30;
  const double part = done_share(done, total);
  const auto full = static_cast<std::size_t>(part * kWidth);
  const std::string behind =
      unit_ == ProgressUnit::bytes ? rate_text(done, total) : fmt::format("{:3.0f}%", part * 100);
  fmt::print(stderr, "\r{} [{}{}{}{}] {}", label_, colour_ ? "\x1b[32m" : "", std::string(full, '#'),
             colour_ ? "\x1b[0m" : "", std::string(kWidth - full, ' '), behind);
  // What the last text had more is erased.
  const std::size_t columns = label_.size() + kWidth + behind.size();
  if (columns < drawn_) fmt::print(stderr, "{}", std::string(drawn_ - columns, ' '));
  drawn_ = columns;
  std::fflush(stderr);
}

Progress::~Progress() {
  if (drawn_ == 0) return;
  constexpr std::size_t kFrame = 4;  // the blanks and brackets around the bar
  fmt::print(stderr, "\r{}\r", std::string(drawn_ + kFrame, ' '));
  std::fflush(stderr);
}

}  // namespace relayout::tools
