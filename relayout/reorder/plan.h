// Plan: how one reorder will be done. A small immutable value: made once, run often.
//
// make() refines both layouts into boxes of common axes, simplifies the loops over each box and picks a kernel for it.
// It works on sizes alone: it knows no pointers, no threads and no SIMD. cpu::run() moves the data.
//
//     Plan p = Plan::make({Format::parse("nchw").bind(d), DType::f32}, {Format::parse("nhwc").bind(d), DType::f32});
//     std::puts(p.explain().c_str());
//
// A Plan is a handle: copies share what was planned, so that copying one takes some nanoseconds. What was planned
// (plan_data.h) is internal to the library.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "relayout/reorder/attributes.h"

namespace relayout {

class PlanData;

/// What a plan is expected to move and take.
struct Cost {
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
  /// A rough time in nanoseconds on one thread, for comparing plans. There are two lists of prices, of a machine whose
  /// last level is slow and shared by many cores (Machine::slow_shared_l3()) and of one whose is not; the plan's
  /// machine says which is used.
  double nanoseconds = 0;
};

/// The caches that a plan is made for, in bytes: the first and second level, which each core has, and the last one.
struct Machine {
  int64_t l1 = 32 << 10, l2 = 1 << 20, l3 = 32 << 20;

  /// The most of a last level that plans count on. A larger one is most often that of a server, shared by dozens of
  /// cores and slow to reach from each of them: reading from it is not much faster than reading from memory, and
  /// writing to it is slower than writing past it.
  static constexpr int64_t kMaxL3Share = 32 << 20;
  bool slow_shared_l3() const { return l3 > kMaxL3Share; }
  /// The bytes of the last level that plans count on.
  int64_t l3_share() const { return slow_shared_l3() ? std::max(l2, kMaxL3Share) : l3; }
};

/// Overrides choices of the planner, to try out others. The planner decides by rule where `stream` is by_size and where
/// a number is 0 or less. The result of a reorder is the same bit for bit, whatever is chosen.
struct Tuning {
  enum class Stream : uint8_t { by_size, never, always };
  /// Whether the destination is written past the cache.
  Stream stream = Stream::by_size;
  /// Used where the destination is written past the cache: the columns (panel) and rows (strip) of one block, at most
  /// 1024 each, and how many bytes ahead of its use the source is fetched.
  int64_t panel = 0, strip = 0, ahead = 0;

  bool operator==(const Tuning&) const = default;
};

class Plan {
 public:
  /// A plan of nothing: running it moves nothing.
  Plan();

  /// Any pair of layouts of equal dims, any pair of types. Errors: invalid_argument (dims differ, an attribute is
  /// wrong), not_injective (two indices of the destination share an offset; both are named), limit (more than 1 GiB of
  /// offset tables, which blocks that do not divide each other need, or of attribute values). Cost: about a microsecond
  /// for a few boxes, some hundred microseconds for the most boxes, and time in proportion to the sizes of tables and
  /// attribute values.
  static Plan make(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes = {},
                   const Machine& machine = {}, const Tuning& tuning = {});

  const TensorDesc& src() const;
  const TensorDesc& dst() const;
  const Attributes& attributes() const;

  /// Whether values are converted or computed with; otherwise bits are moved.
  bool converts() const;
  /// Whether the destination is written past the caches, line by line, because both sides together are larger than
  /// them. Where this is false, single boxes and padding may still be written so.
  bool streams() const;

  /// The plan in words, several lines: what is moved, along which axes, by which kernels.
  std::string explain() const;
  /// How the largest box is moved, e.g. "transpose 4": the kind of kernel, and the bytes that it moves at once.
  std::string kernel() const;
  Cost cost() const;

  /// What was planned, for the code that runs plans (plan_data.h, which is not installed).
  const PlanData& data() const { return *data_; }

 private:
  explicit Plan(std::shared_ptr<const PlanData> data) : data_(std::move(data)) {}

  std::shared_ptr<const PlanData> data_;
};

}  // namespace relayout
