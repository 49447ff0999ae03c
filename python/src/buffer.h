// Buffer: memory with a layout, given to and taken from other libraries by DLPack and __array_interface__.
//
// Python's relayout.Buffer. It is what a tensor of a library other than NumPy and PyTorch becomes on its way in, and
// what carries a result to such a library without a copy.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "relayout/core/layout.h"

namespace relayout::python {

class Array;

class Buffer {
 public:
  /// Memory for this layout, aligned to 64 bytes, which holds anything.
  static Buffer allocate(TensorDesc desc);
  /// Takes a tensor from an object with __dlpack__, asking for a versioned capsule first. Errors: unsupported (a type
  /// of elements, a device), invalid_argument (fields that contradict each other), TypeError (no __dlpack__).
  static Buffer from_dlpack(nanobind::handle object);
  /// Memory that something else owns.
  Buffer(TensorDesc desc, std::byte* data, bool read_only, std::shared_ptr<void> owner);

  const TensorDesc& desc() const { return desc_; }
  /// Where offset 0 of the layout lies.
  std::byte* data() const { return data_; }
  bool read_only() const { return read_only_; }
  /// A capsule: versioned where `major` is 1 or more. Errors: unsupported (a layout with blocks).
  nanobind::object dlpack(int64_t major, bool copy, bool copied = false) const;

 private:
  TensorDesc desc_;
  std::byte* data_ = nullptr;
  bool read_only_ = false;
  std::shared_ptr<void> owner_;
};

/// Row-major, of the type of the elements of an Array that is a Buffer.
TensorDesc buffer_desc_like(const Array& like);

void bind_buffer(nanobind::module_& module);

}  // namespace relayout::python
