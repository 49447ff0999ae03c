// relayout.Layout: the layout class of Python.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "relayout/core/format.h"

namespace relayout::python {

/// A layout, and how its user wrote it where that is known.
struct PyLayout {
  Layout layout;
  std::string expression{};  // as given to relayout.layout(); empty for views and what came from elsewhere
  std::string letters{};     // of its dims; empty where no letters are known
  Dims expression_dims{};    // the dims that the expression was bound to
  /// Where offsets count from, for a layout of an array and its views: kBased, the memory that the caller named, or a
  /// number of its own for the array's lowest address, which no other layout_of() gives. 0 where nobody said.
  int64_t origin = 0;
  static constexpr int64_t kBased = -1;

  /// An expression that gives this layout, and the dims to bind it to.
  std::pair<std::string, Dims> spelled() const;
  std::string repr() const;
  /// The letters of the dims, a, b, ... where none are known.
  std::string names() const;
};

/// The layout of an expression. `dims` is None where the expression says them.
PyLayout parse_layout(const std::string& expression, nanobind::handle dims);

/// Whether an object is a Layout; one that Layout.__new__ made alone is none.
bool is_layout(nanobind::handle object);

void bind_layout(nanobind::module_& module);
void bind_banks(nanobind::module_& module);
void bind_layout_views(nanobind::class_<PyLayout>& type);
void bind_interop(nanobind::module_& module);
void bind_gates(nanobind::module_& interop);
void bind_onednn_log(nanobind::module_& interop);
void bind_tensor_text(nanobind::module_& interop);
void bind_opencl(nanobind::module_& module);
void bind_records(nanobind::module_& module);
/// The elements of an array of integers, as entries of an index table. Error{invalid_argument} names it by `what`.
std::vector<int64_t> entries_of(nanobind::handle table, const char* what);
void bind_index_tables(nanobind::module_& module);
void bind_task_plans(nanobind::module_& module);
void bind_show(nanobind::module_& module, nanobind::class_<PyLayout>& type);

}  // namespace relayout::python
