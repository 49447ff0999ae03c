// Runs one block whose values are converted. In general, the block is read into a dense buffer, converted run by run,
// and written. The buffer stays in the first-level cache, so that memory is read and written once. Where a kernel
// converts straight from one type to the other, runs need no buffer, and transpositions move elements of the narrower
// type.
#include <bit>

#include "relayout/cpu/nibbles.h"
#include "relayout/cpu/pack_block.h"
#include "relayout/cpu/steps.h"

namespace relayout::cpu {
namespace {

/// The most elements of the buffer (the blocks that a plan makes have no more), and how many are converted at a time.
constexpr int64_t kTile = 4096;
static_assert(kTile <= kMaxNibbles);
constexpr int64_t kChunk = 512;
constexpr std::size_t kWidest = 8;
/// How many bytes ahead long runs are prefetched.
constexpr int64_t kAheadOfRuns = 2 << 10;
/// By how much the index of the attribute values grows from row to row, and from column to column.
struct AttributeStrides {
  int64_t row, col;
};

/// The kernels and constants to convert runs, the same for all blocks of a plan.
struct Converter {
  const RunContext& context;
  ComputeType compute;
  bool arithmetic;
  /// Whether elements are converted straight to the other type, as opposed to by way of values of the compute type.
  bool direct;
  bool whole_bytes;
  /// Convert from one type straight to the other, and between elements and values: those of the source, of the old
  /// elements of the destination, and of the new ones.
  StreamedPair pair;
  ConvertKernel convert, load, load_old, store;
  /// The kernel that converts while it transposes; null where there is none.
  PipelinedKernel pipelined = nullptr;
  int64_t src_bytes, dst_bytes;  // of a dense element; 4-bit ones take a byte

