// Draws the bar in place and erases it at the end.
#include "tools/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "tools/common.h"

namespace relayout::tools {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

Progress::Progress(std::string label)
    : label_(std::move(label)),
      terminal_(isatty(STDERR_FILENO) == 1),
      colour_(colour_allowed(STDERR_FILENO)),
      next_(steady_clock::now() + milliseconds(500)) {}

void Progress::update(double done, double total) {
  const auto now = steady_clock::now();
  if (!terminal_ || now < next_) return;
  next_ = now + milliseconds(100);
  drawn_ = true;
  static constexpr int kWidth = 40;
  const double part = total > 0 ? std::clamp(done / total, 0.0, 1.0) : 1.0;
  const int full = static_cast<int>(part * kWidth);
  const std::string bar = std::string(static_cast<std::size_t>(full), '#');
  fmt::print(stderr, "\r{} [{}{}{}{}] {:3.0f}%", label_, colour_ ? "\x1b[32m" : "", bar, colour_ ? "\x1b[0m" : "",
             std::string(static_cast<std::size_t>(kWidth - full), ' '), part * 100);
  std::fflush(stderr);
}

Progress::~Progress() {
  if (!drawn_) return;
  fmt::print(stderr, "\r{}\r", std::string(label_.size() + 50, ' '));
  std::fflush(stderr);
}

}  // namespace relayout::tools
