// Converting runs of values, and blocks by way of a buffer (internal to cpu).
#pragma once

#include <optional>

#include "relayout/cpu/kernels/conversion.h"
#include "relayout/cpu/runners/attribute_lists.h"
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
  Conversion convert, load, load_old, store;
  /// The kernel that converts while it transposes; null where there is none.
  PipelinedKernel pipelined = nullptr;
  int64_t src_bytes, dst_bytes;  // of a dense element; sub-byte ones take a byte

  /// Whether `convert` can be used for a row of a block in memory: its elements have bytes of their own, and all have
  /// the same attribute values, or those that follow each other in the table. And whether one call can do for all rows.
  bool straight_rows, straight;
  /// Whether, besides, all elements of a block have the same attribute values.
  bool even;

  /// For the types of the plan, and boxes of it.
  Converter(const RunContext& context, const Loops& loops);
  /// For runs from `src` to `dst`, computed with or not, one of them perhaps not the plan's. Their elements lie in
  /// bytes of their own.
  Converter(const RunContext& context, DType src, DType dst, bool arithmetic, int64_t row_attribute,
            int64_t col_attribute);

  /// The attributes for `convert`: null where values are only converted, or computed with in f64, which it does not do.
  class Given {
   public:
    Given() = default;
    explicit Given(const RunAttributes& lists) : given_(true), lists_(lists) {}
    const RunAttributes* get() const { return given_ ? &lists_ : nullptr; }

   private:
    bool given_ = false;
    RunAttributes lists_{};
  };
  /// Those from an index of the attribute values on, which grows by these steps with each element and with each run.
  Given attributes(int64_t index, int64_t element_step, int64_t run_step) const {
    if (!arithmetic || compute != ComputeType::f32) return Given();
    using Step = RunAttributes::Step;
    const Step step = element_step != 0 ? Step::element : run_step != 0 ? Step::run : Step::none;
    return Given(context.plan.attribute_values().from(index, step));
  }
  /// Whether attributes() takes these steps: one is 0, and the other is 0 or 1.
  bool lists(int64_t element_step, int64_t run_step) const {
    return !arithmetic ||
           (element_step * run_step == 0 && (element_step + run_step) / 2 == 0 && element_step + run_step >= 0);
  }
  /// For the rows of a block.
  Given attributes(const Block& block) const {
    return attributes(block.offset[kAttribute], col_attribute, row_attribute);
  }

  /// Converts runs straight, past the cache with `stream`.
  void runs(bool stream, const std::byte* src, Starts src_runs, std::byte* dst, Starts dst_runs, int64_t runs,
            int64_t n, const RunAttributes* with, int64_t ahead) const {
    if (stream)
      convert.stream(src, src_runs, dst, dst_runs, runs, n, with, ahead);
    else
      convert(src, src_runs, dst, dst_runs, runs, n, with, ahead);
  }
  /// Converts rows of a block straight, each with its own attribute values; `attribute` is the index of the first.
  void rows(bool stream, const std::byte* src, Starts src_rows, std::byte* dst, Starts dst_rows, int64_t rows,
            int64_t n, int64_t attribute, int64_t ahead) const;
  /// Whether runs of n elements, each with attribute values of its own, are converted by short_runs(), which joins them
  /// where values are computed straight. `one_call`: without that, a kernel takes many of them by one call; then only
  /// runs that do not fill a register are joined.
  bool joins(int64_t n, bool one_call) const {
    return arithmetic && direct && n < (one_call ? context.kernels.values : ConvertedRuns::kLongPiece);
  }
  /// Converts runs of n elements: some hundred elements at a time are one run with a list of attribute values, as a
  /// call for each run takes longer than its elements. The values of element i of run r are at index attribute +
  /// run_attributes[r] + i * element_step.
  void short_runs(bool stream, const std::byte* src, Starts src_runs, std::byte* dst, Starts dst_runs, int64_t runs,
                  int64_t n, int64_t attribute, Starts run_attributes, int64_t element_step) const;
  /// Does so for the pieces of a pattern, along which the attribute values of a block's rows go; rows have n elements.
  void rows_of_short_runs(bool stream, const Block& block, const std::byte* src, Starts src_rows, std::byte* dst,
                          Starts dst_rows, int64_t n, const AttributePattern& pattern) const;
  /// Converts n dense elements. `old` are the old elements of the destination; `attribute` is the index of the
  /// attribute values of the first element.
  void run(const std::byte* src, std::byte* dst, const std::byte* old, int64_t attribute, int64_t attribute_stride,
           int64_t n) const {
    repeat(false, src, dst, old, attribute, {n, attribute_stride}, n);
  }
  /// Does so where the attribute values repeat, past the cache with `stream`. A pattern of several pieces has at most
  /// kListedValues elements.
  void repeat(bool stream, const std::byte* src, std::byte* dst, const std::byte* old, int64_t attribute,
              const AttributePattern& pattern, int64_t n) const;
  /// Converts a block of any size by way of a buffer in the first-level cache: the block is read into it, converted run
  /// by run, and written. `transposes`: its rows are dense in the source.
  void by_buffer(const Loops& loops, const Block& block, bool transposes) const;

 private:
  template <typename C>
  void run_steps(const AttributeTable<C>& table, bool stream, const std::byte* src, std::byte* dst,
                 const std::byte* old, int64_t attribute, const AttributePattern& pattern, int64_t n) const;
  void tile(const Loops& loops, const Block& block, bool transposes) const;
  /// Converts the rows of a tile, whose pieces have `values` elements.
  void tile_rows(const Block& block, const std::byte* src, Starts src_rows, std::byte* dst, Starts dst_rows,
                 int64_t values) const;
};

/// Whether rows of so many bytes follow each other.
bool one_stretch(Starts starts, int64_t rows, int64_t bytes);

}  // namespace relayout::cpu