  explicit Converter(const RunContext& c) : context(c) {
    const PlanData& plan = c.plan;
    const Attributes& a = plan.attributes();
    const DType src = plan.src().dtype, dst = plan.dst().dtype;
    const auto of = [](const auto& table, DType from, DType to) {
      return table[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
    };
    arithmetic = a.arithmetic();
    compute = compute_type(src, dst, arithmetic);
    const bool scale_only =
        a.beta == 0 && a.dst_scale.values.empty() && a.src_zero_point.values.empty() && a.dst_zero_point.values.empty();
    direct = !arithmetic || (scale_only && compute == ComputeType::f32);
    pair = streamed_pair(c.kernels, src, dst);
    convert = pair.convert;
    if (direct) pipelined = of(c.kernels.convert_pipelined, src, dst);
    const DType value = compute == ComputeType::f32 ? DType::f32 : DType::f64;
    load = of(c.kernels.convert, src, value);
    load_old = of(c.kernels.convert, dst, value);
    store = of(c.kernels.convert, value, dst);
    whole_bytes = bits(src) >= 8 && bits(dst) >= 8;
    src_bytes = pair.src_bytes;
    dst_bytes = pair.dst_bytes;
  }

  /// Whether `convert` can be used for elements whose attribute values have these strides: it takes one scale for all.
  bool one_scale(AttributeStrides strides) const {
    return direct && (!arithmetic || (strides.row == 0 && strides.col == 0));
  }
  /// Whether it can be used for a block in memory, where elements of 4 bits share bytes.
  bool straight(AttributeStrides strides) const { return whole_bytes && one_scale(strides); }
  /// The scale for `convert`.
  const float* scale(int64_t attribute) const {
    return arithmetic ? &context.plan.attribute_values()[static_cast<std::size_t>(attribute)].src_scale : nullptr;
  }
  /// Converts runs straight, past the cache with `stream`.
  void runs(bool stream, const std::byte* src, Starts src_runs, std::byte* dst, Starts dst_runs, int64_t runs,
            int64_t n, const float* scale, int64_t ahead) const {
    if (stream && context.kernels.convert_stream)
      context.kernels.convert_stream(pair, src, src_runs, dst, dst_runs, runs, n, scale, ahead);
    else
      convert(src, src_runs, dst, dst_runs, runs, n, scale, ahead);
  }

  /// Converts n dense elements. `old` are the old elements of the destination; `attribute` is the index of the
  /// attribute values of the first element.
  void run(const std::byte* src, std::byte* dst, const std::byte* old, int64_t attribute, int64_t attribute_stride,
           int64_t n) const {
    if (one_scale({0, attribute_stride})) return convert(src, kFirst, dst, kFirst, 1, n, scale(attribute), 0);
    const auto one = [](ConvertKernel kernel, const std::byte* from, std::byte* to, int64_t count) {
      kernel(from, kFirst, to, kFirst, 1, count, nullptr, 0);
    };
    alignas(64) std::byte values[kChunk * sizeof(double)], previous[kChunk * sizeof(double)];
    const Attributes& a = context.plan.attributes();
    const Arithmetic steps{!a.src_scale.values.empty(), !a.dst_scale.values.empty(), !a.src_zero_point.values.empty(),
                           !a.dst_zero_point.values.empty(), a.beta};
    for (int64_t i = 0; i < n; i += kChunk) {
      const int64_t count = std::min(kChunk, n - i);
      one(load, src + i * src_bytes, values, count);
      if (a.beta != 0) one(load_old, old + i * dst_bytes, previous, count);
      context.kernels.arithmetic[static_cast<std::size_t>(compute)](
          values, previous, context.plan.attribute_values().data() + attribute + i * attribute_stride, attribute_stride,
          count, steps);
      one(store, values, dst + i * dst_bytes, count);
    }
  }
};

/// Reads the pieces of a block, `bytes` bytes each, from memory into the dense rows of `tile`.
void fetch(const RunContext& context, const BoxPlan& box, const Block& block, Operand from, int64_t bytes,
           std::byte* tile) {
  const Dense rows(block.rows, block.cols * bytes), cols(block.cols, bytes);
  BoxPlan pieces;
  Block to = block;
  to.dst = tile;
  to.dst_rows = rows.at;
  to.dst_cols = cols.at;
  if (from == kDst) {
    to.src = block.dst;
    to.src_rows = block.dst_rows;
    to.src_cols = block.dst_cols;
  }
  pieces.piece = {bytes, bytes};
  pieces.shape = from == kSrc && box.shape == KernelShape::transpose ? KernelShape::transpose
                 : bytes <= 16 && (bytes & (bytes - 1)) == 0         ? KernelShape::gather
                                                                     : KernelShape::copy;
  pieces.rows = box.rows;
  pieces.cols = box.cols;
  move_block(context, pieces, to);
}

void put(const RunContext& context, const BoxPlan& box, const Block& block, int64_t bytes, const std::byte* tile) {
  const Dense rows(block.rows, block.cols * bytes), cols(block.cols, bytes);
  BoxPlan pieces;
  Block from = block;
  from.src = tile;
  from.src_rows = rows.at;
  from.src_cols = cols.at;
  pieces.piece = {bytes, bytes};
  pieces.shape = bytes <= 16 && (bytes & (bytes - 1)) == 0 ? KernelShape::gather : KernelShape::copy;
  pieces.rows = box.rows;
  pieces.cols = box.cols;
  move_block(context, pieces, from);
}

/// Converts the columns of a block to the narrower type and then transposes them, because narrow elements are
/// transposed faster.
void narrow_block(const RunContext& context, const BoxPlan& box, const Converter& convert, AttributeStrides attribute,
                  const Block& block) {
  Pipelined pipelined;
  const bool few = block.cols <= kMostConverted && interleaves(context.kernels, box, block, box.piece[kDst]);
  if ((box.pack || few) && convert.straight(attribute))
    pipelined = {convert.pipelined, convert.scale(block.offset[kAttribute])};
  transpose_packed(context, box, block, box.piece[kDst], pipelined,
                   [&](const Block& rows, int64_t col, int64_t cols, std::byte* to, Starts starts) {
                     const int64_t first = rows.offset[kAttribute];
                     if (convert.straight(attribute)) {
                       return convert.convert(rows.src, rows.src_cols + col, to, starts, cols, rows.rows,
                                              convert.scale(first), rows.ahead);
                     }
                     prefetch_columns(rows, col, cols, rows.rows * box.piece[kSrc]);
                     for (int64_t c = 0; c < cols; ++c) {
                       convert.run(rows.src + rows.src_cols[col + c], to + starts[c], nullptr,
                                   first + (col + c) * attribute.col, attribute.row, rows.rows);
                     }
                   });
}

/// A transposition into rows of narrow elements in the first-level cache, from which rows of a block are converted.
class NarrowRows {
 public:
  static constexpr int64_t kRows = 64, kMemory = 16 << 10;

  NarrowRows(const RunContext& context, const BoxPlan& box) : context_(context), bytes_(box.piece[kSrc]) {
    narrow_.shape = KernelShape::transpose;
    narrow_.piece = {bytes_, bytes_};
    narrow_.rows = box.rows;
    narrow_.cols = box.cols;
    narrow_.pack = box.pack;
  }

  /// The columns that fit for `rows` rows; where there are few, more.
  int64_t most_cols(int64_t rows) const {
    return std::min<int64_t>(kMemory / 2 / rows / kCacheLine * kCacheLine, 2048) / bytes_;
  }
  /// Makes the rows of a block.
  void make(const Block& block) {
    for (int64_t r = 0; r < block.rows; ++r) starts_[r] = r * pitch(block.rows);
    Block to = block;
    to.dst = memory_;
    to.dst_rows = starts_;
    to.stream = false;
    to.lines = nullptr;
    move_block(context_, narrow_, to);
  }
  const std::byte* row(int64_t r) const { return memory_ + starts_[r]; }
  const std::byte* memory() const { return memory_; }
  Starts starts() const { return starts_; }

