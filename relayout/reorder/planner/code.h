// Code: machine code that was generated for one plan and does what running the plan does (internal to the library).
#pragma once

#include <cstdint>
#include <memory>

namespace relayout {

class PlanData;

class Code {
 public:
  virtual ~Code() = default;
  /// Moves all elements on the calling thread and sets the padding, as cpu::run().
  virtual void run(const void* src, void* dst) const noexcept = 0;
  /// What a run is expected to take.
  virtual double nanoseconds() const = 0;
  virtual int64_t bytes() const = 0;
};

/// Generates code for a plan, or returns null where that cannot be, or would not be faster.
using CodeMaker = std::shared_ptr<const Code> (*)(const PlanData& plan);

}  // namespace relayout
