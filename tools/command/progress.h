// How far long work is, on standard error: a bar where that is a terminal, and elsewhere, if asked for, a line every
// few seconds.
#pragma once

#include <chrono>
#include <string>

namespace relayout::tools {

/// What is done of how much.
enum class ProgressUnit {
  parts,  // just the share
  bytes,  // how many bytes, how many a second, and the seconds that are left, too
};

class Progress {
 public:
  /// Nothing is shown in the first half second, nor where standard error is no terminal, but for bytes: then a line is
  /// written every five seconds.
  explicit Progress(std::string label, ProgressUnit unit = ProgressUnit::parts);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `done` of `total` parts are done. Cheap: draws ten times a second at most.
  void update(double done, double total);

 private:
  std::string rate_text(double done, double total) const;

  std::string label_;
  ProgressUnit unit_;
  bool terminal_ = false, colour_ = false;
  std::size_t drawn_ = 0;  // columns of the bar
  std::chrono::steady_clock::time_point start_, next_;
};

/// "12 % of 4.0 GB, 810 MB/s, 4 s left": the bytes that are done after so many seconds.
std::string bytes_progress_text(double done, double total, double seconds);

}  // namespace relayout::tools
