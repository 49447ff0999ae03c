// Converting runs of values, and blocks by way of a buffer (internal to cpu).
#pragma once

#include "relayout/cpu/runners/runner.h"

namespace relayout::cpu {

/// The kernels and constants to convert runs of a block.
struct Converter {
  const RunContext& context;
  /// By how much the index of the attribute values grows from row to row, and from column to column.
  const int64_t row_attribute, col_attribute;
  ComputeType compute;
  bool arithmetic;
  /// Whether elements are converted straight to the other type, as opposed to by way of values of the compute type.
  bool direct;
  /// Convert from one type straight to the other, and between elements and values: those of the source, of the old
  /// elements of the destination, and of the new ones.
  StreamedPair pair;
  ConvertKernel convert, load, load_old, store;
  /// The kernel that converts while it transposes; null where there is none.
  PipelinedKernel pipelined = nullptr;
  int64_t src_bytes, dst_bytes;  // of a dense element; 4-bit ones take a byte

  /// Whether `convert` can be used for a whole block in memory: all its elements have the same attribute values, and
  /// bytes of their own.
  bool straight;

  /// For the types of the plan, and boxes of it.
  Converter(const RunContext& context, const Loops& loops);
  /// For runs from `src` to `dst`, computed with or not, one of them perhaps not the plan's. Their elements lie in
  /// bytes of their own.
  Converter(const RunContext& context, DType src, DType dst, bool arithmetic, int64_t row_attribute,
            int64_t col_attribute);

  /// The attributes for `convert`, for elements whose attribute values are at this index; null where there are none, or
  /// where they are not in f32 and `convert` is not `direct`.
  const AttributeValues* attributes(int64_t index) const {
    return arithmetic && compute == ComputeType::f32 ? &context.plan.attribute_values()[static_cast<std::size_t>(index)]
                                                     : nullptr;
  }
  const AttributeValues* attributes(const Block& block) const { return attributes(block.offset[kAttribute]); }

  /// Converts runs straight, past the cache with `stream`.
  void runs(bool stream, const std::byte* src, Starts src_runs, std::byte* dst, Starts dst_runs, int64_t runs,
            int64_t n, const AttributeValues* with, int64_t ahead) const {
    if (stream && context.kernels.convert_stream)
      context.kernels.convert_stream(pair, src, src_runs, dst, dst_runs, runs, n, with, ahead);
    else
      convert(src, src_runs, dst, dst_runs, runs, n, with, ahead);
  }
  /// Converts n dense elements. `old` are the old elements of the destination; `attribute` is the index of the
  /// attribute values of the first element.
  void run(const std::byte* src, std::byte* dst, const std::byte* old, int64_t attribute, int64_t attribute_stride,
           int64_t n) const;
  /// Converts a block of any size by way of a buffer in the first-level cache: the block is read into it, converted run
  /// by run, and written. `transposes`: its rows are dense in the source.
  void by_buffer(const Loops& loops, const Block& block, bool transposes) const;

 private:
  void tile(const Loops& loops, const Block& block, bool transposes) const;
};

}  // namespace relayout::cpu
