// Signal handlers of the command must not write where the stack pointer points.
#include "tools/command/interrupt.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace relayout::tools {
namespace {

ucontext_t test_context, odd_context;
// The calls go through pointers, because the dynamic linker saves all registers on the stack when it finds a function
// at its first call.
long (*const volatile call)(long, ...) = syscall;
int (*const volatile go_on)(const ucontext_t*) = setcontext;
long process, thread;

void interrupt_here() {
  call(SYS_tgkill, process, thread, SIGINT);
  go_on(&test_context);
}

// Generated code may keep a data pointer in the stack pointer. Here it points into an array, of which as little as
// possible is used.
TEST(Interrupt, LeavesWhatLiesBelowTheStackPointer) {
  std::signal(SIGINT, SIG_DFL);  // shells in the background let their children ignore it
  install_interrupt_handlers();
  const InterruptRequest request;
  constexpr char kUntouched = 0x5a;
  constexpr std::size_t kSize = 64 << 10, kUsed = 1 << 10;  // a frame takes over 1 KiB
  std::vector<char> memory(kSize, kUntouched);
  getcontext(&odd_context);
  odd_context.uc_stack.ss_sp = memory.data();
  odd_context.uc_stack.ss_size = memory.size();
  odd_context.uc_link = nullptr;
  makecontext(&odd_context, interrupt_here, 0);
  process = getpid();
  thread = syscall(SYS_gettid);
  swapcontext(&test_context, &odd_context);
  EXPECT_TRUE(request.asked());
  const auto touched = std::find_if(memory.begin(), memory.end(), [](char byte) { return byte != kUntouched; });
  EXPECT_LE(memory.end() - touched, static_cast<std::ptrdiff_t>(kUsed));
}

}  // namespace
}  // namespace relayout::tools
