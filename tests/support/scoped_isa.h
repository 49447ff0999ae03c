// A scope that runs with the kernels of one instruction set.
//
//     const ScopedIsa scalar("scalar");   // until the scope ends, also by an exception
//
// The choice of an instruction set is global. Without a scope, an assertion that ends a test early would leave all
// later tests with the kernels of this one.
#pragma once

#include <string>
#include <string_view>

#include "relayout/cpu/reorder.h"

namespace relayout::test {

class ScopedIsa {
 public:
  /// Errors: those of set_isa.
  explicit ScopedIsa(std::string_view name) : before_(cpu::isa()) { cpu::set_isa(name); }
  ~ScopedIsa() { cpu::set_isa(before_); }
  ScopedIsa(const ScopedIsa&) = delete;
  ScopedIsa& operator=(const ScopedIsa&) = delete;

 private:
  std::string before_;
};

}  // namespace relayout::test
