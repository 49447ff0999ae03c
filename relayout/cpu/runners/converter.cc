// The steps of a conversion: load, arithmetic, store; or straight from one type to the other.
#include "relayout/cpu/runners/converter.h"

#include <numeric>

#include "relayout/cpu/runners/gather.h"
#include "relayout/cpu/runners/steps.h"
#include "relayout/cpu/runners/sub_byte.h"
#include "relayout/cpu/runners/transposition.h"

namespace relayout::cpu {
namespace {

/// Bytes of the widest element.
constexpr std::size_t kWidest = 8;

/// The type of values that are computed with.
DType value_type(ComputeType compute) { return compute == ComputeType::f32 ? DType::f32 : DType::f64; }

/// Moves the pieces of a block, `bytes` bytes each, between memory and the dense rows of a tile.
void move_pieces(const RunContext& context, const Loops& loops, const Block& block, int64_t bytes, bool transposes) {
  const Loops pieces = in_buffer(loops, bytes);
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
                loops.along_src.axes[0].stride[kAttribute], loops.along_dst.axes[0].stride[kAttribute]) {
  straight_rows = straight_rows && !loops.sub_byte();
  straight = straight && straight_rows;
  even = even && straight_rows;
}

Converter::Converter(const RunContext& c, DType src, DType dst, bool computes, int64_t row, int64_t col)
    : context(c),
      row_attribute(row),
      col_attribute(col),
      compute(compute_type(src, dst, computes)),
      arithmetic(computes),
      convert(c.kernels, src, dst),
      load(c.kernels, src, value_type(compute)),
      load_old(c.kernels, dst, value_type(compute)),
      store(c.kernels, value_type(compute), dst),
      src_bytes(convert.src_bytes()),
      dst_bytes(convert.dst_bytes()) {
  direct = !arithmetic || (c.plan.attributes().beta == 0 && compute == ComputeType::f32);
  const auto from = static_cast<std::size_t>(src), to = static_cast<std::size_t>(dst);
  if (direct && from < kPairedTypes && to < kPairedTypes) pipelined = c.kernels.convert_pipelined[from][to];
  straight_rows = direct && lists(col_attribute, 0);
  straight = direct && lists(col_attribute, row_attribute);
  even = direct && (!arithmetic || (row_attribute == 0 && col_attribute == 0));
}

void Converter::rows(bool stream, const std::byte* src, Starts src_rows, std::byte* dst, Starts dst_rows, int64_t rows,
                     int64_t n, int64_t attribute, int64_t ahead) const {
  if (row_attribute != 0 && rows > 1 && joins(n, true)) {
    const Dense attributes(rows, row_attribute);
    return short_runs(stream, src, src_rows, dst, dst_rows, rows, n, attribute, attributes.at, col_attribute);
  }
  if (straight) {
    return runs(stream, src, src_rows, dst, dst_rows, rows, n,
                attributes(attribute, col_attribute, row_attribute).get(), ahead);
  }
  for (int64_t r = 0; r < rows; ++r) {
    runs(stream, src + src_rows[r], kFirst, dst + dst_rows[r], kFirst, 1, n,
         attributes(attribute + r * row_attribute, col_attribute, 0).get(), ahead);
  }
}

void Converter::short_runs(bool stream, const std::byte* src, Starts src_runs, std::byte* dst, Starts dst_runs,
                           int64_t runs, int64_t n, int64_t attribute, Starts run_attributes,
                           int64_t element_step) const {
  const AttributeTable<float>& table = context.plan.attribute_values();
  const Attributes& of = context.plan.attributes();
  struct List {
    const float* values;
    bool varies;
  };
  const List lists[] = {
      {table.src_scale.data(), of.src_scale.mask != 0},
      {table.dst_scale.data(), of.dst_scale.mask != 0},
      {table.subtracted.data(), of.src_zero_point.mask != 0 || (!of.mean.values.empty() && of.masks() != 0)},
      {table.added.data(), of.dst_zero_point.mask != 0}};
  alignas(64) float each[4][kListedValues + kListed];
  const int64_t together = std::min(kListedValues / n, runs);
  for (std::size_t k = 0; k < 4; ++k) {
    if (!lists[k].varies) std::fill_n(each[k], together * n, lists[k].values[attribute]);
  }
  const RunAttributes filled{each[0], each[1], each[2], each[3], RunAttributes::Step::element, table.divides};
  alignas(64) std::byte from[kListedValues * kWidest], to[kListedValues * kWidest];
  const Dense src_dense(together, n * src_bytes), dst_dense(together, n * dst_bytes);
  for (int64_t first = 0, count = 0; first < runs; first += count) {
    count = std::min(together, runs - first);
    const Starts src_at = src_runs + first, dst_at = dst_runs + first, attributes_at = run_attributes + first;
    // They may lie in the table as the elements do.
    const bool listed = element_step == 1 && one_stretch(attributes_at, count, n);
    for (std::size_t k = 0; k < 4 && !listed; ++k)
      if (lists[k].varies) list_values(lists[k].values + attribute, attributes_at, count, n, element_step, each[k]);
    const RunAttributes with = listed ? table.from(attribute + attributes_at[0], RunAttributes::Step::element) : filled;
    const std::byte* read = src + src_at[0];
    if (!one_stretch(src_at, count, n * src_bytes)) {
      context.kernels.copy(src, kFirst, src_at, from, kFirst, src_dense.at, 1, count, n * src_bytes, 0);
      read = from;
    }
    if (one_stretch(dst_at, count, n * dst_bytes)) {
      this->runs(stream, read, kFirst, dst + dst_at[0], kFirst, 1, count * n, &with, 0);
    } else {
      this->runs(false, read, kFirst, to, kFirst, 1, count * n, &with, 0);
      context.kernels.copy(to, kFirst, dst_dense.at, dst, kFirst, dst_at, 1, count, n * dst_bytes, 0);
    }
  }
}

void Converter::repeat(bool stream, const std::byte* src, std::byte* dst, const std::byte* old, int64_t attribute,
                       const AttributePattern& pattern, int64_t n) const {
  const bool one_list = pattern.pieces == 1 && (pattern.step == 0 || n <= pattern.n);
  if (direct && one_list && lists(pattern.step, 0))
    return runs(stream, src, kFirst, dst, kFirst, 1, n, attributes(attribute, pattern.step, 0).get(), 0);
  const auto steps = [&](const auto& table) { run_steps(table, stream, src, dst, old, attribute, pattern, n); };
  compute == ComputeType::f32 ? steps(context.plan.attribute_values()) : steps(context.plan.wide_attribute_values());
}

/// Where the chunks of a run start on both sides, as bytes from the first one of a call.
struct ChunkStarts {
  static constexpr int64_t kMost = 64;
  int64_t count, src[kMost], dst[kMost];

