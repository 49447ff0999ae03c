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

#include <memory>
#include <string>

#include "relayout/reorder/attributes.h"
#include "relayout/reorder/machine.h"

namespace relayout {

class PlanData;

class Plan {
 public:
  /// A plan of nothing: running it moves nothing.
  Plan();

  /// Any pair of layouts of equal dims, any pair of types. Errors: invalid_argument (dims differ, an attribute is
  /// wrong), not_injective (two indices of the destination share an offset; both are named), limit (more than 1 GiB of
  /// offset tables, which blocks that do not divide each other need, or of attribute values). Cost: some microseconds
  /// for a few boxes, some hundred for the most boxes, as every way to go is planned to be compared, and time in
  /// proportion to the sizes of tables and attribute values.
  static Plan make(const TensorDesc& src, const TensorDesc& dst, const Attributes& attributes = {},
                   const Machine& machine = {}, const Tuning& tuning = {});

  const TensorDesc& src() const;
  const TensorDesc& dst() const;
  const Attributes& attributes() const;

  /// Whether values are converted or computed with; otherwise bits are moved.
  bool converts() const;
  /// Whether the destination is written past the caches, line by line, as was asked for, or because that is
  /// expected to take less time. Where this is false, single boxes and padding may still be written so.
  bool streams() const;

  /// The plan in words, several lines: what is moved, along which axes, by which kernels.
  std::string explain() const;
  /// How the largest box is moved, e.g. "transpose 4": the kind of kernel, and the bytes that it moves at once.
  std::string kernel() const;
  Cost cost() const;

  /// What was planned, for the code that runs plans (plan_data.h, which is not installed).
  const PlanData& data() const { return *data_; }

 private:
  friend class PlanData;
  explicit Plan(std::shared_ptr<const PlanData> data) : data_(std::move(data)) {}

  std::shared_ptr<const PlanData> data_;
};

}  // namespace relayout
