// One block whose values are converted: fetch it into a dense tile, convert runs of the tile, put them. The tile
// stays in the first-level cache, so memory is read and written once.
#include <bit>

#include "relayout/cpu/run.h"

namespace relayout::cpu {
namespace {

/// Elements of a tile at most (the plan's blocks), and values converted at a time.
constexpr int64_t kTile = 4096;
constexpr int64_t kChunk = 512;
constexpr std::size_t kWidest = 8;
/// Bytes of a value of the widest compute type.
constexpr std::size_t kWidestValue = sizeof(Int128);

/// What a conversion of runs needs, fixed for a plan.
struct Converter {
  const RunContext& context;
  ComputeType compute;
  bool arithmetic;
  LoadKernel load, load_old;
  StoreKernel store;
  bool load_is_identity, store_is_identity;
  int64_t src_bytes, dst_bytes;  // of a dense element; 4-bit ones take a byte

  explicit Converter(const RunContext& c) : context(c) {
    const Plan& plan = c.plan;
    arithmetic = plan.attributes().arithmetic();
    const DType src = plan.src().dtype, dst = plan.dst().dtype;
    compute = compute_type(src, dst, arithmetic);
    const auto row = static_cast<std::size_t>(compute);
    load = c.kernels.load[row][static_cast<std::size_t>(src)];
    load_old = c.kernels.load[row][static_cast<std::size_t>(dst)];
    store = c.kernels.store[row][static_cast<std::size_t>(dst)];
    const DType same = compute == ComputeType::f32 ? DType::f32 : DType::f64;
    load_is_identity = compute != ComputeType::i128 && src == same && !arithmetic;
    store_is_identity = compute != ComputeType::i128 && dst == same && !arithmetic;
    src_bytes = std::max(bits(src) / 8, 1);
    dst_bytes = std::max(bits(dst) / 8, 1);
  }

  /// n dense elements to n dense elements; `old` are the destination's, `attribute` the first one's values.
  void run(const std::byte* src, std::byte* dst, const std::byte* old, int64_t attribute, int64_t attribute_stride,
           int64_t n) const {
    // The user's memory is the values then, at any address.
    if (load_is_identity) return store(src, dst, n);
    if (store_is_identity) return load(src, dst, n);
    alignas(64) std::byte values[kChunk * kWidestValue], previous[kChunk * kWidestValue];
    const Attributes& a = context.plan.attributes();
    const Arithmetic steps{!a.src_scale.values.empty(), !a.dst_scale.values.empty(), !a.src_zero_point.values.empty(),
                           !a.dst_zero_point.values.empty(), a.beta};
    for (int64_t i = 0; i < n; i += kChunk) {
      const int64_t count = std::min(kChunk, n - i);
      load(src + i * src_bytes, values, count);
      if (arithmetic) {
        if (a.beta != 0) load_old(old + i * dst_bytes, previous, count);
        context.kernels.arithmetic[static_cast<std::size_t>(compute)](
            values, previous, context.plan.attribute_values().data() + attribute + i * attribute_stride,
            attribute_stride, count, steps);
      }
      store(values, dst + i * dst_bytes, count);
    }
  }
};

/// Rows and columns of a dense tile of `bytes` an element, as axes of one operand.
void dense_axes(Axis* rows, Axis* cols, Operand operand, int64_t col_count, int64_t bytes) {
  rows->stride[operand] = col_count * bytes;
  cols->stride[operand] = bytes;
}

/// A strided block of `dtype`, at `offset` in units of operand `from`, to a dense tile.
void fetch(const RunContext& context, const BoxPlan& box, DType dtype, const std::byte* memory, int64_t offset,
           Operand from, std::byte* tile, int64_t rows, int64_t cols) {
  Axis row_axis{1, {box.rows.stride[static_cast<std::size_t>(from)], 0, 0}, -1};
  Axis col_axis{1, {box.cols.stride[static_cast<std::size_t>(from)], 0, 0}, -1};
  const int bytes = bits(dtype) / 8;
  if (bytes == 0) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < cols; ++c) {
        const int64_t at = offset + r * row_axis.stride[kSrc] + c * col_axis.stride[kSrc];
        tile[r * cols + c] = dtype == DType::s4 ? static_cast<std::byte>(read_element<DType::s4>(memory, at))
                                                : static_cast<std::byte>(read_element<DType::u4>(memory, at));
      }
    }
    return;
  }
  if (row_axis.stride[kSrc] == bytes && cols > 1) {
    return context.kernels.transpose[static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(bytes)))](
        memory + offset, col_axis.stride[kSrc], tile, cols * bytes, rows, cols);
  }
  dense_axes(&row_axis, &col_axis, kDst, cols, bytes);
  gather_block(memory, {offset, 0, 0}, row_axis, col_axis, tile, bytes, rows, cols);
}