  ChunkStarts(int64_t chunks, int64_t elements, int64_t src_bytes, int64_t dst_bytes)
      : count(std::clamp<int64_t>(chunks, 1, kMost)) {
    for (int64_t i = 0; i < count; ++i) {
      src[i] = i * elements * src_bytes;
      dst[i] = i * elements * dst_bytes;
    }
  }
};

template <typename C>
void Converter::run_steps(const AttributeTable<C>& table, bool stream, const std::byte* src, std::byte* dst,
                          const std::byte* old, int64_t attribute, const AttributePattern& pattern, int64_t n) const {
  alignas(64) std::byte values[kListedValues * sizeof(C)], previous[kListedValues * sizeof(C)];
  const double beta = context.plan.attributes().beta;
  // Chunks are whole periods, so that the same copies of attribute values serve, and whole lines, if not too large.
  // Past the cache they are whole lines in any case.
  const int64_t period = pattern.period();
  const int64_t whole = period <= kListedValues ? kListedValues / period * period : kListedValues,
                lines = std::lcm(period, kCacheLine);
  const int64_t chunk = lines <= kListedValues ? kListedValues / lines * lines : stream ? kListedValues : whole;
  AttributeRun<C> attributes_of(table, attribute, pattern);
  // Past the cache, the first chunk ends where a line does, and so do the others.
  const int64_t head = stream ? to_line(dst) / dst_bytes : 0;
  // Chunks of whole periods have the same attribute values, so that they are runs of one call.
  const ChunkStarts starts(chunk % period == 0 ? n / chunk : 1, chunk, src_bytes, dst_bytes);
  for (int64_t i = 0, count = 0; i < n; i += count) {
    count = std::min(n - i, i == 0 && head > 0 ? head : chunk);
    const AttributeLists<C> lists = attributes_of.of(i, count);
    if constexpr (std::is_same_v<C, float>) {
      if (direct) {
        const int64_t chunks = count < chunk ? 1 : std::min((n - i) / chunk, starts.count);
        runs(stream, src + i * src_bytes, starts.src, dst + i * dst_bytes, starts.dst, chunks, count, &lists, 0);
        count *= chunks;
        continue;
      }
    }
    load(src + i * src_bytes, values, count);
    if (beta != 0) load_old(old + i * dst_bytes, previous, count);
    context.kernels.arithmetic[static_cast<std::size_t>(compute)](values, previous, &lists, count, beta);
    store(values, dst + i * dst_bytes, count);
  }
}

bool one_stretch(Starts starts, int64_t rows, int64_t bytes) {
  for (int64_t r = 1; r < rows; ++r)
    if (starts[r] - starts[r - 1] != bytes) return false;
  return true;
}

void Converter::rows_of_short_runs(bool stream, const Block& block, const std::byte* src, Starts src_rows,
                                   std::byte* dst, Starts dst_rows, int64_t n, const AttributePattern& pattern) const {
  constexpr int64_t kMost = 256;
  int64_t src_at[kMost], dst_at[kMost], attributes_at[kMost], count = 0;
  const auto convert_some = [&] {
    short_runs(stream, src, src_at, dst, dst_at, count, pattern.n, block.offset[kAttribute], attributes_at,
               pattern.step);
    count = 0;
  };
  for (int64_t r = 0; r < block.rows; ++r) {
    for (int64_t i = 0, piece = 0; i < n; i += pattern.n) {
      src_at[count] = src_rows[r] + i * src_bytes;
      dst_at[count] = dst_rows[r] + i * dst_bytes;
      attributes_at[count] = r * row_attribute + pattern.at[piece];
      if (++piece == pattern.pieces) piece = 0;
      if (++count == kMost) convert_some();
    }
  }
  if (count > 0) convert_some();
}

void Converter::tile_rows(const Block& block, const std::byte* src, Starts src_rows, std::byte* dst, Starts dst_rows,
                          int64_t values) const {
  const int64_t length = block.cols * values;
  if (values > 1 && col_attribute != 0) {
    // Each piece has attribute values of its own.
    if (block.cols > 1 && joins(values, lists(0, col_attribute))) {
      const Dense at(block.cols, col_attribute);
      return rows_of_short_runs(false, block, src, src_rows, dst, dst_rows, length, {values, 0, block.cols, at.at});
    }
    const Dense src_pieces(block.cols, values * src_bytes), dst_pieces(block.cols, values * dst_bytes);
    for (int64_t r = 0; r < block.rows; ++r) {
      const int64_t at = block.offset[kAttribute] + r * row_attribute;
      const std::byte* const from = src + src_rows[r];
      std::byte* const to = dst + dst_rows[r];
      if (direct && lists(0, col_attribute)) {
        runs(false, from, src_pieces.at, to, dst_pieces.at, block.cols, values, attributes(at, 0, col_attribute).get(),
             0);
        continue;
      }
      for (int64_t c = 0; c < block.cols; ++c) {
        std::byte* const piece = to + dst_pieces.at[c];
        run(from + src_pieces.at[c], piece, piece, at + c * col_attribute, 0, values);
      }
    }
    return;
  }
  if (row_attribute != 0 && block.rows > 1 && joins(length, lists(col_attribute, 0)))
    return rows_of_short_runs(false, block, src, src_rows, dst, dst_rows, length, {length, col_attribute});
  // Rows that follow each other on both sides, and have the same attribute values, are one run.
  const bool one_run = row_attribute == 0 && one_stretch(src_rows, block.rows, length * src_bytes) &&
                       one_stretch(dst_rows, block.rows, length * dst_bytes);
  const int64_t rows = one_run ? 1 : block.rows, values_of_row = one_run ? block.rows * length : length;
  for (int64_t r = 0; r < rows; ++r) {
    std::byte* const to = dst + dst_rows[r];
    repeat(false, src + src_rows[r], to, to, block.offset[kAttribute] + r * row_attribute, {length, col_attribute},
           values_of_row);
  }
}

/// Converts a block of at most kMaxBuffered elements.
void Converter::tile(const Loops& loops, const Block& block, bool transposes) const {
  const DType src_type = context.plan.src().dtype, dst_type = context.plan.dst().dtype;
  const int64_t values = std::max<int64_t>(1, loops.piece[kSrc] / src_bytes);
  const bool src_sub_byte = bits(src_type) < 8, dst_sub_byte = bits(dst_type) < 8;
  const bool src_runs = !src_sub_byte && loops.long_runs;
  const bool dst_runs = !dst_sub_byte && loops.along_dst.dense;
  const bool sum = context.plan.attributes().beta != 0;
  alignas(64) std::byte fetched[static_cast<std::size_t>(kMaxBuffered) * kWidest];
  alignas(64) std::byte converted[static_cast<std::size_t>(kMaxBuffered) * kWidest];

  if (src_sub_byte)
    fetch_sub_byte(context.kernels, context.src, block.offset[kSrc], block.src_rows, block.src_cols, block, src_type,
                   fetched);
  else if (!src_runs)
    fetch(context, loops, block, kSrc, transposes, fetched);
  if (!dst_runs && sum) {
    if (dst_sub_byte)
      fetch_sub_byte(context.kernels, context.dst, block.offset[kDst], block.dst_rows, block.dst_cols, block, dst_type,
                     converted);
    else
      fetch(context, loops, block, kDst, false, converted);
  }
  const int64_t length = block.cols * values;
  const Dense src_rows(block.rows, length * src_bytes), dst_rows(block.rows, length * dst_bytes);
  tile_rows(block, src_runs ? block.src : fetched, src_runs ? block.src_rows : src_rows.at,
            dst_runs ? block.dst : converted, dst_runs ? block.dst_rows : dst_rows.at, values);
  if (dst_runs) return;
  if (dst_sub_byte)
    put_sub_byte(context, converted, block);
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
