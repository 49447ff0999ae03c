// Signals that end the command. Ctrl-C, SIGTERM, SIGHUP and SIGQUIT end it with the exit code 130. The SIGBUS that
// comes where another process shortens a mapped file ends it as an error of that file, exit code 4. No signal leaves a
// file.
#pragma once

#include <csignal>
#include <cstddef>
#include <span>
#include <string>

namespace relayout::tools {

/// Signals that were ignored when the command started (nohup) stay ignored. SIGPIPE gets its
/// default, so that a closed pipe ends the command quietly; SIGXFSZ is ignored, so that a file over the
/// limit is an error as any other.
void install_interrupt_handlers();
/// An interrupt that ends the command says so on standard error; from now on as the JSON of an error.
void interrupts_as_json();
/// What is said, as text or as JSON, if the file that is mapped here is shortened. Called while no other thread reads
/// mapped files.
void name_source(std::span<const std::byte> mapped, std::string line, std::string json_line);

/// While it lives, an interrupt unlinks the file it names. One at a time. Signals are held back from
/// construction until watch() has said which file that is, so no moment is left without cleanup.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// Names the file ("" for none) and lets signals through again. A path over PATH_MAX is not watched.
  void watch(const std::string& path);

 private:
  sigset_t previous_mask_;
  bool held_ = true;
};

/// While it lives, the first SIGINT does not end the command: it is a request to stop with what there is so far. The
/// second one ends it. One at a time, and not while an InterruptGuard watches a file.
class InterruptRequest {
 public:
  InterruptRequest();
  ~InterruptRequest();
  InterruptRequest(const InterruptRequest&) = delete;
  InterruptRequest& operator=(const InterruptRequest&) = delete;

  bool asked() const;
};

}  // namespace relayout::tools
