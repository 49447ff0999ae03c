// Conversion: a planned convert(), from an array in one layout to an array in another.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "python/src/sides.h"
#include "relayout/cpu/kept_plan.h"

namespace relayout::python {

class Conversion {
 public:
  /// `attributes`: (src_scale, dst_scale, src_zero_point, dst_zero_point, mean, beta, padding); padding is the text of
  /// a number, or None, which keeps it. `own_dtype`: the type of the array itself, by its name.
  Conversion(nanobind::handle src, nanobind::handle dst, nanobind::handle dims, nanobind::handle shape,
             nanobind::handle strides, int64_t item_bytes, const std::string& src_dtype, const std::string& dst_dtype,
             nanobind::handle attributes, const std::string& own_dtype);

  /// Of arrays whose types are right, which relayout/_convert.py and _planned.py see to. `fresh`: whether the memory of
  /// out was just allocated. `progress`: see watch.h.
  void run(nanobind::handle x, nanobind::handle out, int threads, bool fresh, nanobind::handle progress) const;
  /// Whether x and out are arrays of NumPy and PyTorch themselves, of the types that this converts: then run() needs no
  /// further look at these.
  bool has_types_of(nanobind::handle x, nanobind::handle out) const;
  /// Whether an array is like the one that this was planned for.
  bool takes(const Array& src) const;

  const Side& src() const { return src_; }
  const Side& dst() const { return dst_; }
  /// As the next run has it.
  const Plan& plan() const { return kept_->plan(); }
  /// Whether every byte of the result is written.
  bool fills() const { return fills_; }
  /// Whether the result is added to what the destination holds.
  bool adds() const { return how_.beta != 0; }
  const std::string& own_dtype() const { return own_dtype_; }
  /// The plan in words. The first line names the layouts as the caller does; the plan itself knows their digits alone.
  std::string explain() const;
  /// The same as values, as JSON.
  std::string outline() const;
  /// The arguments of the constructor, by which it is pickled.
  const nanobind::tuple& made_of() const { return made_of_; }
  /// "<relayout.Conversion f32 nchw (2, 3, 4, 5) -> bf16 nhwc (2, 4, 5, 3)>".
  std::string repr() const;

 private:
  bool shared_memory(const Array& src, const Array& dst) const;
  Plan plan_over(const Side& side) const;

  nanobind::tuple made_of_;
  Side src_, dst_;
  Dims strides_;
  int64_t item_bytes_;
  std::string own_dtype_;
  Attributes how_;
  std::shared_ptr<cpu::KeptPlan> kept_;
  bool fills_ = false;
};

}  // namespace relayout::python