 private:
  int64_t pitch(int64_t rows) const { return most_cols(rows) * bytes_ + 2 * kCacheLine; }

  const RunContext& context_;
  int64_t bytes_;
  BoxPlan narrow_;
  int64_t starts_[kRows];
  alignas(64) std::byte memory_[kMemory + kRows * kCacheLine];
};

/// The reverse of narrow_block(): transposes a block into rows of narrow elements in the first-level cache, and then
/// converts the rows.
void widen_block(const RunContext& context, const BoxPlan& box, const Converter& convert, const Block& block) {
  const int64_t bytes = box.piece[kSrc];
  if (const int64_t whole = block.cols - block.cols % (kCacheLine / bytes);
      block.stream && box.pack && convert.pipelined && whole > 0) {
    convert.pipelined(block.src, block.src_cols, block.dst, block.dst_rows, nullptr, false, block.rows, whole,
                      convert.scale(block.offset[kAttribute]), block.ahead);
    if (whole < block.cols)
      widen_block(context, box, convert, sub_block(box, block, 0, block.rows, whole, block.cols - whole));
    return;
  }
  NarrowRows narrow(context, box);
  for (int64_t row = 0; row < block.rows; row += NarrowRows::kRows) {
    const int64_t rows = std::min(NarrowRows::kRows, block.rows - row), step = narrow.most_cols(rows);
    for (int64_t col = 0; col < block.cols; col += step) {
      const int64_t cols = std::min(step, block.cols - col);
      const Block wide = sub_block(box, block, row, rows, col, cols);
      narrow.make(wide);
      convert.runs(block.stream, narrow.memory(), narrow.starts(), wide.dst, wide.dst_rows, rows, cols,
                   convert.scale(block.offset[kAttribute]), 0);
    }
  }
}

/// Converts a block of at most kTile elements by way of the buffer.
void cast_tile(const RunContext& context, const BoxPlan& box, const Converter& convert, AttributeStrides attribute,
               const Block& block) {
  const DType src_type = context.plan.src().dtype, dst_type = context.plan.dst().dtype;
  const int64_t values = std::max<int64_t>(1, box.piece[kSrc] / convert.src_bytes);
  const bool src_nibbles = bits(src_type) < 8, dst_nibbles = bits(dst_type) < 8;
  const bool src_runs = !src_nibbles && box.long_runs;
  const bool dst_runs = !dst_nibbles && box.dense_cols;
  const bool sum = context.plan.attributes().beta != 0;
  alignas(64) std::byte fetched[static_cast<std::size_t>(kTile) * kWidest];
  alignas(64) std::byte converted[static_cast<std::size_t>(kTile) * kWidest];

  if (src_nibbles)
    fetch_nibbles(context.kernels, context.src, block.offset[kSrc], block.src_rows, block.src_cols, block,
                  src_type == DType::s4, fetched);
  else if (!src_runs)
    fetch(context, box, block, kSrc, box.piece[kSrc], fetched);
  if (!dst_runs && sum) {
    if (dst_nibbles)
      fetch_nibbles(context.kernels, context.dst, block.offset[kDst], block.dst_rows, block.dst_cols, block,
                    dst_type == DType::s4, converted);
    else
      fetch(context, box, block, kDst, box.piece[kDst], converted);
  }
  const int64_t length = block.cols * values;
  // Rows that follow each other on both sides, and have the same attribute values, are one run.
  const bool dst_follow = !dst_runs || (box.rows.size() == 1 && block.rows > 1 &&
                                        block.dst_rows[1] - block.dst_rows[0] == length * convert.dst_bytes);
  const bool one_run = block.rows > 1 && !src_runs && dst_follow && attribute.row == 0 && attribute.col == 0;
  const int64_t runs = one_run ? 1 : block.rows, run = one_run ? block.rows * length : length;
  for (int64_t r = 0; r < runs; ++r) {
    const std::byte* from = src_runs ? block.src + block.src_rows[r] : fetched + r * length * convert.src_bytes;
    std::byte* to = dst_runs ? block.dst + block.dst_rows[r] : converted + r * length * convert.dst_bytes;
    const int64_t at = block.offset[kAttribute] + r * attribute.row;
    if (values == 1 || attribute.col == 0) {
      convert.run(from, to, to, at, attribute.col, run);
    } else {
      for (int64_t c = 0; c < block.cols; ++c) {
        convert.run(from + c * values * convert.src_bytes, to + c * values * convert.dst_bytes,
                    to + c * values * convert.dst_bytes, at + c * attribute.col, 0, values);
      }
    }
  }
  if (dst_runs) return;
  if (dst_nibbles)
    put_nibbles(context.kernels, converted, context.dst, block);
  else
    put(context, box, block, box.piece[kDst], converted);
}

}  // namespace

bool narrows(const RunContext& context, const BoxPlan& box) {
  return box.shape == KernelShape::transpose && box.piece[kDst] < box.piece[kSrc] &&
         context.plan.attributes().beta == 0;
}

void cast_block(const RunContext& context, const BoxPlan& box, const Block& block) {
  const Converter convert(context);
  const AttributeStrides attribute{box.rows[0].stride[kAttribute], box.cols[0].stride[kAttribute]};
  if (narrows(context, box)) return narrow_block(context, box, convert, attribute, block);
  if (box.shape == KernelShape::transpose && convert.straight(attribute))
    return widen_block(context, box, convert, block);
  if (box.long_runs && convert.straight(attribute)) {
    return convert.runs(block.stream, block.src, block.src_rows, block.dst, block.dst_rows, block.rows, block.cols,
                        convert.scale(block.offset[kAttribute]), block.ahead);
  }
  const int64_t values = std::max<int64_t>(1, box.piece[kSrc] / convert.src_bytes);
  const int64_t cols = std::clamp<int64_t>(kTile / values, 1, block.cols);
  const int64_t rows = std::clamp<int64_t>(kTile / (values * cols), 1, block.rows);
  for (int64_t r = 0; r < block.rows; r += rows) {
    for (int64_t c = 0; c < block.cols; c += cols) {
      const Block tile = sub_block(box, block, r, std::min(rows, block.rows - r), c, std::min(cols, block.cols - c));
      cast_tile(context, box, convert, attribute, tile);
    }
  }
}

bool widen_lines(const RunContext& context, const BoxPlan& box, const Block& block, const IndexRange& cols) {
  const Converter convert(context);
  const int64_t piece = box.piece[kDst], bytes = box.piece[kSrc];
  const AttributeStrides attribute{box.rows[0].stride[kAttribute], box.cols[0].stride[kAttribute]};
  if (box.shape != KernelShape::transpose || piece <= bytes || !convert.straight(attribute) ||
      reinterpret_cast<uintptr_t>(block.dst) % static_cast<uintptr_t>(piece) != 0)
    return false;
  // A line that starts in this block ends with some columns of the next one.
  const int64_t beyond = std::min(kCacheLine / piece - 1, cols.total - cols.end());
  NarrowRows narrow(context, box);
  const float* const scale = convert.scale(block.offset[kAttribute]);
  for (int64_t row = 0; row < block.rows; row += NarrowRows::kRows) {
    const int64_t rows = std::min(NarrowRows::kRows, block.rows - row), step = narrow.most_cols(rows);
    for (int64_t col = 0; col < block.cols; col += step) {
      const int64_t own = std::min(step, block.cols - col);
      const int64_t more = std::min(kCacheLine / piece - 1, block.cols + beyond - col - own);
      narrow.make(sub_block(box, block, row, rows, col, own + more));
      std::byte* const dst = block.dst + col * piece;
      for (int64_t r = 0; r < rows; ++r) {
        std::byte* const at = dst + block.dst_rows[row + r];
        const int64_t begin = col == 0 && cols.begin == 0 ? 0 : to_line(at) / piece;
        const int64_t end = own + std::min(more, to_line(at + own * piece) / piece);
        if (begin >= end) continue;
        convert.runs(true, narrow.row(r) + begin * bytes, kFirst, at + begin * piece, kFirst, 1, end - begin, scale, 0);
      }
    }
  }
  return true;
}

bool cast_stream(const RunContext& context, const BoxPlan& box, const Block& block) {
  const Converter convert(context);
  const AttributeStrides attribute{box.rows[0].stride[kAttribute], box.cols[0].stride[kAttribute]};
  if (!convert.straight(attribute)) return false;
  const float* scale = convert.scale(block.offset[kAttribute]);
  if (box.long_runs) {
    convert.runs(true, block.src, block.src_rows, block.dst, block.dst_rows, block.rows, block.cols, scale,
                 kAheadOfRuns);
    return true;
  }
  if (!block.stream) return false;
  if (box.shape == KernelShape::transpose) {
    if (narrows(context, box)) return false;
    widen_block(context, box, convert, block);
    return true;
  }
  if (box.shape != KernelShape::copy || box.piece[kDst] % 64 != 0) return false;
  const int64_t values = box.piece[kSrc] / convert.src_bytes;
  for (int64_t r = 0; r < block.rows; ++r) {
    convert.runs(true, block.src + block.src_rows[r], block.src_cols, block.dst + block.dst_rows[r], block.dst_cols,
                 block.cols, values, scale, block.ahead);
  }
  return true;
}

}  // namespace relayout::cpu
