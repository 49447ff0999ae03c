// Runs transpositions that convert: elements of the narrower type are transposed.
#include "relayout/cpu/runners/converter.h"
#include "relayout/cpu/runners/methods.h"
#include "relayout/cpu/runners/packed.h"
#include "relayout/cpu/runners/steps.h"
#include "relayout/cpu/runners/transposition.h"

namespace relayout::cpu {
namespace {

/// Converts the columns of a block to the narrower type and then transposes them, because narrow elements are
/// transposed faster.
void narrow_block(const Converter& convert, const Loops& loops, bool packs, const Block& block) {
  const RunContext& context = convert.context;
  Pipelined pipelined;
  const Converter::Given given = convert.attributes(block);
  if (packs && convert.even) pipelined = {convert.pipelined, given.get()};
  transpose_packed(context, loops, packs, block, loops.piece[kDst], pipelined,
                   [&](const Block& rows, int64_t col, int64_t cols, std::byte* to, Starts starts) {
                     // A column of the source is a run, whose elements are those of the rows.
                     const int64_t first = rows.offset[kAttribute] + col * convert.col_attribute;
                     if (convert.direct && convert.lists(convert.row_attribute, convert.col_attribute)) {
                       return convert.convert(
                           rows.src, rows.src_cols + col, to, starts, cols, rows.rows,
                           convert.attributes(first, convert.row_attribute, convert.col_attribute).get(), rows.ahead);
                     }
                     prefetch_columns(rows, col, cols, rows.rows * loops.piece[kSrc], rows.ahead);
                     if (cols > 1 && convert.joins(rows.rows, false)) {
                       const Dense attributes(cols, convert.col_attribute);
                       return convert.short_runs(false, rows.src, rows.src_cols + col, to, starts, cols, rows.rows,
                                                 first, attributes.at, convert.row_attribute);
                     }
                     for (int64_t c = 0; c < cols; ++c) {
                       convert.run(rows.src + rows.src_cols[col + c], to + starts[c], nullptr,
                                   first + c * convert.col_attribute, convert.row_attribute, rows.rows);
                     }
                   });
}

/// A transposition into rows of narrow elements in the first-level cache, from which rows of a block are converted.
class NarrowRows {
 public:
  static constexpr int64_t kRows = 64, kMemory = 16 << 10;

  NarrowRows(const RunContext& context, const Loops& loops, bool packs)
      : context_(context), bytes_(loops.piece[kSrc]), packs_(packs), narrow_(in_buffer(loops, bytes_)) {}

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
    transpose_block(context_, narrow_, {.pack = packs_}, to);
  }
  const std::byte* memory() const { return memory_; }
  Starts starts() const { return starts_; }

 private:
  int64_t pitch(int64_t rows) const { return most_cols(rows) * bytes_ + 2 * kCacheLine; }

  const RunContext& context_;
  int64_t bytes_;
  bool packs_;
  Loops narrow_;
  int64_t starts_[kRows];
  alignas(64) std::byte memory_[kMemory + kRows * kCacheLine];
};

/// The reverse of narrow_block(): transposes a block into rows of narrow elements in the first-level cache, and then
/// converts the rows.
void widen_block(const Converter& convert, const Loops& loops, bool packs, const Block& block) {
  const int64_t bytes = loops.piece[kSrc];
  if (const int64_t whole = block.cols - block.cols % (kCacheLine / bytes);
      block.stream && packs && convert.pipelined && convert.even && whole > 0) {
    convert.pipelined(block.src, block.src_cols, block.dst, block.dst_rows, nullptr, false, block.rows, whole,
                      convert.attributes(block).get(), block.ahead);
    if (whole < block.cols)
      widen_block(convert, loops, packs, sub_block(loops, block, 0, block.rows, whole, block.cols - whole));
    return;
  }
  NarrowRows narrow(convert.context, loops, packs);
  for (int64_t row = 0; row < block.rows; row += NarrowRows::kRows) {
    const int64_t rows = std::min(NarrowRows::kRows, block.rows - row), step = narrow.most_cols(rows);
    for (int64_t col = 0; col < block.cols; col += step) {
      const int64_t cols = std::min(step, block.cols - col);
      const Block wide = sub_block(loops, block, row, rows, col, cols);
      narrow.make(wide);
      convert.rows(block.stream, narrow.memory(), narrow.starts(), wide.dst, wide.dst_rows, rows, cols,
                   wide.offset[kAttribute], 0);
    }
  }
}

void convert_block(const Converter& convert, const Loops& loops, const ConvertedTransposition& method,
                   const Block& block) {
  if (method.narrows) return narrow_block(convert, loops, method.pack, block);
  if (convert.straight_rows) return widen_block(convert, loops, method.pack, block);
  convert.by_buffer(loops, block, true);
}

}  // namespace

void make(const RunContext& context, const Loops& loops, const ConvertedTransposition& method, const Block& block) {
  // Only columns that are narrowed are prefetched as they are read.
  if (!method.narrows) prefetch(loops, block);
  convert_block(Converter(context, loops), loops, method, method.narrows ? fetched_ahead(loops, block) : block);
}

bool stream(const RunContext& context, const Loops& loops, const ConvertedTransposition& method, const Block& whole) {
  const int64_t bytes = loops.piece[kDst];
  Block block = whole;
  block.stream = true;
  if (method.narrows && interleaves(context.kernels, loops, block, bytes)) {
    convert_block(Converter(context, loops), loops, method, block);
    return true;
  }
  const bool partial = writes_partial_lines(loops, block);
  if (!partial && (!at_lines(loops, block) || block.cols * bytes % kCacheLine != 0)) return false;
  block = fetched_ahead(loops, block);
  const Converter convert(context, loops);
  const bool widens = !method.narrows && !partial && convert.straight_rows;
  const bool narrows = method.narrows && context.kernels.transpose_stream[log2_size(bytes)] &&
                       (partial || block.rows * bytes >= kRegister);
  if (widens || narrows) convert_block(convert, loops, method, block);
  return widens || narrows;
}

bool carry(const RunContext& context, const Loops& loops, const ConvertedTransposition& method, const Block& whole,
           const IndexRange& cols) {
  const Converter convert(context, loops);
  if (!method.narrows || !convert.even || !carries(context.kernels, loops, whole, cols)) return false;
  Block block = fetched_ahead(loops, whole);
  block.lines = &cols;
  convert_block(convert, loops, method, block);
  return true;
}

}  // namespace relayout::cpu
