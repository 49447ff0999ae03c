// The steps of a conversion: load, arithmetic, store; or straight from one type to the other.
#include "relayout/cpu/runners/converter.h"

#include "relayout/cpu/runners/gather.h"
#include "relayout/cpu/runners/nibbles.h"
#include "relayout/cpu/runners/steps.h"
#include "relayout/cpu/runners/transposition.h"

namespace relayout::cpu {
namespace {

/// How many elements are converted at a time.
constexpr int64_t kChunk = 512;
/// Bytes of the widest element.
constexpr std::size_t kWidest = 8;

/// Moves the pieces of a block, `bytes` bytes each, between memory and the dense rows of a tile.
void move_pieces(const RunContext& context, const Loops& loops, const Block& block, int64_t bytes, bool transposes) {
  Loops pieces;
  pieces.piece = {bytes, bytes};
  pieces.rows = loops.rows;
  pieces.cols = loops.cols;
  if (transposes) return transpose_block(context, pieces, {}, block);
  if (bytes <= kRegister && (bytes & (bytes - 1)) == 0) return gather_elements(context, pieces, block);
  context.kernels.copy(block.src, block.src_rows, block.src_cols, block.dst, block.dst_rows, block.dst_cols, block.rows,
                       block.cols, bytes, block.ahead);
}

/// Reads the pieces of a block from one side of memory into the dense rows of `tile`.
void fetch(const RunContext& context, const Loops& loops, const Block& block, Operand from, bool transposes,
           std::byte* tile) {
  const int64_t bytes = loops.piece[from];
  const Dense rows(block.rows, block.cols * bytes), cols(block.cols, bytes);
  Block to = block;
  to.dst = tile;
  to.dst_rows = rows.at;
  to.dst_cols = cols.at;
  if (from == kDst) {
    to.src = block.dst;
    to.src_rows = block.dst_rows;
    to.src_cols = block.dst_cols;
  }
  move_pieces(context, loops, to, bytes, transposes);
}

void put(const RunContext& context, const Loops& loops, const Block& block, const std::byte* tile) {
  const int64_t bytes = loops.piece[kDst];
  const Dense rows(block.rows, block.cols * bytes), cols(block.cols, bytes);
  Block from = block;
  from.src = tile;
  from.src_rows = rows.at;
  from.src_cols = cols.at;
  move_pieces(context, loops, from, bytes, false);
}

}  // namespace

Converter::Converter(const RunContext& c, const Loops& loops)
    : Converter(c, c.plan.src().dtype, c.plan.dst().dtype, c.plan.attributes().arithmetic(),
                loops.rows[0].stride[kAttribute], loops.cols[0].stride[kAttribute]) {
  straight = straight && !loops.nibbles();
}

Converter::Converter(const RunContext& c, DType src, DType dst, bool computes, int64_t row, int64_t col)
    : context(c), row_attribute(row), col_attribute(col), arithmetic(computes) {
  compute = compute_type(src, dst, arithmetic);
  const auto of = [](const auto& table, DType from, DType to) {
    return table[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  };
  direct = !arithmetic || (c.plan.attributes().beta == 0 && compute == ComputeType::f32);
  pair = streamed_pair(c.kernels, src, dst);
  convert = pair.convert;
  if (direct) pipelined = of(c.kernels.convert_pipelined, src, dst);
  const DType value = compute == ComputeType::f32 ? DType::f32 : DType::f64;
  load = of(c.kernels.convert, src, value);
  load_old = of(c.kernels.convert, dst, value);
  store = of(c.kernels.convert, value, dst);
  src_bytes = pair.src_bytes;
  dst_bytes = pair.dst_bytes;
  straight = direct && (!arithmetic || (row_attribute == 0 && col_attribute == 0));
}

void Converter::run(const std::byte* src, std::byte* dst, const std::byte* old, int64_t attribute,
                    int64_t attribute_stride, int64_t n) const {
  if (direct && (!arithmetic || attribute_stride == 0))
    return convert(src, kFirst, dst, kFirst, 1, n, attributes(attribute), 0);
  const auto one = [](ConvertKernel kernel, const std::byte* from, std::byte* to, int64_t count) {
    kernel(from, kFirst, to, kFirst, 1, count, nullptr, 0);
  };
  alignas(64) std::byte values[kChunk * sizeof(double)], previous[kChunk * sizeof(double)];
  const Attributes& a = context.plan.attributes();
  const Arithmetic steps{!a.src_scale.values.empty(), !a.dst_scale.values.empty(), a.subtracts(),
                         !a.dst_zero_point.values.empty(), a.beta};
  const auto attributes_at = [&](int64_t index) -> const void* {
    if (compute == ComputeType::f32) return context.plan.attribute_values().data() + index;
    return context.plan.wide_attribute_values().data() + index;
  };
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t count = std::min(kChunk, n - i);
    one(load, src + i * src_bytes, values, count);
    if (a.beta != 0) one(load_old, old + i * dst_bytes, previous, count);
    context.kernels.arithmetic[static_cast<std::size_t>(compute)](
        values, previous, attributes_at(attribute + i * attribute_stride), attribute_stride, count, steps);
    one(store, values, dst + i * dst_bytes, count);
  }
}

/// Converts a block of at most kMaxBuffered elements.
void Converter::tile(const Loops& loops, const Block& block, bool transposes) const {
  const DType src_type = context.plan.src().dtype, dst_type = context.plan.dst().dtype;
  const int64_t values = std::max<int64_t>(1, loops.piece[kSrc] / src_bytes);
  const bool src_nibbles = bits(src_type) < 8, dst_nibbles = bits(dst_type) < 8;
  const bool src_runs = !src_nibbles && loops.long_runs;
  const bool dst_runs = !dst_nibbles && loops.dense_cols;
  const bool sum = context.plan.attributes().beta != 0;
  alignas(64) std::byte fetched[static_cast<std::size_t>(kMaxBuffered) * kWidest];
  alignas(64) std::byte converted[static_cast<std::size_t>(kMaxBuffered) * kWidest];

  if (src_nibbles)
    fetch_nibbles(context.kernels, context.src, block.offset[kSrc], block.src_rows, block.src_cols, block,
                  src_type == DType::s4, fetched);
  else if (!src_runs)
    fetch(context, loops, block, kSrc, transposes, fetched);
  if (!dst_runs && sum) {
    if (dst_nibbles)
      fetch_nibbles(context.kernels, context.dst, block.offset[kDst], block.dst_rows, block.dst_cols, block,
                    dst_type == DType::s4, converted);
    else
      fetch(context, loops, block, kDst, false, converted);
  }
  const int64_t length = block.cols * values;
  // Rows that follow each other on both sides, and have the same attribute values, are one run.
  const bool dst_follow = !dst_runs || (loops.rows.size() == 1 && block.rows > 1 &&
                                        block.dst_rows[1] - block.dst_rows[0] == length * dst_bytes);
  const bool one_run = block.rows > 1 && !src_runs && dst_follow && row_attribute == 0 && col_attribute == 0;
  const int64_t runs = one_run ? 1 : block.rows, values_of_run = one_run ? block.rows * length : length;
  for (int64_t r = 0; r < runs; ++r) {
    const std::byte* from = src_runs ? block.src + block.src_rows[r] : fetched + r * length * src_bytes;
    std::byte* to = dst_runs ? block.dst + block.dst_rows[r] : converted + r * length * dst_bytes;
    const int64_t at = block.offset[kAttribute] + r * row_attribute;
    if (values == 1 || col_attribute == 0) {
      run(from, to, to, at, col_attribute, values_of_run);
    } else {
      for (int64_t c = 0; c < block.cols; ++c) {
        run(from + c * values * src_bytes, to + c * values * dst_bytes, to + c * values * dst_bytes,
            at + c * col_attribute, 0, values);
      }
    }
  }
  if (dst_runs) return;
  if (dst_nibbles)
    put_nibbles(context, converted, block);
  else
    put(context, loops, block, converted);
}

void Converter::by_buffer(const Loops& loops, const Block& block, bool transposes) const {
  const int64_t values = std::max<int64_t>(1, loops.piece[kSrc] / src_bytes);
  const int64_t cols = std::clamp<int64_t>(kMaxBuffered / values, 1, block.cols);
  const int64_t rows = std::clamp<int64_t>(kMaxBuffered / (values * cols), 1, block.rows);
  for (int64_t r = 0; r < block.rows; r += rows) {
    for (int64_t c = 0; c < block.cols; c += cols) {
      tile(loops, sub_block(loops, block, r, std::min(rows, block.rows - r), c, std::min(cols, block.cols - c)),
           transposes);
    }
  }
}

}  // namespace relayout::cpu
