// A progress bar for long work, on standard error and only where that is a terminal.
#pragma once

#include <chrono>
#include <string>

namespace relayout::tools {

class Progress {
 public:
  /// Nothing is shown in the first half second, nor ever where standard error is no terminal.
  explicit Progress(std::string label);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `done` of `total` parts are done. Cheap: draws ten times a second at most.
  void update(double done, double total);

 private:
  std::string label_;
  bool terminal_ = false, colour_ = false, drawn_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace relayout::tools