/// A dense tile to a strided block of the destination.
void put(const RunContext& context, const BoxPlan& box, int64_t offset, const std::byte* tile, int64_t rows,
         int64_t cols) {
  const int bytes = bits(context.plan.dst().dtype) / 8;
  if (bytes == 0) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < cols; ++c) {
        write_element<DType::u4>(context.dst, offset + r * box.rows.stride[kDst] + c * box.cols.stride[kDst],
                                 static_cast<uint8_t>(tile[r * cols + c]));
      }
    }
    return;
  }
  Axis row_axis = box.rows, col_axis = box.cols;
  dense_axes(&row_axis, &col_axis, kSrc, cols, bytes);
  gather_block(tile, {0, offset, 0}, row_axis, col_axis, context.dst, bytes, rows, cols);
}

}  // namespace

void cast_block(const RunContext& context, const BoxPlan& box, const Offsets& offsets, int64_t rows, int64_t cols) {
  const Converter convert(context);
  const DType src_type = context.plan.src().dtype, dst_type = context.plan.dst().dtype;
  const bool src_runs = bits(src_type) >= 8 && (box.cols.stride[kSrc] == convert.src_bytes || cols == 1);
  const bool dst_runs = bits(dst_type) >= 8 && (box.cols.stride[kDst] == convert.dst_bytes || cols == 1);
  const bool sum = context.plan.attributes().beta != 0;
  alignas(64) std::byte fetched[static_cast<std::size_t>(kTile) * kWidest];
  alignas(64) std::byte converted[static_cast<std::size_t>(kTile) * kWidest];

  const std::byte* src = context.src + offsets[kSrc];
  int64_t src_row = box.rows.stride[kSrc];
  if (!src_runs) {
    fetch(context, box, src_type, context.src, offsets[kSrc], kSrc, fetched, rows, cols);
    src = fetched;
    src_row = cols * convert.src_bytes;
  }
  std::byte* dst = context.dst + offsets[kDst];
  int64_t dst_row = box.rows.stride[kDst];
  if (!dst_runs) {
    if (sum) fetch(context, box, dst_type, context.dst, offsets[kDst], kDst, converted, rows, cols);
    dst = converted;
    dst_row = cols * convert.dst_bytes;
  }
  // Rows that follow each other on both sides, with the same attributes, are one run.
  const bool one_run = rows > 1 && src_row == cols * convert.src_bytes && dst_row == cols * convert.dst_bytes &&
                       box.rows.stride[kAttribute] == cols * box.cols.stride[kAttribute];
  const int64_t runs = one_run ? 1 : rows, length = one_run ? rows * cols : cols;
  for (int64_t r = 0; r < runs; ++r) {
    convert.run(src + r * src_row, dst + r * dst_row, dst + r * dst_row,
                offsets[kAttribute] + r * box.rows.stride[kAttribute], box.cols.stride[kAttribute], length);
  }
  if (!dst_runs) put(context, box, offsets[kDst], converted, rows, cols);
}

}  // namespace relayout::cpu
