// Conversion: a planned convert(), from an array in one layout to an array in another.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "python/src/sides.h"
#include "relayout/cpu/reorder.h"

namespace relayout::python {

class Conversion {
 public:
  /// `attributes`: (src_scale, dst_scale, src_zero_point, dst_zero_point, mean, beta, padding); padding is the text of
  /// a number, or None, which keeps it.
  Conversion(nanobind::handle src, nanobind::handle dst, nanobind::handle dims, nanobind::handle shape,
             nanobind::handle strides, int64_t item_bytes, const std::string& src_dtype, const std::string& dst_dtype,
             nanobind::handle attributes);

  /// `fresh`: whether out's memory was just allocated. `progress`: see watch.h.
  void run(nanobind::handle x, nanobind::handle out, int threads, bool fresh, nanobind::handle progress) const;
  /// Whether an array is like the one that this was planned for.
  bool takes(const Array& src) const;

  const Side& src() const { return src_; }
  const Side& dst() const { return dst_; }
  const Plan& plan() const { return plan_; }
  /// Whether every byte of the result is written.
  bool fills() const { return fills_; }
  /// The plan in words. The first line names the layouts as the caller does; the plan itself knows their digits alone.
  std::string explain() const;
  /// The arguments of the constructor, by which it is pickled.
  const nanobind::tuple& made_of() const { return made_of_; }

 private:
  nanobind::tuple made_of_;
  Side src_, dst_;
  Dims strides_;
  int64_t item_bytes_;
  Plan plan_;
  bool fills_ = false;
};

}  // namespace relayout::python
