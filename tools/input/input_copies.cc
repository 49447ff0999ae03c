// Copies of an input's bytes: see input_copies.h.
#include "tools/input/input_copies.h"

#include <fmt/format.h>

#include <algorithm>

#include "relayout/cpu/reorder.h"
#include "relayout/interop/numpy_bytes.h"

namespace relayout::tools {

Dims column_major(const Dims& shape, bool bytes_last) {
  Dims strides;
  const int axes = shape.size() - (bytes_last ? 1 : 0);
  int64_t next = bytes_last ? shape[axes] : 1;
  for (int d = 0; d < axes; ++d) {
    strides.push_back(next);
    next *= std::max<int64_t>(shape[d], 1);  // the file's size was checked, so this cannot overflow
  }
  if (bytes_last) strides.push_back(1);
  return strides;
}

void copy_to_row_major(const InputOptions& options, const StoredTensor& stored, bool bytes_last, TensorInput& input) {
  if (options.max_memory > 0 && stored.byte_size > options.max_memory) {
    throw Failure(kUsage, Error(ErrorCode::limit,
                                fmt::format("{}: a Fortran-order array under {} is copied to memory, which takes {} "
                                            "bytes; --max-memory allows {}",
                                            shown_path(options), escaped(input.format.text()), stored.byte_size,
                                            options.max_memory),
                                "--max-memory", std::to_string(options.max_memory), std::to_string(stored.byte_size)));
  }
  input.copy.resize(static_cast<std::size_t>(stored.byte_size));
  cpu::reorder(TensorDesc(Layout::strided(stored.shape, column_major(stored.shape, bytes_last)), input.desc.dtype),
               input.bytes, TensorDesc(Layout::contiguous(stored.shape), input.desc.dtype), input.copy);
  input.bytes = input.copy;
  input.mapped = false;
}

void pack_elements(const InputOptions& options, TensorInput& input) {
  if (options.max_memory > 0 && std::ssize(input.bytes) > options.max_memory)
    throw Failure(kUsage,
                  Error(ErrorCode::limit,
                        fmt::format("{}: elements of a byte each are packed in memory, which takes {} bytes; "
                                    "--max-memory allows {}",
                                    shown_path(options), input.bytes.size(), options.max_memory),
                        "--max-memory", std::to_string(options.max_memory), std::to_string(input.bytes.size())));
  input.copy = numpy::packed(input.bytes, input.desc.dtype);
  input.bytes = input.copy;
  input.mapped = false;
}

}  // namespace relayout::tools
