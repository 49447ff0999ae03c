// Signal handlers: only async-signal-safe calls, on a path in static storage.
#include "tools/command/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/command/common.h"

namespace relayout::tools {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// Written only while the signals are blocked in the one thread that exists then.
char watched_path[PATH_MAX];
volatile sig_atomic_t watching = 0;
// Some of oneDNN's generated code (gemm of 2.6) keeps data in the stack pointer: a handler on that "stack" would write
// over a tensor or the heap. The kernel hands a command's signals to its first thread, so one stack is enough. A frame
// with AMX registers takes 11 KiB.
alignas(64) char handler_stack[64 << 10];
// An interrupt is a request; one was made.
volatile sig_atomic_t waiting = 0, requested = 0;
std::atomic_flag ending;  // by one of the threads

// As print_error() would write it. On a terminal there may be a progress bar, and what the key shows as.
constexpr std::string_view kInterruptedText = "relayout: interrupted\n",
                           kInterruptedOnTerminal = "\nrelayout: interrupted\n";
constexpr std::string_view kInterruptedJson =
    "{\"error\":{\"code\":\"interrupted\",\"message\":\"interrupted\",\"field\":\"\",\"value\":\"\",\"limit\":\"\"}}\n";
volatile sig_atomic_t as_json = 0, on_terminal = 0;

void on_interrupt(int signal_number) {
  if (signal_number == SIGINT && waiting && !requested) {
    requested = 1;
    return;
  }
  // A second signal may come to another thread meanwhile.
  if (ending.test_and_set()) return;
  if (watching) unlink(watched_path);
  const std::string_view text = as_json ? kInterruptedJson : on_terminal ? kInterruptedOnTerminal : kInterruptedText;
  // Where that does not work nothing can be said.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  _exit(kInterrupted);
}

struct WatchedBytes {
  std::span<const std::byte> bytes;
  std::string changed;  // what is said
};
std::vector<WatchedBytes> sources;  // added to by the one thread that exists then
constexpr std::string_view kSomethingChanged = "relayout: a file changed while it was read\n";
constexpr std::string_view kSomethingChangedJson =
    "{\"error\":{\"code\":\"io\",\"message\":\"a file changed while it was read\",\"field\":\"\",\"value\":\"\","
    "\"limit\":\"\"}}\n";

/// A page of a mapping that the file has no longer, in whatever thread.
void on_lost_page(int signal_number, siginfo_t* info, void*) {
  if (info->si_code != BUS_ADRERR) {
    std::signal(signal_number, SIG_DFL);
    raise(signal_number);
    return;
  }
  if (watching) unlink(watched_path);
  std::string_view text = as_json ? kSomethingChangedJson : kSomethingChanged;
  const auto* at = static_cast<const std::byte*>(info->si_addr);
  for (const WatchedBytes& source : sources) {
    if (at >= source.bytes.data() && at < source.bytes.data() + source.bytes.size()) text = source.changed;
  }
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  _exit(kIo);
}

sigset_t interrupt_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal_number : kSignals) sigaddset(&set, signal_number);
  return set;
}

}  // namespace

void install_interrupt_handlers() {
  const stack_t stack = {.ss_sp = handler_stack, .ss_flags = 0, .ss_size = sizeof handler_stack};
  const int on_own_stack = sigaltstack(&stack, nullptr) == 0 ? SA_ONSTACK : 0;
  on_terminal = isatty(STDERR_FILENO) == 1;
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGXFSZ, SIG_IGN);  // a file over the limit is then an error of the write
  for (int signal_number : kSignals) {
    struct sigaction old = {};
    if (sigaction(signal_number, nullptr, &old) != 0 || old.sa_handler == SIG_IGN) continue;
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    action.sa_mask = interrupt_signals();
    action.sa_flags = on_own_stack;
    sigaction(signal_number, &action, nullptr);
  }
  struct sigaction lost_page = {};
  lost_page.sa_sigaction = on_lost_page;
  lost_page.sa_mask = interrupt_signals();
  lost_page.sa_flags = SA_SIGINFO | on_own_stack;
  sigaction(SIGBUS, &lost_page, nullptr);
}

void name_source(std::span<const std::byte> mapped, std::string line, std::string json_line) {
  sources.push_back({mapped, as_json ? std::move(json_line) : std::move(line)});
}

void interrupts_as_json() { as_json = 1; }

InterruptRequest::InterruptRequest() {
  requested = 0;
  waiting = 1;
}
InterruptRequest::~InterruptRequest() { waiting = 0; }
bool InterruptRequest::asked() const { return requested != 0; }

InterruptGuard::InterruptGuard() {
  const sigset_t signals = interrupt_signals();
  pthread_sigmask(SIG_BLOCK, &signals, &previous_mask_);
}

void InterruptGuard::watch(const std::string& path) {
  if (!path.empty() && path.size() < sizeof watched_path) {
    std::memcpy(watched_path, path.c_str(), path.size() + 1);
    watching = 1;
  }
  if (held_) pthread_sigmask(SIG_SETMASK, &previous_mask_, nullptr);
  held_ = false;
}

InterruptGuard::~InterruptGuard() {
  watching = 0;
  if (held_) pthread_sigmask(SIG_SETMASK, &previous_mask_, nullptr);
}

}  // namespace relayout::tools
